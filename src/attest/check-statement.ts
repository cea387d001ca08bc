import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { open, realpath } from "node:fs/promises";
import { join, sep } from "node:path";
import { isOverPhase } from "../core/run/phase.js";
import { counted, excerpt } from "../core/text.js";
import { PROJECT, SESSION_SUBJECTS } from "./from-audit.js";
import type { Decision, RunStatement } from "./statement.js";

/** Subjects that are files of the store, beside the project. */
export const STORE_SUBJECTS = "@state/";

/** The final state document of a run that has one. */
export const STATE_DOCUMENT = `${STORE_SUBJECTS}workflow.md`;

/** What does not fit in what a statement says of a run's way; empty where all fits. Pure. */
export function pathProblems(statement: RunStatement): readonly string[] {
  const { graph, path, decisions, run } = statement.predicate;
  const problems: string[] = [];
  if (path.length === 0 && run.phase === "completed")
    problems.push("A run that is completed has stood somewhere, and no way is told.");
  if (graph === null) return [...problems, ...bundleProblems(statement)];
  const [first] = path;
  if (first !== undefined && run.forkedFrom === undefined && first.nodeId !== graph.entryNodeId) {
    problems.push(`The run begins at ${excerpt(first.nodeId)}, the graph at ${excerpt(graph.entryNodeId)}.`);
  }
  problems.push(...stepProblems(graph, path, decisions));
  for (const { verdict, to, seq } of decisions) {
    if (verdict !== "accepted" || to === undefined) continue;
    if (path.findLast((step) => step.seq <= seq)?.nodeId !== to)
      problems.push(`Line ${seq}: the way does not lead to ${excerpt(to)}, as an accepted change does.`);
  }
  if (run.phase === "completed") problems.push(...endProblems(graph, path, decisions));
  return problems;
}

type Predicate = RunStatement["predicate"];
type Graph = NonNullable<Predicate["graph"]>;

/** Whether each step is one of the graph, and was allowed. */
function stepProblems(
  graph: Graph,
  path: Predicate["path"],
  decisions: readonly Decision[],
): readonly string[] {
  const problems: string[] = [];
  const nodes = new Set(graph.nodes.map(({ id }) => id));
  const edges = new Set(graph.edges.map(({ from, to }) => JSON.stringify([from, to])));
  for (const [index, { nodeId, seq }] of path.entries()) {
    const before = path[index - 1];
    if (!nodes.has(nodeId)) problems.push(`Line ${seq}: the graph has no node ${excerpt(nodeId)}.`);
    if (before === undefined) continue;
    if (!edges.has(JSON.stringify([before.nodeId, nodeId]))) {
      problems.push(`Line ${seq}: the graph has no edge ${excerpt(before.nodeId)} → ${excerpt(nodeId)}.`);
    }
    if (seq < before.seq) problems.push(`Line ${seq}: the way goes back in the log.`);
    const isAllowed = decisions.some(
      (each) =>
        each.verdict === "accepted" && isBehind(each, before) && each.seq <= seq && leadsTo(each.to, nodeId),
    );
    if (!isAllowed) problems.push(`Line ${seq}: no accepted change leads to ${excerpt(nodeId)}.`);
  }
  return problems;
}

/** Whether a completed run came to an end. */
function endProblems(
  graph: Graph,
  path: Predicate["path"],
  decisions: readonly Decision[],
): readonly string[] {
  const last = path.at(-1);
  const ends = new Set(graph.nodes.filter(({ type }) => type === "end").map(({ id }) => id));
  // Without one, a variable completes a run wherever it stands.
  if (last === undefined || ends.size === 0 || ends.has(last.nodeId)) return [];
  // The last change may have been such a write, or one that stays where it is, which completed the run at once.
  const mayHaveEnded = decisions.some(
    ({ verdict, to, nodeId, seq }) =>
      verdict === "accepted" && leadsTo(to, nodeId) && nodeId === last.nodeId && seq > last.seq,
  );
  if (mayHaveEnded) return [];
  return [`The run is completed, and its way stops at ${excerpt(last.nodeId)}, which is no end.`];
}

/** Where a bundle run stands from its beginning to its end. */
const BUNDLE_NODE = "workflow";

/** A bundle run has no graph and no state document: it stands in one place, and there is nothing for the guard to decide. */
function bundleProblems({ subject, predicate }: RunStatement): readonly string[] {
  const { path, decisions, answers, models } = predicate;
  const problems: string[] = [];
  if (subject.some(({ name }) => name === STATE_DOCUMENT))
    problems.push(`A run without a graph has no state document, ${STATE_DOCUMENT}.`);
  if (path.length > 1) problems.push("A run without a graph has no way through it.");
  // A tool of other runs that a model calls here is refused.
  if (decisions.some(({ verdict }) => verdict === "accepted"))
    problems.push("A run without a graph has no changes that the guard decides on.");
  const elsewhere = [...path, ...answers, ...models].find(({ nodeId }) => nodeId !== BUNDLE_NODE);
  if (elsewhere !== undefined)
    problems.push(`A run without a graph stands at ${BUNDLE_NODE}, and not at ${excerpt(elsewhere.nodeId)}.`);
  return problems;
}

