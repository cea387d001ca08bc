import { type JsonObject, type JsonValue, isList, objectOf } from "../json.js";
import { isServerName } from "../server-name.js";
import { type Frontmatter, frontmatterSchema, normalizeFrontmatter } from "../state/state-frontmatter.js";
import { checkArtifactTypes } from "./artifact-types.js";
import { checkAgentId, checkGraphRules } from "./check-graph.js";
import { checkJson, checkShape, checkShapeAnyway } from "./check-shape.js";
import { type FileIndex, lastName } from "./file-index.js";
import {
  type Checked,
  type Finding,
  errorFinding,
  isError,
  listNames,
  quote,
  warningFinding,
} from "./findings.js";
import { foldPath, normalizePackagePath, packagePathProblem } from "./package-path.js";
import { checkKeys } from "./check-step.js";
import { repeatsIn } from "./repeats.js";
import {
  type Agent,
  type AgentsFile,
  type GraphFile,
  type Manifest,
  type StepFrontmatter,
  agentsFileSchema,
  graphSchema,
  manifestSchema,
  stepFrontmatterSchema,
} from "./schemas.js";

/** The manifest's fixed place (contracts §2). */
export const MANIFEST_FILE = "bmad.json";

/** The most a graph file may measure (contracts §2). */
export const MAX_GRAPH_BYTES = 256 * 1024;

/** A place in a file that names another file of the package. */
export interface Reference {
  readonly file: string;
  readonly path: string;
  readonly target: string;
}

/** `bmad.json`: shape, no workflow id twice, and the entry among those listed. What it refers to is checked by `checkReference`. */
export function checkManifest(text: string): Checked<Manifest> {
  const json = checkJson(MANIFEST_FILE, text);
  if (json.value === undefined) return { findings: json.findings };
  const shape = checkShapeAnyway(MANIFEST_FILE, manifestSchema, json.value);
  if (shape.value === undefined) return shape;
  const { workflows = [], entry } = shape.value;
  const ids = workflows.map((workflow) => workflow.id);
  const findings = [...shape.findings, ...checkUnique(MANIFEST_FILE, "workflows", ids)];
  const entryGraph = normalizePackagePath(entry.graph);
  if (ids.length > 0 && workflows.every(({ graph }) => normalizePackagePath(graph) !== entryGraph)) {
    const sentence = `names ${quote(entry.graph)}, with which no run can begin: $.workflows lists others only. List it there too, or name one of theirs`;
    findings.push(warningFinding(MANIFEST_FILE, "$.entry.graph", sentence));
  }
  return { ...shape, findings };
}

/** `agents.json`: shape, and no agent id twice. */
export function checkAgentsFile(file: string, text: string): Checked<readonly Agent[]> {
  const json = checkJson(file, text);
  if (json.value === undefined) return { findings: json.findings };
  const { value, ...shape } = checkShapeAnyway(file, agentsFileSchema, json.value);
  if (value === undefined) return shape;
  const { agents }: AgentsFile = value;
  const ids = agents.map((agent) => agent.id);
  const findings = [
    ...shape.findings,
    ...checkUnique(file, "agents", ids),
    ...checkTools(file, agents),
    ...checkServers(file, agents, json.value),
  ];
  return { ...shape, value: agents, findings };
}

/** A policy that seems to give an agent tools of servers, and gives none. `written` is the file as it stands there. */
function checkServers(file: string, agents: readonly Agent[], written: JsonValue): readonly Finding[] {
  return agents.flatMap(({ id, tools: { mcp } = {} }, index) => {
    if (mcp === undefined) return [];
    const { enabled, allowedServers = [] } = mcp;
    const place = `$.agents[${index}].tools.mcp`;
    const warn = (sentence: string): Finding => warningFinding(file, place, `agent ${quote(id)} ${sentence}`);
    if (enabled && allowedServers.length === 0)
      return [
        warn("has the tools of no server: name servers in allowedServers, by their names in the settings"),
      ];
    const isOff = allowedServers.length > 0 && !isEnabledSaid(written, index);
    const impossible = allowedServers.filter((name) => !isServerName(name));
    return [
      ...(isOff ? [warn("does not get the tools of its allowedServers: add enabled, true or false")] : []),
      ...impossible.map((name) =>
        warn(`names the server ${quote(name)}: no server in the settings can be called so`),
      ),
    ];
  });
}

function isEnabledSaid(written: JsonValue, index: number): boolean {
  const agents = objectOf(written)["agents"];
  const { tools } = objectOf(isList(agents) ? agents[index] : undefined);
  return Object.hasOwn(objectOf(objectOf(tools)["mcp"]), "enabled");
}

