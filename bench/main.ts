import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { measureSize, measureStart } from "./commands.js";
import { describeEnvironment } from "./environment.js";
import type { StoreFigures } from "./growth-index.js";
import type { ManyFigures } from "./many.js";
import { type PairFigures, measureGrowth, measureLoad, measurePairs } from "./measures.js";
import { figuresBy, runProgram } from "./programs.js";
import { type Findings, figuresOf, isBroken, isMet, renderHead, renderTable } from "./report.js";
import { LONG_NODES, MANY_NODES, type OtherServer, SHORT_NODES, type Stage, openStage } from "./stage.js";
import { expectAnswer } from "./other-server.js";
import {
  WrongUsage,
  commandLine,
  count,
  fileToWrite,
  lookedUp,
  otherServer,
  placeFor,
  wordsAmong,
} from "./usage.js";

const HELP = `Measures Interlock on the embedded Temporal server, with a model that answers at once.

Usage: npm run bench -- [pairs] [load] [growth] [calls] [start] [size] [stores] [many] [options]
       npm run bench -- growth --to <n> [--svg <file>]

  pairs    one walk at a time beside a bare workflow of as many activities that do nothing
  load     walks per second at 1, 8 and 32 at once
  growth   a run of 480 turns beside one of 30; with --to what bench:growth and bench:index measure, drawn
  calls    a run of 2,001 tool calls beside one of 30, once
  start    commands from a cold start, and how soon the model is asked
  size     what is installed beyond Temporal's packages, and an idle worker
  stores   stores of 1,000 and of 100,000 runs
  many     1,000 runs at once with a model of 2 s, undisturbed and with a worker killed at half time
  Without a name, all of them.

  --walks <n>        counted pairs (15)
  --warm-up <n>      pairs before them that are not counted (3)
  --rounds <n>       rounds of load and of growth (3)
  --at-once <n,n>    how many walks at once (1,8,32)
  --runs <n>         how many runs at once (1000)
  --to <n>           with growth alone: so many visits of one run, and stores of up to 100,000 runs
  --svg <file>       where the visits are drawn; the stores are beside it (the system's directory for temporary files)
  --address <a>      a Temporal server that is there, with its search attributes, instead of the embedded one
  --server-pid <n>   its process, for its CPU time; needed with --address
  --dir <path>       where the temporary store goes (the system's directory for temporary files)
  --cpu-profile <p>  Interlock's worker leaves CPU profiles in this directory
  --json <file>      writes everything that was measured
  --strict           exit code 1 when a target is missed (goals are not promised)
  --help
`;

/** Those for which a server, a model and workers are started. */
const ON_STAGE = ["pairs", "load", "growth", "calls", "start", "size"] as const;
const SECTIONS = [...ON_STAGE, "stores", "many"] as const;
type Section = (typeof SECTIONS)[number];
const COMMAND_TRIES = 9;
const STORES = "1000,100000";

interface Options {
  readonly sections: ReadonlySet<Section>;
  readonly walks: number;
  readonly warmUp: number;
  readonly rounds: number;
  readonly atOnce: readonly number[];
  readonly runs: number;
  /** What is drawn instead of being measured beside targets. */
  readonly drawn: { readonly to: number; readonly svg: string } | undefined;
  readonly server: OtherServer | undefined;
  readonly directory: string | undefined;
  readonly cpuProfile: string | undefined;
  readonly json: string | undefined;
  readonly strict: boolean;
}

function readOptions(argv: readonly string[]): Options {
  const { values, positionals } = parse(argv);
  const sections = wordsAmong(positionals, SECTIONS);
  return {
    sections: new Set(sections.length === 0 ? SECTIONS : sections),
    walks: count(values.walks, "--walks"),
    warmUp: count(values["warm-up"], "--warm-up", 0),
    rounds: count(values.rounds, "--rounds"),
    atOnce: values["at-once"].split(",").map((text) => count(text, "--at-once")),
    runs: count(values.runs, "--runs", 1, 100_000),
    drawn: drawnBy(values, sections),
    server: otherServer(values.address, values["server-pid"]),
    directory: values.dir === undefined ? undefined : placeFor(values.dir, "--dir"),
    cpuProfile: values["cpu-profile"],
    json: values.json === undefined ? undefined : fileToWrite(values.json, "--json"),
    strict: values.strict,
  };
}

function drawnBy({ to, svg }: { to?: string; svg?: string }, sections: readonly Section[]): Options["drawn"] {
  if (to === undefined && svg === undefined) return undefined;
  if (to === undefined || sections.length !== 1 || sections[0] !== "growth") {
    throw new WrongUsage("--to and --svg are of growth alone: growth --to 10000 [--svg file].");
  }
  const file = svg ?? join(tmpdir(), `interlock-growth-${process.pid}.svg`);
  return { to: count(to, "--to", 1, 1_000_000), svg: fileToWrite(file, "--svg") };
}

