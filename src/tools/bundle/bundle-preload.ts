import { type BundlePath } from "../../core/bundle/bundle-path.js";
import { type Preload, type PreloadFile, planPreload } from "../../core/bundle/preload-plan.js";
import { type Result, fail, ok } from "../../core/errors.js";
import type { JsonObject } from "../../core/json.js";
import { formatAliasPath } from "../../core/tools/alias-path.js";
import { parseYaml } from "../../core/documents/yaml-to-json.js";
import { readTextFile } from "./bundle-read.js";
import type { BundlePlace } from "./bundle-workspace.js";
import { runOnPath } from "../sandbox/run-on-path.js";
import { counted } from "../../core/text.js";

/** A file that changes while it is read could ask for ever more of them. */
const MAX_ROUNDS = 40;
const MAX_FILES = 200;

/**
 * Reads everything a run of a workflow needs, what is known to be needed side by side. Faults: `ENOENT`,
 * `E_SCHEMA_VALIDATION` with file, line and column for malformed YAML.
 */
export async function preloadWorkflow(
  place: BundlePlace,
  workflow: BundlePath,
  options: { readonly withChecklist?: boolean } = {},
): Promise<Result<Preload>> {
  const files = new Map<string, PreloadFile>();
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const step = planPreload(workflow, place.layout, files, options);
    if (!step.ok) return step;
    if (step.value.kind === "done") return ok(step.value.preload);
    if (files.size + step.value.paths.length > MAX_FILES) break;
    const read = await Promise.all(
      step.value.paths.map(async (path) => [formatAliasPath(path), await readOne(place, path)] as const),
    );
    for (const [name, file] of read) files.set(name, file);
  }
  return fail("E_READ_LIMIT", "The workflow and those it invokes name too many files.");
}

async function readOne(place: BundlePlace, path: BundlePath): Promise<PreloadFile> {
  const read = await runOnPath(path, "read", () => readTextFile(place.workspace, path));
  if (!read.ok) return { kind: "unreadable", reason: read.error.message };
  const { text } = read.value;
  const name = formatAliasPath(path);
  return /\.ya?ml$/i.test(name) ? { kind: "text", text, yaml: asYaml(name, text) } : { kind: "text", text };
}

/** Fault: `E_SCHEMA_VALIDATION` that names the file by its variable, the line and the column. */
export function asYaml(name: string, text: string): Result<JsonObject> {
  const parsed = parseYaml(text, "The file");
  if (parsed.ok) return parsed;
  const { message } = parsed.error;
  const sentence = message.startsWith("YAML, ") ? message.slice("YAML, ".length) : message;
  return fail("E_SCHEMA_VALIDATION", `${name}, ${sentence}`);
}

/** The result that a model gets (contracts §13): what it needs, once. */
export function preloadResult(preload: Preload): JsonObject {
  const { outputs, missing, filesLoaded, invokedWorkflows, path: _, ...rest } = preload;
  const saveAs = outputs
    .filter(({ isOptional }) => isOptional !== true)
    .map((output) => `{session-folder}/${output.saveAs}`);
  const message = [
    `${counted(filesLoaded.length, "file")} ${filesLoaded.length === 1 ? "is" : "are"} loaded whole: no further read_file is needed.`,
    ...(saveAs.length === 0 ? [] : [`Save the workflow's output as ${saveAs.join(", ")}.`]),
    ...(missing.length === 0 ? [] : ["What is missing is listed: go on without it where you can."]),
    "Now follow the instructions from step 1.",
  ].join(" ");
  return {
    ...rest,
    ...(invokedWorkflows.length === 0
      ? {}
      : { invokedWorkflows: invokedWorkflows.map((item) => ({ ...item })) }),
    filesLoaded,
    ...(missing.length === 0 ? {} : { missing }),
    message,
  };
}