/** Without the file tools, neither a step can be read nor the state saved. */
function checkTools(file: string, agents: readonly Agent[]): readonly Finding[] {
  return agents.flatMap(({ id, tools }, index) => {
    if (tools?.fs?.enabled !== false) return [];
    const sentence = `agent ${quote(id)} has no tools: no node at which it works can be finished. Set it to true, or leave it out`;
    return [warningFinding(file, `$.agents[${index}].tools.fs.enabled`, sentence)];
  });
}

/** A graph file: shape, and the rules that need the whole graph. Without `agentIds`, agents are not checked. */
export function checkGraphFile(
  file: string,
  text: string,
  agentIds: ReadonlySet<string> | undefined,
): Checked<GraphFile> {
  const json = checkJson(file, text);
  if (json.value === undefined) return { findings: json.findings };
  const shape = checkShapeAnyway(file, graphSchema, json.value);
  if (shape.value === undefined) return shape;
  return { ...shape, findings: [...shape.findings, ...checkGraphRules(file, shape.value, agentIds)] };
}

/** The frontmatter of a workflow document, normalised and then validated. */
export function checkWorkflowDocument(file: string, frontmatter: JsonObject): Checked<Frontmatter> {
  const normalized = normalizeFrontmatter(frontmatter);
  const shape = checkShape(file, frontmatterSchema, normalized);
  if (shape.findings.some(isError)) return { findings: shape.findings };
  const value = normalized as Frontmatter; // the schema has said so
  const names = Object.keys(value.variables);
  if (names.length === 0) return { value, findings: [] };
  const sentence = `has ${listNames(names)}, and runs begin without any variable: let a step set them`;
  return { value, findings: [warningFinding(file, "$.variables", sentence)] };
}

/** The frontmatter of a step file, held against the node that names it. Without a type, none is compared. */
export function checkStepFile(
  file: string,
  frontmatter: JsonObject,
  node: { readonly id: string; readonly type?: GraphFile["nodes"][number]["type"] },
  agentIds: ReadonlySet<string> | undefined,
): Checked<StepFrontmatter> {
  const normalized =
    frontmatter["schemaVersion"] === 1.1 ? { ...frontmatter, schemaVersion: "1.1" } : frontmatter;
  const shape = checkShapeAnyway(file, stepFrontmatterSchema, normalized);
  const step = shape.value;
  if (step === undefined) return shape;
  const findings = [...shape.findings];
  const isRefused = (path: string): boolean => shape.findings.some((finding) => finding.path === path);
  for (const [key, expected] of [
    ["nodeId", node.id],
    ["type", node.type],
  ] as const) {
    if (expected === undefined || step[key] === expected || isRefused(`$.${key}`)) continue;
    const sentence = `is ${quote(step[key])}, but node ${quote(node.id)} of the graph has ${quote(expected)}: make them equal`;
    findings.push(errorFinding(file, `$.${key}`, sentence));
  }
  findings.push(...checkAgentId(file, "$.agentId", `step ${quote(step.nodeId)}`, step.agentId, agentIds));
  findings.push(...checkArtifactTypes(file, step), ...checkKeys(file, step));
  return { ...shape, findings };
}

/** The files that a manifest refers to by itself. */
export function manifestReferences(manifest: Manifest): {
  readonly agents: Reference;
  readonly entry: { readonly workflow: Reference; readonly graph: Reference };
  readonly workflows: readonly {
    readonly id: string;
    readonly workflow: Reference;
    readonly graph: Reference;
  }[];
} {
  const refer = (path: string, target: string): Reference => ({ file: MANIFEST_FILE, path, target });
  return {
    agents: refer("$.entry.agents", manifest.entry.agents),
    entry: {
      workflow: refer("$.entry.workflow", manifest.entry.workflow),
      graph: refer("$.entry.graph", manifest.entry.graph),
    },
    workflows: (manifest.workflows ?? []).map((workflow, index) => ({
      id: workflow.id,
      workflow: refer(`$.workflows[${index}].workflow`, workflow.workflow),
      graph: refer(`$.workflows[${index}].graph`, workflow.graph),
    })),
  };
}

