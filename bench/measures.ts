import { cpuMilliseconds } from "./cpu-time.js";
import { SHORT_NODES, type Stage, TURNS_PER_NODE, type Walk } from "./stage.js";
import { type Spread, spreadOf } from "./statistics.js";

type Note = (line: string) => void;

/** CPU milliseconds of one walk; undefined where the system does not tell. */
interface CpuPerWalk {
  readonly worker: number | undefined;
  readonly server: number | undefined;
}

export interface PairFigures {
  /** The activities of a walk in order, as Interlock's history has them; the bare workflow has the same. */
  readonly activities: string;
  readonly interlockMs: Spread;
  readonly bareMs: Spread;
  readonly ratio: Spread;
  readonly interlockCpu: CpuPerWalk;
  readonly bareCpu: CpuPerWalk;
  /** The same walk, its steps being nodes. */
  readonly byNodesMs: Spread;
  readonly byNodesRatio: Spread;
  readonly byNodesCpu: CpuPerWalk;
  readonly events: { readonly byTurns: number; readonly byNodes: number };
}

/** One walk at a time, Interlock's by turns, the bare one and Interlock's by nodes in turn: A B C A B C … */
export async function measurePairs(
  stage: Stage,
  counts: { readonly warmUp: number; readonly walks: number },
  note: Note,
): Promise<PairFigures> {
  const { warmUp, walks } = counts;
  const projects = await stage.makeProjects(2 + warmUp + walks);
  const byNodesProjects = await stage.makeProjects(warmUp + walks);
  const first = await stage.walk({ nodes: SHORT_NODES, project: projects[0]! });
  const { activities, events } = await first.history();
  const firstByNodes = await stage.walk({ nodes: SHORT_NODES, project: projects[1]!, steps: "nodes" });
  const { events: eventsByNodes } = await firstByNodes.history();
  const interlock = new CpuMeter(stage.pids.interlock, stage.pids.server);
  const bare = new CpuMeter(stage.pids.bare, stage.pids.server);
  const byNodes = new CpuMeter(stage.pids.interlock, stage.pids.server);
  const interlockMs: number[] = [];
  const bareMs: number[] = [];
  const byNodesMs: number[] = [];
  for (const [index, project] of projects.slice(2).entries()) {
    const counted = index >= warmUp;
    const ours = await interlock.during(counted, () => stage.walk({ nodes: SHORT_NODES, project }));
    const theirs = await bare.during(counted, () => stage.bareWalk(activities));
    const another = byNodesProjects[index]!;
    const nodes = await byNodes.during(counted, () =>
      stage.walk({ nodes: SHORT_NODES, project: another, steps: "nodes" }),
    );
    note(
      `pair ${index + 1 - warmUp}: ${ours.milliseconds.toFixed(0)} ms, bare ${theirs.toFixed(0)} ms, by nodes ${nodes.milliseconds.toFixed(0)} ms${counted ? "" : " (warm-up)"}`,
    );
    if (!counted) continue;
    interlockMs.push(ours.milliseconds);
    bareMs.push(theirs);
    byNodesMs.push(nodes.milliseconds);
  }
  return {
    activities,
    interlockMs: spreadOf(interlockMs),
    bareMs: spreadOf(bareMs),
    ratio: spreadOf(interlockMs.map((milliseconds, index) => milliseconds / bareMs[index]!)),
    interlockCpu: interlock.perWalk(),
    bareCpu: bare.perWalk(),
    byNodesMs: spreadOf(byNodesMs),
    byNodesRatio: spreadOf(byNodesMs.map((milliseconds, index) => milliseconds / interlockMs[index]!)),
    byNodesCpu: byNodes.perWalk(),
    events: { byTurns: events, byNodes: eventsByNodes },
  };
}

/** Adds up the CPU time that a worker and the server use while something runs. */
class CpuMeter {
  private readonly workerPid: number;
  private readonly serverPid: number;
  private readonly used = { worker: 0, server: 0, walks: 0 };

  constructor(workerPid: number, serverPid: number) {
    this.workerPid = workerPid;
    this.serverPid = serverPid;
  }

  async during<T>(counted: boolean, action: () => Promise<T>): Promise<T> {
    const worker = cpuMilliseconds(this.workerPid);
    const server = cpuMilliseconds(this.serverPid);
    const value = await action();
    if (!counted) return value;
    this.used.worker += (cpuMilliseconds(this.workerPid) ?? Number.NaN) - (worker ?? Number.NaN);
    this.used.server += (cpuMilliseconds(this.serverPid) ?? Number.NaN) - (server ?? Number.NaN);
    this.used.walks += 1;
    return value;
  }

  perWalk(): CpuPerWalk {
    const { worker, server, walks } = this.used;
    return {
      worker: Number.isNaN(worker) ? undefined : worker / walks,
      server: Number.isNaN(server) ? undefined : server / walks,
    };
  }
}

