import type { z } from "zod";
import { ConfigError } from "./config-error.js";

/** What an option says in the place of a variable; undefined where it is absent. Throws `ConfigError`, by the option's name. */
export function optionValue<T>(
  schema: z.ZodType<T>,
  text: string | undefined,
  option: string,
): T | undefined {
  if (text === undefined) return undefined;
  const parsed = schema.safeParse(text);
  if (parsed.success) return parsed.data;
  throw new ConfigError(`${option}: ${parsed.error.issues[0]?.message}.`);
}
