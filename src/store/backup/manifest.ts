import { join } from "node:path";
import { canonicalJson } from "../../core/canonical-json.js";
import { systemCode } from "../../core/system-code.js";
import { readOwnText, standsThere } from "../disk/own-file.js";
import { sha256 } from "../disk/sha256.js";
import {
  type BackupManifest,
  type BackupPart,
  MANIFEST_FILE,
  PARTS_FOLDER,
  folderOfPart,
  partSchema,
  sealedManifestSchema,
  STORE_PART,
} from "./backup-format.js";
import { DamagedPiece, Pieces } from "./pieces.js";

/** A backup cannot be made or used. The message says what to do. */
export class BackupError extends Error {}

/** Where a store or a backup was looked for, there is none: another place was meant. */
export class NothingThere extends BackupError {}

/** Throws `BackupError` where there is none, and where it is damaged; what the system says, where it cannot be read. */
export async function readManifest(dir: string): Promise<BackupManifest> {
  const path = join(dir, MANIFEST_FILE);
  if (!standsThere(path)) {
    throw new NothingThere(`There is no backup in ${dir}: it has no ${MANIFEST_FILE}.`);
  }
  try {
    const { manifest, sha256: said } = sealedManifestSchema.parse(JSON.parse(await readOwnText(path)));
    if (digestOf(manifest) === said) return manifest;
  } catch (error) {
    if (systemCode(error) !== undefined) throw error; // what cannot be read now may be whole
  }
  throw new BackupError(
    `${path} is damaged, or of a later version: what the backup holds is not known. Make another one in an empty folder.`,
  );
}

export function piecesOf(dir: string, part: string): Pieces {
  return new Pieces(join(dir, PARTS_FOLDER, ...(part === STORE_PART ? [STORE_PART] : folderOfPart(part))));
}

/** The files of a part. Throws `DamagedPiece`. */
export function readPart(pieces: Pieces, hash: string): BackupPart {
  const text = pieces.readText({ sha256: hash, bytes: Number.MAX_SAFE_INTEGER });
  try {
    return partSchema.parse(JSON.parse(text));
  } catch (error) {
    const why =
      "is no list of files: damaged, of a later version, or with names that this system does not take";
    throw new DamagedPiece(`${join(pieces.dir, hash)} ${why}.`, { cause: error });
  }
}

function digestOf(manifest: BackupManifest): string {
  return sha256(canonicalJson(manifest));
}

export function sealed(manifest: BackupManifest): string {
  return `${JSON.stringify({ sha256: digestOf(manifest), manifest })}\n`;
}
