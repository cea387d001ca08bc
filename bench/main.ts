import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { describeEnvironment } from "./environment.js";
import { type PairFigures, measureGrowth, measureLoad, measurePairs } from "./measures.js";
import { type Findings, figuresOf, isBroken, isMet, renderHead, renderTable } from "./report.js";
import { LONG_NODES, MANY_NODES, type OtherServer, SHORT_NODES, type Stage, openStage } from "./stage.js";
import { expectAnswer } from "./other-server.js";
import { commandLine, count, fileToWrite, lookedUp, otherServer, placeFor, wordsAmong } from "./usage.js";

const HELP = `Measures Interlock on the embedded Temporal server, with a model that answers at once.

Usage: npm run bench -- [pairs] [load] [growth] [calls] [options]

  pairs    one walk at a time beside a bare workflow of as many activities that do nothing
  load     walks per second at 1, 8 and 32 at once
  growth   a run of 480 turns beside one of 30
  calls    a run of 2,001 tool calls beside one of 30, once
  Without a name, all four.

  --walks <n>        counted pairs (15)
  --warm-up <n>      pairs before them that are not counted (3)
  --rounds <n>       rounds of load and of growth (3)
  --at-once <n,n>    how many walks at once (1,8,32)
  --address <a>      a Temporal server that is there, with its search attributes, instead of the embedded one
  --server-pid <n>   its process, for its CPU time; needed with --address
  --dir <path>       where the temporary store goes (the system's directory for temporary files)
  --cpu-profile <p>  Interlock's worker leaves CPU profiles in this directory
  --json <file>      writes everything that was measured
  --strict           exit code 1 when a target is missed (goals are not promised)
  --help
`;

const SECTIONS = ["pairs", "load", "growth", "calls"] as const;
type Section = (typeof SECTIONS)[number];

interface Options {
  readonly sections: ReadonlySet<Section>;
  readonly walks: number;
  readonly warmUp: number;
  readonly rounds: number;
  readonly atOnce: readonly number[];
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
    server: otherServer(values.address, values["server-pid"]),
    directory: values.dir === undefined ? undefined : placeFor(values.dir, "--dir"),
    cpuProfile: values["cpu-profile"],
    json: values.json === undefined ? undefined : fileToWrite(values.json, "--json"),
    strict: values.strict,
  };
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
      address: { type: "string" },
      "server-pid": { type: "string" },
      dir: { type: "string" },
      "cpu-profile": { type: "string" },
      json: { type: "string" },
      strict: { type: "boolean", default: false },
    },
  });
}

async function measure(stage: Stage, options: Options): Promise<Findings> {
  const { sections, rounds } = options;
  const environment = describeEnvironment(options.directory);
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
    environment,
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

async function run(options: Options): Promise<void> {
  note("Starting server, model and workers on a fresh store.");
  const stage = await openStage(options);
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => {
      note(`${signal}: ending what was started.`);
      void stage.close().finally(() => process.exit(1));
    });
  }
  let findings: Findings;
  try {
    findings = await measure(stage, options);
  } finally {
    await stage.close();
  }
  const figures = figuresOf(findings);
  process.stdout.write(`\n${renderHead(findings)}\n\n${renderTable(figures)}\n`);
  if (options.json !== undefined) {
    const withVerdict = figures.map((figure) => ({ ...figure, met: isMet(figure) ?? null }));
    await writeFile(options.json, `${JSON.stringify({ figures: withVerdict, ...findings }, undefined, 2)}\n`);
  }
  if (options.strict && figures.some(isBroken)) process.exitCode = 1;
}

const options = commandLine(HELP, readOptions);
await lookedUp(HELP, () => expectAnswer(options.server));
await run(options);
