import { type Result, fail, ok } from "../errors.js";
import { type JsonObject, type JsonValue, fieldOf, isList, isObject } from "../json.js";
import { excerpt, listSome } from "../text.js";
import { formatAliasPath } from "../tools/alias-path.js";
import { type BundleLayout, type BundlePath, type PathBase, parseBundlePath } from "./bundle-path.js";
import { type DeclaredOutput, declaredOutputs } from "./declared-outputs.js";
import { inlineVariables, lackingConfigKeys } from "./inline-variables.js";
import {
  BRANCH,
  type NamedText,
  OTHER_TEMPLATE,
  fileNames,
  isFileName,
  joined,
  marked,
  names,
  textAt,
} from "./workflow-keys.js";
import { findInvocations, needsElicitation } from "./instruction-tags.js";
import { shortenRoots } from "./shorten-roots.js";

/** What reading one file gave. */
export type PreloadFile =
  /** `yaml` where the name says that it is YAML; a template need not be any. */
  | { readonly kind: "text"; readonly text: string; readonly yaml?: Result<JsonObject> }
  | { readonly kind: "unreadable"; readonly reason: string };

/** Files by their path in its one spelling. Reasons and faults name paths by their variables. */
export type PreloadFiles = ReadonlyMap<string, PreloadFile>;

/** One workflow with its files; `null` where there is none. */
export interface LoadedBundleWorkflow {
  readonly path: string;
  readonly workflowYaml: JsonObject | null;
  readonly configYaml: JsonObject | null;
  readonly instructions: string | null;
  readonly template: string | null;
}

/** Everything a run of a workflow needs at its beginning (contracts §13). */
export interface Preload extends LoadedBundleWorkflow {
  readonly workflowEngine: string | null;
  readonly elicitTask?: string;
  readonly invokedWorkflows: readonly LoadedBundleWorkflow[];
  readonly filesLoaded: readonly string[];
  /** What the workflow names and is not there, each with the reason. */
  readonly missing: readonly string[];
  readonly outputs: readonly DeclaredOutput[];
}

export type PreloadStep =
  | { readonly kind: "read"; readonly paths: readonly BundlePath[] }
  | { readonly kind: "done"; readonly preload: Preload };

const MAX_INVOKED = 16;
/** Characters of JSON that all texts together may take; a conversation carries them in every request. */
const MAX_RESULT_CHARS = 1_000_000;

const ENGINES = ["tasks/workflow.md", "tasks/workflow.xml"];
const ELICIT_TASKS = [
  "tasks/adv-elicit.md",
  "tasks/adv-elicit.xml",
  "tasks/elicit.md",
  "tasks/elicit.xml",
  "tasks/advanced-elicitation.xml",
  "tasks/advanced-elicitation.md",
  "workflows/advanced-elicitation/workflow.xml",
  "workflows/advanced-elicitation/workflow.md",
];

/**
 * What a preload is to read next, given what it has read: call it until it is done. Paths that are asked for together are
 * meant to be read side by side.
 *
 * Faults: `ENOENT` when the workflow's own file cannot be read, `E_SCHEMA_VALIDATION` when it or its config is malformed or
 * expands without bound. Whatever else is missing is listed.
 */
export function planPreload(
  workflow: BundlePath,
  layout: BundleLayout,
  files: PreloadFiles,
  options: { readonly withChecklist?: boolean } = {},
): Result<PreloadStep> {
  const planner = new Planner(layout, files, options.withChecklist === true);
  const main = planner.workflow(workflow);
  if (!main.ok) return main;
  const engine = planner.firstOf(layout.hasCore ? ENGINES : [], "workflow engine");
  const invoked: LoadedBundleWorkflow[] = [];
  const called: JsonObject[] = [];
  const queue = main.value === undefined ? [] : [main.value];
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    for (const path of planner.invocationsOf(next)) {
      if (invoked.length === MAX_INVOKED) break;
      const loaded = planner.invoked(path);
      if (loaded === undefined) continue;
      invoked.push(loaded.loaded);
      called.push(loaded.resolved);
      queue.push(loaded);
    }
  }
  const texts = [main.value?.loaded, ...invoked].map((loaded) => loaded?.instructions ?? "");
  const wantsElicitation = texts.some(needsElicitation);
  const elicit = wantsElicitation ? planner.firstOf(ELICIT_TASKS, "elicitation task") : undefined;
  if (planner.wanted.size > 0) return ok({ kind: "read", paths: [...planner.wanted.values()] });
  if (main.value === undefined) return fail("E_INTERNAL", "The preload asked for nothing and is not done.");
  const preload: Preload = {
    ...main.value.loaded,
    workflowEngine: engine ?? null,
    ...(elicit === undefined ? {} : { elicitTask: elicit }),
    invokedWorkflows: invoked,
    filesLoaded: [...planner.loaded],
    missing: [...planner.missing],
    outputs: declaredOutputs(main.value.resolved, layout, called),
  };
  return ok({ kind: "done", preload });
}

