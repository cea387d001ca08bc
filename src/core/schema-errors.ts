import type { JsonObject } from "./json.js";
import { excerpt } from "./text.js";

/** Paths and sentences name keys that a model chose: they stay on one line and short. */
const MAX_PLACE_CHARS = 200;
const MAX_SENTENCE_CHARS = 300;
const MAX_ERRORS = 20;

/** One place where a value breaks its schema. */
export interface SchemaError extends JsonObject {
  readonly path: string;
  readonly message: string;
}

/** The first issues that zod found, as `details.errors[]` of `E_SCHEMA_VALIDATION` (contracts §6). */
export function schemaErrors(
  issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[],
): readonly SchemaError[] {
  return issues.slice(0, MAX_ERRORS).map((issue) => ({
    path: excerpt(issue.path.map(String).join("."), MAX_PLACE_CHARS),
    message: excerpt(issue.message, MAX_SENTENCE_CHARS),
  }));
}
