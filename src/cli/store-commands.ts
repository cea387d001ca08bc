import type { Command } from "commander";
import type { CollectOptions } from "./commands/prune.js";
import type { BackupOptions } from "./commands/store.js";
import type { ExitCode } from "./output.js";

type Finish = (code: ExitCode) => void;
const JSON_OPTION = ["--json", "print JSON for programs"] as const;

/** The commands about stores as such. Each is loaded when it is called. */
export function addStoreCommands(program: Command, finish: Finish): void {
  program
    .command("stores")
    .description("list the stores that workers have made known to Temporal")
    .option(...JSON_OPTION)
    .action(async (options: { json?: boolean }) =>
      finish(await (await import("./commands/stores.js")).storesCommand(options)),
    );
  const store = program.command("store").description("the store at hand");
  store
    .command("backup <dir>")
    .description("bring a backup of the store up to date, or make one; runs go on meanwhile")
    .option("--store <dir>", "another store's directory than the one at hand")
    .option(...JSON_OPTION)
    .action(async (dir: string, options: BackupOptions) =>
      finish(await (await import("./commands/store.js")).storeBackupCommand(dir, options)),
    );
  store
    .command("restore <dir>")
    .description("put the store of a backup into an empty folder")
    .requiredOption("--to <dir>", "the folder")
    .option(...JSON_OPTION)
    .action(async (dir: string, options: { to: string; json?: boolean }) =>
      finish(await (await import("./commands/store.js")).storeRestoreCommand(dir, options)),
    );
  store
    .command("gc")
    .description("remove what no run of the store refers to: packages, uploads, what was cut short")
    .option("--grace <time>", "leave what is younger than that: 30m, 2h, 3d, 1w (default: 1d)")
    .option("--dry-run", "say what would go, and remove nothing")
    .option(...JSON_OPTION)
    .action(async (options: CollectOptions) =>
      finish(await (await import("./commands/prune.js")).storeGcCommand(options)),
    );
  store
    .command("name [name]")
    .description("show its name, or give it another one")
    .option(...JSON_OPTION)
    .action(async (name: string | undefined, options: { json?: boolean }) =>
      finish(await (await import("./commands/stores.js")).storeNameCommand(name, options)),
    );
}
