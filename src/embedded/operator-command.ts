import { NO_DIRECTORY, temporalEnvironment } from "./helper-environment.js";
import { IGNORE_USER_CONFIG, runCommand } from "./run-command.js";

const COMMAND_TIMEOUT_MS = 15_000;

/** A namespace of a server, and the CLI that it is looked after with. */
export interface OperatedNamespace {
  readonly cliPath: string;
  readonly address: string;
  readonly namespace: string;
}

/** Runs `temporal operator …` on a namespace, and returns what it prints. */
export function operatorCommand(
  { cliPath, address, namespace }: OperatedNamespace,
  args: readonly string[],
  signal: AbortSignal | undefined,
): Promise<string> {
  const where = ["--address", address, "--namespace", namespace, ...IGNORE_USER_CONFIG];
  return runCommand(cliPath, ["operator", ...args, ...where], {
    timeoutMs: COMMAND_TIMEOUT_MS,
    signal,
    cwd: NO_DIRECTORY,
    env: temporalEnvironment(),
  });
}
