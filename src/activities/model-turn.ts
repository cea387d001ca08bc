import { ApplicationFailure, type Info } from "@temporalio/activity";
import type { ModelTurnInput, ModelTurnResult } from "../contract/activities.js";
import { MODEL_TURN_MARGIN_MS } from "../contract/names.js";
import { defined } from "../core/defined.js";
import type { ModelRef } from "../core/run/run-model.js";
import type { RunRef } from "../core/run/run-ref.js";
import { failpoint } from "../core/failpoint.js";
import { visibleText } from "../core/prompt/visible-text.js";
import { cutText } from "../core/text.js";
import type { ChatAnswer, ChatModel, ModelSettings } from "../model/chat.js";
import { ModelError } from "../model/model-error.js";
import type { Missing } from "../model/model-source.js";
import { LineTooLong } from "../store/disk/append-log.js";
import type { AuditEvent } from "../store/runs/audit-log.js";
import type { RecordedResult } from "../store/runs/call-journal.js";
import type {
  AssistantEntry,
  Conversation,
  ConversationEntry,
  FoldEntry,
} from "../store/runs/conversation.js";
import { type LiveCall, LiveWriter } from "../store/runs/live-answer.js";
import type { RunFiles } from "../store/runs/run-files.js";
import type { AgentHarness } from "./agent-harness.js";
import { costOf, toEntry } from "./answer-entry.js";
import { ContextFit } from "./context-fit.js";
import { LearnedContexts } from "./learned-contexts.js";
import { Keyless, toFailure } from "./model-failures.js";
import { keyMissing, modelMissing, unpricedSentence } from "./run-models.js";
import { executionOf } from "./run-scope.js";
import { keepSpent, spentBefore, withSpent } from "./spent-tokens.js";

/** What a model turn works with. */
export interface ModelTurnDeps {
  readonly harnesses: Readonly<Record<"graph" | "bundle", AgentHarness>>;
  readonly model: ChatModel;
  /**
   * How a model is asked for an agent in a run; of a run that knows none, the agent's. Undefined where none is configured, and
   * what is missing where this worker has not that model.
   */
  readonly modelSettingsFor: (
    agentId: string,
    run: RunRef,
    model?: ModelRef,
  ) => Promise<ModelSettings | Missing | undefined>;
  readonly memory: TurnMemory;
}

/** What a worker remembers from one turn to another. */
export interface TurnMemory {
  /** What endpoints have said of the lengths of contexts. */
  readonly learnedContexts: LearnedContexts;
  /** Turns for which a model wanted a key that this worker does not have: it is not asked again. */
  readonly keyless: Keyless;
}

export function newTurnMemory(): TurnMemory {
  return { learnedContexts: new LearnedContexts(), keyless: new Keyless() };
}

/** The part of an activity's context that a turn works with: its end may be waited for by another activity than has begun it. */
export interface TurnContext {
  readonly info: Pick<Info, "attempt" | "retryPolicy" | "startToCloseTimeoutMs">;
  readonly cancellationSignal: AbortSignal;
}

/** A turn that is being taken. */
interface Turn {
  readonly deps: ModelTurnDeps;
  readonly files: RunFiles;
  readonly conversation: Conversation;
  readonly harness: AgentHarness;
  readonly input: ModelTurnInput;
  readonly context: TurnContext;
  readonly live: LiveWriter;
}

const MAX_TEXT_CHARS = 8_000;

/**
 * One model turn: request, answer written down, calls planned. An answer that is already written down is returned
 * and not asked for again; of two writers the first one's answer stands.
 */
export async function modelTurn(
  deps: ModelTurnDeps,
  files: RunFiles,
  input: ModelTurnInput,
  context: TurnContext,
): Promise<ModelTurnResult> {
  const conversation = files.conversation(input.conversation);
  const harness = deps.harnesses[input.run.kind ?? "graph"];
  const startedAt = performance.now();
  const live = new LiveWriter(files.dir, liveCallOf(input, context), files.claim);
  let entry = await conversation.findAnswer(input.visit, input.turn);
  try {
    entry ??= await askModel({ deps, files, conversation, harness, input, context, live });
  } finally {
    await live.end();
  }
  const durationMs = Math.round(performance.now() - startedAt);
  const audit = await files.audit.record(turnEvent(entry, input, durationMs), new Date());
  const cutOff = entry.finishReason === "length";
  const { refusal } = entry;
  const isText = !cutOff && refusal === undefined && entry.calls.length === 0;
  // What a model thinks aloud is in the conversation; nobody is asked it, and it ends nothing.
  const content = visibleText(entry.content);
  const ending = isText ? await harness.ending(input, { ...entry, content }) : undefined;
  const mayAsk = isText && ending === undefined;
  const toolNames = mayAsk ? (await harness.tools(input)).map((tool) => tool.function.name) : [];
  const noQuestion = mayAsk ? harness.noQuestion(content, toolNames) : undefined;
  return {
    calls: harness.plan(entry.calls),
    text: historyText(content),
    cutOff,
    ...defined({ ending, noQuestion }),
    ...(refusal === undefined
      ? {}
      : { refusal: { code: refusal.code, words: historyText(visibleText(refusal.words)) } }),
    usage: withSpent(entry.usage, entry.spent),
    tookMs: durationMs,
    ...defined({ answeredBy: entry.answeredBy }),
    audit,
  };
}

