import { realpath } from "node:fs/promises";
import { basename, dirname, join, relative, sep } from "node:path";
import { tmpdir } from "node:os";
import type { BundleAgent } from "../../core/bundle/bundle-agent.js";
import type { BundlePath } from "../../core/bundle/bundle-path.js";
import type { JsonObject } from "../../core/json.js";
import { cutText, oneLine } from "../../core/text.js";
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

export interface BundleReport {
  readonly workflows: readonly CheckedWorkflow[];
  readonly agents: readonly CheckedAgent[];
}

const MAX_TEXT = 2000;

/**
 * Looks at every workflow and agent below a directory: loads each workflow as a run would, checklist included. The directory
 * stands for the project, as for an installation in one.
 */
export async function checkBundles(dir: string): Promise<BundleReport> {
  const root = await realpath(dir);
  const files = await findBundleFiles(root);
  const workflows: CheckedWorkflow[] = [];
  for (const file of files.workflows) workflows.push(await checkWorkflow(root, file));
  const agents: CheckedAgent[] = [];
  for (const file of files.agents) {
    const read = await readAgentFile(file);
    if (read.ok) agents.push(...read.value.map((agent) => describeAgent(relative(root, file), agent)));
  }
  return { workflows, agents };
}

async function checkWorkflow(root: string, file: string): Promise<CheckedWorkflow> {
  const roots = await findRoots(file);
  const place = await openBundlePlace(
    { ...roots, projectRoot: root },
    { lockDir: join(tmpdir(), "interlock-no-locks"), keepOut: [] }, // nothing is written
  );
  const path: BundlePath = { mount: "bundle-root", segments: relative(roots.bundleRoot, file).split(sep) };
  const loaded = await preloadWorkflow(place, path, { withChecklist: true });
  const shown = { path: relative(root, file).split(sep).join("/") };
  const fallback = basename(dirname(file));
  if (!loaded.ok) {
    const errors = [loaded.error.message];
    return { ...shown, name: fallback, description: "", ok: false, missing: [], errors };
  }
  const { workflowYaml, instructions, missing } = loaded.value;
  const isError = (item: string) => instructions === null && item.startsWith("instructions: ");
  const errors = missing.filter(isError);
  if (instructions === null && errors.length === 0) errors.push("instructions: there are none");
  return {
    ...shown,
    name: textAt(workflowYaml, "name") || fallback,
    description: textAt(workflowYaml, "description"),
    ok: errors.length === 0,
    missing: missing.filter((item) => !isError(item)),
    errors,
  };
}

function textAt(object: JsonObject | null, key: string): string {
  const value = object !== null && Object.hasOwn(object, key) ? object[key] : undefined;
  return typeof value === "string" ? cutText(oneLine(value), MAX_TEXT) : "";
}

function describeAgent(path: string, agent: BundleAgent): CheckedAgent {
  return {
    path: path.split(sep).join("/"),
    name: oneLine(agent.name),
    title: oneLine(agent.title),
    commands: agent.commands.map(({ trigger }) => oneLine(trigger)),
  };
}
