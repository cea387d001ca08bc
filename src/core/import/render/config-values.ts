import { parseYaml } from "../../documents/yaml-to-json.js";
import { type JsonObject, type JsonValue, objectOf, scalarText } from "../../json.js";
import { cutText, oneLine } from "../../text.js";
import { centralConfig } from "../source/customization.js";
import { named } from "../source/findings.js";
import { lineOfKey } from "../source/source-text.js";
import { type SourceTree, folderOf, nameOf } from "../source/source-tree.js";

/** What a workflow's `{name}`s are filled with. Folders of the project begin with `@project`. */
export interface ConfigValues {
  readonly values: ReadonlyMap<string, string>;
  /** Where they come from; empty where there is neither a config nor a module. */
  readonly files: readonly string[];
  /** The central configuration, by the names that `{{config.…}}` has. */
  readonly central: JsonObject;
  /** Names that a configuration has several values for: none is taken. */
  readonly ambiguous: ReadonlyMap<string, readonly string[]>;
  /** Folders that a config puts where no run may write. */
  readonly problems: readonly ConfigProblem[];
}

interface ConfigProblem {
  /** Told of only where a step names it; absent: always. */
  readonly key?: string;
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

const MAX_CONFIG_CHARS = 64 * 1024;
const MAX_VALUE_CHARS = 200;
const FOLDER = /(?:_folder|_artifacts|_path|_knowledge|_dir|_location)$/;

/**
 * The configuration that a workflow is imported with: the `config.yaml` of its module where it is installed, else the defaults
 * of the prompts that the module would be installed with. The core's come first, the module's replace them.
 */
export function configValues(tree: SourceTree, entryFile: string): ConfigValues {
  const files = [...configFiles(tree, entryFile)];
  const raw = new Map<string, string>();
  const from = new Map<string, string>();
  for (const file of files) {
    const parsed = parseYaml(tree.text(file).slice(0, MAX_CONFIG_CHARS));
    if (!parsed.ok) continue;
    for (const [key, value] of valuesOf(parsed.value, raw)) {
      raw.set(key, value);
      from.set(key, file);
    }
  }
  const central = centralConfig(tree, entryFile);
  const ambiguous = new Map<string, readonly string[]>();
  for (const [key, found] of centralValues(central.tables)) {
    const [only = "", ...others] = found;
    if (others.length === 0) raw.set(key, only);
    else {
      ambiguous.set(key, found);
      raw.delete(key);
    }
    from.set(key, central.files[0] ?? "");
  }
  for (const [key, value] of raw) raw.set(key, expanded(key, value, raw));
  const values = new Map<string, string>();
  const outside: string[] = [];
  for (const [key, value] of raw) {
    const shown = usable(key, value);
    if (shown !== undefined) values.set(key, shown);
    else if (FOLDER.test(key) && value !== "" && !/[{}]/.test(value)) outside.push(key);
  }
  for (const key of ["output_folder", "planning_artifacts", "implementation_artifacts", "test_artifacts"]) {
    if (!values.has(key)) values.set(key, "@project/artifacts");
  }
  if (!values.has("project_knowledge")) values.set("project_knowledge", "@project/docs");
  const problems = outside.map((key) => {
    const file = from.get(key) ?? "";
    const instead = values.get(key);
    const taken = instead === undefined ? "it is left to the model" : `${named(instead)} is taken`;
    const message = `${key} is ${named(raw.get(key) ?? "")}, which lies outside of the project: ${taken}`;
    return { key, file, line: lineOfKey(tree.text(file), key), message };
  });
  return {
    values,
    files: [...files, ...central.files],
    central: central.tables,
    ambiguous,
    problems: [...problems, ...central.problems],
  };
}

/** What the core and the modules of a central configuration say, by key: agents have the same keys for other things. */
function centralValues(tables: JsonObject): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  const parts = [objectOf(tables["core"]), ...Object.values(objectOf(tables["modules"])).map(objectOf)];
  for (const [key, value] of parts.flatMap((part) => Object.entries(part))) {
    const text = scalarText(value);
    const known = found.get(key) ?? [];
    if (text !== undefined && !known.includes(text)) found.set(key, [...known, text]);
  }
  return found;
}

