import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { removeTree } from "../../src/store/packages/package-tree.js";
import { type ArmedBuild, killAfter, stopAfter } from "../crash/armed-build.js";
import type { StoreTask } from "../crash/store-task.js";
import { checkCopy, compareCopy } from "./check-copy.js";
import type { Finding } from "./finding.js";
import type { Random } from "./random.js";

/** Backs the store up beside the workers and restores what it has, by processes of its own, some of which are killed or stopped. */
export interface Archivist {
  readonly figures: ReadonlyMap<string, number>;
  /** What was wrong with what was restored. */
  readonly findings: readonly Finding[];
  work(until: AbortSignal): Promise<void>;
  /** Takes a last backup, undisturbed, and compares what is restored from it with the store, on which nobody works any more. */
  finish(): Promise<void>;
}

/** What is done, as it is counted. */
export const ARCHIVING = [
  "backups",
  "backups killed",
  "backups stopped for a while",
  "restores",
  "restores killed",
] as const;
type Deed = (typeof ARCHIVING)[number] | "backups that failed";

export interface ArchivistOptions {
  readonly build: ArmedBuild;
  readonly storeDir: string;
  /** Gets the backup, and what is restored from it. */
  readonly dir: string;
  readonly random: Random;
}

const LONGEST_LIFE_MS = 1_500;

export function openArchivist({ build, storeDir, dir, random }: ArchivistOptions): Archivist {
  const figures = new Map<string, number>();
  const findings: Finding[] = [];
  const count = (what: Deed) => figures.set(what, (figures.get(what) ?? 0) + 1);
  const backup = join(dir, "backup");
  let restores = 0;

  /** Undefined where the process was killed. */
  function run(task: StoreTask, fate?: Parameters<ArmedBuild["runTask"]>[2]): Promise<unknown> {
    return build.runTask(task, { hitsFile: join(dir, "hits-of-archivist") }, fate);
  }

  async function backUp(fate: "lives" | "dies" | "is stopped"): Promise<void> {
    const at = random.between(100, LONGEST_LIFE_MS);
    if (fate === "is stopped") count("backups stopped for a while");
    try {
      const trouble = { lives: undefined, dies: killAfter(at), "is stopped": stopAfter(at, 5_000) }[fate];
      const result = await run({ kind: "backup", storeDir, dir: backup }, trouble);
      count(result === undefined ? "backups killed" : "backups");
    } catch (error) {
      count("backups that failed");
      process.stderr.write(`A backup failed: ${String(error)}\n`);
    }
  }

  /** Gives where the store was restored to. Whoever comes after a restore that was killed clears its folder. */
  async function restore(dies: boolean): Promise<string> {
    restores += 1;
    const to = join(dir, `restored-${restores}`);
    const task = { kind: "restore", dir: backup, to } as const;
    if (dies && (await run(task, killAfter(random.between(100, LONGEST_LIFE_MS)))) === undefined) {
      count("restores killed");
      if (existsSync(join(to, "store.json"))) findings.push(...(await checkCopy(to)));
      await removeTree(to);
    }
    if (!existsSync(join(to, "store.json"))) await run(task);
    count("restores");
    return to;
  }

  return {
    figures,
    findings,
    async work(until) {
      for (const fate of cycle(["dies", "lives", "dies", "is stopped"] as const)) {
        await pause(random.between(500, 3_000));
        if (until.aborted) return;
        await backUp(fate);
        if (!existsSync(join(backup, "manifest.json"))) continue;
        const to = await restore(random.chance(0.5));
        findings.push(...(await checkCopy(to)));
        await removeTree(to);
      }
    },
    async finish() {
      await backUp("lives");
      const to = await restore(true);
      findings.push(...(await compareCopy(storeDir, to)), ...(await checkCopy(to))); // a look makes files
      await removeTree(to);
    },
  };
}

function* cycle<T>(items: readonly T[]): Generator<T> {
  for (;;) yield* items;
}