/** A workflow, and what its own references are read with. */
interface OpenWorkflow {
  readonly loaded: LoadedBundleWorkflow;
  readonly path: BundlePath;
  readonly resolved: JsonObject;
}

class Planner {
  readonly wanted = new Map<string, BundlePath>();
  readonly loaded = new Set<string>();
  readonly missing = new Set<string>();
  private readonly seenWorkflows = new Set<string>();
  private chars = 0;
  private readonly layout: BundleLayout;
  private readonly files: PreloadFiles;
  private readonly withChecklist: boolean;

  constructor(layout: BundleLayout, files: PreloadFiles, withChecklist: boolean) {
    this.layout = layout;
    this.files = files;
    this.withChecklist = withChecklist;
  }

  /** Undefined while its files are being read. */
  workflow(path: BundlePath): Result<OpenWorkflow | undefined> {
    const name = formatAliasPath(path);
    this.seenWorkflows.add(name);
    const file = this.need(path);
    if (file === undefined) return ok(undefined);
    if (file.kind === "unreadable") return fail("ENOENT", file.reason);
    if (file.yaml === undefined) return fail("E_SCHEMA_VALIDATION", `${name} is no YAML file.`);
    if (!file.yaml.ok) return file.yaml;
    this.loaded.add(name);
    const yaml = file.yaml.value;
    const config = this.config(path, yaml);
    if (!config.ok) return config;
    const resolved = this.resolve(path, yaml, config.value ?? undefined);
    if (!resolved.ok) return resolved;
    const instructions = this.instructions(path, resolved.value);
    const template = this.templates(path, resolved.value, instructions.later);
    const isMain = this.seenWorkflows.size === 1;
    if (this.withChecklist && isMain) this.reference(path, resolved.value, "validation");
    if (config.value === undefined) return ok(undefined);
    if (config.value !== null) this.noteLackingKeys(path, resolved.value);
    const loaded = {
      path: name,
      workflowYaml: shortenRoots(resolved.value, this.layout),
      configYaml: config.value === null ? null : shortenRoots(config.value, this.layout),
      instructions: instructions.text ?? null,
      template: template ?? null,
    };
    return ok({ loaded, path, resolved: resolved.value });
  }

  /**
   * The YAML with its variables resolved. Its own directory stands for an `installed_path` that is `.`, and for one that does not
   * lead to the instructions where they lie beside the YAML, as in a workflow that was copied or renamed.
   */
  private resolve(path: BundlePath, yaml: JsonObject, config: JsonObject | undefined): Result<JsonObject> {
    const installedPath = textAt(yaml, "installed_path");
    if (installedPath === undefined) return inlineVariables(yaml, config);
    const directory = formatAliasPath({ mount: path.mount, segments: path.segments.slice(0, -1) });
    const beside = inlineVariables({ ...yaml, installed_path: directory }, config);
    if (/^\.\/?$/.test(installedPath.trim())) return beside;
    const resolved = inlineVariables(yaml, config);
    if (!resolved.ok || this.leadsNowhere(path, resolved.value) !== true) return resolved;
    return beside.ok && this.leadsNowhere(path, beside.value) === false ? beside : resolved;
  }

