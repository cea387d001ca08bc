import type { SizeFigures, StartFigures } from "./commands.js";
import type { Environment } from "./environment.js";
import type { StoreFigures } from "./growth-index.js";
import type { ManyFigures } from "./many.js";
import type { GrowthFigures, LoadFigures, PairFigures } from "./measures.js";
import type { Spread } from "./statistics.js";

/** Everything a run of the bench found out; what was not measured is absent. */
export interface Findings {
  readonly environment: Environment;
  readonly pairs?: PairFigures;
  readonly load?: readonly LoadFigures[];
  readonly growth?: GrowthFigures;
  readonly calls?: GrowthFigures;
  readonly start?: StartFigures;
  readonly size?: SizeFigures;
  /** Of the smallest store and of the largest. */
  readonly stores?: readonly StoreFigures[];
  /** Of runs that go on undisturbed. */
  readonly many?: ManyFigures;
  /** The same, their worker killed at half time. */
  readonly manyKilled?: ManyFigures;
}

/** One line of the table at the end. */
export interface Figure {
  readonly name: string;
  /** Promised: `--strict` fails where it is missed. */
  readonly target?: number;
  /** Worked towards, and not promised. At most that, or at least that where `isFloor` says so. */
  readonly goal?: number;
  readonly isFloor?: true;
  readonly measured: number;
  readonly range?: string;
  readonly unit: string;
}

/** What speed is worked towards, on two cores that do nothing else. */
const GOALS = {
  walkMs: 900,
  byBareWalk: 1.25,
  workerCpuMs: 450,
  byNodesMs: 300,
  byNodesAt32: 6,
  helpMs: 120,
  runsMs: 400,
  warmMs: 1_200,
  coldMs: 3_000,
  runsOfAllMs: 1_000,
  idleWorkerMb: 130,
  loopDelayP99Ms: 50,
} as const;
const MAX_INSTALLED_MB = 15;
/** Of a worker with 1,000 runs. */
const MAX_MEMORY_MB = 700;
/** A run that is so many times as long may cost so many times as much, and a little more. */
const MAX_GROWTH_BY_LENGTH = 1.03;

export function figuresOf(findings: Findings): readonly Figure[] {
  const { pairs, load, growth, calls, start, size, stores, many, manyKilled } = findings;
  return [
    ...(pairs ? pairFigures(pairs) : []),
    ...loadFigures(load ?? []),
    ...(growth ? growthFigures(growth) : []),
    ...(calls ? growthFigures(calls) : []),
    ...(start ? startFigures(start) : []),
    ...(size ? sizeFigures(size) : []),
    ...storeFigures(stores ?? []),
    ...(many ? manyFigures(many, "") : []),
    ...(manyKilled ? manyFigures(manyKilled, ", the worker killed at half time") : []),
  ];
}

function startFigures({ helpMs, runsMs, warmMs, coldMs }: StartFigures): readonly Figure[] {
  const begins = "interlock run, up to the first request";
  return [
    { name: "interlock --help", goal: GOALS.helpMs, unit: "ms", ...measured(helpMs) },
    { name: "interlock runs", goal: GOALS.runsMs, unit: "ms", ...measured(runsMs) },
    { name: `${begins}, beside a worker`, goal: GOALS.warmMs, unit: "ms", ...measured(warmMs) },
    { name: `${begins}, new store`, goal: GOALS.coldMs, unit: "ms", ...measured(coldMs) },
  ];
}

function sizeFigures({ installedBytes, idleWorkerMb }: SizeFigures): readonly Figure[] {
  const beyond = { name: "installed beyond Temporal's packages", measured: installedBytes / 1e6 };
  return [
    { ...beyond, target: MAX_INSTALLED_MB, unit: "MB" },
    ...(idleWorkerMb === undefined
      ? []
      : [{ name: "an idle worker", goal: GOALS.idleWorkerMb, measured: idleWorkerMb, unit: "MB" }]),
  ];
}

