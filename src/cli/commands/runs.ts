import type { InterlockClient, KnownStore, ListedRun, Polling, RunFilter } from "../../client/client.js";
import type { Config } from "../../config.js";
import { SEARCH_ATTRIBUTES } from "../../contract/names.js";
import type { RunMetadata } from "../../store/runs/run-metadata.js";
import type { RunSurvey } from "../../store/runs/run-manager.js";
import type { Store } from "../../store/store.js";
import { isNobodyThere, lookAround, noStoreWords } from "../session/environment.js";
import { isTemporalThere } from "../session/temporal-there.js";
import { unknownProject } from "../session/find-project.js";
import { chooseStore, knownStores, notPolledSince, pollings, sentenceTime } from "../session/known-stores.js";
import {
  EXIT,
  type ExitCode,
  UsageError,
  outputWidth,
  print,
  printJson,
  printNote,
} from "../terminal/output.js";
import { type RunsOptions, filterOf, limitOf, newestWords } from "../report/run-filter.js";
import {
  type RunRow,
  joined,
  newestFirst,
  runCells,
  runColumns,
  storedFits,
  storedRow,
  withAskingBelow,
} from "../report/run-rows.js";
import { defined } from "../../core/defined.js";
import { excerpt } from "../../core/text.js";
import { tableLines } from "../terminal/table.js";
import { directoryName } from "../../core/run/listed-texts.js";
import { isOverPhase } from "../../core/run/phase.js";

/** What a listing is made from. */
interface Sources {
  /** Undefined where none stands here. */
  readonly store: Store | undefined;
  readonly filter: RunFilter;
  readonly limit: number;
  readonly survey: RunSurvey;
  readonly projectNames: ReadonlyMap<string, string>;
}

const NO_RUNS = "No runs yet. Start one with: interlock run <package> --project <dir>";

interface Listing {
  readonly rows: readonly RunRow[];
  /** What is to be said of the queues that nobody polls. */
  readonly notes: readonly string[];
}

/** `interlock runs`: the runs of all stores, newest first, from Temporal; what it no longer has, from the store at hand. */
export async function runsCommand(options: RunsOptions): Promise<ExitCode> {
  const now = new Date();
  const { config, store } = await lookAround();
  if (isNobodyThere(config, store)) printNote(noStoreWords(config));
  const limit = limitOf(options);
  const filter = await filterOf(options, now);
  const survey = (await store?.runs.surveyIndexes()) ?? { runs: [], damaged: [] };
  const projectNames = store === undefined ? new Map<string, string>() : await projectNamesOf(store, survey);
  const sources = { store, filter, limit, survey, projectNames };
  const isServing = await isTemporalThere(config, store);
  if (!isServing && (options.store !== undefined || options.query !== undefined)) {
    throw new UsageError("--store and --query ask Temporal. Set TEMPORAL_ADDRESS, or start: interlock dev");
  }
  const { rows, notes } = isServing
    ? await fromTemporal(config, sources, options)
    : await fromStore(sources, options);
  for (const { error } of survey.damaged) printNote(error.message);
  for (const note of notes) printNote(note);
  show(withAskingBelow(rows), options, {
    now,
    limit,
    isWhole: survey.damaged.length === 0,
    isNarrowed: Object.keys(filter).length > 0 || options.store !== undefined,
  });
  return survey.damaged.length === 0 ? EXIT.done : EXIT.failed;
}

function show(
  rows: readonly RunRow[],
  { json = false }: RunsOptions,
  {
    now,
    limit,
    isWhole,
    isNarrowed,
  }: Readonly<{ now: Date; limit: number; isWhole: boolean; isNarrowed: boolean }>,
): void {
  if (json) {
    printJson(rows);
    return;
  }
  if (rows.length === 0) {
    // What an index that cannot be read has, nobody knows; and that is said.
    if (isWhole) print(isNarrowed ? "No runs like that." : NO_RUNS);
    return;
  }
  const width = outputWidth();
  const isNarrow = width !== undefined;
  const cells = rows.map((row) => runCells(row, { isNarrow, now }));
  for (const line of tableLines(runColumns(isNarrow), cells, width)) print(line);
  if (rows.length === limit) printNote(newestWords(limit));
}

async function fromStore(sources: Sources, { project }: RunsOptions): Promise<Listing> {
  const rows = newestStored(sources, () => true);
  return {
    rows,
    notes: rows.length > 0 ? [] : listOf(await unknownProject(undefined, sources.store, project)),
  };
}

function listOf<T>(item: T | undefined): readonly T[] {
  return item === undefined ? [] : [item];
}

async function fromTemporal(config: Config, sources: Sources, options: RunsOptions): Promise<Listing> {
  const { withTemporal } = await import("../session/temporal-session.js");
  return withTemporal({ config, store: sources.store }, ({ session }) =>
    listing(session.client, sources, options),
  );
}

