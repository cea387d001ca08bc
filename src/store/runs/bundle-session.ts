import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { chmod, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { jsonFile } from "../../core/json.js";
import { z } from "zod";
import { type Failed, type Result, fail, ok } from "../../core/errors.js";
import { removeTemporaries, syncDirectory, writeFileAtomic } from "../disk/atomic-file.js";
import { readOwnFile } from "../disk/own-file.js";
import { type HeldLock, NO_LOCK } from "../disk/fenced-lock.js";
import { isDenied, requireSystemCode, systemCode, unreadNow } from "../../core/system-code.js";
import { notMade } from "./not-made.js";

/** The file that says what a session is and what it holds; the runtime alone writes it. */
export const MANIFEST_NAME = "manifest.json";

const MAX_MANIFEST_BYTES = 4 * 1024 * 1024;
const MANIFEST = `{session-folder}/${MANIFEST_NAME}`;
/** What the system says where none is, or something else in its place. */
const NO_MANIFEST: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR", "ELOOP"]);
/** Left for what changes when no file is added. */
const ROOM_BYTES = 64 * 1024;
/** More files than this are not saved in one session. */
const MAX_FILES = 1000;

/** Loose: what a later version has written beside stays. */
const manifestSchema = z.looseObject({
  sessionId: z.string(),
  runId: z.string(),
  /** Variable form. */
  workflow: z.string(),
  agent: z.string().nullable(),
  status: z.enum(["running", "complete", "failed"]),
  createdAt: z.string(),
  updatedAt: z.string(),
  completedAt: z.string().optional(),
  outputs: z.array(
    z.looseObject({
      declared: z.string(),
      saveAs: z.string(),
      isExact: z.boolean(),
      isOptional: z.literal(true).exactOptional(),
    }),
  ),
  /** Paths are relative to the session folder, sizes in bytes. */
  files: z.array(z.looseObject({ path: z.string(), size: z.int(), sha256: z.string(), savedAt: z.string() })),
});

/** `manifest.json` of a session folder (contracts §13). Times are ISO, UTC. */
export type SessionManifest = z.infer<typeof manifestSchema>;
export type SessionStatus = SessionManifest["status"];
export type SessionFile = SessionManifest["files"][number];

/** Where a session lies: `<outputRoot>/<sessionId>`. */
export interface SessionPlace {
  readonly outputRoot: string;
  readonly sessionId: string;
}

export function sessionDir({ outputRoot, sessionId }: SessionPlace): string {
  return join(outputRoot, sessionId);
}

/**
 * Makes a session folder with its manifest in one step, in an output root that is there. For the run that has it already, it is that session again, so that
 * what a crash cut short can be repeated. Faults: `E_PRECONDITION_FAILED` when the id belongs to something else,
 * `E_PROJECT_INVALID` when the folder cannot be made, `E_INTERNAL` when it cannot be made or read now.
 */
export async function openSessionFolder(
  place: SessionPlace,
  manifest: SessionManifest,
): Promise<Result<SessionManifest>> {
  const final = sessionDir(place);
  const prefix = `.session-${manifest.runId}-`;
  const staging = join(place.outputRoot, `${prefix}${randomBytes(6).toString("hex")}`);
  try {
    if (!(await exists(final))) {
      mkdirSync(staging);
      await writeManifest(staging, manifest);
      // On top of a folder that holds anything this fails: of two runs at once, one gets the id.
      await rename(staging, final);
    }
  } catch (error) {
    // Whoever was first has made it, and cleared away what a second attempt of the same run was about to put there.
    if (!(await exists(final))) {
      return notMade("The session folder", "Check the output directory's permissions.", error);
    }
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
  const known = await standingManifest(final);
  if (!known.ok) return known;
  if (known.value?.runId !== manifest.runId) {
    return fail(
      "E_PRECONDITION_FAILED",
      `The session id "${place.sessionId}" is taken. Choose another, or none.`,
    );
  }
  try {
    await syncDirectory(place.outputRoot); // who made it may have died first
  } catch (error) {
    return notMade("The session folder", "Check the output directory's permissions.", error);
  }
  // What an attempt that was cut short has left.
  for (const name of await readdir(place.outputRoot)) {
    if (name.startsWith(prefix)) await rm(join(place.outputRoot, name), { recursive: true, force: true });
  }
  return ok(known.value);
}

async function exists(path: string): Promise<boolean> {
  return readdir(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== "ENOENT",
  );
}

/** Fault: `E_INTERNAL` when the manifest is missing or damaged, or cannot be read now. */
export async function readManifest(dir: string): Promise<Result<SessionManifest>> {
  const found = await standingManifest(dir);
  if (!found.ok) return found;
  return found.value === undefined ? noManifest() : ok(found.value);
}

export function noManifest(): Failed {
  return fail("E_INTERNAL", `${MANIFEST} is missing or damaged.`);
}

/** Undefined where it is missing, damaged or no file of ours. Fault: `E_INTERNAL` when it cannot be read now: then nobody knows. */
export async function standingManifest(dir: string): Promise<Result<SessionManifest | undefined>> {
  let bytes: Buffer;
  try {
    bytes = await readOwnFile(join(dir, MANIFEST_NAME), MAX_MANIFEST_BYTES);
  } catch (error) {
    const code = requireSystemCode(error);
    return NO_MANIFEST.has(code) ? ok(undefined) : fail("E_INTERNAL", unreadNow(MANIFEST, code));
  }
  try {
    return ok(manifestSchema.parse(JSON.parse(bytes.toString("utf8"))));
  } catch {
    return ok(undefined);
  }
}

/** Changes the manifest; the caller holds the run's lock. Faults: `E_INTERNAL`, `E_WRITE_LIMIT`. */
async function changeManifest(
  dir: string,
  lock: HeldLock,
  change: (manifest: SessionManifest) => SessionManifest,
): Promise<Result<SessionManifest>> {
  const known = await readManifest(dir);
  if (!known.ok) return known;
  const next = change(known.value);
  if (next.files.length > MAX_FILES) {
    return fail("E_WRITE_LIMIT", `A session holds ${MAX_FILES} files at most. Put more into one file.`);
  }
  const isLonger = next.files.length > known.value.files.length;
  if (isLonger && Buffer.byteLength(jsonFile(next)) > MAX_MANIFEST_BYTES - ROOM_BYTES) {
    return fail(
      "E_WRITE_LIMIT",
      "The names of the session's files are too long together. Save under a shorter one, or put more into one file.",
    );
  }
  if (next !== known.value) await writeManifest(dir, next, lock);
  else await syncDirectory(dir); // who wrote it may have died first
  return ok(next);
}

/** Adds or replaces a file's entry. The caller holds the run's lock. Faults: `E_INTERNAL`, `E_WRITE_LIMIT`. */
export function recordSessionFile(
  dir: string,
  file: SessionFile,
  lock: HeldLock,
): Promise<Result<SessionManifest>> {
  return changeManifest(dir, lock, (manifest) => {
    const same = manifest.files.find(({ path }) => path === file.path);
    if (same?.sha256 === file.sha256) return manifest;
    const files = manifest.files.map((known) => (known.path === file.path ? file : known));
    return { ...manifest, updatedAt: file.savedAt, files: same === undefined ? [...files, file] : files };
  });
}

/** Says how a session stands; a complete one stays so. The caller holds the run's lock. Fault: `E_INTERNAL`. */
export function markSessionFolder(
  dir: string,
  status: SessionStatus,
  now: Date,
  lock: HeldLock,
): Promise<Result<SessionManifest>> {
  return changeManifest(dir, lock, (manifest) => {
    if (manifest.status === "complete" || manifest.status === status) return manifest;
    const at = now.toISOString();
    return { ...manifest, status, updatedAt: at, ...(status === "complete" ? { completedAt: at } : {}) };
  });
}

/** Ends what a holder of the run's lock before us may still be about to write. The caller holds the lock. */
export function endManifestWrites(dir: string): void {
  removeTemporaries(join(dir, MANIFEST_NAME));
}

async function writeManifest(
  directory: string,
  manifest: SessionManifest,
  lock: HeldLock = NO_LOCK,
): Promise<void> {
  const path = join(directory, MANIFEST_NAME);
  await writeFileAtomic(path, jsonFile(manifest), lock);
  // It lies among the user's own files. Where modes are those of the mount, as on shares, it has theirs.
  await chmod(path, 0o644).catch((error: unknown) => {
    if (!isDenied(systemCode(error))) throw error;
  });
}