function storeFigures(stores: readonly StoreFigures[]): readonly Figure[] {
  return stores.flatMap(({ runs, phaseMs, startMs, commandMs }, index) => {
    const isLargest = index === stores.length - 1;
    const of = `a store of ${runs} runs`;
    return [
      { name: `a run asks its question, ${of}`, measured: phaseMs, unit: "ms" },
      { name: `a run is made, ${of}`, measured: startMs, unit: "ms" },
      {
        name: `interlock runs, ${of}`,
        ...(isLargest ? { goal: GOALS.runsOfAllMs } : {}),
        measured: commandMs,
        unit: "ms",
      },
    ];
  });
}

function manyFigures(
  { runs, faulty, memoryMb, loopDelayP99Ms }: ManyFigures,
  how: string,
): readonly Figure[] {
  const of = `${runs} runs at once${how}`;
  return [
    { name: `${of}: failed, lost or doubled`, target: 0, measured: faulty, unit: "" },
    { name: `${of}: memory of a worker`, target: MAX_MEMORY_MB, measured: memoryMb, unit: "MB" },
    ...(loopDelayP99Ms === undefined
      ? []
      : [
          {
            name: `${of}: delay of its event loop, p99`,
            goal: GOALS.loopDelayP99Ms,
            measured: loopDelayP99Ms,
            unit: "ms",
          },
        ]),
  ];
}

function pairFigures(pairs: PairFigures): readonly Figure[] {
  const { interlockCpu, bareCpu } = pairs;
  return [
    { name: "one walk", goal: GOALS.walkMs, unit: "ms", ...measured(pairs.interlockMs) },
    { name: "one bare walk", unit: "ms", ...measured(pairs.bareMs) },
    { name: "walk by bare walk", goal: GOALS.byBareWalk, unit: "times", ...measured(pairs.ratio) },
    { name: "one walk by nodes", goal: GOALS.byNodesMs, unit: "ms", ...measured(pairs.byNodesMs) },
    { name: "walk by nodes by walk by turns", unit: "times", ...measured(pairs.byNodesRatio) },
    ...cpuFigure("CPU of the worker, a walk by nodes", pairs.byNodesCpu.worker),
    ...cpuFigure("CPU of the server, a walk by nodes", pairs.byNodesCpu.server),
    { name: "events of a walk by nodes", unit: "", measured: pairs.events.byNodes },
    { name: "events of a walk by turns", unit: "", measured: pairs.events.byTurns },
    ...cpuFigure("CPU of the worker, a walk", interlockCpu.worker, { goal: GOALS.workerCpuMs }),
    ...cpuFigure("CPU of the worker, a bare walk", bareCpu.worker),
    ...cpuFigure("CPU of the server, a walk", interlockCpu.server),
    ...cpuFigure("CPU of the server, a bare walk", bareCpu.server),
  ];
}

function cpuFigure(
  name: string,
  milliseconds: number | undefined,
  goal: Pick<Figure, "goal"> = {},
): readonly Figure[] {
  return milliseconds === undefined ? [] : [{ name, ...goal, measured: milliseconds, unit: "ms" }];
}

function loadFigures(load: readonly LoadFigures[]): readonly Figure[] {
  return load.flatMap(({ atOnce, interlock, bare, byNodes }) => [
    { name: `walks, ${atOnce} at once`, unit: "/s", ...measured(interlock) },
    { name: `bare walks, ${atOnce} at once`, unit: "/s", ...measured(bare) },
    {
      name: `walks by nodes, ${atOnce} at once`,
      ...(atOnce === 32 ? { goal: GOALS.byNodesAt32, isFloor: true } : {}),
      unit: "/s",
      ...measured(byNodes),
    },
  ]);
}

