import { join } from "node:path";
import { defined } from "../core/defined.js";
import { modelsOf } from "../core/run/run-model.js";
import type { RunStatus } from "../store/runs/status-file.js";
import { newestOutputs } from "../core/bundle/listed-outputs.js";
import { type Result, fail, ok } from "../core/errors.js";
import type { JsonObject } from "../core/json.js";
import type { JsonAnswers, RunFacts, StoreQuestion, StoredRun } from "../contract/reads.js";
import { standingManifest, sessionDir } from "../store/runs/bundle-session.js";
import { allArtifacts } from "../store/runs/earlier-files.js";
import { DamagedGraphState } from "../store/runs/graph-state-files.js";
import { readLive } from "../store/runs/live-answer.js";
import type { RunFiles } from "../store/runs/run-files.js";
import type { BundleSettings, RunMetadata } from "../store/runs/run-metadata.js";
import { selectWorkflow } from "../store/packages/choose.js";
import type { Store } from "../store/store.js";
import { artifactsWrittenAgain } from "./recorded-artifacts.js";
import { BUNDLE_NODE } from "../tools/bundle/bundle-sessions.js";
import { isUnreadNow, readingWords, systemCode, unreadNow, wordsOf } from "../core/system-code.js";

const SESSION = "{session-folder}";

/** A run of the store and its files. Faults: `E_RUN_NOT_FOUND`, `E_INTERNAL` where its folder is missing. */
export async function openRun(
  store: Store,
  id: string,
): Promise<Result<{ readonly run: RunMetadata; readonly files: RunFiles }>> {
  const run = await store.runs.findRun(id);
  if (!run.ok) return run;
  const files = await store.runs.openFiles(run.value.projectId, run.value.runId);
  if (!files.ok) return fail("E_INTERNAL", folderMissing(run.value.runId));
  return ok({ run: run.value, files: files.value });
}

/** What to say of a run that the store lists and whose folder is not there. */
function folderMissing(runId: string): string {
  return `The store lists run ${runId}, but its folder is missing, or no folder of the store. Restore it from a backup.`;
}

function storedRun({ bundle, ...run }: RunMetadata): StoredRun {
  return { ...run, ...(bundle === undefined ? {} : { bundle: { ...bundle } }) } as StoredRun; // absent, not undefined: it was parsed from JSON
}

/** A run as its files tell it. Fault: `E_RUN_NOT_FOUND`. */
export async function runFacts(store: Store, id: string): Promise<Result<RunFacts>> {
  const found = await store.runs.findRun(id);
  if (!found.ok) return found;
  const run = found.value;
  const opened = await store.runs.openFiles(run.projectId, run.runId);
  const root = await store.runs.projectRoot(run.projectId);
  const facts = { metadata: storedRun(run), projectRoot: root.ok ? root.value : null };
  if (!opened.ok) {
    const standing = { ...UNKNOWN, problem: folderMissing(run.runId) };
    return ok({ ...facts, status: null, standing, places: NOWHERE });
  }
  const files = opened.value;
  const { logFile, stateDir } = files;
  const { bundle } = run;
  // Shown is what can be read, and told what cannot be now.
  const unread: string[] = [];
  const noting = (error: unknown): undefined => {
    if (isUnreadNow(systemCode(error))) unread.push(readingWords(error));
  };
  const status = (await files.status.read().catch(noting)) ?? null;
  const models = (await files.request.read().catch(noting))?.models;
  const totals = await files.audit.totals().catch(noting); // of a damaged log `audit verify` says why
  const writtenAgain = (await artifactsWrittenAgain(run, files).catch(noting)) ?? [];
  const standing =
    bundle === undefined
      ? await standingOfGraphRun(store, run, files)
      : await standingOfBundleRun(run, bundle);
  const problem = standing.problem ?? unread[0];
  return ok({
    ...facts,
    ...modelOf(run, models, status),
    ...(totals === undefined ? {} : { usage: totals.usage, usageByNode: totals.byNode.slice(-MAX_NODES) }),
    status: status as JsonObject | null, // parsed from JSON
    standing: { ...standing, ...defined({ problem }) },
    writtenAgain,
    places:
      bundle === undefined
        ? { stateFile: join(stateDir, "workflow.md"), logFile, sessionFolder: null }
        : { stateFile: null, logFile, sessionFolder: sessionDir(bundle) },
  });
}

/** Which models a run uses, as its folder says. */
function modelOf(
  run: RunMetadata,
  models: Parameters<typeof modelsOf>[0],
  status: RunStatus | null,
): Pick<RunFacts, "model"> {
  const chain = modelsOf(models, run.activeAgentId);
  return models === undefined ? {} : { model: { chain, ...defined({ answeredBy: status?.answeredBy }) } };
}

const MAX_NODES = 100;

/** How far a run has come. */
type Standing = RunFacts["standing"];

/** Of a run whose files do not say it. */
const UNKNOWN: Standing = { currentNodeId: "", stepsCompleted: [], variables: {}, artifacts: [] };
const NOWHERE: RunFacts["places"] = { stateFile: null, logFile: null, sessionFolder: null };