/** The canonical path of the file that a reference names, if the package has it under exactly that name. */
export function checkReference(reference: Reference, files: FileIndex): Checked<string> {
  const { file, path, target } = reference;
  const problem = packagePathProblem(target);
  if (problem !== undefined) {
    return { findings: [errorFinding(file, path, `the path ${quote(target)} ${problem}`)] };
  }
  const canonical = normalizePackagePath(target);
  if (files.paths.has(canonical) && !/(?:^|\/)\.?$/.test(target)) {
    const hidden = `names ${quote(target)}, with a blank that nobody sees: models leave it out, and find no file. Rename it`;
    return {
      value: canonical,
      findings: BLANK_AT_END.test(target) ? [warningFinding(file, path, hidden)] : [],
    };
  }
  return { findings: [errorFinding(file, path, missingFile(target, canonical, files))] };
}

/** At the end of a name. */
const BLANK_AT_END = /\s(?:\/|$)/u;

/** A name in which letters that look alike do not: `cafe\u{301}`. */
function spelledOut(name: string): string {
  const point = (letter: string): string => `\\u{${(letter.codePointAt(0) ?? 0).toString(16)}}`;
  return name.replaceAll(/[^ -~]/gu, point);
}

/** A path as a file has it, where it was written as links are: `./step%201.md#anchor`. */
function withoutSpellingOfLinks(path: string): string {
  const plain = path.replace(/[#?].*$/s, "");
  try {
    return decodeURIComponent(plain);
  } catch {
    return plain;
  }
}

function missingFile(target: string, canonical: string, files: FileIndex): string {
  if (canonical === "" || files.folders.has(canonical)) {
    return `names ${quote(target)}, which is a folder: name a file in it`;
  }
  const alike = files.byFold.get(foldPath(canonical));
  if (alike !== undefined && alike.normalize("NFC") === canonical.normalize("NFC")) {
    return `names "${spelledOut(target)}", but the file is called "${spelledOut(alike)}", which looks the same: write both in one Unicode form`;
  }
  if (alike !== undefined && alike !== canonical) {
    return `names ${quote(target)}, but the file is called ${quote(alike)}: spell it exactly so`;
  }
  const elsewhere =
    [canonical, withoutSpellingOfLinks(canonical)]
      .map((path) => files.byName.get(lastName(path)) ?? [])
      .find((paths) => paths.length > 0) ?? [];
  const hint = elsewhere.length === 0 ? "" : `, or did you mean ${listNames(elsewhere)}`;
  return `names the file ${quote(target)}, which the package does not have: add it${hint}`;
}

/** What to say of a directory without a manifest. */
export function missingManifest(files: FileIndex): Finding {
  return errorFinding(MANIFEST_FILE, "$", `is missing at the root of the package: ${withoutManifest(files)}`);
}

function withoutManifest({ byName }: FileIndex): string {
  const first = (name: string): string | undefined => (byName.get(name) ?? [])[0];
  const elsewhere = first(MANIFEST_FILE);
  if (elsewhere !== undefined)
    return `there is one in ${quote(elsewhere)}: take that folder as the package, or zip what is in it`;
  const source = first("SKILL.md") ?? first("workflow.md");
  const bundle = first("workflow.yaml");
  if (source === undefined && bundle !== undefined)
    return `add it, or run ${quote(bundle)} as it is, if it is BMAD's: interlock bundle run`;
  if (source === undefined) return "add it";
  return `add it, or make a package of the workflow that begins in ${quote(source)}: interlock package import`;
}

/** `entry.assetsDir` is a folder; one without files is only odd, since archives and git keep no empty folders. */
export function checkAssetsDir(manifest: Manifest, files: FileIndex): readonly Finding[] {
  const target = manifest.entry.assetsDir;
  if (target === undefined) return [];
  const path = "$.entry.assetsDir";
  const problem = packagePathProblem(target);
  if (problem !== undefined) {
    return [errorFinding(MANIFEST_FILE, path, `the path ${quote(target)} ${problem}`)];
  }
  const canonical = normalizePackagePath(target);
  if (files.paths.has(canonical)) {
    return [errorFinding(MANIFEST_FILE, path, `names ${quote(target)}, which is a file: name its folder`)];
  }
  if (canonical === "" || files.folders.has(canonical)) return [];
  const sentence = `names the folder ${quote(target)}, in which the package has no file: add one or remove the key`;
  return [warningFinding(MANIFEST_FILE, path, sentence)];
}

function checkUnique(file: string, list: string, ids: readonly string[]): readonly Finding[] {
  return repeatsIn(ids).map(({ key, index, first }) => {
    const sentence = `the id ${quote(key)} belongs to ${list}[${first}] already: give each its own`;
    return errorFinding(file, `$.${list}[${index}].id`, sentence);
  });
}
