import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  condition,
  isCancellation,
  patched,
} from "@temporalio/workflow";
import type { ModelTurnInput, ModelTurnResult } from "../contract/activities.js";
import { KEY_MISSING_FAILURE, MODEL_MISSING_FAILURE } from "../contract/names.js";
import type { Visiting } from "../core/run/carried-run.js";
import { silentFault } from "../core/engine/closing.js";
import type { EngineLimits } from "../core/run/limits.js";
import { turnsAhead } from "../core/engine/model-answers.js";
import { attemptsAt, modelLabel, nextModel, pauseAfter } from "../core/run/run-model.js";
import type { RunRecord } from "../core/engine/run-record.js";
import { jsonBytes } from "../core/json.js";
import { modelActivities, quickActivities } from "./activity-options.js";
import { tellPlace } from "./change-phase.js";
import { isLongNow, lengthNow } from "./continue-run-as-new.js";
import { failureOf } from "./failures.js";
import type { RunKind } from "./run-kind.js";
import { tryLocally } from "./steps-by-node.js";
import { summary } from "./summary.js";
import { defined } from "../core/defined.js";

/** While no worker has a run's model, one is asked for this often at least. */
const LONGEST_PAUSE_MS = 30_000;
/** An endpoint that wants a key from whoever has none: so many workers are asked, and then it is the model's failure. */
const WORKERS_WITHOUT_KEY = 8;
const LONGEST_KEY_PAUSE_MS = 2_000;
/** In a run that goes by the clock: from here on it does not. */
const TIMED_PATCH = "what-turns-took-decides-from-here-on";

/**
 * One answer for the turn at hand. Undefined where it is to begin again: the worker that took it has not the run's model and leaves
 * it to another one, or the model has failed and the next of its fallbacks is to be asked. Which one that is stands in
 * the record, so that it is the same whoever goes on. Throws what the activity has thrown where there is no other. `ahead`: the answers to
 * come that are there already, in order.
 */
export async function takeTurn(
  record: RunRecord,
  kind: RunKind,
  visiting: Visiting,
  { limits, ahead }: { readonly limits: EngineLimits; readonly ahead: ModelTurnResult[] },
): Promise<ModelTurnResult | undefined> {
  const turn = record.carried.turn + 1;
  record.update({ turn });
  try {
    const answer = ahead.shift() ?? (await askModel(record, kind, visiting, limits));
    ahead.push(...(answer.ahead ?? []));
    const { answeredBy } = answer;
    const { missing: _, ...found } = visiting;
    record.update({ visiting: found, ...defined({ answeredBy }) });
    record.use({ modelTurns: 1, ...answer.usage });
    record.isLong ||= answer.isLong === true;
    record.noteAudit(answer.audit);
    record.note(`model turn ${turn}`);
    return answer;
  } catch (error) {
    if (!(error instanceof ActivityFailure) || isCancellation(error)) throw error;
    if (CancellationScope.current().consideredCancelled) throw error; // its worker died meanwhile
    const missing = missingAfter(error, visiting);
    if (missing === undefined && !takeNextModel(record, visiting, error)) throw withOwnCode(error);
    record.update({ turn: turn - 1 }); // it begins again
    if (missing !== undefined) await leaveToOthers(record, visiting, missing);
    return undefined;
  }
}

async function askModel(
  record: RunRecord,
  kind: RunKind,
  visiting: Visiting,
  limits: EngineLimits,
): Promise<ModelTurnResult> {
  const { pace, carried } = record;
  const { isLeft } = carried;
  const input = turnInput(record, kind, visiting);
  const named = input.model === undefined ? "" : ` · ${input.model.model}`;
  const asked: AskedTurn = {
    input,
    shown: summary(`model turn ${input.turn} · ${input.nodeId}${named}`),
    attempts: attemptsAt(record.modelsAt(input.nodeId), visiting.model ?? 0, limits),
    timeoutMs: record.opened.modelTimeoutMs,
  };
  const beganAt = Date.now();
  const quick = pace.isQuickTurn ? await takeQuickTurn(record, kind, asked, limits) : undefined;
  pace.kept = quick?.kept;
  if (quick !== undefined) {
    pace.taskLoad.noteTurns(quick.tookMs ?? 0);
    pace.taskLoad.noteSaid(jsonBytes(quick));
  } else if (pace.isPlaceOld) tellPlace(record);
  const answer = quick ?? (await takeRegularTurn(asked, isLeft));
  if (quick === undefined) pace.taskLoad.endTask();
  if (pace.goesByClock && patched(TIMED_PATCH)) pace.leaveClock();
  pace.timeTurn(answer.tookMs, Date.now() - beganAt);
  return answer;
}

/** A turn that a model is asked for, by whichever kind of activity. */
interface AskedTurn {
  readonly input: ModelTurnInput;
  readonly shown: ReturnType<typeof summary>;
  readonly attempts: number;
  readonly timeoutMs: number | undefined;
}

