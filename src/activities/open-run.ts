import { basename, dirname } from "node:path";
import type { OpenRunInput, OpenedRun, ResumedRun } from "../contract/activities.js";
import { ANSWER_PREVIEW_CHARS, MAX_PAYLOAD_BYTES } from "../contract/names.js";
import type { GraphRunInput } from "../contract/run.js";
import type { Budget } from "../core/run/budget.js";
import type { TakenUpdate } from "../core/run/carried-run.js";
import type { RunRef } from "../core/run/run-ref.js";
import { NO_USAGE } from "../core/run/usage.js";
import { bundleToolName } from "../core/bundle/bundle-tools.js";
import { newestOutputs } from "../core/bundle/listed-outputs.js";
import { type Fault, type Result, fail } from "../core/errors.js";
import type { GraphState } from "../core/graph-state/schemas.js";
import { MAX_HISTORY_BYTES, MAX_SNAPSHOTS, withSnapshot } from "../core/graph-state/walk.js";
import type { JsonObject } from "../core/json.js";
import type { WorkflowGraph } from "../core/package/graph.js";
import { effectiveNodeId } from "../core/state/transition-guard.js";
import { workflowIdOf } from "../core/run/run-id.js";
import { cutText } from "../core/text.js";
import { canonicalToolName } from "../core/tools/tool-specs.js";
import type { Boundary } from "../store/runs/boundaries.js";
import type { ConversationEntry } from "../store/runs/conversation.js";
import { resolveProject } from "../store/runs/project-id.js";
import type { RunFiles } from "../store/runs/run-files.js";
import type { RunMetadata } from "../store/runs/run-index.js";
import { type ForkPoint, findForkPoint, visitsBefore } from "../store/runs/fork-point.js";
import type { PermittedRoot } from "../store/roots/roots.js";
import { type RunBeginning, selectWorkflow } from "../store/runs/run-manager.js";
import type { Store } from "../store/store.js";
import type { BundleHost } from "../tools/bundle/bundle-host.js";
import { permittedBundle } from "../tools/bundle/bundle-roots.js";
import { BUNDLE_NODE } from "../tools/bundle/bundle-sessions.js";
import { type ForkPlace, compareFiles, refuseMissing, restoreFiles } from "../tools/files/fork-files.js";
import { noteRecorded } from "../tools/recorded-call.js";
import { endWritesBefore } from "../tools/sandbox/temporary-file.js";
import { platformPins } from "../tools/sandbox/workspace.js";
import { toApplicationFailure, unwrap } from "./failures.js";
import { ownRun } from "./run-owner.js";
import { type SigningDeps, admitStart } from "./signed-run.js";
import { checkStore, executionOf, openFiles, permittedProject } from "./run-scope.js";

/** Room for what is told of an opened run beside its graph: its ids, and what a run that goes on has left. */
const OPENED_BYTES = 8 * 1024;
const RESUMED_BYTES = 32 * 1024 + MAX_HISTORY_BYTES;
const KEPT_ANSWERS = 4;

export interface OpenRunDeps extends SigningDeps {
  readonly bundles: BundleHost;
  /** The longest wait for one answer of a model, in milliseconds; absent means no longer than usual. */
  readonly longestModelTimeoutMs?: number;
  /** Those search attributes of contracts §14 that the namespace has; absent where that is not looked for. */
  readonly searchAttributes?: () => Promise<readonly string[]>;
}

type OpenGraphRun = Extract<OpenRunInput, { readonly kind: "graph" }>;
type OpenBundleRun = Extract<OpenRunInput, { readonly kind: "bundle" }>;

