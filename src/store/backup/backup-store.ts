import { join } from "node:path";
import { syncDirectory, writeFileAtomic } from "../disk/atomic-file.js";
import { rememberStore, standsThere } from "../disk/own-file.js";
import { readStoreIdentity } from "../store.js";
import { MANIFEST_FILE } from "./backup-format.js";
import { makeFolder, refuseForeign, refuseNested, sayingWhy, withBackupLock } from "./backup-places.js";
import { BackupError, NothingThere, readManifest, sealed } from "./manifest.js";
import { type BackupReport, OneBackup } from "./one-backup.js";

/**
 * Brings a backup of a store up to date, or makes one (docs/decisions/2026-11-22-store-backup.md). Runs may go on meanwhile.
 *
 * U1. The manifest is replaced last. Until then the former backup is whole: nothing that it holds is touched.
 * U2. Each run is taken as it stood at one moment (`take-part.ts`). The index of a project is taken before its runs, and those
 *     that it does not list are not; packages and roots after them. So what a file refers to is there. Where a run is pruned meanwhile,
 *     both are taken again.
 * U3. What is only in the former backup is removed after the manifest; what a kill leaves is removed by the next backup.
 *
 * `onPart` hears of each run and package that is looked at. Throws `BackupError`.
 */
export function backupStore(
  storeDir: string,
  dir: string,
  onPart: () => void = () => undefined,
): Promise<BackupReport> {
  return sayingWhy(`The backup in ${dir} could not be brought up to date`, () =>
    bringUpToDate(storeDir, dir, onPart),
  );
}

async function bringUpToDate(storeDir: string, dir: string, onPart: () => void): Promise<BackupReport> {
  const identity = await readStoreIdentity(storeDir);
  if (identity === undefined) throw new NothingThere(`There is no store in ${storeDir}.`);
  refuseNested(storeDir, dir);
  await makeFolder(dir);
  rememberStore(dir);
  refuseForeign(dir);
  return withBackupLock(dir, async () => {
    const former = standsThere(join(dir, MANIFEST_FILE)) ? await readManifest(dir) : undefined;
    if (former !== undefined) await syncDirectory(dir); // who took it may have died first: what it names no more is removed
    if (former !== undefined && former.storeId !== identity.storeId) {
      throw new BackupError(
        `${dir} is the backup of another store (${former.storeId}). Name another folder for this one.`,
      );
    }
    const backup = new OneBackup(storeDir, dir, former, onPart);
    await backup.takeAll();
    const manifest = {
      format: 1 as const,
      storeId: identity.storeId,
      takenAt: new Date().toISOString(),
      parts: backup.parts(),
    };
    await writeFileAtomic(join(dir, MANIFEST_FILE), sealed(manifest));
    await backup.clean();
    return backup.report(manifest);
  });
}
