import { readdirSync } from "node:fs";
import { isAbsolute, relative } from "node:path";
import { realPathOf } from "../roots/root-places.js";
import { MANIFEST_FILE, PARTS_FOLDER } from "./backup-format.js";
import { BackupError } from "./manifest.js";

export function refuseNested(storeDir: string, dir: string): void {
  const [store, backup] = [realPathOf(storeDir) ?? storeDir, realPathOf(dir) ?? dir];
  for (const [outer, inner] of [
    [store, backup],
    [backup, store],
  ] as const) {
    const way = relative(outer, inner);
    if (way === "" || (!way.startsWith("..") && !isAbsolute(way))) {
      throw new BackupError(
        `A backup lies outside of its store, and its store outside of it. Name another folder than ${dir}.`,
      );
    }
  }
}

/** A folder with other things in it is nobody's backup. */
export function refuseForeign(dir: string): void {
  const foreign = readdirSync(dir).find(
    (name) => ![MANIFEST_FILE, PARTS_FOLDER, "backup.lock"].includes(name) && !name.startsWith(".tmp-"),
  );
  if (foreign === undefined) return;
  throw new BackupError(
    `${dir} holds other things than a backup ("${foreign}"). Name an empty folder, or a new one.`,
  );
}