/** Makes the run, or finds it made by an earlier attempt or execution, and returns what it runs. */
export async function openRun(deps: OpenRunDeps, request: OpenRunInput): Promise<OpenedRun> {
  checkStore(deps.store, request.input.storeId);
  const signed = await admitStart(deps, request);
  const known = await ownRun(deps.store, request);
  const made =
    request.kind === "graph" ? await openGraphRun(deps, request, known) : await openBundleRun(deps, request);
  const begun = signed ? { ...made, run: { ...made.run, signed: true as const } } : made;
  const opened = { ...begun, ...(await conditionsOf(deps, request)) };
  const files = await openFiles(deps.store, opened.run);
  const { input, origin } = requestOf(request, opened.run);
  await files.request.keep(request.kind, input, origin);
  if (!resumes(request)) return opened;
  await completeAudit(files, opened);
  const resumed = await resumedRun(files, opened.graph);
  if (request.kind === "graph") return { ...opened, resumed };
  const session = unwrap(await deps.bundles.readSession(opened.run.runId));
  const saved = newestOutputs(session.files.map(({ path }) => `{session-folder}/${path}`));
  return { ...opened, resumed: { ...resumed, saved } };
}

/** The run goes on from what is on disk: so it was started, or it was reset to a moment before it was opened. */
function resumes({ input, execution }: OpenRunInput): boolean {
  return input.resume === true || execution?.resetOf !== undefined;
}

/** What the run is started again from, should Temporal lose it: with the package that was found by its name. */
function requestOf({ kind, input: asked, execution }: OpenRunInput, { packageId, signed }: RunRef) {
  const { workflowId, id, resetOf: executionId = id } = execution ?? {};
  const { signature: _, ...input } = asked; // it is used
  const found = kind === "graph" ? { ...input, packageId } : input;
  return {
    input: found as unknown as JsonObject, // plain data
    origin: {
      ...(workflowId === undefined ? {} : { workflowId }),
      ...(executionId === undefined ? {} : { executionId }),
      ...(signed === undefined ? {} : { signed }),
    },
  };
}

/** Under which conditions the workflow goes on: what worker and namespace are like now. */
async function conditionsOf(deps: OpenRunDeps, { input, execution }: OpenRunInput) {
  const { longestModelTimeoutMs: modelTimeoutMs } = deps;
  const looks = input.searchAttributes === undefined && deps.searchAttributes !== undefined;
  return {
    ...(modelTimeoutMs === undefined ? {} : { modelTimeoutMs }),
    ...(execution?.resetOf === undefined ? {} : { openedFor: execution.id }),
    ...(looks ? { searchAttributes: await deps.searchAttributes() } : {}),
  };
}

/**
 * Gives the run the number of this execution. Where it goes on, older executions end here, before anything is read: a
 * process of theirs that was stopped in the middle of something does not end it any more.
 */
async function beginExecution(
  { store, bundles }: OpenRunDeps,
  ref: RunRef,
  request: OpenRunInput,
): Promise<RunRef> {
  const { execution, kind } = request;
  const { executions } = unwrap(await store.runs.openFiles(ref.projectId, ref.runId));
  const goesOn = resumes(request);
  const number =
    execution === undefined
      ? executions.newest()
      : await executions.begin({ id: execution.id, startedAt: execution.startedAt }, goesOn);
  const run = number === 1 ? ref : { ...ref, execution: number };
  if (!goesOn) return run;
  const files = await openFiles(store, run);
  await files.fence();
  if (kind === "bundle") await bundles.fenceSession(run.runId, number);
  endWritesBefore(platformPins(), store.lockDir, { runId: run.runId, execution: number });
  return run;
}

