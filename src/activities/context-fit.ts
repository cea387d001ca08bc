import { ApplicationFailure } from "@temporalio/activity";
import type { ModelTurnInput } from "../contract/activities.js";
import type { ErrorCode, Fault } from "../core/errors.js";
import { isInstruction } from "../core/prompt/folded-result.js";
import {
  type FoldableResult,
  foldToFit,
  isCredible,
  learnedContext,
  roomForAnswer,
  contextRoom,
} from "../core/run/context-window.js";
import { correctionOf, estimateTokens } from "../core/run/token-estimate.js";
import type { ModelCall } from "../core/tools/model-call.js";
import type { FunctionTool } from "../core/tools/tool-arguments.js";
import type { ChatMessage, ModelSettings } from "../model/chat.js";
import type { ModelError } from "../model/model-error.js";
import type { RecordedResult } from "../store/runs/call-journal.js";
import type { AssistantEntry, ConversationEntry, FoldEntry } from "../store/runs/conversation.js";
import { foldsOf, inPlaceOf, toMessages } from "./conversation-messages.js";
import type { LearnedContexts } from "./learned-contexts.js";

/** What a message costs beside its text. */
const TOKENS_PER_MESSAGE = 4;
/** A server that refuses a request again and again refuses it for something else. */
const MAX_FOLDS_PER_TURN = 8;

/** What a request is made of. */
export interface RequestParts {
  readonly entries: readonly ConversationEntry[];
  readonly resultOf: (callId: string) => RecordedResult | undefined;
  readonly toResult: (fault: Fault) => RecordedResult;
  readonly tools: readonly FunctionTool[];
}

/** A request, and how long it is by our estimate: as it is, and as the provider would count it. */
export interface Draft {
  readonly messages: readonly ChatMessage[];
  readonly sentTokens: number;
  readonly tokens: number;
  /** Worked out when it is asked for: most requests fit. */
  readonly foldable: () => readonly FoldableResult[];
}

interface Limit {
  readonly contextTokens: number;
  readonly by: FoldEntry["by"];
}

/** Keeps the requests of one model turn within the context of its model. */
export class ContextFit {
  private readonly input: ModelTurnInput;
  private readonly settings: ModelSettings;
  private readonly learned: LearnedContexts;

  constructor(input: ModelTurnInput, settings: ModelSettings, learned: LearnedContexts) {
    this.input = input;
    this.settings = settings;
    this.learned = learned;
  }

  draft(parts: RequestParts): Draft {
    const { entries, resultOf, toResult, tools } = parts;
    const messages = toMessages(entries, resultOf, toResult);
    const correction = correctionOf(
      entries.flatMap((entry) => (entry.type === "assistant" ? [countedOf(entry)] : [])),
    );
    const inTools = tools.length === 0 ? 0 : estimateTokens(JSON.stringify(tools));
    const sentTokens = messages.reduce((sum, message) => sum + tokensOf(message), inTools);
    return {
      messages,
      sentTokens,
      tokens: Math.ceil(sentTokens * correction),
      foldable: () => foldableResults(parts, messages, correction),
    };
  }

  /**
   * What has to be left out before the request may be sent; undefined where it fits, or nobody knows how long the context
   * is. Where it does not fit whatever is left out, it fails with `LLM_CONTEXT_EXCEEDED` by the settings; else its provider is asked as it is, which may
   * hold more by now than it has said.
   */
  foldBefore(draft: Draft, entries: readonly ConversationEntry[]): FoldEntry | undefined {
    const limit = this.limitOf(entries);
    if (limit === undefined) return undefined;
    const room = contextRoom({ ...limit, maxTokens: this.settings.maxTokens });
    if (draft.tokens <= Math.min(room.wanted, room.most)) return undefined;
    const folding = foldToFit(draft.tokens, room, draft.foldable());
    if (folding.size <= room.most) return this.entryOf(folding, limit, entries);
    if (limit.by === "settings") throw this.doesNotFit(folding.size, limit.contextTokens);
    this.learned.forget(this.settings);
    return undefined;
  }

  /** What is left out after the provider has refused the request as too long; fails where there is nothing. */
  foldAfter(refusal: ModelError, draft: Draft, entries: readonly ConversationEntry[]): FoldEntry {
    const { maxTokens } = this.settings;
    const contextTokens = learnedContext(draft.tokens, refusal.contextTokens, maxTokens);
    const { contextTokens: named, isGuess, code, message } = refusal;
    if (!isGuess) this.learned.learn(this.settings, isCredible(named) ? named : contextTokens);
    const limit = { contextTokens, by: "provider" } as const;
    const { wanted, most } = contextRoom({ contextTokens, maxTokens });
    const refused = draft.tokens - 1;
    const room = { wanted: Math.min(wanted, refused), most: Math.min(most, refused) };
    const folding = foldToFit(draft.tokens, room, draft.foldable());
    const entry = this.entryOf(folding, limit, entries);
    if (entry === undefined || entry.nth > MAX_FOLDS_PER_TURN) {
      // Nobody has said that it is too long, and less was not taken either.
      if (code !== "LLM_CONTEXT_EXCEEDED") throw ApplicationFailure.nonRetryable(message, code);
      throw this.doesNotFit(draft.tokens, contextTokens, message);
    }
    return entry;
  }