  /** Whether the instructions are a file that is not there; undefined while that is not known. */
  private leadsNowhere(path: BundlePath, resolved: JsonObject): boolean | undefined {
    const text = textAt(resolved, "instructions");
    if (text === undefined || !isFileName(text)) return false;
    const reference = this.parse(text, path);
    const file = reference.ok ? this.need(reference.value) : undefined;
    return reference.ok && file === undefined ? undefined : file?.kind !== "text";
  }

  /** A workflow that another one invokes. One that cannot be read is missing, no more. */
  invoked(path: BundlePath): OpenWorkflow | undefined {
    const name = formatAliasPath(path);
    if (this.seenWorkflows.has(name)) return undefined;
    if (/\.(?:md|xml)$/i.test(name)) {
      this.seenWorkflows.add(name);
      const text = this.text(path, "invoked workflow");
      if (text === undefined) return undefined;
      const loaded = { path: name, workflowYaml: null, configYaml: null, instructions: text, template: null };
      return { loaded, path, resolved: {} };
    }
    const opened = this.workflow(path);
    if (opened.ok) return opened.value;
    this.note("invoked workflow", name, opened.error.message);
    return undefined;
  }

  /** The workflows that a workflow's instructions invoke and that have not been met. */
  invocationsOf({ loaded, path, resolved }: OpenWorkflow): readonly BundlePath[] {
    const found: BundlePath[] = [];
    for (const target of findInvocations(loaded.instructions ?? "", resolved)) {
      const reference = this.parse(target, path);
      if (!reference.ok) this.note("invoked workflow", excerpt(target), reference.error.message);
      else {
        const { mount, segments } = reference.value;
        const isFile = /\.(?:ya?ml|md|xml)$/i.test(segments.at(-1) ?? "");
        found.push(isFile ? reference.value : { mount, segments: [...segments, "workflow.yaml"] });
      }
    }
    return found.filter((item) => !this.seenWorkflows.has(formatAliasPath(item)));
  }

  /** The first of several files of the core that is there. */
  firstOf(names: readonly string[], what: string): string | undefined {
    const paths = names.map((name): BundlePath => ({ mount: "core-root", segments: name.split("/") }));
    const found = paths.map((path) => ({ path, file: this.need(path) }));
    const there = found.find(({ file }) => file?.kind === "text");
    if (there?.file?.kind === "text") return this.take(there.path, there.file.text, what);
    if (found.every(({ file }) => file !== undefined)) {
      this.note(what, paths.slice(0, 2).map(formatAliasPath).join(" or ") || "{core-root}/tasks/workflow.md");
    }
    return undefined;
  }

  /** Undefined while it is being read, null where there is none. */
  private config(path: BundlePath, yaml: JsonObject): Result<JsonObject | null | undefined> {
    const own = inlineVariables(yaml);
    if (!own.ok) return own;
    const text = textAt(own.value, "config_source");
    if (text === undefined) return ok(null);
    const reference = this.parse(text, path);
    if (!reference.ok) {
      this.note("config", excerpt(text), reference.error.message);
      return ok(null);
    }
    const file = this.need(reference.value);
    if (file === undefined) return ok(undefined);
    const name = formatAliasPath(reference.value);
    if (file.kind === "unreadable" || file.yaml === undefined) {
      this.note("config", name, file.kind === "text" ? "is no YAML file" : undefined);
      return ok(null);
    }
    if (!file.yaml.ok) return file.yaml;
    this.loaded.add(name);
    return inlineVariables(file.yaml.value);
  }

  /** What a workflow takes from its config, and the config does not have. */
  private noteLackingKeys(path: BundlePath, resolved: JsonObject): void {
    const keys = lackingConfigKeys(resolved);
    const reference = this.parse(textAt(resolved, "config_source") ?? "", path);
    if (keys.length === 0 || !reference.ok) return;
    this.note("config", formatAliasPath(reference.value), `it has no ${listSome(keys)}`);
  }

  /**
   * One file or several, `instructions` first; or what stands in the YAML itself. `later` are the keys of instructions that those
   * before name, and so say when they are to be read.
   */
  private instructions(path: BundlePath, resolved: JsonObject) {
    const value = fieldOf(resolved, "instructions");
    const texts = this.instructionTexts(path, isList(value) ? value : [value]);
    const first = texts.map(({ text }) => text).join("\n");
    const branches = Object.keys(resolved).filter((key) => BRANCH.test(key));
    const later = branches.filter((key) => names(first, textAt(resolved, key)));
    const others = branches.filter((key) => !later.includes(key));
    texts.push(
      ...this.instructionTexts(
        path,
        others.map((key) => fieldOf(resolved, key)),
      ),
    );
    if (value === undefined) this.note("instructions", "the workflow names none");
    return { text: joined(texts), later };
  }

