import type { RunHandle } from "../../client/run-handle.js";
import { runsBelow } from "../../client/runs-below.js";
import { askingBelow } from "../../client/standing-below.js";
import { webUrlOf } from "../../contract/web-url.js";
import type { RunCourse } from "../../contract/visit-reads.js";
import { defined } from "../../core/defined.js";
import type { WorkflowGraph } from "../../core/package/graph.js";
import { questionIn } from "../../core/run/question.js";
import type { RunState } from "../../core/run/run-state.js";
import type { RouteAnswer, RouteRequest } from "../api.js";
import type { GraphEdge, RunGraph, RunStanding, Visit } from "../api-run.js";
import { answered } from "./faults.js";
import { edgeFacts, rowOf } from "./list-answers.js";
import { type PageDeps, type RunPlace, byWorker } from "./places.js";
import { isOverPhase } from "../../core/run/phase.js";

/* What the page says of one run: where it stands, its graph, its events. */

export async function runAnswer({ mayLive, webUi }: PageDeps, place: RunPlace): Promise<RouteAnswer<"run">> {
  const { client, handle, workflowId } = place;
  const [{ run, executionRunId, pending, times, isOpen }, polled] = await Promise.all([
    place.describer.describe(),
    client.hasWorker(mayLive),
  ]);
  const failure = isOpen ? undefined : await handle.closedBy();
  return {
    row: rowOf({ ...run, runId: place.runId }),
    times,
    polled,
    pending: pending.activities,
    ...defined({ waitsForWorkerSince: pending.workflowTaskSince, taskFailure: pending.taskFailure, failure }),
    webUrl: webUrlOf(webUi, client.namespace, workflowId, executionRunId),
  };
}

export async function standingAnswer(place: RunPlace): Promise<RouteAnswer<"standing">> {
  const [{ state, below }, read] = await Promise.all([
    byWorker(place, async (handle) => {
      const state = await handle.state();
      return { state, below: await belowOf(handle, state) };
    }),
    place.reader.ask("read.run", { run: place.runId }),
  ]);
  const { metadata, projectRoot, standing, usageByNode = [] } = answered(read);
  const { phase, paused, currentNodeId, stepsCompleted, variables } = state;
  const { question, failure, budget, usage, model } = state;
  return {
    phase,
    paused,
    nodeId: currentNodeId,
    stepsCompleted,
    variables,
    artifacts: state.earlierArtifacts === undefined ? state.artifacts : standing.artifacts,
    ...(question === undefined || phase !== "waiting-user"
      ? {}
      : { question: { ...question, id: questionIn(state) } }),
    budget,
    usage,
    usageByNode,
    ...defined({ failure, model, below, problem: standing.problem }),
    stored: metadata,
    projectRoot,
  };
}

/** The run below that a run waits for, and what somebody is asked there. */
async function belowOf(handle: RunHandle, state: RunState): Promise<RunStanding["below"]> {
  if (state.below === undefined) return undefined;
  const asking = askingBelow(await runsBelow(handle, state));
  const question = asking?.state.question;
  if (asking === undefined || question === undefined) return state.below;
  const { runId, workflowRef } = asking;
  return { ...state.below, asks: { ...question, id: questionIn(asking.state), runId, workflowRef } };
}

export async function graphAnswer(place: RunPlace): Promise<RouteAnswer<"graph">> {
  const run = { run: place.runId };
  const { reader } = place;
  const [graph, course, visits, state] = await Promise.all([
    place.graph(),
    reader.ask("read.course", run),
    reader.ask("read.visits", run),
    byWorker(place, (handle) => handle.state()),
  ]);
  if (graph === null) return { graph: null };
  const conversations = new Set(answered(visits).visits.map(({ name }) => name));
  return { graph: graphOn(graph, answered(course), state, conversations) };
}

/** A graph with the run on it. Pure. */
function graphOn(
  graph: WorkflowGraph,
  course: RunCourse,
  state: Pick<RunState, "phase" | "currentNodeId" | "visit" | "allowedNext" | "below">,
  conversations: ReadonlySet<string>,
): RunGraph {
  const entered = new Map(course.entered.map(({ nodeId, count }) => [nodeId, count]));
  const isOpen = !isOverPhase(state.phase);
  const lasts = state.visit > course.visitCount ? state.currentNodeId : undefined;
  const countOf = (moves: RunCourse["moves"], edge: Pick<GraphEdge, "from" | "to">): number =>
    moves.find(({ from, to }) => from === edge.from && to === edge.to)?.count ?? 0;
  const closed = state.allowedNext.filter(({ satisfied }) => satisfied === false);
  const isEdge = (move: Pick<GraphEdge, "from" | "to">): boolean =>
    graph.edges.some(({ from, to }) => from === move.from && to === move.to);
  return {
    entryNodeId: graph.entryNodeId,
    nodes: graph.nodes.map(({ id, type, title, agentId }) => ({
      id,
      type,
      ...defined({ title, agentId }),
      visits: (entered.get(id) ?? 0) + (lasts === id ? 1 : 0),
      isCurrent: state.phase !== "completed" && id === state.currentNodeId,
    })),
    edges: graph.edges.map((edge) => ({
      ...edgeFacts(edge),
      taken: countOf(course.moves, edge),
      refused: countOf(course.refused, edge),
      isClosed:
        isOpen &&
        edge.from === state.currentNodeId &&
        closed.some(({ to, label }) => to === edge.to && label === edge.label),
    })),
    refusedMoves: course.refused.filter((move) => !isEdge(move)),
    visits: visitsOf(
      course,
      lasts === undefined
        ? undefined
        : { nodeId: lasts, visit: state.visit, ...defined({ below: state.below }) },
      conversations,
    ),
    visitCount: course.visitCount + (lasts === undefined ? 0 : 1),
  };
}

function visitsOf(
  course: RunCourse,
  lasting: Pick<Visit, "nodeId" | "visit" | "below"> | undefined,
  conversations: ReadonlySet<string>,
): readonly Visit[] {
  const nameOf = (visit: number): Pick<Visit, "conversation"> => {
    const conversation = [`visit-${visit}`, "run"].find((name) => conversations.has(name));
    return defined({ conversation });
  };
  const ended = course.visits.map((visit) => ({ ...visit, ...nameOf(visit.visit) }));
  return lasting === undefined ? ended : [...ended, { ...lasting, ...nameOf(lasting.visit) }];
}

export async function bundleAnswer({ reader, runId }: RunPlace): Promise<RouteAnswer<"bundle">> {
  const run = { run: runId };
  const facts = answered(await reader.ask("read.run", run));
  if (facts.metadata.bundle === undefined) return { bundle: null };
  const [course, files, visits] = await Promise.all([
    reader.ask("read.course", run),
    reader.ask("read.artifacts", run),
    reader.ask("read.visits", run),
  ]);
  return {
    bundle: {
      sessionFolder: facts.places.sessionFolder,
      steps: answered(course).filesRead,
      files: answered(files).artifacts,
      conversations: answered(visits).visits.map(({ name, bytes }) => ({ name, bytes })),
    },
  };
}

export async function eventsAnswer(
  { reader, runId }: RunPlace,
  { seq, tail, offset, lines }: RouteRequest<"events">,
): Promise<RouteAnswer<"events">> {
  const at = offset === undefined || lines === undefined ? undefined : { offset, lines };
  const asked = { run: runId, ...defined({ at, seq, tail }) };
  const { events, next, more } = answered(await reader.ask("read.events", asked));
  return { events, next, more };
}
