import { closeSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { jsonFile } from "../core/json.js";
import { z } from "zod";
import { openOwnFile, readOwnFileSync } from "../store/disk/own-file.js";

/** The files of the embedded server, all in the directory of its store. */
export interface ServerFiles {
  readonly storeDir: string;
  readonly database: string;
  /** Standard output and error of the server, which holds this file locked for as long as it lives. */
  readonly log: string;
  /** Which process the server is, and where it serves. */
  readonly record: string;
  /** Everybody who uses the server holds this locked, shared; whoever gets it alone is the last. */
  readonly users: string;
  /** Held, exclusively, while the server is looked for, started or stopped. */
  readonly turn: string;
}

export function serverFiles(storeDir: string): ServerFiles {
  return {
    storeDir,
    database: join(storeDir, "temporal.db"),
    log: join(storeDir, "temporal-server.log"),
    record: join(storeDir, "temporal-server.json"),
    users: join(storeDir, "temporal-server.users"),
    turn: join(storeDir, "temporal-server.lock"),
  };
}

const processSchema = z.object({
  pid: z.number().int().gt(1), // a signal to group 1 would reach everybody
  identity: z.string(),
});

/** Earlier versions read this as well: what they know keeps its meaning for them. */
const serverRecordSchema = processSchema.extend({
  address: z.string(),
  port: z.number().int(),
  /** Where the Web UI is announced. */
  uiPort: z.number().int(),
  /** What stands before the Web UI; absent for one that an earlier version started. */
  front: z
    .object({
      /** Where the Web UI itself listens. */
      uiHost: z.string(),
      uiPort: z.number().int(),
      /** Null until one was started. */
      gate: processSchema.nullable(),
    })
    .optional(),
  cliPath: z.string(),
  cliVersion: z.string(),
  /** Those known to be registered. */
  searchAttributes: z.array(z.string()),
  /** False until a new database has served once: one that never did may be half made. */
  established: z.boolean(),
});

export type ServerRecord = Readonly<z.infer<typeof serverRecordSchema>>;

/** Null when there is none, or none that can be read. */
export function readServerRecord(files: ServerFiles): ServerRecord | null {
  try {
    const parsed = serverRecordSchema.safeParse(JSON.parse(readOwnFileSync(files.record).toString("utf8")));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}

/** Synchronous, so that hardly anything fits between a start and its record. */
export function writeServerRecord(files: ServerFiles, record: ServerRecord): void {
  const temporary = `${files.record}.tmp`; // one writer at a time: whoever has the turn
  rmSync(temporary, { force: true });
  const fd = openOwnFile(temporary, "create");
  try {
    writeFileSync(fd, jsonFile(record));
  } finally {
    closeSync(fd);
  }
  renameSync(temporary, files.record);
}

export function removeServerRecord(files: ServerFiles): void {
  rmSync(files.record, { force: true });
}
