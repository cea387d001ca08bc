import { BUNDLE_RUN_WORKFLOW, GRAPH_RUN_WORKFLOW } from "../../contract/names.js";
import { RUN_MEMO, type RunMemo, runMemoSchema } from "../../contract/run-memo.js";
import { defined } from "../../core/defined.js";
import { type RunPhase, isOverPhase } from "../../core/run/phase.js";
import { projectSlug } from "../../core/run/project-slug.js";
import { runIdIn, workflowIdOf } from "../../core/run/run-id.js";
import { type PayloadReader, readableValue } from "../temporal/payloads.js";
import { type Lister, type RawExecution, listExecutions } from "../temporal/list-executions.js";
import { quoted } from "../temporal/quoted.js";
import { isoOf, readJson } from "../temporal/raw-values.js";

/** A run as a listing of Temporal's shows it. What the run says of itself is text from outside. */
export interface ListedRun {
  readonly runId: string;
  readonly workflowId: string;
  readonly workflowType: string;
  readonly phase: RunPhase;
  readonly paused: boolean;
  readonly packageId?: string;
  readonly workflowRef?: string;
  readonly projectId?: string;
  /** Of a subworkflow's run: the run that has started it. */
  readonly parentRunId?: string;
  /** The name of the project's directory. */
  readonly project?: string;
  readonly nodeId?: string;
  /** The first line of what it waits with. */
  readonly question?: string;
  /** That question's id, `<visit>.<turn>`. */
  readonly asked?: string;
  /** Why the engine asks, where it is not the model. */
  readonly code?: string;
  /** ISO, UTC. */
  readonly startedAt: string;
  /** When it came into its phase; absent where nobody says so. */
  readonly since?: string;
  readonly taskQueue: string;
}

/** What a listing is narrowed to; what is absent narrows nothing. */
export interface RunFilter {
  readonly phases?: readonly RunPhase[];
  /** The beginning of a package's id: a name, or `name-version`. */
  readonly package?: string;
  /** A project's id, or the name of its directory. */
  readonly project?: string;
  /** Begun at or after this time, ISO. */
  readonly since?: string;
  readonly taskQueues?: readonly string[];
  /** What Temporal is asked for besides, as Temporal spells it. */
  readonly query?: string;
}

/** Executions that are looked through for one listing, at most. */
const MAX_EXECUTIONS = 20_000;
const PAGE = 1_000;
/** Names in one query. */
const BATCH = 100;
const TYPES = [GRAPH_RUN_WORKFLOW, BUNDLE_RUN_WORKFLOW];
const OF_RUNS = `WorkflowType IN (${TYPES.map(quoted).join(", ")})`;
const RUNS = `${OF_RUNS} AND ExecutionStatus != "ContinuedAsNew"`;
const OPEN = ["Running", "Paused"];
const NOT_OPEN = OPEN.map((status) => `ExecutionStatus != ${quoted(status)}`).join(" AND ");

/**
 * The newest runs that fit, newest first, each once: its newest execution. `searchable` gives the search attributes that
 * the namespace has, and is asked where the filter has use for one; where one is missing the runs themselves are looked
 * through. Throws what Temporal says of a query that it does not take.
 */
export async function listRuns(
  temporal: Lister,
  filter: RunFilter,
  limit: number,
  searchable: () => Promise<readonly string[]>,
): Promise<readonly ListedRun[]> {
  if (filter.phases?.length === 0 || filter.taskQueues?.length === 0) return []; // Temporal takes no empty list
  const query = [RUNS, ...(await narrowing(filter, searchable))].join(" AND ");
  const pageSize = Math.min(PAGE, Math.max(100, 2 * limit));
  const newest = new NewestRuns(limit);
  let seen = 0;
  // Temporal lists those that are open, the one that began last first, then the others, the one that ended last first.
  const take = async (asked: string): Promise<"all" | "enough" | "open"> => {
    for await (const raw of listExecutions(temporal, asked, pageSize)) {
      seen += 1;
      const closedAt = isoOf(raw.closeTime);
      const last = newest.last;
      if (last !== undefined && (closedAt === undefined || closedAt < last)) {
        return closedAt === undefined ? "open" : "enough";
      }
      const run = await listedRun(temporal, raw);
      if (fits(run, filter)) newest.add(run);
      if (seen >= MAX_EXECUTIONS) return "enough";
    }
    return "all";
  };
  if ((await take(query)) === "open") await take(`${query} AND ${NOT_OPEN}`);
  return (await withoutOlder(temporal, newest.runs, filter)).slice(0, limit);
}

