import type { Command } from "commander";
import type { AttestOptions, VerifyOptions } from "./commands/attest.js";
import type { CodecServerCommand } from "./commands/codec-server.js";
import type { ExitCode } from "./output.js";

type Finish = (code: ExitCode) => void;

/** The commands about what others are to believe or not to read: proofs of runs, sealed histories. Each is loaded when it is called. */
export function addTrustCommands(program: Command, finish: Finish): void {
  const attest = program
    .command("attest <runId>")
    .enablePositionalOptions() // `attest verify --key` is the key that verify wants
    .description("sign a statement about how a run that is over went (in-toto, DSSE)")
    .option("--key <file>", "a private Ed25519 key in PEM; several sign together", listed)
    .option("--output <file>", "a new file for it (default: standard output)")
    .action(async (runId: string, options: AttestOptions) =>
      finish(await (await import("./commands/attest.js")).attestCommand(runId, options)),
    );
  attest
    .command("verify <file>")
    .description(
      "check such a statement: signature, path and, with --project or --session, the artifacts; offline",
    )
    .option("--key <file>", "the public key in PEM; of several each must have signed", listed)
    .option("--project <dir>", "where the artifacts lie")
    .option("--session <dir>", "a bundle run's session folder, where it lies in no project")
    .option("--json", "print JSON for programs")
    .action(async (file: string, options: VerifyOptions) =>
      finish(await (await import("./commands/attest.js")).attestVerifyCommand(file, options)),
    );
  program
    .command("codec-server")
    .description(
      "lets Temporal's Web UI and command line read sealed histories, on this machine, in the foreground",
    )
    .option("--port <n>", "default: 8877")
    .option("--origin <address>", "where the Web UI is opened from (default: INTERLOCK_WEB_UI)", listed)
    .action(async (options: CodecServerCommand) =>
      finish(await (await import("./commands/codec-server.js")).codecServerCommand(options)),
    );
}

function listed(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}