function parse(argv: readonly string[]) {
  return parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      walks: { type: "string", default: "15" },
      "warm-up": { type: "string", default: "3" },
      rounds: { type: "string", default: "3" },
      "at-once": { type: "string", default: "1,8,32" },
      runs: { type: "string", default: "1000" },
      to: { type: "string" },
      svg: { type: "string" },
      address: { type: "string" },
      "server-pid": { type: "string" },
      dir: { type: "string" },
      "cpu-profile": { type: "string" },
      json: { type: "string" },
      strict: { type: "boolean", default: false },
    },
  });
}

async function measureOnStage(stage: Stage, options: Options): Promise<Omit<Findings, "environment">> {
  const { sections, rounds } = options;
  const { address } = stage;
  const start = sections.has("start")
    ? await measureStart({ address, tries: COMMAND_TRIES }, note)
    : undefined;
  const size = sections.has("size") ? await measureSize(address, note) : undefined;
  let pairs: PairFigures | undefined;
  if (sections.has("pairs")) pairs = await measurePairs(stage, options, note);
  const activities = pairs?.activities ?? (await warmUp(stage, options.warmUp));
  const load = sections.has("load")
    ? await measureLoad(stage, { lanes: options.atOnce, rounds, activities }, note)
    : undefined;
  const growth = sections.has("growth")
    ? await measureGrowth(stage, { nodes: LONG_NODES, rounds }, note)
    : undefined;
  const calls = sections.has("calls")
    ? await measureGrowth(stage, { nodes: MANY_NODES, rounds: 1 }, note)
    : undefined;
  return {
    ...(start === undefined ? {} : { start }),
    ...(size === undefined ? {} : { size }),
    ...(pairs === undefined ? {} : { pairs }),
    ...(load === undefined ? {} : { load }),
    ...(growth === undefined ? {} : { growth }),
    ...(calls === undefined ? {} : { calls }),
  };
}

/** Walks that are not measured; returns the activities of one. */
async function warmUp(stage: Stage, walks: number): Promise<string> {
  let activities = "";
  for (const project of await stage.makeProjects(Math.max(1, walks))) {
    const walk = await stage.walk({ nodes: SHORT_NODES, project });
    ({ activities } = await walk.history());
    await stage.bareWalk(activities);
  }
  return activities;
}

function note(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** On a stage that is there for it alone. */
async function withStage<T>(options: Options, action: (stage: Stage) => Promise<T>): Promise<T> {
  note("Starting server, model and workers on a fresh store.");
  const stage = await openStage(options);
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => {
      note(`${signal}: ending what was started.`);
      void stage.close().finally(() => process.exit(1));
    });
  }
  try {
    return await action(stage);
  } finally {
    await stage.close();
  }
}

/** Programs of their own measure these: each has a store and a server for itself. */
async function measureOthers({ sections, runs }: Options): Promise<Partial<Findings>> {
  const stores = sections.has("stores")
    ? ((await figuresBy("./growth-index.js", ["--runs", STORES])) as readonly StoreFigures[])
    : undefined;
  const many = async (...more: readonly string[]): Promise<ManyFigures> =>
    (await figuresBy("./many.js", ["--runs", String(runs), ...more])) as ManyFigures;
  return {
    ...(stores === undefined ? {} : { stores }),
    ...(sections.has("many") ? { many: await many(), manyKilled: await many("--kill") } : {}),
  };
}

async function run(options: Options): Promise<void> {
  const { sections } = options;
  const environment = describeEnvironment(options.directory);
  const isStaged = ON_STAGE.some((section) => sections.has(section));
  const staged = isStaged ? await withStage(options, (stage) => measureOnStage(stage, options)) : {};
  const findings: Findings = { environment, ...staged, ...(await measureOthers(options)) };
  const figures = figuresOf(findings);
  process.stdout.write(`\n${renderHead(findings)}\n\n${renderTable(figures)}\n`);
  if (options.json !== undefined) {
    const withVerdict = figures.map((figure) => ({ ...figure, met: isMet(figure) ?? null }));
    await writeFile(options.json, `${JSON.stringify({ figures: withVerdict, ...findings }, undefined, 2)}\n`);
  }
  if (options.strict && figures.some(isBroken)) process.exitCode = 1;
}

/** What one run costs by how many visits it has had, and one store by how many runs. */
async function draw({ to, svg }: NonNullable<Options["drawn"]>): Promise<void> {
  await runProgram("./growth.js", ["--to", String(to), "--svg", svg]);
  await runProgram("./growth-index.js", ["--svg", svg.replace(/(?:\.svg)?$/, "-of-stores.svg")]);
}

const options = commandLine(HELP, readOptions);
if (options.drawn === undefined) {
  await lookedUp(HELP, () => expectAnswer(options.server));
  await run(options);
} else {
  await draw(options.drawn);
}