  /** The shortest that anybody has named: the settings, the endpoint to this worker, or to another one in this conversation. */
  private limitOf(entries: readonly ConversationEntry[]): Limit | undefined {
    const { model, contextTokens } = this.settings;
    const recorded = entries.findLast(
      (entry) => entry.type === "fold" && entry.model === model && entry.by === "provider",
    );
    const limits: Limit[] = [];
    if (contextTokens !== undefined) limits.push({ contextTokens, by: "settings" });
    if (recorded?.type === "fold") limits.push({ contextTokens: recorded.contextTokens, by: "provider" });
    const remembered = this.learned.of(this.settings);
    if (remembered !== undefined) limits.push({ contextTokens: remembered, by: "provider" });
    return limits.toSorted((a, b) => a.contextTokens - b.contextTokens)[0];
  }

  private entryOf(
    { calls, withheld }: Pick<FoldEntry, "calls" | "withheld">,
    limit: Limit,
    entries: readonly ConversationEntry[],
  ): FoldEntry | undefined {
    if (calls.length === 0 && withheld.length === 0) return undefined;
    const { visit, turn } = this.input;
    const before = entries.filter(
      (entry) => entry.type === "fold" && entry.visit === visit && entry.turn === turn,
    );
    const { model } = this.settings;
    return { type: "fold", visit, turn, nth: before.length + 1, model, ...limit, calls, withheld };
  }

  private doesNotFit(tokens: number, contextTokens: number, words?: string): ApplicationFailure {
    const { model, maxTokens } = this.settings;
    const room = roomForAnswer({ contextTokens, maxTokens });
    const said = words === undefined ? "" : ` ${words}`;
    return ApplicationFailure.nonRetryable(
      `The request at ${this.input.nodeId} has about ${tokens} tokens without the tool results that can be left out, and the context of ${model} holds ${contextTokens}, of which ${room} are for the answer.${said} ` +
        "Choose a model with a longer context, raise contextTokens where the server has more, lower maxTokens, or let the node do less at once.",
      "LLM_CONTEXT_EXCEEDED" satisfies ErrorCode,
    );
  }
}

function countedOf({ sentTokens, usage }: AssistantEntry) {
  const { promptTokens, estimated = false } = usage;
  return { promptTokens, estimated, ...(sentTokens === undefined ? {} : { sentTokens }) };
}

function tokensOf(message: ChatMessage): number {
  return (
    TOKENS_PER_MESSAGE +
    estimateTokens(message.content) +
    (message.role === "assistant" ? tokensBeside(message) : 0)
  );
}

/** Of an assistant message: its calls, and what goes back to its provider beside them. */
function tokensBeside({ toolCalls, provider }: Extract<ChatMessage, { role: "assistant" }>): number {
  const calls = toolCalls.map(
    ({ name, argumentsJson }) => estimateTokens(name) + estimateTokens(argumentsJson),
  );
  const own = provider === undefined ? 0 : estimateTokens(JSON.stringify(provider));
  return calls.reduce((sum, tokens) => sum + TOKENS_PER_MESSAGE + tokens, own);
}

/** What an answer has, for a server that does not count it. */
export function answerTokens(answer: Omit<Extract<ChatMessage, { role: "assistant" }>, "role">): number {
  return estimateTokens(answer.content) + tokensBeside({ role: "assistant", ...answer });
}

function foldableResults(
  { entries, resultOf, toResult }: RequestParts,
  messages: readonly ChatMessage[],
  correction: number,
): readonly FoldableResult[] {
  const shown = new Map(
    messages.flatMap((message) => (message.role === "tool" ? [[message.toolCallId, message.content]] : [])),
  );
  const folds = foldsOf(entries);
  const newest = entries.findLast((entry) => entry.type === "assistant" && entry.calls.length > 0);
  const tokens = (text: string): number => Math.ceil(estimateTokens(text) * correction);
  return entries.flatMap((entry) => {
    if (entry.type !== "assistant") return [];
    return entry.calls.flatMap((call): readonly FoldableResult[] => {
      const result = resultOf(call.id);
      const content = shown.get(call.id);
      if (result === undefined || content === undefined || folds.has(call.id)) return [];
      const isNewest = entry === newest;
      const folded = inPlaceOf(call, result, "folded", toResult);
      if (folded === content || (isNewest && isWhole(call, entry.turn))) return [];
      return [
        {
          callId: call.id,
          tokens: tokens(content),
          foldedTokens: tokens(folded),
          withheldTokens: tokens(inPlaceOf(call, result, "withheld", toResult)),
          isNewest,
          isInstruction: isInstruction(call, entry.turn),
        },
      ];
    });
  });
}

/** Nobody can ask for less of it. */
function isWhole({ name }: ModelCall, turn: number): boolean {
  return turn === 0 || name === "preload_workflow";
}