export interface LoadFigures {
  readonly atOnce: number;
  /** Walks per second. */
  readonly interlock: Spread;
  readonly bare: Spread;
  readonly byNodes: Spread;
}

/** How many walks are done in a second with so many at once: each lane starts its next when one has ended. */
export async function measureLoad(
  stage: Stage,
  counts: { readonly lanes: readonly number[]; readonly rounds: number; readonly activities: string },
  note: Note,
): Promise<readonly LoadFigures[]> {
  const figures: LoadFigures[] = [];
  for (const atOnce of counts.lanes) {
    const walks = Math.max(4, atOnce * 2);
    const interlock: number[] = [];
    const bare: number[] = [];
    const byNodes: number[] = [];
    for (let round = 1; round <= counts.rounds; round += 1) {
      const projects = [...(await stage.makeProjects(2 * walks))];
      const walkOne = (steps?: "nodes") => async () => {
        const project = projects.pop();
        if (project !== undefined) {
          await stage.walk({ nodes: SHORT_NODES, project, ...(steps === undefined ? {} : { steps }) });
        }
      };
      interlock.push(await walksPerSecond(atOnce, walks, walkOne()));
      bare.push(await walksPerSecond(atOnce, walks, () => stage.bareWalk(counts.activities)));
      byNodes.push(await walksPerSecond(atOnce, walks, walkOne("nodes")));
      note(
        `${atOnce} at once, round ${round}: ${interlock.at(-1)!.toFixed(2)} walks/s, bare ${bare.at(-1)!.toFixed(2)}, by nodes ${byNodes.at(-1)!.toFixed(2)}`,
      );
    }
    figures.push({
      atOnce,
      interlock: spreadOf(interlock),
      bare: spreadOf(bare),
      byNodes: spreadOf(byNodes),
    });
  }
  return figures;
}

async function walksPerSecond(atOnce: number, walks: number, walk: () => Promise<unknown>): Promise<number> {
  let left = walks;
  const lane = async () => {
    while (left > 0) {
      left -= 1;
      await walk();
    }
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: atOnce }, lane));
  return (walks * 1_000) / (performance.now() - startedAt);
}

export interface LengthFigures {
  readonly turns: number;
  readonly executions: number;
  readonly milliseconds: Spread;
  readonly historyEvents: number;
  readonly historyBytes: number;
  readonly promptTokens: number;
  /** The size of the events of one turn, by execution. */
  readonly turnBytes: Spread;
}

export interface GrowthFigures {
  readonly short: LengthFigures;
  readonly long: LengthFigures;
  /** Long by short. */
  readonly bytes: number;
  /** The largest of the long one by the short one's. */
  readonly turnBytes: number;
  readonly promptTokens: number;
  readonly time: Spread;
}

const SHORT_WALKS_PER_ROUND = 3;

/** What a run many times as long costs: in each round three short walks, then a long one. */
export async function measureGrowth(
  stage: Stage,
  counts: { readonly nodes: number; readonly rounds: number },
  note: Note,
): Promise<GrowthFigures> {
  const { nodes, rounds } = counts;
  const shorts: Walk[] = [];
  const longs: Walk[] = [];
  const ratios: number[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    const projects = await stage.makeProjects(SHORT_WALKS_PER_ROUND + 1);
    const before: Walk[] = [];
    for (const project of projects.slice(1)) before.push(await stage.walk({ nodes: SHORT_NODES, project }));
    const long = await stage.walk({ nodes, project: projects[0]! });
    shorts.push(...before);
    longs.push(long);
    const shortMs = spreadOf(before.map((walk) => walk.milliseconds)).median;
    ratios.push(long.milliseconds / shortMs);
    note(`length, round ${round}: ${shortMs.toFixed(0)} ms and ${long.milliseconds.toFixed(0)} ms`);
  }
  const short = await lengthFigures(SHORT_NODES, shorts);
  const long = await lengthFigures(nodes, longs);
  return {
    short,
    long,
    bytes: long.historyBytes / short.historyBytes,
    turnBytes: long.turnBytes.max / short.turnBytes.median,
    promptTokens: long.promptTokens / short.promptTokens,
    time: spreadOf(ratios),
  };
}

async function lengthFigures(nodes: number, walks: readonly Walk[]): Promise<LengthFigures> {
  const histories = await Promise.all(walks.map((walk) => walk.history()));
  return {
    turns: nodes * TURNS_PER_NODE,
    executions: spreadOf(histories.map((history) => history.executions)).median,
    milliseconds: spreadOf(walks.map((walk) => walk.milliseconds)),
    historyEvents: spreadOf(histories.map((history) => history.events)).median,
    historyBytes: spreadOf(histories.map((history) => history.bytes)).median,
    promptTokens: spreadOf(walks.map((walk) => walk.promptTokens)).median,
    turnBytes: spreadOf(histories.flatMap((history) => history.turnBytes)),
  };
}
