import { randomUUID } from "node:crypto";
import { chmod, readdir } from "node:fs/promises";
import { hostname } from "node:os";
import { join, resolve } from "node:path";
import { jsonFile } from "../core/json.js";
import { z } from "zod";
import { type Result, fail, ok } from "../core/errors.js";
import { syncDirectory, writeFileAtomic } from "./disk/atomic-file.js";
import { withFileLock } from "./disk/fenced-lock.js";
import { makeFolders } from "./disk/make-folders.js";
import { readOwnText, rememberStore, standsThere } from "./disk/own-file.js";
import { type PackageStore, openPackageStore } from "./packages/package-store.js";
import { type RootPolicy, Roots } from "./roots/roots.js";
import { rootsOfRuns } from "./roots/roots-of-runs.js";
import { RunManager } from "./runs/run-manager.js";

/** Here a restore puts a store together. Beside a `store.json` it is what was left to be cleared up. */
export const RESTORING_FOLDER = ".restoring";
/** How it is cleared by whoever is not root. */
export const CLEARING =
  "make it writable (its packages are read-only: chmod -R u+w), remove what lies in it, names with a dot as well,";

const MAX_STORE_NAME_CHARS = 60;
const nameSchema = z
  .string()
  .max(MAX_STORE_NAME_CHARS)
  .regex(/^[\p{L}\p{N}](?:[\p{L}\p{N} ._-]*[\p{L}\p{N}])?$/u);

/** Loose: what a later version has written beside stays when the store is renamed. */
const identitySchema = z.looseObject({
  storeId: z.uuid(),
  taskQueue: z.string().min(1),
  /** What people call it. */
  name: nameSchema.optional().catch(undefined),
});

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

export interface OpenOptions {
  /** It is looked at: a store that stands there may be on a file system that is read-only, as after an error of the disk. */
  readonly isLook?: boolean;
}

/**
 * Opens a store, making it when it is new; one that has lost its `store.json` is what its runs call it. A store keeps the task queue it was
 * made with; `taskQueue` sets that of a new one, `policy` what is permitted and what is kept out beside the registered roots. Throws when `store.json` or
 * `roots.json` is damaged, the directory cannot be written, or a restore into it has not come to its end.
 */
export async function openStore(
  path: string,
  taskQueue = "interlock",
  policy: RootPolicy = {},
  { isLook = false }: OpenOptions = {},
): Promise<Store> {
  const dir = resolve(path);
  await makeFolders(dir, 0o700);
  // A directory that holds other things already keeps its mode: it may be anybody's. What we put there is private.
  const names = await readdir(dir);
  if (names.length === 0) await chmod(dir, 0o700);
  refuseHalf(dir, names);
  rememberStore(dir);
  const packages = openPackageStore(dir);
  const runs = new RunManager(dir, packages);
  const known = isLook ? await readIdentity(join(dir, "store.json")) : undefined;
  const identity = known ?? (await withFileLock(lockOf(dir), () => readOrMakeIdentity(dir, taskQueue, runs)));
  if (known === undefined) await syncDirectory(dir); // who put there what stands there may have died first
  const roots = new Roots(dir, policy);
  await roots.begin(() => rootsOfRuns(runs));
  const { storeId, taskQueue: queue } = identity;
  return { dir, storeId, taskQueue: queue, packages, runs, roots, lockDir: join(dir, "locks") };
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

/** Whether a store stands there: by its own file or, where that is lost, by a project with an index of runs. Nothing is made. */
export async function isStore(dir: string): Promise<boolean> {
  if ((await readStoreIdentity(dir)) !== undefined) return true;
  const projects = join(dir, "projects");
  const names = await readdir(projects).catch(() => []);
  const indexes = ["runs.jsonl", "runsIndex.json"];
  return names.some((name) => indexes.some((index) => standsThere(join(projects, name, index))));
}

/** What people call a store: the name it was given, else its first host's and the beginning of its id. */
export async function readStoreName(dir: string): Promise<string> {
  const identity = await readIdentity(join(dir, "store.json"));
  return identity?.name ?? defaultName(identity?.storeId ?? "");
}

/**
 * Gives a store another name; its workers say it within seconds. Fault: `E_SCHEMA_VALIDATION` for what is no name, or could be taken
 * for an id.
 */
export async function renameStore(dir: string, name: string): Promise<Result<string>> {
  if (!nameSchema.safeParse(name).success || z.uuid().safeParse(name).success) {
    const rule = `A store's name has letters, digits, spaces, "-", "_" and ".", ${MAX_STORE_NAME_CHARS} characters at most, and is no id.`;
    return fail("E_SCHEMA_VALIDATION", rule);
  }
  const path = join(dir, "store.json");
  await withFileLock(lockOf(dir), async () => {
    const known = await readIdentity(path);
    if (known !== undefined) await writeIdentity(path, { ...known, name });
  });
  return ok(name);
}

function refuseHalf(dir: string, names: readonly string[]): void {
  if (!names.includes(RESTORING_FOLDER) || names.includes("store.json")) return;
  throw new Error(
    `A restore into ${dir} was cut short, or is under way. When it is not: ${CLEARING} and restore again.`,
  );
}

function defaultName(storeId: string): string {
  const host = hostname()
    .replace(/[^A-Za-z0-9-]/g, "-")
    .replace(/^-+/, "")
    .slice(0, 40);
  return `${host || "store"}-${storeId.slice(0, 4)}`;
}

function lockOf(dir: string): string {
  return join(dir, "store.lock");
}

async function writeIdentity(path: string, identity: z.infer<typeof identitySchema>): Promise<void> {
  await writeFileAtomic(path, jsonFile(identity));
}

async function readOrMakeIdentity(dir: string, taskQueue: string, runs: RunManager) {
  const path = join(dir, "store.json");
  const known = await readIdentity(path);
  if (known !== undefined) return known;
  const storeId = (await idByRuns(runs)) ?? randomUUID();
  const identity = { storeId, taskQueue, name: defaultName(storeId) };
  await writeIdentity(path, identity);
  return identity;
}

/** What its newest run calls a store that has lost its own file: under another id none of its runs would go on. */
async function idByRuns(runs: RunManager): Promise<string | undefined> {
  for (const { projectId, runId } of (await runs.surveyIndexes()).runs.toReversed()) {
    const files = await runs.openFiles(projectId, runId);
    const request = files.ok ? await files.value.request.read() : undefined;
    const id = z.uuid().safeParse(request?.input["storeId"]);
    if (id.success) return id.data;
  }
  return undefined;
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