async function openGraphRun(
  deps: OpenRunDeps,
  request: OpenGraphRun,
  known: RunMetadata | undefined,
): Promise<OpenedRun> {
  const { store } = deps;
  const { input } = request;
  const project = unwrap(store.roots.permit(input.projectRoot, "write"));
  const point = await forkPointOf(store, input, project);
  // Once a run is made it keeps its package, and so do its forks, whatever is installed meanwhile.
  const packageId =
    known?.packageId ?? unwrap(await store.packages.resolve(input.packageId, point?.run.packageId));
  const loaded = unwrap(await store.packages.open(packageId));
  const { graph } = unwrap(selectWorkflow(loaded, input.workflowRef ?? ""));
  const room = OPENED_BYTES + (input.storyId === undefined ? 0 : RESUMED_BYTES);
  if (Buffer.byteLength(JSON.stringify(graph)) > MAX_PAYLOAD_BYTES - room) {
    throw toApplicationFailure(
      fail("E_PACKAGE_INVALID", "The graph is too large to run: shorten its texts.").error,
    );
  }
  const activeAgentId = input.activeAgentId ?? loaded.agents[0]?.id ?? "";
  const metadata = unwrap(
    await store.runs.createRun({
      runId: input.runId,
      ...workflowOf(request),
      projectRoot: project.path,
      packageId,
      activeAgentId,
      ...(input.workflowRef === undefined ? {} : { workflowRef: input.workflowRef }),
      ...(point === undefined ? {} : { begin: beginningOf(point, input.fork?.set) }),
    }),
  );
  const run = await beginExecution(deps, runRef(store, metadata, input), request);
  const files = await openFiles(store, run);
  if ((await files.boundaries.all()).length === 0) {
    if (point !== undefined && run.projectId !== point.run.projectId) {
      const brought = await bringFiles(store, run, point);
      if (!brought.ok && input.fork?.allowMissing !== true) {
        await noteUnopened(store, run, brought.error, new Date());
        throw toApplicationFailure(brought.error);
      }
    }
    const document = unwrap(await files.state.read());
    const next = effectiveNodeId(document.frontmatter.currentNodeId, graph);
    await files.boundaries.keepBeginning({ next, timestamp: metadata.createdAt }, document.bytes);
  }
  await store.runs.setBegun(metadata, new Date());
  const { forkedFrom } = metadata;
  return {
    run,
    graph,
    ...(forkedFrom === undefined ? {} : { forkedAfter: await visitsBefore(store.runs, metadata) }),
    ...(point?.graphState === undefined ? {} : { graphState: point.graphState }),
  };
}

/**
 * Where a fork begins. It is found once: the source may go on meanwhile, and what it entered last is then another moment.
 * A fork that was made already does without its source, should that be gone.
 */
async function forkPointOf(
  store: Store,
  input: OpenGraphRun["input"],
  project: PermittedRoot,
): Promise<ForkPoint | undefined> {
  const { runId, fork } = input;
  if (fork === undefined) return undefined;
  const known = await store.runs.findRun(runId);
  const from = (known.ok ? known.value.forkedFrom : undefined) ?? fork;
  const files = known.ok ? await store.runs.openFiles(known.value.projectId, runId) : known;
  const isMade = files.ok && (await files.value.boundaries.all()).length > 0;
  if (!isMade) {
    const point = unwrap(await findForkPoint(store.runs, from));
    await checkFiles(store, input, project, point);
    return point;
  }
  const point = await findForkPoint(store.runs, from).catch(() => undefined);
  return point?.ok === true ? point.value : undefined;
}

/** Before anything is made: a fork of another project is refused when a file of it is kept nowhere any more. */
async function checkFiles(
  store: Store,
  { fork }: OpenGraphRun["input"],
  project: PermittedRoot,
  { run, files, boundary }: ForkPoint,
): Promise<void> {
  const { projectId } = unwrap(await resolveProject(project.path));
  if (projectId === run.projectId || fork?.allowMissing === true) return;
  const compared = await compareFiles(files, boundary.calls, placeOf(store, project));
  unwrap(refuseMissing(compared.filter(({ status }) => status === "lost")));
}

/** The workflow that a new run belongs to, where it is not the one that the run's id says. */
function workflowOf({ input, execution }: OpenRunInput): { readonly workflowId?: string } {
  const workflowId = execution?.workflowId;
  return workflowId === undefined || workflowId === workflowIdOf(input.runId) ? {} : { workflowId };
}

function placeOf(store: Store, { path, identity }: PermittedRoot): ForkPlace {
  return {
    projectRoot: path,
    projectIdentity: identity,
    lockDir: store.lockDir,
    keepOut: store.roots.keepOut,
  };
}

