import type { OpenRunInput } from "../contract/activities.js";
import { SEARCH_ATTRIBUTES } from "../contract/names.js";
import type { LoadedState, OpenedRun, OpenerAbilities, ResumedRun } from "../core/run/opened-run.js";
import { ANSWER_PREVIEW_CHARS } from "../core/run/limits.js";
import type { Budget } from "../core/run/budget.js";
import type { TakenUpdate } from "../core/run/carried-run.js";
import type { RunRef } from "../core/run/run-ref.js";
import { bundleToolName } from "../core/bundle/bundle-tools.js";
import { defined } from "../core/defined.js";
import type { JsonObject } from "../core/json.js";
import { cutText } from "../core/text.js";
import { recordUnknown } from "../tools/external/external-call.js";
import { canonicalToolName } from "../core/tools/tool-specs.js";
import {
  type ResumePoint,
  type SaidByUser,
  findLastAnswer,
  findResumePoint,
} from "../store/runs/resume-point.js";
import type { RunFiles } from "../store/runs/run-files.js";
import { noteRecorded } from "../tools/recorded-call.js";
import { type OpenRunDeps, resumes } from "./begin-execution.js";
import { turnEvent } from "./model-turn.js";
import { unwrap } from "./failures.js";
import { graphAtHand } from "./graph-part.js";
import { isUnanswered, openBundleRun, savedOutputs } from "./open-bundle-run.js";
import { openGraphRun } from "./open-graph-run.js";
import { ownRun } from "./run-owner.js";
import { checkStore, openFiles } from "./run-scope.js";
import { admitStart } from "./signed-run.js";

/** Makes the run, or finds it made by an earlier attempt or execution, and returns what it runs. */
export async function openRun(deps: OpenRunDeps, request: OpenRunInput): Promise<OpenedRun> {
  checkStore(deps.store, request.input.storeId);
  const signed = await admitStart(deps, request);
  const known = await ownRun(deps.store, request);
  const made =
    request.kind === "graph"
      ? await openGraphRun(deps, request, known)
      : await openBundleRun(deps, request, known);
  const begun = signed ? { ...made, run: { ...made.run, signed: true as const } } : made;
  const opened = { ...begun, ...(await conditionsOf(deps, request)) };
  const files = await openFiles(deps.store, opened.run);
  const { input, origin } = requestOf(request, opened.run, deps.seals === true);
  await files.request.keep(request.kind, input, origin, opened.models);
  const found = resumes(request) ? await resume(deps, request, opened, files) : opened;
  const graph = await graphAtHand(request, found, files);
  return { ...found, graph, ...defined({ document: await documentOf(request, found, files) }) };
}

/** A longer one is read by an activity of its own: what is told of an opened run is bounded. */
const MAX_DOCUMENT_CHARS = 4_096;

/** What a run whose steps are nodes begins with, so that it need not ask for it. */
async function documentOf(
  { kind, input, execution }: OpenRunInput,
  opened: OpenedRun,
  files: RunFiles,
): Promise<LoadedState | undefined> {
  if (kind !== "graph" || execution?.continued === true) return undefined;
  if ((input.steps ?? opened.steps) !== "nodes") return undefined;
  const { frontmatter, sha256 } = unwrap(await files.state.read());
  return JSON.stringify(frontmatter).length > MAX_DOCUMENT_CHARS ? undefined : { frontmatter, sha256 };
}

async function resume(
  { bundles }: OpenRunDeps,
  request: OpenRunInput,
  opened: OpenedRun,
  files: RunFiles,
): Promise<OpenedRun> {
  await completeAudit(files, opened);
  const resumed = toResumedRun(unwrap(await findResumePoint(files, opened.graph)));
  if (request.kind === "graph") return { ...opened, resumed };
  const saved = await savedOutputs(bundles, opened.run.runId);
  return { ...opened, resumed: { ...resumed, saved, isUnanswered: await isUnanswered(files) } };
}

/** What the run is started again from, should Temporal lose it: with the package that was found by its name. */
function requestOf(
  { kind, input: asked, execution }: OpenRunInput,
  { packageId, signed }: RunRef,
  seals: boolean,
) {
  const { workflowId, id, resetOf: executionId = id } = execution ?? {};
  const { signature: _, ...input } = asked; // it is used
  const found = kind === "graph" ? { ...input, packageId } : input;
  return {
    input: found as unknown as JsonObject, // plain data
    origin: {
      ...defined({ workflowId, executionId, signed }),
      ...(seals ? { sealed: true } : {}),
    },
  };
}

const ALL = Object.keys(SEARCH_ATTRIBUTES);

const ABILITIES: Required<OpenerAbilities> = {
  keepsMemo: true,
  tellsSeldom: true,
  timesTurns: true,
  recordsReads: true,
  noticesRepeats: true,
  keepsQuickly: true,
  recordsLength: true,
};

/** Under which conditions the workflow goes on: what worker and namespace are like now. */
async function conditionsOf(deps: OpenRunDeps, { input, execution }: OpenRunInput) {
  const { longestModelTimeoutMs: modelTimeoutMs } = deps;
  const isWanted = input.searchAttributes !== false || deps.seals === true;
  const look = isWanted ? deps.searchAttributes : undefined;
  const found = await look?.();
  // Whoever starts a run may be wrong; where it is not, or nobody can know, its word is enough.
  const isSaid =
    deps.seals !== true && input.searchAttributes === true && (found ?? ALL).length === ALL.length;
  return {
    ...ABILITIES,
    ...defined({ modelTimeoutMs }),
    ...(execution?.resetOf === undefined ? {} : { openedFor: execution.id }),
    ...(look === undefined || isSaid ? {} : { searchAttributes: found ?? [] }),
    ...(deps.seals === true ? { seals: true as const } : {}),
  };
}

/** The last answer and what ran of it before the run failed, where that was not noted: on a full disk, for one. How long the answer took nobody knows. */
async function completeAudit(files: RunFiles, { run, graph }: OpenedRun): Promise<void> {
  const answer = await findLastAnswer(files, graph, run.activeAgentId);
  if (answer === undefined) return;
  const { entry, nodeId, agentId } = answer;
  if (entry.turn > 0) await files.audit.record(turnEvent(entry, answer, 0), new Date());
  for (const call of entry.calls) {
    const { id: toolCallId, name, argumentsJson, external } = call;
    await recordUnknown(files, call);
    const ours = run.kind === "bundle" ? bundleToolName(name) : canonicalToolName(name);
    const toolName = external?.name ?? ours;
    await noteRecorded(files, { toolCallId, name, toolName, argumentsJson, agentId, nodeId });
  }
}

function toResumedRun({ status, said, graphState, ...point }: ResumePoint): ResumedRun {
  return {
    ...point,
    ...(status?.budget === undefined ? {} : { budget: status.budget as Budget }), // written from one
    ...defined({ raises: status?.raises }),
    answers: said.map(toAnswer),
    ...(status?.phase === "completed" ? { isCompleted: true } : {}),
    ...defined({ story: graphState }),
  };
}

/** A client that heard nothing sends an answer again, to whoever is there. */
function toAnswer({ id, nodeId, text, by }: SaidByUser): TakenUpdate {
  return { id, answer: { nodeId, begins: cutText(text, ANSWER_PREVIEW_CHARS), ...defined({ by }) } };
}
