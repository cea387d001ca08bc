import { closeSync, fstatSync, lstatSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Result, fail, ok } from "../core/errors.js";
import { withFileLock } from "./disk/fenced-lock.js";
import { isOwnFolder, openOwnFile, readOwnFile, standsThere } from "./disk/own-file.js";
import { sha256 } from "./disk/sha256.js";
import type { Store } from "./store.js";

/** A package that is handed over in pieces. */
export interface UploadPiece {
  /** Of the whole. */
  readonly sha256: string;
  readonly size: number;
  readonly offset: number;
  readonly bytes: Uint8Array;
}

type StoreOfUploads = Pick<Store, "dir">;

const MAX_UPLOADS = 16;
const UPLOAD_LIFE_MS = 60 * 60_000;

/**
 * Keeps a piece of an upload in `<store>/uploads/`, and returns how much of it is there: a piece that was kept before is not kept
 * again, and whoever was cut short goes on there. What nobody has installed within an hour is removed by the next upload.
 * Faults: `E_PRECONDITION_FAILED` for a piece that does not join on, `E_WRITE_LIMIT` for one beyond its size, or too many uploads.
 */
export async function keepPiece(store: StoreOfUploads, piece: UploadPiece): Promise<Result<number>> {
  if (piece.offset + piece.bytes.length > piece.size) {
    return fail("E_WRITE_LIMIT", "The piece goes beyond the upload's size.");
  }
  return exclusively(store, (dir) => {
    const path = pathOf(dir, piece);
    if (!standsThere(path) && removeOld(dir) >= MAX_UPLOADS) {
      return fail("E_WRITE_LIMIT", `There are ${MAX_UPLOADS} uploads under way. Try again later.`);
    }
    const fd = openOwnFile(path, "append");
    try {
      const { size } = fstatSync(fd);
      if (piece.offset > size) {
        return fail("E_PRECONDITION_FAILED", `The upload goes on at byte ${size}.`, { received: size });
      }
      const news = piece.bytes.subarray(size - piece.offset);
      if (news.length > 0) writeFileSync(fd, news);
      return ok(Math.max(size, piece.offset + piece.bytes.length));
    } finally {
      closeSync(fd);
    }
  });
}

/**
 * Hands the file of a whole upload to `take`, and removes it. Faults: `E_PRECONDITION_FAILED` for one that is not there, not whole,
 * or not what its hash says; then it is to be uploaded again.
 */
export async function takeUpload<T>(
  store: StoreOfUploads,
  upload: Pick<UploadPiece, "sha256" | "size">,
  take: (path: string) => Promise<Result<T>>,
): Promise<Result<T>> {
  return exclusively(store, async (dir) => {
    const path = pathOf(dir, upload);
    const bytes = standsThere(path) ? await readOwnFile(path, upload.size) : undefined;
    try {
      if (bytes !== undefined && sha256(bytes) === upload.sha256) return await take(path);
    } finally {
      rmSync(path, { force: true });
    }
    return fail(
      "E_PRECONDITION_FAILED",
      "The upload is not there, or is not what its hash says. Upload it again.",
    );
  });
}

/** Removes what nobody has installed within an hour, unless it `stays`; returns its names. */
export async function removeOldUploads(
  store: StoreOfUploads,
  { stays }: { readonly stays: boolean },
): Promise<readonly string[]> {
  const folder = join(store.dir, "uploads");
  if (!standsThere(folder)) return [];
  if (stays) return isOwnFolder(folder) ? oldIn(folder) : []; // whoever only looks may be where nothing can be written
  const names: string[] = [];
  await exclusively(store, (dir) => {
    names.push(...oldIn(dir));
    return ok(removeOld(dir));
  });
  return names;
}

function pathOf(dir: string, { sha256: hash, size }: Pick<UploadPiece, "sha256" | "size">): string {
  return join(dir, `${hash}-${size}.bmad`);
}

/** Returns how many are left. */
function removeOld(dir: string): number {
  for (const name of oldIn(dir)) rmSync(join(dir, name), { force: true });
  return uploadsIn(dir).length;
}

function oldIn(dir: string): readonly string[] {
  return uploadsIn(dir).filter((name) => {
    const entry = lstatSync(join(dir, name), { throwIfNoEntry: false });
    return entry === undefined || Date.now() - entry.mtimeMs > UPLOAD_LIFE_MS;
  });
}

function uploadsIn(dir: string): readonly string[] {
  return readdirSync(dir).filter((name) => name.endsWith(".bmad"));
}

async function exclusively<T>(
  { dir: storeDir }: StoreOfUploads,
  action: (dir: string) => Result<T> | Promise<Result<T>>,
): Promise<Result<T>> {
  const dir = join(storeDir, "uploads");
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  if (!isOwnFolder(dir)) return fail("E_INTERNAL", `${dir} is no folder of this store. Remove it.`);
  return withFileLock(join(storeDir, "uploads.lock"), async () => action(dir));
}
