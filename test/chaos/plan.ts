import type { StepSize } from "../../src/core/step-size.js";
import { createHash } from "node:crypto";
import { agent, stepDocument } from "../fakes/package-fixture.js";
import { type Random, randomFrom, uuidFrom } from "./random.js";
import { type PlannedUser, planUser } from "./plan-user.js";
import { BUNDLE_AGENT, bundleFiles, planBundleVisit, workflowOf } from "./plan-bundle.js";
import {
  type PlannedDecision,
  type PlannedGraph,
  type PlannedVisit,
  type Reach,
  longFileOf,
  planVisits,
} from "./plan-visits.js";

/** A chaos run as its seed determines it: packages, and runs of them whose walks and end states are known. */
export interface ChaosPlan {
  readonly seed: string;
  readonly packages: readonly PlannedPackage[];
  /** The files of the bundle that the bundle runs are of, by path. */
  readonly bundle: Readonly<Record<string, string>>;
  readonly runs: readonly PlannedRun[];
}

export interface PlannedPackage {
  /** The id of its workflow, by which the model knows it. */
  readonly workflow: string;
  readonly files: Readonly<Record<string, unknown>>;
}

export interface PlannedRun {
  readonly runId: string;
  readonly kind: "graph" | "bundle";
  /** With the agent, how the model knows the run. */
  readonly workflow: string;
  readonly agentId: string;
  /** A directory that it shares with other runs. */
  readonly project: string;
  /** Every other run's are nodes. */
  readonly steps: StepSize;
  readonly input: string;
  /** Files that are in the project before the run begins, by path. */
  readonly filesBefore: Readonly<Record<string, string>>;
  readonly visits: readonly PlannedVisit[];
  readonly user: PlannedUser;
  /** It is removed once it has ended. */
  readonly isPruned: boolean;
  readonly end: PlannedEnd;
}

/** What a run comes to, whatever happens on the way. */
export interface PlannedEnd {
  readonly currentNodeId: string;
  readonly stepsCompleted: readonly string[];
  readonly variables: Readonly<Record<string, unknown>>;
  readonly decisionLog: readonly PlannedDecision[];
  readonly artifacts: readonly string[];
  readonly body: string;
  /** The SHA-256 of each file the run wrote or found in its own directories, by path in the project. */
  readonly files: Readonly<Record<string, string>>;
  /** The same of what it wrote beside its state document. */
  readonly stateFiles: Readonly<Record<string, string>>;
}

const RUNS_PER_PACKAGE = 5;
const RUNS_PER_PROJECT = 8;
/** The agent with tools from outside and a short context. */
export const FAR_AGENT = "agent-3";
/** Of the runs of a package: those before have an agent each. */
const PLACE_OF_BUNDLE_RUN = 4;
const PRUNED_SHARE = 0.25;
const LONG_FILE = "A line of a long file.\n".repeat(870);
const BODY = "Kept as it is.\r\nWithout a newline at the end";

export function planChaos(seed: string, runCount: number): ChaosPlan {
  const packages: PlannedPackage[] = [];
  const runs: PlannedRun[] = [];
  let graph: PlannedGraph = { nodes: [], edges: [] };
  for (let index = 0; index < runCount; index += 1) {
    const workflow = `chaos-${Math.floor(index / RUNS_PER_PACKAGE)}`;
    if (index % RUNS_PER_PACKAGE === 0) {
      graph = planGraph(randomFrom(`${seed}/${workflow}`));
      packages.push({ workflow, files: packageFiles(workflow, graph) });
    }
    const folder = `run-${index}`;
    const isBundle = index % RUNS_PER_PACKAGE === PLACE_OF_BUNDLE_RUN;
    const place = {
      ...(isBundle
        ? { kind: "bundle" as const, workflow: workflowOf(folder), agentId: BUNDLE_AGENT }
        : { kind: "graph" as const, workflow, agentId: `agent-${index % RUNS_PER_PACKAGE}` }),
      project: `project-${Math.floor(index / RUNS_PER_PROJECT)}`,
      folder,
      steps: index % 2 === 0 ? ("turns" as const) : ("nodes" as const),
    };
    runs.push(planRun(`${seed}/${index}`, graph, place));
  }
  const bundled = runs.filter(({ kind }) => kind === "bundle").map(folderOf);
  return { seed, packages, bundle: bundleFiles(bundled), runs };
}

