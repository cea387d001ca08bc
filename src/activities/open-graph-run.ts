import type { OpenRunInput } from "../contract/activities.js";
import type { OpenedRun } from "../core/run/opened-run.js";
import { MAX_PAYLOAD_BYTES } from "../contract/names.js";
import type { RunRef } from "../core/run/run-ref.js";
import { defined } from "../core/defined.js";
import { fail } from "../core/errors.js";
import { MAX_HISTORY_BYTES } from "../core/graph-state/walk.js";
import { type JsonObject, jsonBytes } from "../core/json.js";
import { type WorkflowGraph, reachableNodes } from "../core/package/graph.js";
import { unlessUnreadNow } from "../core/system-code.js";
import { effectiveNodeId } from "../core/state/transition-guard.js";
import type { PermittedRoot } from "../store/roots/roots.js";
import { copyEarlierFiles } from "../store/runs/earlier-files.js";
import { type ForkPoint, findForkPoint, visitsBefore } from "../store/runs/fork-point.js";
import { resolveProject } from "../store/runs/project-id.js";
import type { RunMetadata } from "../store/runs/run-metadata.js";
import type { RunBeginning } from "../store/runs/create-request.js";
import { selectWorkflow } from "../store/packages/choose.js";
import type { Store } from "../store/store.js";
import { compareFiles, forkPlace, refuseMissing, restoreFiles } from "../tools/files/fork-files.js";
import { type OpenRunDeps, beginExecution, runRef, unopened, workflowOf } from "./begin-execution.js";
import { toApplicationFailure, unwrap } from "./failures.js";
import { chooseModels } from "./run-models.js";
import { executionOf, openFiles, permittedProject } from "./run-scope.js";

/** Room for what is told of an opened run beside its graph: its ids, and what a run that goes on has left. */
const OPENED_BYTES = 8 * 1024;
const RESUMED_BYTES = 32 * 1024 + MAX_HISTORY_BYTES;

type OpenGraphRun = Extract<OpenRunInput, { readonly kind: "graph" }>;

/** Makes a graph run, or finds it made, with the boundary that it begins at. `known` is the run as the store knows it. */
export async function openGraphRun(
  deps: OpenRunDeps,
  request: OpenGraphRun,
  known: RunMetadata | undefined,
): Promise<OpenedRun> {
  const { store } = deps;
  const { input } = request;
  const project = unwrap(store.roots.permit(input.projectRoot, "write"));
  const point = await forkPointOf(store, input, project);
  // Once a run is made it keeps its package and its workflow, and so do its forks, whatever is installed meanwhile, and whatever is said.
  const packageId =
    known?.packageId ?? unwrap(await store.packages.resolve(input.packageId, point?.run.packageId));
  const loaded = unwrap(await store.packages.open(packageId));
  const { graph } = unwrap(selectWorkflow(loaded, known?.workflowRef ?? input.workflowRef ?? ""));
  const activeAgentId = input.activeAgentId ?? loaded.agents[0]?.id ?? "";
  const models = await chooseModels(deps, request, agentsOf(graph, activeAgentId), known);
  checkSize(graph, jsonBytes(models ?? "") + (input.storyId === undefined ? 0 : RESUMED_BYTES));
  const metadata = unwrap(
    await store.runs.createRun({
      runId: input.runId,
      ...workflowOf(request),
      projectRoot: project.path,
      packageId,
      activeAgentId,
      ...defined({ workflowRef: input.workflowRef }),
      ...(input.parent === undefined ? {} : { parentRunId: input.parent.runId }),
      ...defined({ variables: input.parent?.variables }),
      ...(point === undefined ? {} : { begin: beginningOf(point, input.fork?.set) }),
    }),
  );
  const run = await beginExecution(deps, runRef(store, metadata, input), request);
  const files = await openFiles(store, run);
  if ((await files.boundaries.all()).length === 0) {
    if (point !== undefined) await bringFiles(store, run, point, input.fork);
    const document = unwrap(await files.state.read());
    if (point !== undefined) {
      unwrap(await copyEarlierFiles(point.files, files, document.frontmatter));
    }
    const next = effectiveNodeId(document.frontmatter.currentNodeId, graph);
    await files.boundaries.keepBeginning({ next, timestamp: metadata.createdAt }, document.bytes);
  }
  await store.runs.setBegun(metadata, new Date());
  const { forkedFrom } = metadata;
  const { wholeRunConversation, steps } = loaded.manifest.runtime ?? {};
  return {
    run,
    graph,
    ...defined({ wholeRunConversation, steps, models }),
    ...(forkedFrom === undefined ? {} : { forkedAfter: await visitsBefore(store.runs, metadata) }),
    ...defined({ graphState: point?.graphState }),
  };
}

/** Throws where the graph has no room in the result of an activity, beside `otherBytes`. */
function checkSize(graph: WorkflowGraph, otherBytes: number): void {
  if (jsonBytes(graph) <= MAX_PAYLOAD_BYTES - OPENED_BYTES - otherBytes) return;
  throw toApplicationFailure(
    fail("E_PACKAGE_INVALID", "The graph is too large to run: shorten its texts.").error,
  );
}

/** The agents that the run may come to. */
function agentsOf(graph: WorkflowGraph, activeAgentId: string): readonly string[] {
  const reached = reachableNodes(graph);
  const nodes = graph.nodes.filter(({ id }) => reached.has(id));
  return [...new Set(nodes.map(({ agentId }) => agentId ?? activeAgentId))];
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
  const point = await findForkPoint(store.runs, from).catch(unlessUnreadNow(undefined));
  return point?.ok === true ? point.value : undefined;
}

/** Before anything is made: a fork of another project is refused when a file of it is kept nowhere any more. */
async function checkFiles(
  store: Store,
  { fork }: OpenGraphRun["input"],
  project: PermittedRoot,
  point: ForkPoint,
): Promise<void> {
  const { projectId } = unwrap(await resolveProject(project.path));
  if (projectId === point.run.projectId || fork?.allowMissing === true) return;
  const compared = await compareFiles(point, forkPlace(store, project));
  unwrap(refuseMissing(compared.filter(({ status }) => status === "lost")));
}

/** The files of a fork that has another project. Throws `E_PRECONDITION_FAILED` for one that could not be written, where none may be missing. */
async function bringFiles(
  store: Store,
  run: RunRef,
  point: ForkPoint,
  fork: OpenGraphRun["input"]["fork"],
): Promise<void> {
  if (run.projectId === point.run.projectId) return;
  const project = await permittedProject(store, run);
  const { claim } = await openFiles(store, run);
  const restored = await restoreFiles(point, {
    ...forkPlace(store, project),
    writer: { runId: run.runId, execution: executionOf(run) },
    assertOurs: () => claim.assertHeld(),
  });
  const brought = refuseMissing(restored);
  if (brought.ok || fork?.allowMissing === true) return;
  throw await unopened(store, run, brought.error, new Date());
}

function beginningOf({ run, boundary, document }: ForkPoint, variables: JsonObject = {}): RunBeginning {
  return { from: { runId: run.runId, visit: boundary.visit }, document, variables };
}
