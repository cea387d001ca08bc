import type { JsonObject } from "../json.js";
import { type BundleLayout, parseBundlePath } from "./bundle-path.js";

/** A file that a workflow is to leave in its session folder. */
export interface DeclaredOutput {
  /** As the workflow declares it, its own variables resolved. */
  readonly declared: string;
  /** Names below the session folder, joined by `/`. */
  readonly saveAs: string;
  /** False where the name holds placeholders that the model fills in: then any saved file will do. */
  readonly isExact: boolean;
}

/**
 * What a workflow's `default_output_file` asks for. A path outside the session folder keeps its last name: a run writes
 * nowhere else, so a file of the project that a workflow changes is saved there under its name.
 */
export function declaredOutputs(workflow: JsonObject, layout: BundleLayout): readonly DeclaredOutput[] {
  const declared = textOf(workflow, "default_output_file");
  if (declared === undefined) return [];
  const inSession = sessionName(declared, layout);
  if (inSession !== undefined) return [output(declared, inSession)];
  const name = lastName(declared);
  return name === undefined ? [] : [output(declared, name)];
}

function output(declared: string, saveAs: string): DeclaredOutput {
  return { declared, saveAs, isExact: !/[{}*[\]]/.test(saveAs) };
}

function textOf(workflow: JsonObject, key: string): string | undefined {
  const value = Object.hasOwn(workflow, key) ? workflow[key] : undefined;
  return typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
}

/** The path below the session folder; placeholders in its names may stay. */
function sessionName(declared: string, layout: BundleLayout): string | undefined {
  const plain = declared.replaceAll(/\{\{[^{}/]*\}\}/g, "x").replaceAll(/\{(?:date|time|timestamp)\}/g, "x");
  const path = parseBundlePath(plain, layout, { mount: "project-root", segments: [] });
  if (!path.ok || path.value.mount !== "session-folder" || path.value.segments.length === 0) return undefined;
  return declared
    .split("/")
    .filter((name) => name !== "" && name !== ".")
    .slice(-path.value.segments.length)
    .join("/");
}

/** The last name of a path that may hold anything; of alternatives the first. */
function lastName(declared: string): string | undefined {
  const [first = ""] = declared.split(/ \|\| | or /);
  const name = first.split(/[/\\]/).findLast((part) => part.trim() !== "");
  return name === undefined || name.length > 200 || name === ".." || name === "." ? undefined : name.trim();
}
