import { randomUUID } from "node:crypto";
import { chmod, mkdir, readdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { z } from "zod";
import { writeFileAtomic } from "./disk/atomic-file.js";
import { withFileLock } from "./disk/fenced-lock.js";
import { readOwnText, rememberStore } from "./disk/own-file.js";
import { type PackageStore, openPackageStore } from "./packages/package-store.js";
import { type RootPolicy, Roots } from "./roots/roots.js";
import { rootsOfRuns } from "./roots/roots-of-runs.js";
import { RunManager } from "./runs/run-manager.js";

const identitySchema = z.object({ storeId: z.uuid(), taskQueue: z.string().min(1) });

/** The service's private directory (contracts §3). */
export interface Store {
  readonly dir: string;
  readonly storeId: string;
  readonly taskQueue: string;
  readonly packages: PackageStore;
  readonly runs: RunManager;
  /** Which directories runs may open. */
  readonly roots: Roots;
  /** Kernel lock files of the sandbox; outside every mount. */
  readonly lockDir: string;
}

/**
 * Opens a store, making it when it is new. A store keeps the task queue it was made with; `taskQueue` sets
 * that of a new one, `policy` what is permitted and what is kept out beside the registered roots. Throws when `store.json` or
 * `roots.json` is damaged or the directory cannot be written.
 */
export async function openStore(
  path: string,
  taskQueue = "interlock",
  policy: RootPolicy = {},
): Promise<Store> {
  const dir = resolve(path);
  await mkdir(dir, { recursive: true, mode: 0o700 });
  // A directory that holds other things already keeps its mode: it may be anybody's. What we put there is private.
  if ((await readdir(dir)).length === 0) await chmod(dir, 0o700);
  rememberStore(dir);
  const identity = await withFileLock(join(dir, "store.lock"), () => readOrMakeIdentity(dir, taskQueue));
  const packages = openPackageStore(dir);
  const runs = new RunManager(dir, packages);
  const roots = new Roots(dir, policy);
  await roots.begin(() => rootsOfRuns(runs));
  return { dir, ...identity, packages, runs, roots, lockDir: join(dir, "locks") };
}

/**
 * What a store is known by, for whoever only looks at it: nothing is made or changed. Undefined where there is no store; throws when
 * `store.json` is damaged.
 */
export async function readStoreIdentity(
  dir: string,
): Promise<Pick<Store, "storeId" | "taskQueue"> | undefined> {
  rememberStore(dir);
  return readIdentity(join(dir, "store.json"));
}

async function readOrMakeIdentity(dir: string, taskQueue: string) {
  const path = join(dir, "store.json");
  const known = await readIdentity(path);
  if (known !== undefined) return known;
  const identity = { storeId: randomUUID(), taskQueue };
  await writeFileAtomic(path, `${JSON.stringify(identity, undefined, 2)}\n`);
  return identity;
}

async function readIdentity(path: string) {
  const text = await readOwnText(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  try {
    return identitySchema.parse(JSON.parse(text));
  } catch {
    throw new Error(
      `${path} is damaged: it must hold the store's id and task queue. Restore it from a backup.`,
    );
  }
}
