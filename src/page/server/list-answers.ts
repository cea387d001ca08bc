import type { ListedRun, RunFilter } from "../../client/client.js";
import { BUNDLE_RUN_WORKFLOW } from "../../contract/names.js";
import { defined } from "../../core/defined.js";
import type { GraphEdge as PackageEdge } from "../../core/package/graph.js";
import { RUN_PHASES } from "../../core/run/phase.js";
import type { RouteAnswer, RouteRequest } from "../api.js";
import type { RunRow } from "../api-run.js";
import { answered } from "./faults.js";
import type { PageDeps } from "./places.js";
import { someAtOnce } from "../../core/some-at-once.js";

/* What the page says of runs, stores and packages as such. */

const DEFAULT_PAGE = 50;
const MAX_QUESTIONS = 200;

export function sessionAnswer({ client, version, startWorker }: PageDeps): RouteAnswer<"session"> {
  const { namespace, taskQueue } = client;
  return { version, namespace, taskQueue, startWorker };
}

/** One more is asked for than is shown: that says whether there are more. */
export async function runsAnswer(
  { client }: PageDeps,
  { phase, before, limit = DEFAULT_PAGE, ...narrowing }: RouteRequest<"runs">,
): Promise<RouteAnswer<"runs">> {
  const phases = phase?.split(",");
  const filter: RunFilter = {
    ...narrowing,
    ...(phases === undefined ? {} : { phases: RUN_PHASES.filter((known) => phases.includes(known)) }),
    ...(before === undefined ? {} : { query: begunBy(before) }),
  };
  const runs = await client.runs(filter, limit + 1);
  return { runs: runs.slice(0, limit).map(rowOf), more: runs.length > limit };
}

/** A listing says the millisecond in which a run began; Temporal knows it more exactly. */
function begunBy(time: string): string {
  return `StartTime < "${new Date(Date.parse(time) + 1).toISOString()}"`;
}

/** A run of a listing as the page shows it. */
export function rowOf({ workflowType, ...run }: ListedRun): RunRow {
  return { ...run, kind: workflowType === BUNDLE_RUN_WORKFLOW ? "bundle" : "graph" };
}

export async function questionsAnswer(
  { client }: PageDeps,
  narrowing: RouteRequest<"questions">,
): Promise<RouteAnswer<"questions">> {
  const open = await client.questionLines(narrowing);
  const questions = open.slice(0, MAX_QUESTIONS).map((question) => {
    const { runId, workflowId, nodeId, text, since, id, code, packageId, project } = question;
    return { runId, workflowId, nodeId, text, since, ...defined({ id, code, packageId, project }) };
  });
  return { questions, more: open.length > MAX_QUESTIONS };
}

const STORES_AT_A_TIME = 16;

export async function storesAnswer({ client, mayLive }: PageDeps): Promise<RouteAnswer<"stores">> {
  const stores = await someAtOnce(await client.stores(), STORES_AT_A_TIME, async (store) => {
    const { storeId, name, taskQueue, projects } = store;
    const { polled } = await client.polling(taskQueue, mayLive);
    return { storeId, name, taskQueue, polled, projects };
  });
  return { stores };
}

export async function packagesAnswer(
  { client, readerOf }: PageDeps,
  { taskQueue }: RouteRequest<"packages">,
): Promise<RouteAnswer<"packages">> {
  return answered(await readerOf(client.onQueue(taskQueue)).ask("read.packages", {}));
}

export async function packageAnswer(
  { client, readerOf }: PageDeps,
  { taskQueue, packageId }: RouteRequest<"package">,
): Promise<RouteAnswer<"package">> {
  const reader = readerOf(client.onQueue(taskQueue));
  const { workflows, ...facts } = answered(await reader.ask("read.workflows", { packageId }));
  return {
    ...facts,
    workflows: workflows.map(({ id, isEntry, graph }) => ({
      id,
      isEntry,
      entryNodeId: graph.entryNodeId,
      nodes: graph.nodes.map(({ id: nodeId, type, title, agentId }) => {
        return { id: nodeId, type, ...defined({ title, agentId }) };
      }),
      edges: graph.edges.map(edgeFacts),
    })),
  };
}

/** An edge of a package as the page shows it. */
export function edgeFacts({ from, to, label, isDefault = false, conditionText }: PackageEdge) {
  return { from, to, label, isDefault, ...defined({ conditionText }) };
}