/** What the audit log says of an answer. */
export function turnEvent(
  { visit, turn, model, finishReason, calls, usage, spent, folded, answeredBy }: AssistantEntry,
  { nodeId, agentId }: { readonly nodeId: string; readonly agentId: string },
  durationMs: number,
): AuditEvent {
  return {
    kind: "model.turn",
    id: `${visit}.${turn}`,
    nodeId,
    agentId,
    model,
    finishReason,
    calls: calls.length,
    ...defined({ ...withSpent(usage, spent), folded, answeredBy: answeredBy && { ...answeredBy } }),
    durationMs,
  };
}

/** Each attempt is watched on its own. */
function liveCallOf({ run, visit, turn }: ModelTurnInput, { info }: TurnContext): LiveCall {
  return { execution: executionOf(run), visit, turn, attempt: info.attempt };
}

/** The answer's text for histories and terminals: bounded, and without control characters other than line breaks. */
function historyText(text: string): string {
  return cutText(text, MAX_TEXT_CHARS).replace(/(?![\n\t])\p{Cc}/gu, " ");
}

async function askModel(asked: Turn): Promise<AssistantEntry> {
  const { deps, conversation, input } = asked;
  const settings = await deps.modelSettingsFor(input.agentId, input.run, input.model);
  if (settings === undefined) {
    throw ApplicationFailure.nonRetryable(
      "No model is configured on this worker. Set OPENAI_API_KEY or OPENAI_BASE_URL, and INTERLOCK_MODEL.",
      "LLM_AUTH_FAILED",
    );
  }
  if ("missing" in settings) throw modelMissing(settings.missing);
  const keyless = deps.memory.keyless.why(input);
  if (keyless !== undefined) throw keyMissing(keyless);
  if (input.needsPrice === true && settings.price === undefined) {
    throw ApplicationFailure.nonRetryable(unpricedSentence([settings.model]), "E_PRECONDITION_FAILED");
  }
  const fit = new ContextFit(input, settings, deps.memory.learnedContexts);
  for (;;) {
    const entry = await askOnce(asked, settings, fit);
    const known = entry ?? (await conversation.findAnswer(input.visit, input.turn));
    if (known !== undefined) return known;
  }
}

/** The answer, written down; undefined where results had to be left out of the conversation first. */
async function askOnce(
  asked: Turn,
  settings: ModelSettings,
  fit: ContextFit,
): Promise<AssistantEntry | undefined> {
  const { deps, files, conversation, harness, input, context, live } = asked;
  const before = await conversation.entries();
  const added = await newEntries(asked, before);
  const entries = [...before, ...added];
  const results = await resultsOf(files, entries);
  const offer = await harness.offer(input);
  const tools = [...(await harness.tools(input)), ...offer.functions];
  const resultOf = (callId: string): RecordedResult | undefined => results.get(callId);
  const draft = fit.draft({ entries, resultOf, toResult: (fault) => harness.toResult(fault), tools });
  const fold = fit.foldBefore(draft, entries);
  if (fold !== undefined) return writeFold(conversation, fold);
  failpoint("model.before-request");
  const timeoutMs = Math.min(settings.timeoutMs, longestWaitMs(context));
  const spent = await spentBefore(files, input);
  const spend = (usage: ChatAnswer["usage"]): Promise<void> =>
    keepSpent(files, input, { ...usage, cost: costOf(usage, settings.price) });
  const answer = await deps.model
    .complete({
      settings: { ...settings, timeoutMs },
      messages: draft.messages,
      tools,
      signal: context.cancellationSignal,
      onAsked: (endpoint) => {
        live.begin({ endpoint, model: settings.model, startedAt: new Date().toISOString(), timeoutMs });
      },
      onPiece: (piece) => live.add(piece),
    })
    .catch(async (error: unknown) => {
      if (error instanceof ModelError && error.usage !== undefined) await spend(error.usage);
      context.cancellationSignal.throwIfAborted();
      if (isOverflow(error)) return error;
      const { info } = context;
      throw toFailure(error, { input, settings, info, keyless: deps.memory.keyless });
    });
  if (isOverflow(answer)) return writeFold(conversation, fit.foldAfter(answer, draft, entries));
  failpoint("model.answer-received");
  const beside = { price: settings.price, spent, draft, offer };
  const entry = await toEntry(answer, input, entries, files, beside).catch(async (error: unknown) => {
    await spend(answer.usage);
    throw error;
  });
  const isFirst = await conversation.append([...added, entry]).catch(async (error: unknown) => {
    if (error instanceof LineTooLong) await spend(answer.usage);
    throw error instanceof LineTooLong
      ? ApplicationFailure.retryable("The model's answer is too long to be written down.", "LLM_BAD_RESPONSE")
      : error;
  });
  failpoint("model.answer-written");
  if (spent !== undefined) await files.spent.remove();
  if (isFirst) return entry;
  const written = await conversation.findAnswer(input.visit, input.turn);
  if (written === undefined) throw new Error("An answer is written down and cannot be read.");
  return written;
}

