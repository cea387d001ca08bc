import { readdir } from "node:fs/promises";
import { basename, dirname, join, relative, sep } from "node:path";
import { leadsSomewhere } from "../../store/disk/is-there.js";
import { isPackage } from "../import/read-source.js";

/** Bounds on what a search for bundles looks at. */
const MAX_DEPTH = 16;
const MAX_DIRECTORIES = 20_000;
const MAX_CORE_LEVELS = 6;

/** What a directory holds that bundles are made of, as host paths, sorted. */
export interface BundleFiles {
  readonly workflows: readonly string[];
  /** Files that may hold an agent: whether they do is seen by reading them. */
  readonly agents: readonly string[];
}

/** Finds `workflow.yaml` files and agent files below a directory. Links, packages and hidden directories but `.bmad` are left out. */
export async function findBundleFiles(dir: string): Promise<BundleFiles> {
  const workflows: string[] = [];
  const agents: string[] = [];
  const queue = [{ path: dir, depth: 0 }];
  for (let looked = 0; looked < MAX_DIRECTORIES; looked += 1) {
    const next = queue.shift();
    if (next === undefined) break;
    const entries = await readdir(next.path, { withFileTypes: true }).catch(() => []);
    if (next.depth > 0 && isPackage(entries.map(({ name }) => name))) continue;
    for (const entry of entries) {
      const path = join(next.path, entry.name);
      if (entry.isDirectory()) {
        if (next.depth < MAX_DEPTH && isSearched(entry.name)) queue.push({ path, depth: next.depth + 1 });
      } else if (!entry.isFile()) continue;
      else if (/^workflow\.ya?ml$/.test(entry.name)) workflows.push(path);
      else if (mayHoldAgent(dir, path)) agents.push(path);
    }
  }
  return { workflows: workflows.sort(), agents: agents.sort() };
}

function isSearched(name: string): boolean {
  return name === ".bmad" || (!name.startsWith(".") && name !== "node_modules");
}

function mayHoldAgent(dir: string, path: string): boolean {
  const name = basename(path);
  if (name === "agents.json" || /\.agent\.ya?ml$/.test(name)) return true;
  if (!name.endsWith(".md") || /^readme\.md$/i.test(name)) return false;
  return [basename(dir), ...relative(dir, path).split(sep).slice(0, -1)].includes("agents");
}

export interface FoundRoots {
  readonly bundleRoot: string;
  readonly coreRoot?: string;
}

/**
 * The roots of a workflow from the usual layouts: `bmad/<module>/workflows/…` (also `_bmad`, `.bmad`),
 * `bmad/custom/bundles/<name>/workflows/…`, `src/modules/<name>/workflows/…`, `src/<name>/workflows/…`. The bundle root is what
 * holds the `workflows` directory; the core is the nearest `core` beside it or above it that has the workflow engine.
 */
export async function findRoots(workflowFile: string): Promise<FoundRoots> {
  const bundleRoot = (await bundleRootOf(workflowFile)) ?? (await nearestRoot(dirname(workflowFile)));
  const coreRoot = await findCore(bundleRoot);
  return coreRoot === undefined ? { bundleRoot } : { bundleRoot, coreRoot };
}

/** What holds the `workflows` directory that a workflow lies in. */
async function bundleRootOf(workflowFile: string): Promise<string | undefined> {
  for (let at = dirname(workflowFile); dirname(at) !== at; at = dirname(at)) {
    if (await endsBundle(at)) return undefined;
    if (/^workflows(?:-|$)/.test(basename(at))) return isTopmost(dirname(at)) ? undefined : dirname(at);
  }
  return undefined;
}

/** A repository, and a hidden directory such as `.claude`, are in nobody's bundle: a directory of that name above is where projects lie. */
async function endsBundle(dir: string): Promise<boolean> {
  return (basename(dir).startsWith(".") && basename(dir) !== ".bmad") || leadsSomewhere(join(dir, ".git"));
}

function isTopmost(dir: string): boolean {
  return dirname(dir) === dir;
}

/** Where there is no `workflows` directory: the next directory that is a skill, or holds a config or agents, else the workflow's own. */
async function nearestRoot(dir: string): Promise<string> {
  let at = dir;
  for (let level = 0; level < 4; level += 1) {
    for (const name of ["SKILL.md", "config.yaml", "bundle.yaml", "module.yaml", "agents"]) {
      if (await leadsSomewhere(join(at, name))) return at;
    }
    if (await endsBundle(at)) return dir;
    at = dirname(at);
  }
  return dir;
}

async function findCore(bundleRoot: string): Promise<string | undefined> {
  let at = bundleRoot;
  for (let level = 0; level < MAX_CORE_LEVELS; level += 1) {
    for (const place of ["core", "bmad/core", "_bmad/core", ".bmad/core", "src/core"]) {
      const core = join(at, place);
      if (await isCore(core)) return core;
    }
    if (dirname(at) === at) return undefined;
    at = dirname(at);
  }
  return undefined;
}

async function isCore(dir: string): Promise<boolean> {
  const engines = ["tasks/workflow.md", "tasks/workflow.xml"].map((name) => leadsSomewhere(join(dir, name)));
  return (await Promise.all(engines)).includes(true);
}