/** So many runs, or more, that began last: each once, as it was listed first. */
class NewestRuns {
  private readonly limit: number;
  private readonly keys = new Set<string>();
  /** The one that began last first. */
  readonly runs: ListedRun[] = [];

  constructor(limit: number) {
    this.limit = limit;
  }

  /** Of one that was retried, an older execution is not the run: the newest is listed first. */
  add(run: ListedRun): void {
    const key = keyOf(run);
    if (this.keys.has(key)) return;
    this.keys.add(key);
    const before = this.runs.findLastIndex(({ startedAt }) => startedAt >= run.startedAt);
    this.runs.splice(before + 1, 0, run);
  }

  /** When the last of them began; undefined where there are fewer. One that ended before then is not among them. */
  get last(): string | undefined {
    return this.runs[this.limit - 1]?.startedAt;
  }
}

/** Which of these workflow ids Temporal knows. */
export async function knownWorkflowIds(
  temporal: Lister,
  workflowIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const known = new Set<string>();
  for (const batch of batchesOf(workflowIds)) {
    for await (const { workflowId } of executions(temporal, idsQuery(batch))) known.add(workflowId);
  }
  return known;
}

/** Has Temporal delete what it has of a run that is over: all its executions that are closed. */
export async function deleteHistories(
  temporal: Lister,
  { runId, workflowId }: { readonly runId: string; readonly workflowId: string },
): Promise<void> {
  const { workflowService, options } = temporal;
  const query = `${OF_RUNS} AND ${idsQuery([workflowId])}`;
  for await (const raw of listExecutions(temporal, query, PAGE)) {
    // Under one workflow id there may be several runs. An execution that is deleted while it is open is ended by that.
    const run = await listedRun(temporal, raw);
    if (run.runId !== runId || raw.closeTime === null || raw.closeTime === undefined) continue;
    const { namespace } = options;
    await workflowService.deleteWorkflowExecution({ namespace, workflowExecution: raw.execution ?? null });
  }
}

/** Runs whose id, or whose workflow's id, begins so; at most `limit`, newest first. */
export async function runsWithPrefix(
  temporal: Lister,
  prefix: string,
  limit: number,
): Promise<readonly ListedRun[]> {
  const starts = [prefix, workflowIdOf(prefix)].map((text) => `WorkflowId STARTS_WITH ${quoted(text)}`);
  // Under a workflow id of its own, a run has the id of its first execution.
  const query = `${RUNS} AND (${[...starts, `RunId STARTS_WITH ${quoted(prefix)}`].join(" OR ")})`;
  const found = new Map<string, ListedRun>();
  for await (const run of executions(temporal, query)) {
    if (!run.runId.startsWith(prefix) && !run.workflowId.startsWith(prefix)) continue;
    if (!found.has(keyOf(run))) found.set(keyOf(run), run);
    if (found.size >= limit) break;
  }
  return [...found.values()];
}

/** Whether a run is what a listing is narrowed to. */
export function fits(run: ListedRun, filter: RunFilter): boolean {
  const { phases, package: name, project, since, taskQueues } = filter;
  if (phases !== undefined && !phases.includes(run.phase)) return false;
  if (name !== undefined && run.packageId?.startsWith(name) !== true) return false;
  if (project !== undefined && !isProject(run, project)) return false;
  if (since !== undefined && run.startedAt < since) return false;
  return taskQueues === undefined || taskQueues.includes(run.taskQueue);
}

function isProject({ projectId = "", project }: ListedRun, wanted: string): boolean {
  if (projectId === wanted) return true;
  if (project !== undefined) return project === wanted;
  return projectId.startsWith(`${projectSlug(wanted)}-`); // of a run that does not say its project's name
}

/** What Temporal can be asked for: less is looked through then. `fits` decides. */
async function narrowing(
  filter: RunFilter,
  searchable: () => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const { phases, package: name, project, since, taskQueues, query } = filter;
  const isByAttributes = [phases, name, project].some((wanted) => wanted !== undefined);
  const attributes = isByAttributes ? await searchable() : [];
  const parts: string[] = [];
  if (phases !== undefined) {
    const wanted = phases.map((phase) => statusQuery(phase, attributes.includes("RunPhase")));
    parts.push(`(${wanted.join(" OR ")})`);
  }
  if (name !== undefined && attributes.includes("RunPackage")) {
    parts.push(`RunPackage STARTS_WITH ${quoted(name)}`);
  }
  if (project !== undefined && projectSlug(project) !== "" && attributes.includes("RunProject")) {
    parts.push(`RunProject STARTS_WITH ${quoted(projectSlug(project))}`);
  }
  if (since !== undefined) parts.push(`StartTime >= ${quoted(since)}`);
  if (taskQueues !== undefined) parts.push(`TaskQueue IN (${taskQueues.map(quoted).join(", ")})`);
  if (query !== undefined) parts.push(`(${query})`);
  return parts;
}

