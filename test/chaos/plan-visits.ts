import type { Random } from "./random.js";

export interface PlannedGraph {
  readonly nodes: readonly { readonly id: string; readonly type: string }[];
  readonly edges: readonly { readonly from: string; readonly to: string; readonly label: string }[];
}

export interface PlannedDecision {
  readonly from: string;
  readonly to: string;
  readonly label: string;
  readonly reason?: string;
}

/** So long that the third decision of a run makes its log too long for the document. */
const REASON = "because ".repeat(384);

/** One visit of a node: what the model answers, in order. */
export interface PlannedVisit {
  readonly nodeId: string;
  /** The transition that ends it; absent in the last visit. */
  readonly decision?: PlannedDecision;
  readonly turns: readonly PlannedTurn[];
}

export type PlannedTurn =
  | { readonly calls: readonly PlannedCall[] }
  | { readonly question: string; readonly answer: string }
  /** The model's last words. */
  | { readonly says: string };

export interface PlannedCall {
  /** Unique in the run. */
  readonly id: string;
  readonly name: string;
  readonly arguments: unknown;
  /** `ok`, or the code it is refused with. */
  readonly expect: string;
  /** What it may come to as well where a worker dies in it. */
  readonly orElse?: string;
  /** The file it writes. */
  readonly write?: { readonly path: string; readonly content: string };
  /** The variables it sets. */
  readonly sets?: Readonly<Record<string, unknown>>;
}

/** The id that the answer to a planned question has. */
export function answerIdOf(question: string): string {
  return question.replace(/^Question (.*)\?$/, "answer $1");
}

type DraftCall = Omit<PlannedCall, "id">;

const MOST_VISITS = 7;
const VISITS_BEFORE_STRAIGHT_ON = 4;

/** A random walk to the end. Loops are cut short: after some visits it goes straight on. */
export function planVisits(
  random: Random,
  graph: PlannedGraph,
  folder: string,
  reach: Reach = "near",
): readonly PlannedVisit[] {
  const visits: PlannedVisit[] = [];
  const end = graph.nodes.at(-1)?.id ?? "";
  for (let nodeId = "n0"; ;) {
    const number = visits.length + 1;
    const edges = graph.edges.filter(({ from }) => from === nodeId);
    const onwards = edges.filter(({ to }) => Number(to.slice(1)) > Number(nodeId.slice(1)));
    const way =
      nodeId === end ? undefined : random.pick(number > VISITS_BEFORE_STRAIGHT_ON ? onwards : edges);
    const decision = way && (reach === "near" ? { ...way, reason: REASON } : way);
    const here = { nodeId, folder, number, reach };
    const far = reach === "far" && number === 1 ? planFar(folder) : [];
    const turns = [...far, ...planWork(random, graph, here), { calls: [leave(nodeId, decision, number)] }];
    visits.push({
      nodeId,
      ...(decision === undefined ? {} : { decision }),
      turns: turns.map((turn, index) => withIds(turn, number, index + 1)),
    });
    if (decision === undefined) return visits;
    if (visits.length > MOST_VISITS + graph.nodes.length) throw new Error("The walk does not end.");
    nodeId = decision.to;
  }
}

type DraftTurn =
  | { readonly calls: readonly DraftCall[] }
  | { readonly question: string; readonly answer: string };

/** `far`: the agent has tools from outside, and a model whose context its first visit outgrows. */
export type Reach = "near" | "far";

/** What the tools from outside are called. */
export const ACT = "mcp_outside_act";
export const LOOK = "mcp_outside_look";

/** A file that is read again and again, by its path in the project. */
export function longFileOf(folder: string): string {
  return `notes/${folder}/long.md`;
}

const READS_OF_LONG_FILE = 5;

function planFar(folder: string): readonly DraftTurn[] {
  const act = { name: ACT, arguments: {}, expect: "ok", orElse: "TOOL_OUTCOME_UNKNOWN" };
  const look = { name: LOOK, arguments: {}, expect: "ok" };
  const read = { name: "fs_read", arguments: { path: `@project/${longFileOf(folder)}` }, expect: "ok" };
  return [{ calls: [act, look] }, ...Array.from({ length: READS_OF_LONG_FILE }, () => ({ calls: [read] }))];
}

function withIds(turn: DraftTurn, visit: number, number: number): PlannedTurn {
  if (!("calls" in turn)) return turn;
  return { calls: turn.calls.map((call, index) => ({ id: `c${visit}-${number}-${index}`, ...call })) };
}

interface Here {
  readonly nodeId: string;
  readonly folder: string;
  readonly number: number;
  readonly reach: Reach;
}

