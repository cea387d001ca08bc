import { resolve } from "node:path";
import { counted, shellWord } from "../../core/text.js";
import { loadConfig } from "../../config.js";
import { backupStore } from "../../store/backup/backup-store.js";
import { BackupError, NothingThere } from "../../store/backup/manifest.js";
import type { BackupReport } from "../../store/backup/one-backup.js";
import { tellOfWaits } from "../session/lock-waits.js";
import { type RestoreReport, restoreStore } from "../../store/backup/restore-store.js";
import { isOpenToRuns } from "../session/open-to-runs.js";
import {
  CommandError,
  EXIT,
  type ExitCode,
  UsageError,
  print,
  printJson,
  printNote,
} from "../terminal/output.js";
import { countAloud } from "../terminal/count-aloud.js";

interface BackupOptions {
  readonly store?: string;
  readonly json?: boolean;
}

/** `interlock store backup`: needs neither Temporal nor a pause of the runs. What could not be taken makes the exit code 1. */
export async function storeBackupCommand(dir: string, options: BackupOptions): Promise<ExitCode> {
  const { storeDir, roots } =
    options.store === undefined ? loadConfig() : { storeDir: options.store, roots: {} };
  const report = await orSayWhy(
    () =>
      backupStore(
        resolve(storeDir),
        resolve(dir),
        countAloud((parts) => `${parts} runs and packages are looked at …`),
      ),
    options.store === undefined ? "INTERLOCK_STORE says where it is." : "Name another one with --store.",
  );
  if (options.json === true) printJson({ dir: resolve(dir), ...report });
  else for (const line of linesOf(report, resolve(dir))) print(line);
  for (const { part, why } of report.notTaken) {
    printNote(`Not taken; its former backup stays, if there is one: ${part}: ${why}`);
  }
  if (isOpenToRuns(resolve(dir), resolve(storeDir), roots)) {
    printNote(
      `Runs may work in ${resolve(dir)}: a model can read this backup there, and change what a restore brings back. Back up to a folder outside of every project.`,
    );
  }
  return report.notTaken.length === 0 ? EXIT.done : EXIT.failed;
}

/** `interlock store restore`: a store as it was backed up. Nothing is started. */
export async function storeRestoreCommand(
  dir: string,
  { to, json = false }: { readonly to: string; readonly json?: boolean },
): Promise<ExitCode> {
  const target = resolve(to);
  const report = await orSayWhy(
    () =>
      restoreStore(
        resolve(dir),
        target,
        loadConfig().roots,
        countAloud((parts, of) => `${parts} of ${of} runs and packages are put back …`),
      ),
    "Name the folder that interlock store backup was given.",
  );
  if (json) printJson({ dir: target, ...report });
  else tell(report, target);
  return EXIT.done;
}

function linesOf({ runs, packages, copied, bytes }: BackupReport, dir: string): readonly string[] {
  const holds = `${counted(runs, "run")} and ${counted(packages, "package")}, ${sizeOf(bytes)}`;
  const news =
    copied.pieces === 0
      ? "Nothing was new."
      : `New or grown were ${counted(copied.pieces, "file")}, ${sizeOf(copied.bytes)}.`;
  return [`${dir} holds ${holds}. ${news}`];
}

function tell({ storeId, takenAt, runs, bytes, ...registered }: RestoreReport, dir: string): void {
  const { roots, missingRoots, rootsLost } = registered;
  const there = `INTERLOCK_STORE=${shellWord(dir, "<store>")} interlock`;
  print(
    `The store ${storeId}, as it was at ${takenAt}, is in ${dir}: ${counted(runs, "run")}, ${sizeOf(bytes)}.`,
  );
  for (const path of roots) print(`Runs of it may open ${path}`);
  if (rootsLost) {
    const why = "The backup has no list of registered directories, or a damaged one";
    printNote(`${why}: runs open none. Register each again: ${there} project add <dir>`);
  }
  for (const { path, why } of missingRoots) {
    const add = `${there} project add ${shellWord(path, "<dir>")}`;
    printNote(`Not registered here: ${path} (${why}). When that is mended: ${add}`);
  }
  printNote("No other worker may work on another copy of this store: end them first.");
  printNote(`Start a worker on it: ${there} worker`);
}

/** What is waited for is said too: another backup may take minutes. `otherwise`: how another place is named where there is nothing. */
async function orSayWhy<T>(work: () => Promise<T>, otherwise: string): Promise<T> {
  tellOfWaits();
  try {
    return await work();
  } catch (error) {
    if (error instanceof NothingThere)
      throw new UsageError(`${error.message} ${otherwise}`, { cause: error });
    if (error instanceof BackupError) throw new CommandError(error.message, { cause: error });
    throw error;
  }
}

function sizeOf(bytes: number): string {
  if (bytes < 1000) return counted(bytes, "byte");
  return bytes < 1_000_000 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