function statusQuery(phase: RunPhase, hasPhase: boolean): string {
  if (phase === "completed") return `ExecutionStatus = "Completed"`;
  if (phase === "failed") return `ExecutionStatus IN ("Failed", "Canceled", "Terminated", "TimedOut")`;
  const open = `ExecutionStatus IN (${OPEN.map(quoted).join(", ")})`;
  return hasPhase && phase === "waiting-user" ? `(${open} AND RunPhase = ${quoted(phase)})` : open;
}

/**
 * What was looked for among the runs that are over may have gone on since: then its newest execution is another one, and it is
 * that one that counts.
 */
async function withoutOlder(
  temporal: Lister,
  runs: readonly ListedRun[],
  { phases, query }: RunFilter,
): Promise<readonly ListedRun[]> {
  if (phases === undefined && query === undefined) return runs;
  const over = runs.filter(({ phase }) => isOverPhase(phase));
  const newest = new Map<string, string>();
  for (const batch of batchesOf(over.map(({ workflowId }) => workflowId))) {
    for await (const run of executions(temporal, `${RUNS} AND ${idsQuery(batch)}`)) {
      if (!newest.has(keyOf(run))) newest.set(keyOf(run), run.startedAt);
    }
  }
  return runs.filter((run) => (newest.get(keyOf(run)) ?? run.startedAt) <= run.startedAt);
}

function batchesOf(ids: readonly string[]): readonly (readonly string[])[] {
  const unique = [...new Set(ids)];
  const count = Math.ceil(unique.length / BATCH);
  return Array.from({ length: count }, (_, index) => unique.slice(index * BATCH, (index + 1) * BATCH));
}

function idsQuery(ids: readonly string[]): string {
  return `WorkflowId IN (${ids.map(quoted).join(", ")})`;
}

/** Under one workflow id there may be several runs, unless the id says which. */
function keyOf({ workflowId, runId }: ListedRun): string {
  return `${workflowId} ${runId}`;
}

async function* executions(temporal: Lister, query: string): AsyncGenerator<ListedRun> {
  for await (const raw of listExecutions(temporal, query, PAGE)) yield await listedRun(temporal, raw);
}

/** An execution as a listing shows it. */
export async function listedRun(temporal: PayloadReader, raw: RawExecution): Promise<ListedRun> {
  const workflowId = raw.execution?.workflowId ?? "";
  const parsed = runMemoSchema.safeParse(
    await readableValue(temporal, raw.memo?.fields?.[RUN_MEMO], workflowId),
  );
  const memo: Partial<RunMemo> = parsed.data ?? {};
  const word = (name: string): string | undefined => {
    const value = readJson(raw.searchAttributes?.indexedFields?.[name]);
    return typeof value === "string" ? value : undefined;
  };
  const own = runIdIn(workflowId);
  const phase = phaseOf(Number(raw.status), parsed.data, word("RunPhase"));
  const closedAt = isoOf(raw.closeTime);
  return {
    runId: own ?? memo.runId ?? (raw.firstRunId || (raw.execution?.runId ?? "")),
    workflowId,
    workflowType: raw.type?.name ?? "",
    phase,
    paused: memo.paused === true && closedAt === undefined,
    ...defined({
      packageId: memo.package ?? word("RunPackage"),
      workflowRef: memo.workflow ?? word("RunWorkflow"),
      projectId: memo.projectId ?? word("RunProject"),
      project: memo.project,
      parentRunId: memo.parent,
      nodeId: memo.node ?? word("RunNode"),
      ...(phase === "waiting-user" ? { question: memo.question, asked: memo.asked, code: memo.code } : {}),
      since: closedAt ?? memo.since,
    }),
    startedAt: isoOf(raw.startTime) ?? "",
    taskQueue: raw.taskQueue ?? "",
  };
}

/** `WorkflowExecutionStatus` of Temporal's API. */
const RUNNING = 1;
const COMPLETED = 2;
const PAUSED = 8;

/** Whether a run is over says Temporal; how far an open one has come, the run. */
function phaseOf(status: number, memo: RunMemo | undefined, attribute: string | undefined): RunPhase {
  if (status === COMPLETED) return "completed";
  if (status !== RUNNING && status !== PAUSED) return "failed";
  const said = memo?.phase ?? attribute;
  return said === "waiting-user" || said === "running" ? said : memo === undefined ? "idle" : "running";
}
