import { type Fault, fail } from "../errors.js";
import type { JsonObject, JsonValue } from "../json.js";
import { isId } from "../package/schemas.js";
import { isPrintable } from "../printable.js";
import { excerpt } from "../text.js";
import { pathSizeProblem } from "../tools/alias-path.js";
import { EARLIER_ENTRIES, saySameOfEarlier } from "./earlier-entries.js";

const MAX_ERRORS = 20;

const MOVED_BY_OTHERS = {
  path: EARLIER_ENTRIES,
  message:
    "says where older entries of the lists lie, and only the runtime changes it: leave it as @state/workflow.md has it",
};

/**
 * Why an update may not list what it lists (contracts §7): a completed step is an id, an artifact a path in the project, and where
 * earlier entries lie the runtime says alone. Undefined when it may. What `previous` lists already stays: documents of earlier
 * versions hold other values. Fault: `E_SCHEMA_VALIDATION` with `details.errors[]`.
 */
export function listedNamesFault(previous: JsonObject, next: JsonObject): Fault | undefined {
  const errors = [
    ...(saySameOfEarlier(previous, next) ? [] : [MOVED_BY_OTHERS]),
    ...errorsOf("stepsCompleted", previous, next, stepProblem),
    ...errorsOf("artifacts", previous, next, artifactProblem),
  ];
  const [first] = errors;
  if (first === undefined) return undefined;
  const message = `The state document's frontmatter is not valid: ${first.path}: ${first.message}`;
  return fail("E_SCHEMA_VALIDATION", message, { errors: errors.slice(0, MAX_ERRORS) }).error;
}

function errorsOf(
  field: "stepsCompleted" | "artifacts",
  previous: JsonObject,
  next: JsonObject,
  problemOf: (text: string) => string | undefined,
): { readonly path: string; readonly message: string }[] {
  const known = new Set(textsOf(previous[field]));
  return textsOf(next[field]).flatMap((text, index) => {
    const problem = known.has(text) ? undefined : problemOf(text);
    return problem === undefined
      ? []
      : [{ path: `${field}.${index}`, message: `"${excerpt(text, 80)}" ${problem}` }];
  });
}

function textsOf(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

function stepProblem(text: string): string | undefined {
  return isId(text)
    ? undefined
    : "is no id: it must start with a letter or digit and go on with those and . _ : -";
}

/** Why a text is no path in the project, relative to its root; undefined when it is one. */
function artifactProblem(path: string): string | undefined {
  const names = path.split("/");
  if (path.trim() === "") return "is empty: name a file of the project, such as artifacts/story.md";
  if (path.startsWith("/") || /^[A-Za-z]:|^[A-Za-z][A-Za-z0-9+.-]*:\/\//.test(path)) {
    return "is absolute: paths are relative to the project, such as artifacts/story.md";
  }
  if (path.includes("\\")) return "contains a backslash: names are separated by /";
  if (names.includes("..")) return "contains ..: artifacts lie in the project";
  const size = pathSizeProblem(path, names);
  if (size !== undefined) return `is no path: ${size}`;
  return isPrintable(path) ? undefined : "contains a control, direction or invisible character";
}
