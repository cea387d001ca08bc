import type { Command } from "commander";
import { JSON_OPTION, eachTime } from "./options/common-options.js";
import type { WhenCalled } from "./when-called.js";

/** The commands about what others are to believe of a run. Each is loaded when it is called. */
export function addProofCommands(program: Command, whenCalled: WhenCalled): void {
  const attest = program
    .command("attest <runId>")
    .enablePositionalOptions() // `attest verify --key` is the key that verify wants
    .description("sign a statement about how a run that is over went (in-toto, DSSE)")
    .option("--key <file>", "a private Ed25519 key in PEM; several sign together", eachTime)
    .option("--output <file>", "a new file for it (default: standard output)")
    .action(whenCalled(async () => (await import("./commands/attest.js")).attestCommand));
  attest
    .command("verify <file>")
    .description(
      "check such a statement: signature, path and, with --project or --session, the artifacts; offline",
    )
    .option("--key <file>", "the public key in PEM; of several each must have signed", eachTime)
    .option("--project <dir>", "where the artifacts lie")
    .option("--session <dir>", "a bundle run's session folder, where it lies in no project")
    .option(...JSON_OPTION)
    .action(whenCalled(async () => (await import("./commands/attest.js")).attestVerifyCommand));
}

/** The command for who may read sealed histories. */
export function addSealCommands(program: Command, whenCalled: WhenCalled): void {
  program
    .command("codec-server")
    .description(
      "lets Temporal's Web UI and command line read sealed histories, on this machine, in the foreground",
    )
    .option("--port <n>", "default: 8877")
    .option("--host <address>", "where it listens, in a container whose port is published on 127.0.0.1")
    .option("--origin <address>", "where the Web UI is opened from (default: INTERLOCK_WEB_UI)", eachTime)
    .action(whenCalled(async () => (await import("./commands/codec-server.js")).codecServerCommand));
}
