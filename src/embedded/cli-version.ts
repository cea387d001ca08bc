import { NO_DIRECTORY, temporalEnvironment } from "./helper-environment.js";
import { innerReason, runCommand } from "./run-command.js";

/** The oldest Temporal CLI whose server has what Interlock uses. */
export const MINIMUM_CLI_VERSION = "1.9";

const VERSION_TIMEOUT_MS = 10_000;

export type CliCheck =
  | { readonly usable: true; readonly version: string }
  | { readonly usable: false; readonly reason: string };

/** Runs `<path> --version` and says whether the CLI is new enough, or why it is of no use. */
export async function checkCli(path: string, signal?: AbortSignal): Promise<CliCheck> {
  let output: string;
  try {
    output = await runCommand(path, ["--version"], {
      timeoutMs: VERSION_TIMEOUT_MS,
      signal,
      cwd: NO_DIRECTORY,
      env: temporalEnvironment(),
    });
  } catch (error) {
    signal?.throwIfAborted();
    return { usable: false, reason: `\`${path} --version\` failed: ${innerReason(error)}` };
  }
  const version = /^temporal version v?(\d+\.\d+\.\d+\S*)/m.exec(output)?.[1];
  if (version === undefined) {
    return { usable: false, reason: `${path} does not answer \`--version\` as the Temporal CLI does` };
  }
  if (!isNewEnough(version)) {
    return { usable: false, reason: `${path} is version ${version}, older than ${MINIMUM_CLI_VERSION}` };
  }
  return { usable: true, version };
}

function isNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [wantedMajor = 0, wantedMinor = 0] = MINIMUM_CLI_VERSION.split(".").map(Number);
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
}