function growthFigures({
  short,
  long,
  bytes,
  turnBytes,
  promptTokens,
  time,
}: GrowthFigures): readonly Figure[] {
  const perTurn = [short, long].flatMap((length) => [
    {
      name: `history events a turn, ${length.turns} turns`,
      measured: length.historyEvents / length.turns,
      unit: "",
    },
    {
      name: `history bytes a turn, ${length.turns} turns`,
      measured: length.historyBytes / length.turns,
      unit: "B",
    },
  ]);
  const times = `${long.turns} turns by ${short.turns}`;
  const target = (long.turns / short.turns) * MAX_GROWTH_BY_LENGTH;
  return [
    ...perTurn,
    {
      name: `history bytes of one turn, ${times}`,
      target: MAX_GROWTH_BY_LENGTH,
      measured: turnBytes,
      unit: "times",
    },
    { name: `history bytes, ${times}`, target, measured: bytes, unit: "times" },
    { name: `prompt tokens, ${times}`, target, measured: promptTokens, unit: "times" },
    { name: `time, ${times}`, target, unit: "times", ...measured(time) },
  ];
}

function measured({ median, min, max }: Spread): Pick<Figure, "measured" | "range"> {
  return { measured: median, range: `${readable(min)} – ${readable(max)}` };
}

/** Whether a target or a goal is met; undefined where there is none. */
export function isMet({ target, goal, isFloor, measured }: Figure): boolean | undefined {
  const bound = target ?? goal;
  if (bound === undefined) return undefined;
  return isFloor === true ? measured >= bound : measured <= bound;
}

/** Whether what is promised is not so. */
export function isBroken(figure: Figure): boolean {
  return figure.target !== undefined && isMet(figure) === false;
}

/** What the figures were measured on and with. */
export function renderHead({ environment, pairs, growth, calls }: Findings): string {
  const { node, platform, cores, load, syncMs } = environment;
  const lines = [
    `Node ${node}, ${platform}, ${cores} cores, load ${load.toFixed(1)} before; a synced file of 2 KB takes ${readable(syncMs.median)} ms (${readable(syncMs.min)} – ${readable(syncMs.max)}).`,
  ];
  if (pairs !== undefined) {
    const regular = pairs.activities.replaceAll("L", "").length;
    lines.push(
      `A walk is ${regular} regular and ${pairs.activities.length - regular} local activities; a bare walk is the same, doing nothing. ${pairs.ratio.count} pairs.`,
    );
    if (pairs.interlockCpu.worker === undefined) {
      lines.push("CPU time is left out: this system does not tell it by /proc.");
    }
  }
  for (const lengths of [growth, calls]) {
    if (lengths === undefined) continue;
    for (const { turns, executions, historyEvents, historyBytes, promptTokens, milliseconds } of [
      lengths.short,
      lengths.long,
    ]) {
      lines.push(
        `${turns} turns: ${historyEvents} events and ${historyBytes} bytes of history in ${executions} execution(s), ${promptTokens} prompt tokens, ${readable(milliseconds.median)} ms.`,
      );
    }
  }
  return lines.join("\n");
}

/** The table at the end: figure, target or goal, measured, met. Ranges are lowest and highest. */
export function renderTable(figures: readonly Figure[]): string {
  const rows = figures.map((figure) => [
    figure.name,
    boundOf(figure),
    `${readable(figure.measured)} ${figure.unit}${figure.range === undefined ? "" : ` (${figure.range})`}`,
    { true: "yes", false: "NO", undefined: "" }[String(isMet(figure)) as "true" | "false" | "undefined"],
  ]);
  const all = [["figure", "target, or goal", "measured", "met"], ...rows];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...all.map((row) => row[column]!.length)));
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column]!)).join(" | ")} |`;
  const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`;
  return [line(all[0]!), rule, ...rows.map(line)].join("\n");
}

function boundOf({ target, goal, isFloor }: Figure): string {
  if (target !== undefined) return `≤ ${readable(target)}`;
  if (goal === undefined) return "";
  return `goal ${isFloor === true ? "≥" : "≤"} ${readable(goal)}`;
}

/** Three digits are as many as these measurements are worth. */
function readable(value: number): string {
  return value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
}