async function listing(client: InterlockClient, sources: Sources, options: RunsOptions): Promise<Listing> {
  const { store, limit, survey, projectNames } = sources;
  // Temporal still lists for a while what it was told to delete.
  const pruned = new Set((await store?.runs.prunedRuns())?.map(({ runId }) => runId));
  const known = knownStores(client, store);
  const queues =
    options.store === undefined ? {} : { taskQueues: [chooseStore(await known, options.store).taskQueue] };
  const filter = { ...sources.filter, ...queues };
  const [stores, found] = await Promise.all([known, asked(() => client.runs(filter, limit))]);
  const listed = found.filter(({ runId }) => !pruned.has(runId));
  const asItStands = (run: RunMetadata): RunMetadata => store?.runs.asItStands(run) ?? run;
  const rows = joined(listed, survey.runs, projectNames, asItStands);
  const forgotten = await forgottenRows(client, { ...sources, filter }, listed);
  const all = newestFirst([...rows, ...forgotten]).slice(0, limit);
  const open = all.filter((row) => row.inTemporal === true && !isOverPhase(row.phase));
  const polled = await pollings(
    client,
    open.map(({ taskQueue }) => taskQueue),
  );
  const unknown = all.length > 0 ? undefined : await unknownProject(client, store, options.project);
  return {
    rows: all.map((row) => withStanding(row, stores, polled.get(row.taskQueue))),
    notes: [...unpolledNotes(open, stores, polled), ...listOf(unknown)],
  };
}

/** A query that Temporal does not take is the user's. */
async function asked<T>(action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    const details = error instanceof Error && "details" in error ? error.details : undefined;
    const isRefused = typeof details === "string" && /invalid query|search attribute/i.test(details);
    if (!isRefused) throw error;
    const own = `Runs have ${Object.keys(SEARCH_ATTRIBUTES).join(", ")}, where the namespace has them: interlock doctor`;
    const remedy = /search attribute/i.test(details) ? `. ${own}` : "";
    throw new UsageError(`Temporal does not take this query: ${details}${remedy}`, { cause: error });
  }
}

/** Runs of the store at hand that Temporal no longer has. */
async function forgottenRows(
  client: InterlockClient,
  sources: Sources,
  listed: readonly ListedRun[],
): Promise<readonly RunRow[]> {
  const shown = new Set(listed.map(({ runId }) => runId));
  const last = listed.length < sources.limit ? undefined : listed.at(-1)?.startedAt;
  const candidates = newestStored(
    sources,
    ({ runId, createdAt }) => !shown.has(runId) && (last === undefined || createdAt > last),
  );
  if (candidates.length === 0) return [];
  const known = await client.knowsOf(candidates.map(({ workflowId }) => workflowId));
  return candidates
    .filter(({ workflowId }) => !known.has(workflowId))
    .map((row) => ({ ...row, inTemporal: false }));
}

/** The newest runs of the store that were asked for, newest first; older ones are not even looked at. */
function newestStored(
  { store, survey, filter, limit, projectNames }: Sources,
  isWanted: (run: RunMetadata) => boolean,
): readonly RunRow[] {
  const rows: RunRow[] = [];
  for (let at = survey.runs.length - 1; at >= 0 && rows.length < limit; at -= 1) {
    const found = survey.runs[at];
    if (found === undefined || !isWanted(found)) continue;
    const run = store?.runs.asItStands(found) ?? found;
    const here = {
      taskQueue: store?.taskQueue ?? "",
      ...defined({ project: projectNames.get(run.projectId) }),
    };
    if (!storedFits(storedRow(run, here), filter)) continue;
    rows.push(storedRow(run, { ...here, ...defined({ place: store?.runs.placeOf(run) }) }));
  }
  return rows;
}

async function projectNamesOf(store: Store, { runs }: RunSurvey): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>();
  for (const { projectId } of runs) {
    if (names.has(projectId)) continue;
    const root = await store.runs.projectRoot(projectId);
    if (root.ok) names.set(projectId, directoryName(root.value));
  }
  return names;
}

function withStanding(row: RunRow, stores: readonly KnownStore[], polling: Polling | undefined): RunRow {
  const store = stores.find(({ taskQueue }) => taskQueue === row.taskQueue);
  const since = polling === undefined || polling.polled ? undefined : notPolledSince(store, polling);
  return {
    ...row,
    ...(store === undefined ? {} : { store: { storeId: store.storeId, name: store.name } }),
    ...(polling === undefined ? {} : { polled: polling.polled }),
    ...defined({ notPolledSince: since }),
  };
}

/** One sentence for each queue that nobody polls, with how many of the runs wait for it. */
function unpolledNotes(
  open: readonly RunRow[],
  stores: readonly KnownStore[],
  polled: ReadonlyMap<string, Polling>,
): readonly string[] {
  return [...polled]
    .filter(([, polling]) => !polling.polled)
    .map(([queue, polling]) => {
      const store = stores.find(({ taskQueue }) => taskQueue === queue);
      const count = open.filter(({ taskQueue }) => taskQueue === queue).length;
      const runs = count === 1 ? "1 run waits" : `${count} runs wait`;
      const of = store === undefined ? "" : ` of the store ${excerpt(store.name)}`;
      const since = sentenceTime(notPolledSince(store, polling));
      return `No worker polls the task queue "${excerpt(queue)}"${of}${since}: ${runs} for one.`;
    });
}