function planWork(random: Random, graph: PlannedGraph, here: Here): readonly DraftTurn[] {
  const turns: DraftTurn[] = [];
  for (let count = random.between(0, 2); count > 0; count -= 1) {
    const kind = random.next();
    if (kind < 0.2) {
      const name = `${here.number}.${turns.length + 1} of ${here.folder}`;
      turns.push({ question: `Question ${name}?`, answer: `Answer ${name}.` });
    } else if (kind < 0.35) {
      turns.push({ calls: planRefusals(random, graph, here) });
    } else {
      turns.push({ calls: [...planReads(random, here), ...planWrites(random, here, turns.length)] });
    }
  }
  return turns;
}

/** Reads that may run side by side. */
function planReads(random: Random, { nodeId, folder }: Here): readonly DraftCall[] {
  const reads: readonly DraftCall[] = [
    { name: "fs_read", arguments: { path: `@pkg/steps/${nodeId}.md` }, expect: "ok" },
    { name: "fs_list", arguments: { path: "@project" }, expect: "ok" },
    { name: "fs_search", arguments: { path: "@pkg", pattern: "Do it" }, expect: "ok" },
    { name: "fs_read", arguments: { path: "@state/workflow.md" }, expect: "ok" },
    { name: "fs_read", arguments: { path: `@project/artifacts/${folder}/none.md` }, expect: "ENOENT" },
  ];
  return Array.from({ length: random.between(0, 3) }, () => random.pick(reads));
}

/** Writes of different files, since what fails on a full disk is repeated after the others. */
function planWrites(random: Random, { folder, number, reach }: Here, turn: number): readonly DraftCall[] {
  const paths = [
    `@project/artifacts/${folder}/a.md`,
    `@project/artifacts/${folder}/b.md`,
    `@project/artifacts/${folder}/deep/${number}/c.md`,
    `@project/artifacts/${folder}/old.md`,
    `@project/notes/${folder}/notes.md`,
    "@state/notes.md",
  ];
  const first = random.between(0, paths.length - 1);
  const chosen = Array.from({ length: random.between(1, 3) }, (_, index) => paths[(first + index) % 6] ?? "");
  const calls: DraftCall[] = chosen.map((path) => {
    const length = random.chance(0.2) ? random.between(1, reach === "far" ? 200 : 20_000) : 20;
    const content = `visit ${number}, turn ${turn}\n${"x".repeat(length)}\n`;
    return { name: "fs_write", arguments: { path, content }, expect: "ok", write: { path, content } };
  });
  if (random.chance(0.4)) {
    const sets = { [`set${number}-${turn}`]: random.between(1, 1000) };
    calls.push({ ...patchCall({ variables: { set: sets } }), expect: "ok", sets });
  }
  return calls;
}

function planRefusals(random: Random, graph: PlannedGraph, { nodeId }: Here): readonly DraftCall[] {
  const allowed = graph.edges.filter(({ from }) => from === nodeId).map(({ to }) => to);
  const forbidden = graph.nodes.map(({ id }) => id).filter((id) => id !== nodeId && !allowed.includes(id));
  const calls: DraftCall[] = [
    {
      name: "fs_write",
      arguments: { path: "@pkg/bmad.json", content: "{}" },
      expect: "E_SANDBOX_VIOLATION",
    },
    { name: "fs_delete", arguments: { path: "@project" }, expect: "TOOL_NOT_AVAILABLE" },
    { name: "fs_read", arguments: "not JSON", expect: "TOOL_ARGS_INVALID_JSON" },
  ];
  for (const to of forbidden) {
    const jump = patchCall({ currentNodeId: { set: to }, stepsCompleted: { append: [nodeId] } });
    calls.push({ ...jump, expect: "E_INVALID_TRANSITION" });
  }
  const first = random.between(0, calls.length - 1);
  return calls.slice(first, first + 2);
}

/** The save that ends a visit. `visit` tells the model in the next one where it is. */
function leave(nodeId: string, decision: PlannedVisit["decision"], number: number): DraftCall {
  const sets = { visit: number };
  const update = {
    stepsCompleted: { append: [nodeId] },
    variables: { set: sets },
    ...(decision === undefined
      ? {}
      : { decisionLog: { append: [decision] }, currentNodeId: { set: decision.to } }),
  };
  return { ...patchCall(update), expect: "ok", sets };
}

function patchCall(update: object) {
  const patch = { operation: "updateFrontmatter", update };
  return { name: "fs_apply_patch", arguments: { path: "@state/workflow.md", patch } };
}
