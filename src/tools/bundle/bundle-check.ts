import { realpath } from "node:fs/promises";
import { basename, dirname, join, relative, sep } from "node:path";
import { tmpdir } from "node:os";
import type { BundleAgent } from "../../core/bundle/bundle-agent.js";
import type { BundlePath } from "../../core/bundle/bundle-path.js";
import { namesNoInstructions, runErrors } from "../../core/bundle/run-errors.js";
import { type Entry, findEntries } from "../../core/import/ways/entries.js";
import { unreadEntries } from "../../core/import/source/left-out.js";
import { type JsonObject, fieldOf } from "../../core/json.js";
import { cutText, oneLine, shellWord } from "../../core/text.js";
import { REWRITE, otherForm } from "../import/other-forms.js";
import { readSource } from "../import/read-source.js";
import { readAgentFile } from "./bundle-agent-file.js";
import { findBundleFiles, findRoots } from "./bundle-discovery.js";
import { preloadWorkflow } from "./bundle-preload.js";
import { openBundlePlace } from "./bundle-workspace.js";

export interface CheckedWorkflow {
  /** Relative to the directory that was checked. */
  readonly path: string;
  readonly name: string;
  readonly description: string;
  /** It can be run: there are no errors. */
  readonly ok: boolean;
  /** What it names and is not there, each with what it is for. */
  readonly missing: readonly string[];
  readonly errors: readonly string[];
}

export interface CheckedAgent {
  readonly path: string;
  readonly name: string;
  readonly title: string;
  /** Triggers, as users type them. */
  readonly commands: readonly string[];
}

/** A workflow that a bundle run does not run as it is. */
export interface OtherEntry {
  readonly path: string;
  readonly name: string;
  readonly description: string;
  /** Made of step files, or instructions in one file: to be imported. Or a persona in a `SKILL.md`. */
  readonly form: "steps" | "instructions" | "agent";
  /** What to do with it, as a command where there is one. */
  readonly remedy: string;
}

export interface BundleReport {
  readonly workflows: readonly CheckedWorkflow[];
  readonly agents: readonly CheckedAgent[];
  /** Files of agents that cannot be read, each with the reason. Absent where there are none. */
  readonly agentErrors?: readonly { readonly path: string; readonly error: string }[];
  /** Absent where there are none. */
  readonly others?: readonly OtherEntry[];
  /** Directories that are packages, made by an import for one. Absent where there are none. */
  readonly packages?: readonly string[];
  /** What is there where nothing of these is, such as an installation of an older kind, with what to do. */
  readonly other?: string;
  /** Files that a workflow begins with, and directories, that could not be read. Absent where there are none. */
  readonly unread?: readonly string[];
  /** Only where the directory holds more than is looked at: there may be more. */
  readonly complete?: false;
}

/** Why nothing of a directory can be run as it is, with what to do; nothing where something can. */
export function nothingRuns({
  workflows,
  agents,
  others = [],
  packages = [],
  other = "Name the directory that BMAD was installed in, or a module.",
}: BundleReport): string | undefined {
  if (workflows.some(({ ok }) => ok)) return undefined;
  const importable = others.filter(({ form }) => form !== "agent").length;
  if (importable > 0 && packages.length > 0) {
    return `The packages run as they are, and there is no bundle. Import the others first, ${importable} can be: interlock package import <path>`;
  }
  if (importable > 0) {
    return `None of these runs as it is. Import them first, ${importable} can be: interlock package import <path>`;
  }
  if (workflows.length > 0)
    return workflows.every(({ errors }) => namesNoInstructions(errors))
      ? `None of these names instructions, as BMAD's do. ${REWRITE}`
      : "None of these can be run: see what is missing.";
  if (packages.length > 0) return "There are packages here, and no bundle. They run: interlock run <package>";
  const found = agents.length + others.length;
  const what = found > 0 ? "There are agents, and no workflow" : "There is no workflow here";
  return `${what}: no workflow.yaml, workflow.md or SKILL.md begins one. ${other}`;
}

const MAX_TEXT = 2000;
const IS_AGENT = /\.agent\.ya?ml$/;