async function standingOfGraphRun(store: Store, run: RunMetadata, files: RunFiles): Promise<Standing> {
  const path = join(files.stateDir, "workflow.md");
  const document = await files.state.read().catch((error: unknown) => {
    const code = systemCode(error);
    return isUnreadNow(code) ? unreadNow(path, code) : fail("E_INTERNAL", wordsOf(error)); // such as no file of ours
  });
  if (typeof document === "string") return { ...UNKNOWN, problem: document };
  if (!document.ok) {
    const problem = `The state document ${path} cannot be used: ${document.error.message} Restore it from a backup.`;
    return { ...UNKNOWN, problem };
  }
  const { currentNodeId, stepsCompleted, variables, artifacts } = document.value.frontmatter;
  const loaded = await store.packages.open(run.packageId);
  const workflow = loaded.ok ? loaded.value.workflows.find(({ id }) => id === run.workflowRef) : undefined;
  const nodeId = currentNodeId.trim() || (workflow?.graph.entryNodeId ?? "");
  const standing = { currentNodeId: nodeId, stepsCompleted, variables };
  const all = allArtifacts(files.stateDir, document.value.frontmatter);
  return all.ok
    ? { ...standing, artifacts: all.value }
    : { ...standing, artifacts, problem: all.error.message };
}

/** A bundle run has no state document: its manifest says what it has saved. */
async function standingOfBundleRun(run: RunMetadata, bundle: BundleSettings): Promise<Standing> {
  const manifest = await standingManifest(sessionDir(bundle));
  const own = manifest.ok && manifest.value?.runId === run.runId ? manifest.value.files : [];
  return {
    currentNodeId: BUNDLE_NODE,
    stepsCompleted: run.phase === "completed" ? [BUNDLE_NODE] : [],
    variables: {},
    artifacts: newestOutputs(own.map(({ path }) => `${SESSION}/${path}`)),
    ...(manifest.ok ? {} : { problem: manifest.error.message }),
  };
}

/** The workflow that a run follows; null for a bundle run. */
export async function graphOf(store: Store, id: string): Promise<Result<JsonAnswers["read.graph"]>> {
  const opened = await openRun(store, id);
  if (!opened.ok) return opened;
  const { run } = opened.value;
  const root = await store.runs.projectRoot(run.projectId);
  if (!root.ok) return root;
  if (run.bundle !== undefined) return ok({ graph: null, projectRoot: root.value });
  const loaded = await store.packages.open(run.packageId);
  const workflow = loaded.ok ? selectWorkflow(loaded.value, run.workflowRef) : loaded;
  if (!workflow.ok) return workflow;
  const graph = workflow.value.graph as unknown as JsonObject; // it was read from JSON
  return ok({ graph, projectRoot: root.value });
}

/** What a run was started with, as its folder says. Faults: `E_RUN_NOT_FOUND`, `E_INTERNAL` where that cannot be read now. */
export async function requestOf(store: Store, id: string): Promise<Result<JsonAnswers["read.request"]>> {
  const opened = await openRun(store, id);
  if (!opened.ok) return opened;
  const { files } = opened.value;
  try {
    const request = (await files.request.read()) ?? null;
    return ok({ request: request as JsonObject | null, place: join(files.dir, "run.json") }); // parsed from JSON
  } catch (error) {
    return fail("E_INTERNAL", `What the run was started with cannot be read: ${readingWords(error)}`);
  }
}

/** What has come of the answer that a model is giving, from where it was read before. Faults: `E_RUN_NOT_FOUND`, `E_INTERNAL`. */
export async function liveAnswerOf(
  store: Store,
  { run: id, since }: StoreQuestion<"read.live">,
): Promise<Result<JsonAnswers["read.live"]>> {
  const opened = await openRun(store, id);
  if (!opened.ok) return opened;
  const answer = readLive(opened.value.files.dir, since) ?? null;
  return ok({ answer: answer as JsonObject | null }); // plain data
}

/** The graph state of a run and its snapshots. */
export async function graphStateOf(store: Store, id: string): Promise<Result<JsonAnswers["read.state"]>> {
  const opened = await openRun(store, id);
  if (!opened.ok) return opened;
  const { run, files } = opened.value;
  const isBundle = run.bundle !== undefined;
  try {
    const held = await files.graphState.current();
    if (held === undefined) return ok({ isBundle, snapshots: [] });
    const snapshots = await files.graphState.snapshots();
    const { state, initial } = held;
    const answer = { isBundle, held: { state, initial }, snapshots };
    return ok(answer as unknown as JsonAnswers["read.state"]); // plain JSON
  } catch (error) {
    if (error instanceof DamagedGraphState) return fail("E_INTERNAL", error.message);
    throw error;
  }
}

/** The runs of the store, or of one project. Faults: `E_PROJECT_INVALID`, `E_INTERNAL`. */
export async function runsOf(
  store: Store,
  project: string | undefined,
): Promise<Result<JsonAnswers["read.runs"]>> {
  if (project === undefined) {
    const { runs, damaged } = await store.runs.surveyRuns();
    return ok({ runs: runs.map(storedRun), damaged: damaged.map(({ error }) => error.message) });
  }
  const listed = await store.runs.listRuns(project);
  return listed.ok ? ok({ runs: listed.value.map(storedRun), damaged: [] }) : listed;
}
