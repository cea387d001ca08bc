import type { ListedRun, RunFilter } from "../../client/client.js";
import { fits } from "../../client/runs/list-runs.js";
import { MAX_SUBWORKFLOW_DEPTH } from "../../core/package/engine-nodes.js";
import { listedQuestion } from "../../core/run/listed-texts.js";
import { shortRunId, workflowIdOf } from "../../core/run/run-id.js";
import { defined } from "../../core/defined.js";
import type { RunPlace } from "../../store/runs/status-file.js";
import type { RunMetadata } from "../../store/runs/run-metadata.js";
import { workflowIdOfRun } from "../../store/runs/run-metadata.js";
import type { Column } from "../terminal/table.js";
import { timeOf } from "../terminal/time-of-day.js";

/** A run of the listing: what Temporal says of it, what the store at hand says, or both. */
export interface RunRow extends Omit<ListedRun, "workflowType">, Partial<Omit<RunMetadata, keyof ListedRun>> {
  /** Absent where only the store knows the run. */
  readonly workflowType?: string;
  readonly createdAt: string;
  /** False: Temporal does not have it any more; the store at hand says what there is. Absent where Temporal was not asked. */
  readonly inTemporal?: boolean;
  /** Whose run it is, where that store is known. */
  readonly store?: { readonly storeId: string; readonly name: string };
  /** Of an open run: whether anybody polls its queue, else since when not, ISO. */
  readonly polled?: boolean;
  /** The run below that waits for a person before this one goes on. */
  readonly asksBelow?: string;
  readonly notPolledSince?: string;
}

/** What both know, newest first. What Temporal says of where a run stands is newer. */
export function joined(
  listed: readonly ListedRun[],
  stored: readonly RunMetadata[],
  projectNames: ReadonlyMap<string, string>,
  asItStands: (run: RunMetadata) => RunMetadata = (run) => run,
): readonly RunRow[] {
  const wanted = new Set(listed.map(({ runId }) => runId));
  const known = new Map(
    stored.filter(({ runId }) => wanted.has(runId)).map((run) => [run.runId, asItStands(run)]),
  );
  return listed.map((run) => {
    const own = known.get(run.runId);
    const project = run.project ?? projectNames.get(own?.projectId ?? "");
    const createdAt = own?.createdAt ?? run.startedAt;
    const start = own === undefined || own.createdAt > run.startedAt ? run.startedAt : own.createdAt;
    return {
      ...own,
      ...run,
      ...defined({ project }),
      createdAt,
      startedAt: start,
      inTemporal: true,
    };
  });
}

/** A run that only the store knows. */
export function storedRow(
  run: RunMetadata,
  { taskQueue, project, place }: { taskQueue: string; project?: string; place?: RunPlace },
): RunRow {
  const question =
    run.phase === "waiting-user" && place?.question ? listedQuestion(place.question.text) : undefined;
  return {
    ...run,
    workflowId: workflowIdOfRun(run),
    paused: place?.paused ?? false,
    ...defined({ project, nodeId: place?.nodeId || undefined, question }),
    startedAt: run.createdAt,
    since: run.lastUpdatedAt,
    taskQueue,
  };
}

/** Whether a run that only the store knows is one of those that were asked for. */
export function storedFits(row: RunRow, filter: RunFilter): boolean {
  return filter.query === undefined && fits({ ...row, workflowType: "" }, filter);
}

export function newestFirst(rows: readonly RunRow[]): readonly RunRow[] {
  return rows.toSorted((a, b) => b.startedAt.localeCompare(a.startedAt));
}

/** A cell cut to less than an id that is short names nothing. */
const LEAST_ID = 8;

/** How a run is named where there is little room: any beginning of its id names it. */
export function shortName({ runId, workflowId }: Pick<RunRow, "runId" | "workflowId">): string {
  return workflowId === workflowIdOf(runId) ? shortRunId(runId) : workflowId;
}

const NAME = 60;

/** The columns of the listing. */
export function runColumns(isNarrow: boolean): readonly Column[] {
  return [
    { title: "RUN", max: 120, ...(isNarrow ? { gives: true, least: LEAST_ID } : {}) },
    { title: "PACKAGE", max: NAME, gives: true },
    { title: "PROJECT", max: NAME, gives: true },
    { title: "PHASE", max: 40 },
    { title: "NODE", max: NAME, gives: true },
    { title: "QUESTION", max: 80, gives: true },
    { title: "STARTED", max: 20 },
    { title: "SINCE", max: 20 },
  ];
}

/** A run as its cells. */
export function runCells(row: RunRow, { isNarrow, now }: { readonly isNarrow: boolean; readonly now: Date }) {
  const { runId, workflowId } = row;
  const full = workflowId === workflowIdOf(runId) ? runId : `${runId} ${workflowId}`;
  return [
    isNarrow ? shortName(row) : full,
    `${row.bundle === undefined ? packageName(row.packageId ?? "") : `${row.packageId} ${row.workflowRef}`}${partOf(row)}`,
    row.project ?? row.projectId ?? "",
    phaseOf(row),
    row.nodeId ?? "",
    row.question ?? "",
    timeOf(row.startedAt, now),
    row.since === undefined ? "" : timeOf(row.since, now),
  ];
}

/** What a subworkflow's run belongs to. */
function partOf({ parentRunId }: RunRow): string {
  return parentRunId === undefined ? "" : `, part of ${shortRunId(parentRunId)}`;
}

function phaseOf({ phase, paused, inTemporal, asksBelow }: RunRow): string {
  const asks = asksBelow === undefined ? "" : `, ${shortRunId(asksBelow)} asks`;
  return `${phase}${paused ? ", paused" : ""}${asks}${inTemporal === false ? " (store)" : ""}`;
}

/** Says of each run which run below it waits for a person, as far as that one is listed too. */
export function withAskingBelow(rows: readonly RunRow[]): readonly RunRow[] {
  const known = new Map(rows.map((row) => [row.runId, row]));
  const asks = new Map<string, string>();
  for (const { runId, phase, parentRunId } of rows) {
    if (phase !== "waiting-user") continue;
    let above = parentRunId;
    for (let level = 0; above !== undefined && level < MAX_SUBWORKFLOW_DEPTH; level += 1) {
      asks.set(above, runId);
      above = known.get(above)?.parentRunId;
    }
  }
  return rows.map((row) => {
    const asksBelow = row.phase === "running" ? asks.get(row.runId) : undefined;
    return asksBelow === undefined ? row : { ...row, asksBelow };
  });
}

/** `<name>-<version>` of a package's id: its digest says nothing to people. */
function packageName(packageId: string): string {
  return packageId.replace(/-[0-9a-f]{16}$/, "");
}