/** Fault: `E_PRECONDITION_FAILED` for a file that could not be written. */
async function bringFiles(store: Store, run: RunRef, { files, boundary }: ForkPoint): Promise<Result<void>> {
  const project = await permittedProject(store, run);
  const { claim } = await openFiles(store, run);
  const restored = await restoreFiles(files, boundary.calls, {
    ...placeOf(store, project),
    writer: { runId: run.runId, execution: executionOf(run) },
    assertOurs: () => claim.assertHeld(),
  });
  return refuseMissing(restored);
}

function beginningOf({ run, boundary, document }: ForkPoint, variables: JsonObject = {}): RunBeginning {
  return { from: { runId: run.runId, visit: boundary.visit }, document, variables };
}

async function openBundleRun(deps: OpenRunDeps, request: OpenBundleRun): Promise<OpenedRun> {
  const { store, bundles } = deps;
  const { input } = request;
  const { sessionId } = input;
  const { projectRoot, bundleRoot, coreRoot, agentFile, outputRoot } = unwrap(
    permittedBundle(store.roots, input),
  );
  const workflowPath = input.workflowPath.startsWith("{")
    ? input.workflowPath
    : `{bundle-root}/${input.workflowPath}`;
  const metadata = unwrap(
    await store.runs.createBundleRun({
      runId: input.runId,
      ...workflowOf(request),
      projectRoot,
      bundleRoot,
      workflowPath,
      workflowRef: basename(dirname(workflowPath)),
      activeAgentId: agentFile === undefined ? "facilitator" : agentIdOf(agentFile),
      ...(coreRoot === undefined ? {} : { coreRoot }),
      ...(agentFile === undefined ? {} : { agentFile }),
      ...(sessionId === undefined ? {} : { sessionId }),
      ...(outputRoot === undefined ? {} : { outputRoot }),
    }),
  );
  const ref: RunRef = { ...runRef(store, metadata, input), kind: "bundle" };
  const run = await beginExecution(deps, ref, request);
  const now = new Date();
  const words = input.input === undefined ? {} : { input: input.input };
  const session = await bundles.openSession(input.runId, { ...words, now });
  if (!session.ok) {
    await noteUnopened(store, run, session.error, now);
    throw toApplicationFailure(session.error);
  }
  await store.runs.setBegun(metadata, now);
  const node = { id: BUNDLE_NODE, type: "step", file: "" } as const;
  return {
    run,
    graph: { entryNodeId: node.id, nodes: [node], edges: [] },
  };
}

/** A run that has no session fails before its first phase: what the store says of it must not be that it is idle. */
async function noteUnopened(store: Store, run: RunRef, fault: Fault, now: Date): Promise<void> {
  const known = unwrap(await store.runs.findRun(run.runId));
  if (known.phase !== "idle") return; // another attempt has opened it
  const files = await openFiles(store, run);
  const { code, message } = fault;
  const nodeId = run.kind === "bundle" ? BUNDLE_NODE : "";
  const status = { phase: "failed", nodeId, change: 0, usage: NO_USAGE } as const;
  await files.status.write({ ...status, fault: { code, message } }, (lock) =>
    store.runs.setPhase(run, "failed", now, lock),
  );
}

/** What the agent is called in settings and logs: by its file, or by the one of a file's agents that is named. */
function agentIdOf(agentFile: string): string {
  const [, named] = /\.json#([^#/\\]+)$/i.exec(agentFile) ?? [];
  return named ?? basename(agentFile).replace(/(\.agent)?\.[a-z]+$/i, "");
}

function runRef(
  store: Store,
  metadata: RunMetadata,
  { rehearsal }: Pick<GraphRunInput, "rehearsal">,
): RunRef {
  const { runId, projectId, packageId, workflowRef, activeAgentId } = metadata;
  const { storeId } = store;
  const ref = { runId, storeId, projectId, packageId, workflowRef, activeAgentId };
  return rehearsal === undefined ? ref : { ...ref, rehearsal };
}

