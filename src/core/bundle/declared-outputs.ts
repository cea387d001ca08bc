import { type JsonObject, isList, isObject } from "../json.js";
import { type BundleLayout, parseBundlePath } from "./bundle-path.js";
import { textAt } from "./workflow-keys.js";

/** A file that a workflow is to leave in its session folder. */
export interface DeclaredOutput {
  /** As the workflow declares it, its own variables resolved. */
  readonly declared: string;
  /** Names below the session folder, joined by `/`. */
  readonly saveAs: string;
  /** False where the name holds placeholders that the model fills in, or is one of several to choose from: then any saved file will do. */
  readonly isExact: boolean;
  /** It depends on the way through the workflow whether it is saved: the workflow is complete without it. */
  readonly isOptional?: true;
}

const MAX_OUTPUTS = 20;
const MAIN_KEY = "default_output_file";
/** Keys under which workflows name other files that they write. */
const OUTPUT_KEY = /(?:^|_)(?:output|report)_(?:file|path)$|_output$/;

/**
 * What a workflow saves: its `default_output_file`. Where it has none, what stands under other keys (`…output_file`,
 * `…report_file`, `…_output`, a list `outputs`), of several at least one; otherwise these are optional, and so is what the
 * workflows save that it invokes. A path outside the session folder keeps its last name: a run writes nowhere else, so a file of
 * the project that a workflow changes is saved there under its name.
 */
export function declaredOutputs(
  workflow: JsonObject,
  layout: BundleLayout,
  invoked: readonly JsonObject[] = [],
): readonly DeclaredOutput[] {
  const main = outputsOf([textAt(workflow, MAIN_KEY)?.trim()], layout);
  const others = outputsOf(otherPaths(workflow), layout);
  const isChoice = others.length > 1;
  const own =
    main.length > 0
      ? [...main, ...others.map(asOptional)]
      : others.map((other) => (isChoice ? { ...other, isExact: false } : other));
  const further = invoked.flatMap((each) => declaredOutputs(each, layout)).map(asOptional);
  const byName = new Map<string, DeclaredOutput>();
  for (const each of [...own, ...further]) if (!byName.has(each.saveAs)) byName.set(each.saveAs, each);
  return [...byName.values()].slice(0, MAX_OUTPUTS);
}

function asOptional(each: DeclaredOutput): DeclaredOutput {
  return { ...each, isOptional: true };
}

function outputsOf(paths: readonly (string | undefined)[], layout: BundleLayout): readonly DeclaredOutput[] {
  return paths.flatMap((declared) => {
    if (declared === undefined) return [];
    const saveAs = sessionName(declared, layout) ?? lastName(declared);
    return saveAs === undefined ? [] : [output(declared, saveAs)];
  });
}

/** What stands under other keys of the file and of its `variables`, and in its list of outputs. */
function otherPaths(workflow: JsonObject): readonly string[] {
  const variables = workflow["variables"];
  const keyed = [workflow, ...(isObject(variables) ? [variables] : [])].flatMap((object) =>
    Object.keys(object)
      .filter((key) => key !== MAIN_KEY && OUTPUT_KEY.test(key))
      .map((key) => textAt(object, key)?.trim()),
  );
  const { outputs } = workflow;
  const listed = isList(outputs)
    ? outputs.map((item) => {
        if (!isObject(item)) return typeof item === "string" ? item : undefined;
        return textAt(item, "path") ?? textAt(item, "file");
      })
    : [];
  return [...keyed, ...listed].filter((path) => path !== undefined).filter(isFile);
}

/** Sentences and directories are no files. */
function isFile(path: string): boolean {
  return /\.[A-Za-z][A-Za-z0-9]{0,11}$/.test(path) && !/[.!?,] /.test(path);
}

function output(declared: string, saveAs: string): DeclaredOutput {
  return { declared, saveAs, isExact: !/[{}*[\]]/.test(saveAs) };
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
