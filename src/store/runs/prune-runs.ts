import { lstatSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { failpoint } from "../../core/failpoint.js";
import { isRunId } from "../../core/run/run-id.js";
import { syncDirectory } from "../disk/atomic-file.js";
import { isOwnFolder, standsThere } from "../disk/own-file.js";
import { withFileLockUnless } from "../disk/fenced-lock.js";
import { STAGED, isPristine, removeStaged } from "./place-run.js";
import { Executions } from "./executions.js";
import type { RunIndex } from "./run-index.js";
import { closedWords, isFull, systemCode, wordsOf } from "../../core/system-code.js";

/**
 * Removes a run for good, all or nothing. `execution` is the newest one that it had when it was seen to be over: where a newer one
 * has begun since, or the run is not over, it stays, and false is returned. One that `isClosed` in Temporal is over whatever its files say.
 *
 * D1. The index says first that the run is pruned, while no execution of it can begin: from then on it is no run.
 * D2. Its folder is moved into the project's `trash/`, then deleted there. What a kill has left of that, `sweepPruned` ends.
 */
export async function pruneRun(
  projectDir: string,
  index: RunIndex,
  run: { readonly runId: string; readonly execution: number; readonly isClosed: boolean },
  now: Date,
): Promise<boolean> {
  const { runId, execution, isClosed } = run;
  const dir = join(projectDir, "runs", runId);
  const take = (): Promise<boolean> => index.prune(runId, now, { isClosed });
  const isOut = await makingRoom(dir, () =>
    isOwnFolder(dir) ? new Executions(dir).whileNewest(execution, take) : take(),
  );
  if (!isOut) return false;
  failpoint("prune.unlisted");
  await discard(projectDir, runId);
  return true;
}

/** What says that a run goes needs a line's room, which a full disk may not have: what is derived of the run makes it. */
async function makingRoom<T>(runDir: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (!isFull(systemCode(error))) throw error;
    const derived = namesIn(runDir).filter((name) => name.endsWith(".jsonl.index"));
    for (const name of derived) rmSync(join(runDir, name), { force: true });
    return action();
  }
}

/** What has become of what was to be removed. */
export interface SweptRuns {
  readonly ended: readonly string[];
  /** Runs whose files could not be removed, and why: the others go. */
  readonly notRemoved: readonly { readonly runId: string; readonly why: string }[];
}

/** What lies in a project's folder and belongs to no run. */
export interface StrayRuns extends Pick<SweptRuns, "notRemoved"> {
  /** Runs whose pruning was cut short. */
  readonly pruned: readonly string[];
  /** Runs whose making was cut short: nothing has happened in them. */
  readonly unmade: readonly string[];
  /** Runs that have been worked in, and that the index has lost: nobody but its user may remove them. */
  readonly lost: readonly string[];
}

/** Finds what belongs to no run and is older than `before`, and removes it unless it `stays`. */
export async function collectStrayRuns(
  projectDir: string,
  index: RunIndex,
  { before, stays }: { readonly before: Date; readonly stays: boolean },
): Promise<StrayRuns> {
  const runsDir = join(projectDir, "runs");
  const remove = async (runIds: readonly string[]): Promise<SweptRuns> =>
    stays ? { ended: runIds, notRemoved: [] } : discardEach(projectDir, runIds);
  const swept = stays
    ? await remove(await leftOfPruned(projectDir, index))
    : await sweepPruned(projectDir, index);
  const stray = {
    pruned: swept.ended,
    unmade: [] as string[],
    lost: [] as string[],
    notRemoved: [...swept.notRemoved],
  };
  if (!isOwnFolder(runsDir)) return stray;
  await withFileLockUnless(
    stays,
    join(projectDir, "create.lock"),
    async (lock) => {
      const { listed, pruned } = await index.ids();
      for (const name of readdirSync(runsDir)) {
        if (listed.has(name) || pruned.has(name) || !(isRunId(name) || name.startsWith(".tmp-"))) continue;
        if (!isPristine(join(runsDir, name))) stray.lost.push(name);
        else if (lstatSync(join(runsDir, name)).mtime < before) {
          lock.assertHeld();
          const { ended, notRemoved } = await remove([name]);
          stray.unmade.push(...ended);
          stray.notRemoved.push(...notRemoved);
        }
      }
      for (const name of namesIn(join(projectDir, STAGED))) {
        const staged = join(projectDir, STAGED, name);
        if (lstatSync(staged).mtime >= before) continue;
        if (!stays) rmSync(staged, { recursive: true, force: true });
        stray.unmade.push(name);
      }
    },
    () => removeStaged(projectDir),
  );
  return stray;
}

/** Ends what earlier prunings have begun. */
export async function sweepPruned(projectDir: string, index: RunIndex): Promise<SweptRuns> {
  const left = await leftOfPruned(projectDir, index);
  if (left.length > 0) await index.sync(); // who said that they are pruned may have died first
  return discardEach(projectDir, left);
}

/** What is in the trash, and what lies where pruned runs were. */
async function leftOfPruned(projectDir: string, index: RunIndex): Promise<readonly string[]> {
  const { pruned } = await index.ids();
  const there = namesIn(join(projectDir, "runs")).filter((name) => pruned.has(name));
  return [...new Set([...namesIn(join(projectDir, "trash")), ...there])];
}

async function discardEach(projectDir: string, runIds: readonly string[]): Promise<SweptRuns> {
  const ended: string[] = [];
  const notRemoved: { runId: string; why: string }[] = [];
  for (const runId of runIds) {
    try {
      await discard(projectDir, runId);
      ended.push(runId);
    } catch (error) {
      notRemoved.push({ runId, why: closedWords(error) ?? wordsOf(error) });
    }
  }
  return { ended, notRemoved };
}

async function discard(projectDir: string, runId: string): Promise<void> {
  const from = join(projectDir, "runs", runId);
  const trash = join(projectDir, "trash");
  const to = join(trash, runId);
  if (standsThere(from)) {
    await rm(to, { recursive: true, force: true }); // of a call that was killed, or of an execution that came too late
    if (moved(from, to)) await syncDirectory(join(projectDir, "runs"));
  }
  failpoint("prune.moved");
  await rm(to, { recursive: true, force: true });
  failpoint("prune.removed");
}

/** False where another call has moved it meanwhile: both end what is left. Where there is no room for the trash, it is removed where it is. */
function moved(from: string, to: string): boolean {
  try {
    mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
    renameSync(from, to);
    return true;
  } catch (error) {
    const code = systemCode(error);
    if (code === "ENOENT") return false;
    if (!isFull(code)) throw error;
    rmSync(from, { recursive: true, force: true });
    return true;
  }
}

function namesIn(dir: string): readonly string[] {
  return isOwnFolder(dir) ? readdirSync(dir) : [];
}
