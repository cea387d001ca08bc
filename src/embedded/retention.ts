import { z } from "zod";
import { NO_DIRECTORY, temporalEnvironment } from "./helper-environment.js";
import { IGNORE_USER_CONFIG, runCommand } from "./run-command.js";
import type { AttributeTarget } from "./search-attributes.js";

const COMMAND_TIMEOUT_MS = 15_000;
/** What the dev server gives its namespace by itself. */
const SERVERS_OWN = "86400s";
/** For so long an ended run can be looked at in the Web UI. */
const RETENTION = "30d";

const namespaceSchema = z.object({
  config: z.object({ workflowExecutionRetentionTtl: z.string() }),
});

/** Has ended runs kept for 30 days, where nobody has said for how long: the dev server forgets them after one. */
export async function keepEndedRuns(target: AttributeTarget, signal?: AbortSignal): Promise<void> {
  const described = await namespaceCommand(target, ["describe", "--output", "json"], signal);
  const { config } = namespaceSchema.parse(JSON.parse(described));
  if (config.workflowExecutionRetentionTtl !== SERVERS_OWN) return;
  await namespaceCommand(target, ["update", "--retention", RETENTION], signal);
}

function namespaceCommand(
  { cliPath, address, namespace }: AttributeTarget,
  args: readonly string[],
  signal: AbortSignal | undefined,
): Promise<string> {
  const where = ["--address", address, "--namespace", namespace, ...IGNORE_USER_CONFIG];
  return runCommand(cliPath, ["operator", "namespace", ...args, ...where], {
    timeoutMs: COMMAND_TIMEOUT_MS,
    signal,
    cwd: NO_DIRECTORY,
    env: temporalEnvironment(),
  });
}
