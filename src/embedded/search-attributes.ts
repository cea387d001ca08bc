import { z } from "zod";
import { NO_DIRECTORY, temporalEnvironment } from "./helper-environment.js";
import { IGNORE_USER_CONFIG, runCommand } from "./run-command.js";

const COMMAND_TIMEOUT_MS = 15_000;
const KEYWORD = "INDEXED_VALUE_TYPE_KEYWORD";

const listSchema = z.object({ customAttributes: z.record(z.string(), z.string()).nullish() });

export interface AttributeTarget {
  readonly cliPath: string;
  readonly address: string;
  readonly namespace: string;
}

/**
 * Registers those of the attributes, all of type Keyword, that the namespace lacks. It asks first which these
 * are, for server 1.32 silently adds nothing when the list it is given starts with one it has.
 */
export async function registerMissing(
  target: AttributeTarget,
  wanted: readonly string[],
  signal?: AbortSignal,
): Promise<void> {
  const { customAttributes } = listSchema.parse(
    JSON.parse(await searchAttributeCommand(target, "list", ["--output", "json"], signal)),
  );
  const present = new Map(Object.entries(customAttributes ?? {}));
  const other = wanted.find((name) => present.has(name) && present.get(name) !== KEYWORD);
  if (other !== undefined) throw new Error(`${other} exists with another type, ${present.get(other)}`);
  const names = wanted.filter((name) => !present.has(name)).flatMap((name) => ["--name", name]);
  if (names.length > 0) {
    await searchAttributeCommand(target, "create", ["--type", "Keyword", ...names], signal);
  }
}

function searchAttributeCommand(
  target: AttributeTarget,
  action: "list" | "create",
  args: readonly string[],
  signal: AbortSignal | undefined,
): Promise<string> {
  const { cliPath, address, namespace } = target;
  const where = ["--address", address, "--namespace", namespace, ...IGNORE_USER_CONFIG];
  return runCommand(cliPath, ["operator", "search-attribute", action, ...args, ...where], {
    timeoutMs: COMMAND_TIMEOUT_MS,
    signal,
    cwd: NO_DIRECTORY,
    env: temporalEnvironment(),
  });
}
