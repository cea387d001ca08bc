import type { Command } from "commander";
import { JSON_OPTION } from "./options/common-options.js";
import type { WhenCalled } from "./when-called.js";

/** The commands about stores as such. Each is loaded when it is called. */
export function addStoreCommands(program: Command, whenCalled: WhenCalled): void {
  program
    .command("stores")
    .description("list the stores that workers have made known to Temporal")
    .option(...JSON_OPTION)
    .action(whenCalled(async () => (await import("./commands/stores.js")).storesCommand));
  const store = program.command("store").description("the store at hand");
  store
    .command("backup <dir>")
    .description("bring a backup of the store up to date, or make one; runs go on meanwhile")
    .option("--store <dir>", "another store's directory than the one at hand")
    .option(...JSON_OPTION)
    .action(whenCalled(async () => (await import("./commands/store.js")).storeBackupCommand));
  store
    .command("restore <dir>")
    .description("put the store of a backup into an empty folder")
    .requiredOption("--to <dir>", "the folder")
    .option(...JSON_OPTION)
    .action(whenCalled(async () => (await import("./commands/store.js")).storeRestoreCommand));
  store
    .command("gc")
    .description("remove what no run of the store refers to: packages, uploads, what was cut short")
    .option("--grace <time>", "leave what is younger than that: 30m, 2h, 3d, 1w (default: 1d)")
    .option("--dry-run", "say what would go, and remove nothing")
    .option(...JSON_OPTION)
    .action(whenCalled(async () => (await import("./commands/prune.js")).storeGcCommand));
  store
    .command("name [name]")
    .description("show its name, or give it another one")
    .option(...JSON_OPTION)
    .action(whenCalled(async () => (await import("./commands/stores.js")).storeNameCommand));
}