function isOverflow(error: unknown): error is ModelError {
  return error instanceof ModelError && (error.code === "LLM_CONTEXT_EXCEEDED" || error.isGuess);
}

/** Before a request is made without them, it is written down which results are left out: of two writers the first one's choice stands. */
async function writeFold(conversation: Conversation, fold: FoldEntry): Promise<undefined> {
  failpoint("context.before-fold");
  await conversation.append([fold]);
  failpoint("context.folded");
}

/**
 * The worker may be set to wait longer than it was when the run was opened: Temporal would not wait for the answer. Nor does it
 * wait beyond the end of a run that was started with a timeout: near it, half of what is left is for the answer.
 */
function longestWaitMs({ info }: TurnContext): number {
  const { startToCloseTimeoutMs: wholeMs } = info;
  return Math.max(wholeMs - MODEL_TURN_MARGIN_MS, Math.floor(wholeMs / 2));
}

/** What has to be said before this turn: the node's shells at the start of a visit, a correction. */
async function newEntries(
  { harness, files, input }: Turn,
  said: readonly ConversationEntry[],
): Promise<readonly ConversationEntry[]> {
  const entries: ConversationEntry[] = [];
  const { visit, turn, correction } = input;
  if (!said.some((entry) => entry.type === "begin" && entry.visit === visit)) {
    const { messages, calls } = await harness.begin(input, files);
    const goesOn = said.some((entry) => entry.type === "begin");
    entries.push(...(await wordsSaidBefore(files, said, input)));
    entries.push({ type: "begin", visit, messages: goesOn ? messages.slice(1) : messages });
    if (calls.length > 0) entries.push({ ...PREPARATION, visit, calls });
  }
  if (correction !== undefined) entries.push({ type: "correction", visit, turn, text: correction });
  return entries;
}

/** The runtime's own reads before the first turn, shown as an answer of the model. */
const PREPARATION = {
  type: "assistant",
  turn: 0,
  content: "",
  finishReason: "tool_calls",
  usage: { promptTokens: 0, completionTokens: 0, cost: 0 },
  model: "interlock",
} as const;

/** What the user said to this node in visits that were cut short: in a conversation of its own, it is said again. */
async function wordsSaidBefore(
  files: RunFiles,
  said: readonly ConversationEntry[],
  { resumes, conversation, nodeId }: ModelTurnInput,
): Promise<readonly ConversationEntry[]> {
  const newest = Number(/^visit-(\d+)$/.exec(resumes ?? "")?.[1] ?? 0);
  if (newest === 0 || resumes === conversation) return [];
  const known = new Set(said.flatMap((entry) => (entry.type === "user" ? [entry.id] : [])));
  const words: ConversationEntry[] = [];
  // Several visits may have been cut short one after the other, the last ones before they said anything.
  const ended = (await files.boundaries.all()).findLast(({ visit }) => visit < newest)?.visit ?? 0;
  for (let visit = ended + 1; visit <= newest; visit += 1) {
    for (const entry of await files.conversation(`visit-${visit}`).entries()) {
      if (entry.type !== "user" || entry.nodeId !== nodeId || known.has(entry.id)) continue;
      known.add(entry.id);
      words.push(entry);
    }
  }
  return words;
}

async function resultsOf(
  files: RunFiles,
  said: readonly ConversationEntry[],
): Promise<ReadonlyMap<string, RecordedResult>> {
  const calls = said.flatMap((entry) => (entry.type === "assistant" ? entry.calls : []));
  const records = await files.calls.findAll<RecordedResult>(calls.map(({ id }) => id));
  return new Map([...records].map(([id, { result }]) => [id, result]));
}