/**
 * What does not fit in what a statement says of the log that it was made of: each line is one of its lines, told in their order, at a node
 * of the graph; the run is over. Empty where all fits. Pure.
 */
export function logProblems({ predicate }: RunStatement): readonly string[] {
  const { run, graph, path, decisions, answers, models, audit } = predicate;
  const problems: string[] = [];
  if (!isOverPhase(run.phase)) problems.push(`The run is ${run.phase}: one that is over is attested.`);
  const nodes = new Set(graph?.nodes.map(({ id }) => id));
  if (graph !== null && nodes.size < graph.nodes.length) problems.push("The graph names a node twice.");
  for (const { nodeId } of [...decisions, ...answers, ...models]) {
    if (graph === null || nodeId === "" || nodes.has(nodeId)) continue;
    problems.push(`The graph has no node ${excerpt(nodeId)}, where something is said to have happened.`);
  }
  for (const told of [path, decisions, answers]) {
    let last = 0;
    for (const { seq } of told) {
      if (seq > audit.lines) problems.push(`Line ${seq}: the log has ${counted(audit.lines, "line")}.`);
      if (told !== path && seq <= last) problems.push(`Line ${seq}: is told behind line ${last}.`);
      last = seq;
    }
  }
  return problems;
}

/** One line tells of both where a way begins at a node that the engine passes. */
function isBehind(decision: Decision, step: RunStatement["predicate"]["path"][number]): boolean {
  return decision.seq > step.seq || (decision.seq === step.seq && decision.nodeId === step.nodeId);
}

/** Of a document that was written as a whole the log does not tell where it leads. */
function leadsTo(to: string | undefined, nodeId: string): boolean {
  return to === undefined || to === nodeId;
}

/** The directories on this machine that artifacts are looked at in. */
export interface ArtifactPlaces {
  readonly project?: string | undefined;
  /** The session folder of a bundle run that lies in no project. */
  readonly session?: string | undefined;
}

/** Which artifacts of a statement are not as it says; of the places that are not named, none is looked at. */
export async function artifactProblems(
  { subject }: RunStatement,
  { project, session }: ArtifactPlaces,
): Promise<readonly string[]> {
  const artifacts = subject.filter(({ name }) => !name.startsWith(STORE_SUBJECTS));
  const inSession = artifacts.filter(({ name }) => name.startsWith(SESSION_SUBJECTS));
  const ofProject = artifacts.filter((each) => !inSession.includes(each));
  const problems: string[] = [];
  if (project !== undefined) {
    const root = await realpath(project);
    problems.push(...(await differences(ofProject, (name) => hashOf(root, inProject(name)))));
    if (session === undefined && inSession.length > 0)
      problems.push("The run's session folder lies in no project: name it with --session.");
  }
  if (session !== undefined) {
    const root = await realpath(session);
    problems.push(
      ...(await differences(inSession, (name) => hashOf(root, name.slice(SESSION_SUBJECTS.length)))),
    );
    if (inSession.length === 0)
      problems.push("The statement names no file of a session folder: its artifacts lie in the project.");
  }
  return problems;
}

async function differences(
  artifacts: RunStatement["subject"],
  hash: (name: string) => Promise<string>,
): Promise<readonly string[]> {
  const problems: string[] = [];
  // One after the other: a process may open fewer files than a run has made.
  for (const { name, digest } of artifacts) {
    const found = await hash(name).catch((error: unknown) => error);
    if (found === digest.sha256) continue;
    if (typeof found === "string") problems.push(`${excerpt(name)} is not what the run has made.`);
    else problems.push(`${excerpt(name)} ${found instanceof NotHashed ? found.message : "cannot be read"}.`);
  }
  return problems;
}

function inProject(name: string): string {
  return name.startsWith(PROJECT) ? name.slice(PROJECT.length) : name;
}

class NotHashed extends Error {}

async function hashOf(root: string, name: string): Promise<string> {
  const isPlain = name.split("/").every((part) => part !== "" && part !== "." && part !== "..");
  // Where it separates no names, a model may have chosen one with a backslash.
  if (!isPlain || (sep !== "/" && name.includes(sep)) || name.includes("\0"))
    throw new NotHashed("is no path within its folder");
  const path = join(root, name);
  const real = await realpath(path).catch(() => {
    throw new NotHashed("is missing");
  });
  if (real !== path) throw new NotHashed("lies behind a link");
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    if (!(await file.stat()).isFile()) throw new NotHashed("is no file");
    const hash = createHash("sha256");
    for await (const chunk of file.createReadStream({ autoClose: false })) hash.update(chunk as Buffer); // without an encoding
    return hash.digest("hex");
  } finally {
    await file.close();
  }
}
