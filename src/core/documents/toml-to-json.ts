import { TomlDate, TomlError, parse } from "smol-toml";
import { type Failed, type Result, fail, ok } from "../errors.js";
import { boundsProblem } from "../json-bounds.js";
import type { JsonObject } from "../json.js";
import { oneLine } from "../text.js";

const MAX_CHARS = 256 * 1024;
const BOUNDS = { maxDepth: 50, maxValues: 20_000 };

/**
 * Parses TOML 1.0 into plain JSON; dates and times stay text. Fault `E_INVALID_FRONTMATTER`, with the 1-based `line` in its details: syntax
 * errors, numbers that JSON cannot carry, keys named `__proto__`, more than 256 KiB, 20,000 values or 50 levels.
 */
export function parseToml(text: string): Result<JsonObject> {
  if (text.length > MAX_CHARS) return refused(`it is longer than ${MAX_CHARS} characters`, 1);
  try {
    const table = parse(text.replace(/^\ufeff/, ""), { maxDepth: BOUNDS.maxDepth });
    const problem = boundsProblem(table, BOUNDS);
    if (problem !== undefined) return refused(problem.message, 1);
    const json = JSON.stringify(table, (_key, value: unknown) => (isWhole(value) ? value : null));
    return ok(JSON.parse(json) as JsonObject); // a table
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    return refused(
      oneLine(error.message.split("\n")[0] ?? "").replace(/^Invalid TOML document: /, ""),
      error.line,
    );
  }
}

function isWhole(value: unknown): boolean {
  return value instanceof TomlDate || typeof value !== "number" || Number.isFinite(value);
}

function refused(message: string, line: number): Failed {
  return fail("E_INVALID_FRONTMATTER", message, { line });
}