/** What ran of the last answer before the run failed, and was not noted: on a full disk, for one. */
async function completeAudit(files: RunFiles, { run, graph }: OpenedRun): Promise<void> {
  const visit = await files.newestVisit();
  if (visit === 0 && run.kind !== "bundle") return;
  const entries = await files.conversation(visit === 0 ? "run" : `visit-${visit}`).entries();
  const answer = entries.findLast((entry) => entry.type === "assistant");
  if (answer === undefined) return;
  const nodeId =
    (await files.boundaries.all()).findLast((item) => item.visit < visit)?.next ?? graph.entryNodeId;
  const agentId = graph.nodes.find(({ id }) => id === nodeId)?.agentId ?? run.activeAgentId;
  for (const { id: toolCallId, name, argumentsJson } of answer.calls) {
    const toolName = run.kind === "bundle" ? bundleToolName(name) : canonicalToolName(name);
    await noteRecorded(files, { toolCallId, name, toolName, argumentsJson, agentId, nodeId });
  }
}

/** What the run folder says of the run so far: with it, a new execution goes on where the last one stopped. */
async function resumedRun(files: RunFiles, graph: WorkflowGraph): Promise<ResumedRun> {
  const totals = await files.audit.totals();
  const status = await files.status.read();
  const kept = await files.boundaries.all();
  // A visit that was begun and has no turn yet counts as well: its conversation may hold the user's words.
  const visit = Math.max(totals.visit, kept.at(-1)?.visit ?? 0, await files.newestVisit());
  const boundaries = kept.length === 0 ? kept : await withLastBoundary(files, kept, visit, graph);
  const held = await files.graphState.current();
  const resumed = {
    visit,
    turn: totals.turn,
    usage: totals.usage,
    // A change may be in the status and not in the log yet: its number is taken.
    phaseChanges: Math.max(totals.phaseChanges, status?.change ?? 0),
    audit: await files.audit.head(),
    ...(status?.budget === undefined ? {} : { budget: status.budget as Budget }), // written from one
    ...(status?.raises === undefined ? {} : { raises: status.raises }),
    answers: await newestAnswers(files),
    ...(status?.phase === "completed" ? { isCompleted: true } : {}),
  };
  if (held === undefined) return resumed;
  const snapshots = await files.graphState.snapshots({ last: MAX_SNAPSHOTS });
  let state: GraphState = { ...held.state, stateHistory: [] };
  for (const { timestamp, state: then } of snapshots) state = withSnapshot(state, { timestamp, state: then });
  const entered = new Set(boundaries.map(({ next }) => next));
  const visited = graph.nodes.flatMap(({ id }, place) => (entered.has(id) ? [place] : []));
  return { ...resumed, story: { state, change: held.change, visited } };
}

/** What was said in the last visits, newest last. A client that heard nothing sends an answer again, to whoever is there. */
async function newestAnswers(files: RunFiles): Promise<readonly TakenUpdate[]> {
  const newest = await files.newestVisit();
  const names = newest === 0 ? ["run"] : [newest - 1, newest].map((visit) => `visit-${visit}`);
  const entries = await Promise.all(names.map((name) => files.conversation(name).entries()));
  return entries.flat().flatMap(userAnswer).slice(-KEPT_ANSWERS);
}

function userAnswer(entry: ConversationEntry): readonly TakenUpdate[] {
  if (entry.type !== "user") return [];
  const { id, nodeId, text } = entry;
  return [{ id, answer: { nodeId, begins: cutText(text, ANSWER_PREVIEW_CHARS) } }];
}

/** The visit that was cut short may have moved the run on before its end could be kept: then it is kept now. */
async function withLastBoundary(
  files: RunFiles,
  kept: readonly Boundary[],
  visit: number,
  graph: WorkflowGraph,
): Promise<readonly Boundary[]> {
  const last = kept.at(-1);
  const document = unwrap(await files.state.read());
  const next = effectiveNodeId(document.frontmatter.currentNodeId, graph);
  if (last === undefined || last.next === next || last.visit >= visit) return kept;
  const at = { visit, nodeId: last.next, next, timestamp: new Date().toISOString() };
  await files.boundaries.keep({ ...at, calls: await files.calls.count() }, document.bytes);
  return files.boundaries.all();
}