function turnInput(record: RunRecord, kind: RunKind, visiting: Visiting): ModelTurnInput {
  const { nodeId, intent, resumes, correction, model: place = 0 } = visiting;
  const { visit, turn, budget } = record.carried;
  const { conditions } = record;
  const chain = record.modelsAt(nodeId);
  const hasCostBudget = budget.run?.cost !== undefined || budget.node?.cost !== undefined;
  return {
    ...record.scope,
    visit,
    turn,
    nodeId,
    agentId: record.agentOf(nodeId),
    intent,
    autopilot: record.input.autopilot ?? false,
    conversation: kind.conversation(record),
    ...defined({ conditions }),
    ...kind.turnDetails(record),
    ...(resumes === undefined || turn > 1 ? {} : { resumes }),
    ...(hasCostBudget ? { needsPrice: true } : {}),
    ...defined({ correction, model: chain[place] }),
    ...(place + 1 < chain.length ? { mayFallBack: true } : {}),
    ...lengthNow(),
  };
}

function takeRegularTurn(
  { input, shown, attempts, timeoutMs }: AskedTurn,
  isLeft: boolean | undefined,
): Promise<ModelTurnResult> {
  return modelActivities(attempts, timeoutMs, isLeft)["model.turn"].executeWithOptions(shown, [input]);
}

/** With the calls and the turns that it may take along. Undefined where it is to be a regular one after all. */
function takeQuickTurn(
  record: RunRecord,
  kind: RunKind,
  { input, shown, attempts, timeoutMs }: AskedTurn,
  limits: EngineLimits,
) {
  const now = new Date().toISOString();
  const quick = {
    ...input,
    runs: { stateSha256: record.carried.stateSha256, now },
    ahead: kind.userMayFinish ? 0 : turnsAhead(record, limits),
    ...(record.pace.keepsInTurn ? { keeps: true as const } : {}),
  };
  return tryLocally(record, () =>
    quickActivities(attempts, timeoutMs)["model.quick-turn"].executeWithOptions(shown, [quick]),
  );
}

/** The worker that took the turn lacks something that another one may have. */
interface Missing {
  /** So many workers, one after the other, have left this turn. */
  readonly times: number;
  readonly why: string;
  readonly pauseMs: number;
}

/** What the worker lacked; undefined where the failure is of another kind, or workers enough were asked. */
function missingAfter({ cause }: ActivityFailure, visiting: Visiting): Missing | undefined {
  if (!(cause instanceof ApplicationFailure)) return undefined;
  const wantsKey = cause.type === KEY_MISSING_FAILURE;
  if (!wantsKey && cause.type !== MODEL_MISSING_FAILURE) return undefined;
  const times = (visiting.missing?.times ?? 0) + 1;
  if (wantsKey && times >= WORKERS_WITHOUT_KEY) return undefined;
  const pauseMs = pauseAfter(times, wantsKey ? LONGEST_KEY_PAUSE_MS : LONGEST_PAUSE_MS);
  return { times, why: cause.message, pauseMs };
}

/** Waits a moment, so that another worker may take the turn. Temporal gives it to whoever asks first, often to the same one. */
async function leaveToOthers(
  record: RunRecord,
  visiting: Visiting,
  { times, why, pauseMs }: Missing,
): Promise<void> {
  record.update({ visiting: { ...visiting, missing: { times, why } }, isLeft: true });
  if (visiting.missing?.why !== why) record.note(why);
  await condition(() => record.isComplete || !record.isRecorded, pauseMs);
  // The turn was no local activity, and is none now.
  record.isLong ||= isLongNow();
}

/** Has the next of the model's fallbacks asked from now on; false where there is none for such a failure. */
function takeNextModel(record: RunRecord, visiting: Visiting, failure: ActivityFailure): boolean {
  const { model: place = 0, missing: _, ...rest } = visiting;
  const chain = record.modelsAt(visiting.nodeId);
  const { code, message } = failureSaid(failure);
  const next = nextModel(chain, place, code);
  const [failed, other] = [chain[place], next === undefined ? undefined : chain[next]];
  if (next === undefined || failed === undefined || other === undefined) return false;
  record.note(`${modelLabel(failed)} failed, ${code}: ${message}`);
  record.note(`asking ${modelLabel(other)} instead`);
  record.update({ visiting: { ...rest, model: next } });
  return true;
}

/** An activity that has not answered in time is the model's failure; so is a key that no worker has. */
function failureSaid({ activityType, cause, message }: ActivityFailure): { code: string; message: string } {
  if (!(cause instanceof ApplicationFailure)) return silentFault(activityType, cause?.message ?? message);
  const code = cause.type === KEY_MISSING_FAILURE ? "LLM_AUTH_FAILED" : (cause.type ?? "");
  return { code, message: cause.message };
}

function withOwnCode(error: ActivityFailure): Error {
  const { cause } = error;
  const isKey = cause instanceof ApplicationFailure && cause.type === KEY_MISSING_FAILURE;
  return isKey ? failureOf({ code: "LLM_AUTH_FAILED", message: cause.message }) : error;
}