  private instructionTexts(path: BundlePath, entries: readonly (JsonValue | undefined)[]): NamedText[] {
    const texts: NamedText[] = [];
    for (const entry of entries) {
      if (typeof entry !== "string" || entry.trim() === "") {
        if (isObject(entry) || isList(entry)) texts.push({ name: "", text: JSON.stringify(entry) });
      } else if (!isFileName(entry)) texts.push({ name: "", text: entry });
      else {
        const text = this.file(path, entry, "instructions");
        if (text !== undefined) texts.push({ name: entry, text });
      }
    }
    return texts;
  }

  /** `template`, and those under other keys (`prd_template`, `templates`) but for those of branches that are not loaded. */
  private templates(path: BundlePath, resolved: JsonObject, later: readonly string[]): string | undefined {
    const own = this.reference(path, resolved, "template");
    const keys = Object.keys(resolved).filter(
      (key) => OTHER_TEMPLATE.test(key) && !later.includes(key.replace(/^template/, "instructions")),
    );
    const files = keys.flatMap((key) => fileNames(fieldOf(resolved, key)));
    const others = files.flatMap((name) => {
      const text = this.file(path, name, "template");
      return text === undefined ? [] : [{ name, text }];
    });
    if (others.length === 0) return own;
    const main = own === undefined ? [] : [{ name: textAt(resolved, "template") ?? "", text: own }];
    return marked([...main, ...others]);
  }

  private reference(path: BundlePath, resolved: JsonObject, key: string): string | undefined {
    const text = textAt(resolved, key);
    return text === undefined ? undefined : this.file(path, text, key);
  }

  /** What is not where a workflow says may lie beside its YAML, as in one that was copied. */
  private file(from: BundlePath, text: string, what: string): string | undefined {
    const reference = this.parse(text, from);
    const file = reference.ok ? this.need(reference.value) : undefined;
    if (reference.ok && file === undefined) return undefined;
    if (reference.ok && file?.kind === "text") return this.take(reference.value, file.text, what);
    const beside = this.parse(text.split("/").at(-1) ?? "", from);
    const there = beside.ok ? this.need(beside.value) : undefined;
    if (beside.ok && there === undefined) return undefined;
    if (beside.ok && there?.kind === "text") return this.take(beside.value, there.text, what);
    if (!reference.ok) this.note(what, excerpt(text), reference.error.message);
    else if (file?.kind === "unreadable") this.note(what, formatAliasPath(reference.value), file.reason);
    return undefined;
  }

  private text(path: BundlePath, what: string): string | undefined {
    const file = this.need(path);
    if (file === undefined) return undefined;
    if (file.kind === "text") return this.take(path, file.text, what);
    this.note(what, formatAliasPath(path), file.reason);
    return undefined;
  }

  private take(path: BundlePath, text: string, what: string): string | undefined {
    const name = formatAliasPath(path);
    this.chars += JSON.stringify(text).length;
    if (this.chars > MAX_RESULT_CHARS) {
      this.note(what, name, "is left out, since all files together are too long. Read it when you need it.");
      return undefined;
    }
    this.loaded.add(name);
    return text;
  }

  private need(path: BundlePath): PreloadFile | undefined {
    const name = formatAliasPath(path);
    const file = this.files.get(name);
    if (file === undefined) this.wanted.set(name, path);
    return file;
  }

  /** A reference in a workflow's file: without a variable it is relative to that file. */
  private parse(text: string, from: BundlePath): Result<BundlePath> {
    const base: PathBase = { mount: from.mount, segments: from.segments.slice(0, -1) };
    return parseBundlePath(text.trim(), this.layout, base);
  }

  private note(what: string, name: string, reason?: string): void {
    this.missing.add(reason === undefined ? `${what}: ${name}` : `${what}: ${name} (${reason})`);
  }
}