/** Names of other values in a value are filled in, a few levels deep. */
function expanded(key: string, value: string, raw: ReadonlyMap<string, string>): string {
  let text = value;
  for (let round = 0; round < 3 && text.length < MAX_CONFIG_CHARS; round += 1)
    text = fill(text, (name) => (name === key ? undefined : raw.get(name)));
  return text;
}

const CONFIGS = ["module.yaml", "_module-installer/install-config.yaml", "config.yaml"];

/** Of the core, then of the module that the entry lies in or names. */
function configFiles(tree: SourceTree, entryFile: string): ReadonlySet<string> {
  const text = tree.text(entryFile).slice(0, MAX_CONFIG_CHARS);
  const names = /bmad\/([\w-]{1,40})\/config\.yaml/.exec(text)?.[1];
  const found = new Set<string>();
  const inModule = (folder: string): void => {
    for (const name of CONFIGS) {
      const path = folder === "" ? name : `${folder}/${name}`;
      if (tree.has(path) && (name !== "config.yaml" || !nameOf(folder).startsWith("skill"))) found.add(path);
    }
  };
  for (const module of ["core", ...(names === undefined ? [] : [names])]) {
    for (const folder of foldersOfModule(tree, module)) inModule(folder);
  }
  for (const folder of ancestors(entryFile)) inModule(folder);
  return found;
}

function foldersOfModule(tree: SourceTree, module: string): readonly string[] {
  const places = CONFIGS.flatMap((config) => tree.named(nameOf(config)));
  const folders = places.map((path) => folderOf(path).replace(/\/?_module-installer$/, ""));
  return [...new Set(folders)].filter((folder) => [module, `${module}-skills`].includes(nameOf(folder)));
}

/** The root first. */
function ancestors(file: string): readonly string[] {
  const names = folderOf(file).split("/");
  return ["", ...names.map((_, index) => names.slice(0, index + 1).join("/"))];
}

/** A config's texts as they are; of a module's prompts what the installer makes of their defaults. */
function* valuesOf(
  config: JsonObject,
  known: ReadonlyMap<string, string>,
): Generator<readonly [string, string]> {
  const answers = new Map<string, string>();
  for (const [key, value] of Object.entries(config)) {
    if (["code", "name", "header", "subheader", "prompt", "description"].includes(key)) continue;
    const asked = promptOf(value);
    if (asked === undefined) {
      const text = scalarText(value);
      if (text !== undefined && !Object.hasOwn(config, "code")) yield [key, text];
      continue;
    }
    const answer = fill(asked.default, (name) => answers.get(name) ?? withoutRoot(known.get(name)));
    answers.set(key, answer);
    yield [key, asked.result.replaceAll("{value}", answer)];
  }
}

function promptOf(value: JsonValue): { readonly default: string; readonly result: string } | undefined {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return undefined;
  const prompt = value as JsonObject; // no array, as just checked
  const usual = scalarText(prompt["default"]);
  if (usual === undefined) return undefined;
  return { default: usual, result: scalarText(prompt["result"]) ?? "{value}" };
}

function withoutRoot(value: string | undefined): string | undefined {
  return value?.replace(/^\{project[-_]root\}\//, "");
}

/** Replaces `{name}`s that are known. */
function fill(text: string, valueOf: (name: string) => string | undefined): string {
  return text.replace(/\{([\w-]{1,80})\}/g, (whole, name: string) => valueOf(name) ?? whole);
}

/** A value as a step may hold it: one line, no way out of the project, no placeholder that nobody fills. */
export function usable(key: string, value: string): string | undefined {
  const isPath = FOLDER.test(key) || /^\{project[-_]root\}/.test(value);
  const filled = (isPath ? value.replaceAll("\\", "/") : value).replace(
    /^(?:\{project[-_]root\}\/?)+/,
    "@project/",
  );
  const text = cutText(oneLine(filled), MAX_VALUE_CHARS).replace(/\/+$/, "");
  if (text === "" || /[{}]/.test(text)) return undefined;
  if (!FOLDER.test(key) && !text.startsWith("@project")) return text;
  if (text.split("/").includes("..") || /^[/~]|^[A-Za-z]:|\\/.test(text)) return undefined;
  return text.startsWith("@project") ? text : `@project/${text.replace(/^\.\//, "")}`;
}