/** A chain from the entry to an end, with edges across it and back. */
function planGraph(random: Random): PlannedGraph {
  const size = random.between(3, 6);
  const ids = Array.from({ length: size }, (_, index) => `n${index}`);
  const pairs = new Set(ids.slice(1).map((to, index) => `n${index} ${to}`));
  for (let extra = random.between(1, size); extra > 0; extra -= 1) {
    const from = random.between(0, size - 2);
    const to = random.between(0, size - 1);
    if (from !== to) pairs.add(`n${from} n${to}`);
  }
  const edges = [...pairs].map((pair, index) => {
    const [from = "", to = ""] = pair.split(" ");
    return { from, to, label: `edge ${index}` };
  });
  const nodes = ids.map((id, index) => {
    const ways = edges.filter(({ from }) => from === id).length;
    return { id, type: index === size - 1 ? "end" : ways > 1 ? "decision" : "step" };
  });
  return { nodes, edges };
}

function packageFiles(workflow: string, { nodes, edges }: PlannedGraph): Record<string, unknown> {
  const agents = Array.from({ length: PLACE_OF_BUNDLE_RUN }, (_, index) => {
    const id = `agent-${index}`;
    const far = { tools: { mcp: { enabled: true, allowedServers: ["outside"] } } };
    return { ...agent(id), ...(id === FAR_AGENT ? far : {}) };
  });
  return {
    "bmad.json": {
      schemaVersion: "1.1",
      name: workflow,
      version: "1.0.0",
      entry: { workflow: "workflow.md", graph: "workflow.graph.json", agents: "agents.json" },
    },
    "agents.json": { schemaVersion: "1.1", agents },
    "workflow.md": `---\nschemaVersion: "1.1"\nworkflowType: ${workflow}\n---\n${BODY}`,
    "workflow.graph.json": {
      schemaVersion: "1.1",
      entryNodeId: "n0",
      nodes: nodes.map((node) => ({ ...node, file: `steps/${node.id}.md` })),
      edges,
    },
    ...Object.fromEntries(nodes.map(({ id, type }) => [`steps/${id}.md`, stepDocument(id, type)])),
  };
}

/** Below `artifacts/` and `notes/` the directory that is a run's own. */
export function folderOf({ filesBefore }: Pick<PlannedRun, "filesBefore">): string {
  return Object.keys(filesBefore)[0]?.split("/")[1] ?? "";
}

interface Place {
  readonly kind: PlannedRun["kind"];
  readonly workflow: string;
  readonly agentId: string;
  readonly project: string;
  readonly folder: string;
  readonly steps: StepSize;
}

function planRun(seed: string, graph: PlannedGraph, place: Place): PlannedRun {
  const { folder, ...names } = place;
  const old = `artifacts/${folder}/old.md`;
  const reach: Reach = place.agentId === FAR_AGENT ? "far" : "near";
  const filesBefore = {
    [old]: `${folder} as it was\n`,
    ...(reach === "far" ? { [longFileOf(folder)]: LONG_FILE } : {}),
  };
  const random = randomFrom(seed);
  const visits =
    place.kind === "bundle" ? [planBundleVisit(random, folder)] : planVisits(random, graph, folder, reach);
  return {
    runId: uuidFrom(seed),
    ...names,
    input: `Begin ${folder}.`,
    filesBefore,
    visits,
    user: planUser(randomFrom(`${seed}/user`)),
    isPruned: randomFrom(`${seed}/pruned`).chance(PRUNED_SHARE),
    end: endOf(visits, filesBefore),
  };
}

/** The end state that the visits lead to. */
function endOf(visits: readonly PlannedVisit[], before: Readonly<Record<string, string>>): PlannedEnd {
  const files = new Map(Object.entries(before));
  const stateFiles = new Map<string, string>();
  const artifacts: string[] = [];
  const variables: Record<string, unknown> = {};
  const decisionLog: PlannedEnd["decisionLog"][number][] = [];
  const steps = new Set<string>();
  for (const { nodeId, decision, turns } of visits) {
    for (const { write, sets } of turns.flatMap((turn) => ("calls" in turn ? turn.calls : []))) {
      Object.assign(variables, sets);
      if (write === undefined) continue;
      const [mount, path] = [write.path.slice(0, 6), write.path.slice(write.path.indexOf("/") + 1)];
      if (mount === "@state") stateFiles.set(path, write.content);
      else {
        if (path.startsWith("artifacts/") && !files.has(path)) artifacts.push(path);
        files.set(path, write.content);
      }
    }
    steps.add(nodeId);
    if (decision !== undefined) decisionLog.push(decision);
  }
  return {
    currentNodeId: visits.at(-1)?.nodeId ?? "",
    stepsCompleted: [...steps],
    variables,
    decisionLog,
    artifacts,
    body: BODY,
    files: hashes(files),
    stateFiles: hashes(stateFiles),
  };
}

function hashes(files: ReadonlyMap<string, string>): Record<string, string> {
  const hash = (text: string) => createHash("sha256").update(text).digest("hex");
  return Object.fromEntries([...files].map(([path, text]) => [path, hash(text)]));
}
