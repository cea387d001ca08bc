import { cpSync, existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Store } from "../../src/store/store.js";
import { type ArmedBuild, killAfter } from "../crash/armed-build.js";
import type { Arming } from "../crash/armed-failpoint.js";
import type { StoreTask } from "../crash/store-task.js";
import type { Random } from "./random.js";

/** Prunes runs and collects garbage beside the workers, by processes of its own, some of which are killed. */
export interface Housekeeper {
  /** The ids of the runs that were pruned. */
  readonly pruned: readonly string[];
  readonly figures: ReadonlyMap<string, number>;
  /** Keeps what there is of a run that has ended, since it may go from now on. */
  onEnd(run: EndedRun): void;
  /** From now on each package without a run is garbage: before, its runs may be still to come. */
  onLastStart(): void;
  work(until: AbortSignal): Promise<void>;
  /** Does what is left, undisturbed. */
  finish(): Promise<void>;
}

export interface EndedRun {
  readonly projectId: string;
  readonly runId: string;
}

export interface HousekeeperOptions {
  readonly build: ArmedBuild;
  readonly store: Store;
  /** Gets what was kept of runs. */
  readonly keptDir: string;
  readonly hitsDir: string;
  readonly random: Random;
  /** Packages that were installed later wait for their runs. */
  readonly installedFrom: Date;
}

/** What is done, as it is counted. */
export const HOUSEKEEPING = [
  "runs pruned",
  "prunings killed",
  "garbage collections",
  "garbage collections killed",
] as const;
type Deed = (typeof HOUSEKEEPING)[number] | "housekeeping that failed";

const POINTS = [
  "log.before-line",
  "log.line-written",
  "prune.unlisted",
  "prune.moved",
  "prune.removed",
] as const;
type Fate = "lives" | "may die" | "dies at once";
const LONGEST_LIFE_MS = 1_200;
const NOTICES_MS = 60_000;

export function openHousekeeper(options: HousekeeperOptions): Housekeeper {
  const { build, store, keptDir, hitsDir, random } = options;
  const figures = new Map<string, number>();
  const count = (what: Deed, times = 1) => figures.set(what, (figures.get(what) ?? 0) + times);
  const waiting = new Map<string, EndedRun>();
  const pruned = new Set<string>();
  let before: Date | undefined = options.installedFrom;
  let processes = 0;

  /** As `interlock runs prune` does, it leaves a run of which somebody is still to be told. */
  async function due(): Promise<readonly EndedRun[]> {
    const runs: EndedRun[] = [];
    for (const run of waiting.values()) {
      const files = await store.runs.openFiles(run.projectId, run.runId);
      if (!files.ok || files.value.notices.waiting().length === 0) runs.push(run);
    }
    return runs;
  }

  async function prune(runs: readonly EndedRun[], fate: Fate): Promise<void> {
    const task = { kind: "prune", storeDir: store.dir, runs } as const;
    // What is begun counts: a run that a killed process has taken out is swept by the next one.
    for (const run of runs) keep(run);
    const result = await run(task, fate);
    if (result === "killed") count("prunings killed");
    if (typeof result === "string") return; // killed, or it could not write
    for (const { runId } of runs) {
      pruned.add(runId);
      waiting.delete(runId);
    }
    count("runs pruned", runs.length);
  }

  async function collect(fate: Fate): Promise<void> {
    const upTo = before === undefined ? {} : { before: before.toISOString() };
    const result = await run({ kind: "collect", storeDir: store.dir, ...upTo }, fate);
    if (result === "killed") count("garbage collections killed");
    else if (result !== "failed") count("garbage collections");
  }

  async function run(task: StoreTask, fate: Fate): Promise<unknown> {
    processes += 1;
    const hitsFile = join(hitsDir, `housekeeper-${processes}`);
    const isFirst = fate === "dies at once";
    const dies = isFirst || (fate === "may die" && random.chance(0.6));
    const atPoint = isFirst || (dies && random.chance(0.6));
    const point = isFirst ? "prune.moved" : random.pick(POINTS);
    const at = { name: point, hit: isFirst ? 1 : random.between(1, 3), action: "kill" } as const;
    const arming: Arming = { hitsFile, ...(atPoint ? { at } : {}) };
    const lifeMs = random.between(100, LONGEST_LIFE_MS);
    try {
      return (
        (await build.runTask(task, arming, dies && !atPoint ? killAfter(lifeMs) : undefined)) ?? "killed"
      );
    } catch {
      count("housekeeping that failed"); // the disk was full
      return "failed";
    }
  }

  /** The run as it is before anybody may prune it. */
  function keep({ projectId, runId }: EndedRun): void {
    const projectDir = join(store.dir, "projects", projectId);
    const to = join(keptDir, runId);
    if (existsSync(to)) return;
    cpSync(join(projectDir, "runs", runId), join(to, "runs", runId), { recursive: true });
    cpSync(join(projectDir, "runs.jsonl"), join(to, "runs.jsonl"));
  }

  return {
    get pruned() {
      return [...pruned];
    },
    figures,
    onEnd(ended) {
      waiting.set(ended.runId, ended);
    },
    onLastStart() {
      before = undefined;
    },
    async work(until) {
      while (!until.aborted) {
        await pause(random.between(1_000, 4_000));
        if (until.aborted) return;
        const runs = await due();
        if (runs.length > 0) await prune(runs, "may die");
        await collect("may die");
      }
    },
    async finish() {
      before = undefined;
      const deadline = Date.now() + NOTICES_MS;
      while (waiting.size > 0 && Date.now() < deadline) {
        const runs = await due();
        if (runs.length > 0) {
          // However short the time was, each kind of death happens once; then nothing more does.
          await prune(runs, "dies at once");
          await collect("dies at once");
          await prune(runs, "lives");
        } else await pause(500);
      }
      await collect("lives");
    },
  };
}