/**
 * Looks at every workflow and agent below a directory: loads each workflow as a run would, checklist included. The directory
 * stands for the project, as for an installation in one. `named` is what it is called where the remedies are typed.
 */
export async function checkBundles(dir: string, named = "."): Promise<BundleReport> {
  const root = await realpath(dir);
  const files = await findBundleFiles(root);
  const workflows: CheckedWorkflow[] = [];
  const source = await readSource(root);
  const entries = findEntries(source.tree, basename(root));
  const hidden = entries.filter(({ form }) => form === "yaml").map(({ path }) => join(root, path));
  const described = new Set(
    entries.filter(({ form }) => form !== "yaml").map(({ path }) => dirname(join(root, path))),
  );
  for (const file of [...new Set([...files.workflows, ...hidden])].sort()) {
    const checked = await checkWorkflow(root, file);
    // What names no instructions beside a SKILL.md tells of it, and is no workflow of its own.
    if (!described.has(dirname(file)) || !namesNoInstructions(checked.errors)) workflows.push(checked);
  }
  const agents: CheckedAgent[] = [];
  const agentErrors: { path: string; error: string }[] = [];
  for (const file of files.agents) {
    const read = await readAgentFile(file);
    const path = relative(root, file).split(sep).join("/");
    if (read.ok) agents.push(...read.value.map((agent) => describeAgent(path, agent)));
    // What holds no agent may be something else by that name.
    else if (IS_AGENT.test(path) && read.error.code !== "E_AGENT_NOT_FOUND")
      agentErrors.push({ path, error: read.error.message });
  }
  const others = entries.flatMap((entry) => describeOther(entry, named));
  const unread = [
    ...unreadEntries(source.tree).filter((path) => path.endsWith(".md")),
    ...source.closed.toSorted(),
  ];
  const isEmpty = workflows.length + others.length + source.packages.length === 0;
  const other = isEmpty ? await otherForm(root, source) : undefined;
  return {
    workflows,
    agents,
    ...(agentErrors.length === 0 ? {} : { agentErrors }),
    ...(others.length === 0 ? {} : { others }),
    ...(source.packages.length === 0 ? {} : { packages: source.packages }),
    ...(other === undefined ? {} : { other }),
    ...(unread.length === 0 ? {} : { unread }),
    ...(source.complete ? {} : { complete: false }),
  };
}

function describeOther({ path, name, description, form }: Entry, named: string): OtherEntry[] {
  if (form === "yaml") return [];
  const remedy =
    form === "agent"
      ? "a persona: import the workflows of its menu"
      : `interlock package import ${shellWord(join(named, path), "<path>")}`;
  return [{ path, name, description, form, remedy }];
}

async function checkWorkflow(root: string, file: string): Promise<CheckedWorkflow> {
  const roots = await findRoots(file);
  const place = await openBundlePlace(
    { ...roots, projectRoot: root },
    { lockDir: join(tmpdir(), "interlock-no-locks"), keepOut: [] }, // nothing is written
  );
  const path: BundlePath = { mount: "bundle-root", segments: relative(roots.bundleRoot, file).split(sep) };
  const loaded = place.ok ? await preloadWorkflow(place.value, path, { withChecklist: true }) : place;
  const shown = { path: relative(root, file).split(sep).join("/") };
  const fallback = basename(dirname(file));
  if (!loaded.ok) {
    const errors = [loaded.error.message];
    return { ...shown, name: fallback, description: "", ok: false, missing: [], errors };
  }
  const { workflowYaml } = loaded.value;
  const { errors, missing } = runErrors(loaded.value);
  return {
    ...shown,
    name: textAt(workflowYaml, "name") || fallback,
    description: textAt(workflowYaml, "description"),
    ok: errors.length === 0,
    missing,
    errors,
  };
}

function textAt(object: JsonObject | null, key: string): string {
  const value = fieldOf(object, key);
  return typeof value === "string" ? cutText(oneLine(value), MAX_TEXT) : "";
}

function describeAgent(path: string, agent: BundleAgent): CheckedAgent {
  return {
    path,
    name: oneLine(agent.name),
    title: oneLine(agent.title),
    commands: agent.commands.map(({ trigger }) => oneLine(trigger)),
  };
}
