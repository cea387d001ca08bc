import { z } from "zod";
import { sha256Schema } from "../../core/sha256.js";

/** The file that makes a folder a backup: it is written last. */
export const MANIFEST_FILE = "manifest.json";
/** The folder of a backup with everything else in it. */
export const PARTS_FOLDER = "parts";

const pieceSchema = z.object({ sha256: sha256Schema, bytes: z.int().min(0) });
/** A stretch of a file, or all of it: a file of a backup, named by its SHA-256. */
export type Piece = z.infer<typeof pieceSchema>;

const fileSchema = z.object({
  /** Below the part's folder, with `/` between names. */
  path: z.string().refine((path) => isPlainPath(path), "is no path below a folder"),
  pieces: z.array(pieceSchema),
  /** What tells that the store's file is the same one still. Absent where it had changed just before. */
  stamp: z.string().optional(),
  /** When it was changed last. Absent in backups of earlier versions. */
  mtimeMs: z.number().optional(),
});
export type BackupFile = z.infer<typeof fileSchema>;

export const partSchema = z.object({
  files: z.array(fileSchema),
  /** Folders, each after the one that it lies in: a run has some before it has files in them. Backups of earlier versions name none. */
  folders: z.array(fileSchema.shape.path).default([]),
  /** Of a package: when it was installed, the time of its folder. Absent in backups of earlier versions. */
  mtimeMs: z.number().optional(),
});
/** The files of a part as they stood at one moment. */
export type BackupPart = z.infer<typeof partSchema>;

const manifestSchema = z.object({
  format: z.literal(1),
  storeId: z.uuid(),
  /** ISO time. */
  takenAt: z.string(),
  parts: z.array(
    z.object({ part: z.string().refine(isPartName, "is no part of a store"), sha256: sha256Schema }),
  ),
});
/** What a backup holds: its parts, each by the SHA-256 of the piece that lists its files. */
export type BackupManifest = z.infer<typeof manifestSchema>;

export const sealedManifestSchema = z.object({ sha256: sha256Schema, manifest: manifestSchema });

/** The store's own files. */
export const STORE_PART = "store";

const PART = /^(?:store|packages\/[^/\0]+|projects\/[a-z0-9-]{1,80}(?:\/runs\/[0-9a-f-]{36})?)$/;

function isPartName(text: string): boolean {
  return PART.test(text) && isPlainPath(text);
}

/** Where the files of a part lie in a store, as names from its directory on. */
export function folderOfPart(part: string): readonly string[] {
  return part === STORE_PART ? [] : part.split("/");
}

/** Whether a part is a run's, in which no other part lies. */
export function isRun(part: string): boolean {
  return part.includes("/runs/");
}

/** Whether a path leads nowhere but below its folder. A backslash is part of a name, except on Windows. */
export function isPlainPath(path: string, platform: NodeJS.Platform = process.platform): boolean {
  const barred = platform === "win32" ? /[\\:\0]/ : /\0/;
  return path.split("/").every((name) => name !== "" && name !== "." && name !== ".." && !barred.test(name));
}
