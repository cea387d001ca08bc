import { ApplicationFailure } from "@temporalio/activity";
import type { ModelTurnInput } from "../contract/activities.js";
import { defined } from "../core/defined.js";
import type { AnsweredBy } from "../core/run/run-model.js";
import type { TurnUsage } from "../core/run/usage.js";
import { cutText } from "../core/text.js";
import type { RecordedModelCall } from "../core/tools/external-tool.js";
import type { ChatAnswer, ModelPrice } from "../model/chat.js";
import type { AssistantEntry, ConversationEntry } from "../store/runs/conversation.js";
import type { RunFiles } from "../store/runs/run-files.js";
import type { Offer } from "../tools/external/external-tools.js";
import { type Draft, answerTokens } from "./context-fit.js";

/** An answer with more calls than this is no answer; up to it each call gets a result. */
const MAX_RECORDED_CALLS = 128;
/** Of names that a provider or a model gives. */
const MAX_RECORDED_NAME_CHARS = 100;

/** What an answer is written down with. */
interface Asked {
  readonly price: ModelPrice | undefined;
  readonly spent: TurnUsage | undefined;
  readonly draft: Draft;
  readonly offer: Offer;
}

/** An answer as its conversation keeps it: bounded, with ids that no other call of the run has. */
export async function toEntry(
  answer: ChatAnswer,
  input: ModelTurnInput,
  said: readonly ConversationEntry[],
  files: RunFiles,
  { price, spent, draft, offer }: Asked,
): Promise<AssistantEntry> {
  if (answer.toolCalls.length > MAX_RECORDED_CALLS) {
    throw ApplicationFailure.retryable(
      `The model's answer holds ${answer.toolCalls.length} tool calls; at most ${MAX_RECORDED_CALLS} are read.`,
      "LLM_BAD_RESPONSE",
    );
  }
  // An answer that was cut off or refused runs no call (contracts §16).
  const runsNone = answer.finishReason === "length" || answer.refusal !== undefined;
  const { calls: _, ...withoutCalls } = answer.provider ?? { endpoint: "", dialect: "" };
  const provider = runsNone ? answer.provider && withoutCalls : answer.provider;
  const usage = usageOf(answer, draft);
  return {
    type: "assistant",
    visit: input.visit,
    turn: input.turn,
    content: answer.content,
    calls: runsNone ? [] : await withUniqueIds(answer, input, said, { files, offer }),
    finishReason: cutText(answer.finishReason, MAX_RECORDED_NAME_CHARS),
    usage: { ...usage, cost: costOf(usage, price) },
    sentTokens: draft.sentTokens,
    ...leftOut(said, input),
    ...newlyOffered(said, offer),
    model: cutText(answer.model, MAX_RECORDED_NAME_CHARS),
    ...defined({ provider, refusal: answer.refusal, answeredBy: answeredBy(input), spent }),
  };
}

/** How many results were left out for this turn, where any were. */
function leftOut(
  said: readonly ConversationEntry[],
  { visit, turn }: ModelTurnInput,
): Pick<AssistantEntry, "folded"> {
  const folded = said
    .filter((entry) => entry.type === "fold")
    .filter((entry) => entry.visit === visit && entry.turn === turn)
    .reduce((sum, { calls, withheld }) => sum + calls.length + withheld.length, 0);
  return folded === 0 ? {} : { folded };
}

/** Which external tools the model had, where they are others than before in this conversation. */
function newlyOffered(
  said: readonly ConversationEntry[],
  { functions }: Offer,
): Pick<AssistantEntry, "offered"> {
  const offered = functions.map((tool) => tool.function.name);
  const known = said.findLast((entry) => entry.type === "assistant" && entry.offered !== undefined);
  const before = known?.type === "assistant" ? (known.offered ?? []) : [];
  return offered.join() === before.join() ? {} : { offered };
}

/** What the provider has counted; where it has counted nothing, tokens are estimated, so that budgets bind. */
function usageOf(answer: ChatAnswer, { tokens }: Draft): Counted {
  const { promptTokens, completionTokens } = answer.usage;
  const said = answerTokens(answer);
  if (promptTokens > 0 && (completionTokens > 0 || said === 0)) return answer.usage;
  return {
    ...answer.usage,
    promptTokens: promptTokens || tokens,
    completionTokens: completionTokens || said,
    estimated: true,
  };
}

/** Tokens, and what their provider says they cost, where it does. */
type Counted = Omit<TurnUsage, "cost"> & Pick<ChatAnswer["usage"], "cost">;

/** What tokens cost by the price of their model, where it has one; else what their provider says. */
export function costOf(usage: Counted, price: ModelPrice | undefined): number {
  if (price === undefined) return usage.cost ?? 0;
  const { promptTokens, completionTokens } = usage;
  const { inputPerMillion, outputPerMillion, cachedInputPerMillion = inputPerMillion } = price;
  const cached = Math.min(usage.cachedPromptTokens ?? 0, promptTokens);
  const cost =
    (promptTokens - cached) * inputPerMillion +
    cached * cachedInputPerMillion +
    completionTokens * outputPerMillion;
  return cost / 1_000_000;
}

/**
 * Some providers repeat call ids from turn to turn, or leave them out; in a run each id is one call. An id that this
 * conversation or the run's journal knows is another call's: with it, this one would get that one's result and not run.
 */
async function withUniqueIds(
  answer: ChatAnswer,
  input: ModelTurnInput,
  said: readonly ConversationEntry[],
  { files, offer }: { readonly files: RunFiles; readonly offer: Offer },
): Promise<readonly RecordedModelCall[]> {
  const taken = new Set(
    said.flatMap((entry) => (entry.type === "assistant" ? entry.calls.map(({ id }) => id) : [])),
  );
  for (const id of (await files.calls.findAll(answer.toolCalls.map((call) => call.id))).keys()) taken.add(id);
  return answer.toolCalls.map((call, index) => {
    let id = call.id;
    if (!/^[\w.:-]{1,80}$/.test(id) || taken.has(id)) id = `call_${input.visit}_${input.turn}_${index}`;
    while (taken.has(id)) id = `${id}_`;
    taken.add(id);
    const external = offer.offeredFor(call);
    const name = cutText(call.name, MAX_RECORDED_NAME_CHARS);
    return { id, name, argumentsJson: call.argumentsJson, ...defined({ external }) };
  });
}

/** Whose answer it is, in a run that knows its models. */
function answeredBy({ model: ref }: ModelTurnInput): AnsweredBy | undefined {
  return ref && { ...defined({ name: ref.name }), model: ref.model };
}
