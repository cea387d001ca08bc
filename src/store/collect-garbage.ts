import { lstatSync } from "node:fs";
import { ok } from "../core/errors.js";
import { newestOf } from "./packages/package-store.js";
import type { StrayRuns } from "./runs/prune-runs.js";
import type { Store } from "./store.js";
import { removeOldUploads } from "./uploads.js";

/** What a store holds that no run refers to. */
export interface Garbage {
  readonly runs: StrayRuns;
  /** Ids of packages. The newest version of each name is none: it waits for its next run. */
  readonly packages: readonly string[];
  /** What installations and removals of packages have left that were cut short. */
  readonly cutShort: readonly string[];
  /** Names of uploads that nobody has installed. */
  readonly uploads: readonly string[];
  /** Packages that could not be removed, and why. */
  readonly notRemoved: readonly { readonly packageId: string; readonly why: string }[];
}

/**
 * Finds what no run refers to and is older than `before`, and removes it unless it `stays`. Safe beside workers: each thing under the lock
 * under which it is made. Throws `DamagedIndex`: nothing may be concluded from what such a one does not list.
 */
export async function collectGarbage(
  store: Store,
  which: { readonly before: Date; readonly stays: boolean },
): Promise<Garbage> {
  await store.runs.listAllRuns(); // throws before anything is removed
  const runs = await store.runs.collect(which);
  const cutShort = await store.packages.tidy(which.stays);
  if (!cutShort.ok) throw new Error(cutShort.error.message);
  const packages: string[] = [];
  const notRemoved: { packageId: string; why: string }[] = [];
  // Which package a run is of that no index lists, nobody knows.
  const unused = runs.lost.length > 0 ? [] : await unusedPackages(store, which.before);
  for (const packageId of unused) {
    const removed = which.stays
      ? ok(undefined)
      : await store.packages.remove(packageId, () => isUsed(store, packageId));
    if (removed.ok) packages.push(packageId);
    else if (removed.error.code === "E_INTERNAL") notRemoved.push({ packageId, why: removed.error.message });
  }
  const uploads = await removeOldUploads(store, which);
  return { runs, packages, cutShort: cutShort.value, uploads, notRemoved };
}

async function unusedPackages(store: Store, before: Date): Promise<readonly string[]> {
  const used = new Set((await store.runs.listAllRuns()).map(({ packageId }) => packageId));
  const unused: string[] = [];
  const installed = await store.packages.list();
  for (const { packageId, name, dir } of installed) {
    if (used.has(packageId) || lstatSync(dir).mtime >= before) continue;
    const newest = newestOf(installed.filter((each) => each.name === name));
    if (newest?.packageId !== packageId) unused.push(packageId);
  }
  return unused;
}

async function isUsed(store: Store, packageId: string): Promise<boolean> {
  return (await store.runs.listAllRuns()).some((run) => run.packageId === packageId);
}
