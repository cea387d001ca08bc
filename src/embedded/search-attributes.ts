import { z } from "zod";
import { type OperatedNamespace, operatorCommand } from "./operator-command.js";

const KEYWORD = "INDEXED_VALUE_TYPE_KEYWORD";

const listSchema = z.object({ customAttributes: z.record(z.string(), z.string()).nullish() });

/**
 * Registers those of the attributes, all of type Keyword, that the namespace lacks. It asks first which these
 * are, for server 1.32 silently adds nothing when the list it is given starts with one it has.
 */
export async function registerMissing(
  target: OperatedNamespace,
  wanted: readonly string[],
  signal?: AbortSignal,
): Promise<void> {
  const listed = await operatorCommand(target, ["search-attribute", "list", "--output", "json"], signal);
  const { customAttributes } = listSchema.parse(JSON.parse(listed));
  const present = new Map(Object.entries(customAttributes ?? {}));
  const other = wanted.find((name) => present.has(name) && present.get(name) !== KEYWORD);
  if (other !== undefined) throw new Error(`${other} exists with another type, ${present.get(other)}`);
  const names = wanted.filter((name) => !present.has(name)).flatMap((name) => ["--name", name]);
  if (names.length > 0) {
    await operatorCommand(target, ["search-attribute", "create", "--type", "Keyword", ...names], signal);
  }
}
