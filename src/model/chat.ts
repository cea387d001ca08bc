import type { JsonObject } from "../core/json.js";
import type { ModelRefusal } from "../core/run/model-refusal.js";
import type { ProviderPart } from "../core/run/provider-part.js";
import type { TurnUsage } from "../core/run/usage.js";
import type { ModelCall } from "../core/tools/model-call.js";
import type { FunctionTool } from "../core/tools/tool-arguments.js";
import type { OnPiece } from "./answer-progress.js";
import type { DialectSetting } from "./dialects.js";

/** What a million tokens cost, in a currency of the user's choice. */
export interface ModelPrice {
  readonly inputPerMillion: number;
  readonly outputPerMillion: number;
  /** Of prompt tokens from the provider's cache; absent: as others. */
  readonly cachedInputPerMillion?: number | undefined;
}

/** Which model answers, and how it is reached. A `ChatModel` of another kind heeds of it what it can. */
export interface ModelSettings {
  /** Absent where the settings name none. */
  readonly price?: ModelPrice;
  /** The model's name, as its provider knows it. */
  readonly model: string;
  /** As `http://127.0.0.1:8080/v1`; absent means OpenAI's. */
  readonly baseUrl?: string;
  readonly apiKey?: string;
  /** Ask for the answer as a stream. */
  readonly stream: boolean;
  /** Longest wait for one answer, in milliseconds. */
  readonly timeoutMs: number;
  readonly temperature?: number;
  /** The most tokens of an answer. */
  readonly maxTokens?: number;
  /** What a request has beside all that, under its provider's names, as `{ reasoning_effort: "high" }`. */
  readonly parameters?: JsonObject;
  /** Tokens of a request and its answer together; absent: as the endpoint says where it refuses one. */
  readonly contextTokens?: number;
  /** How the endpoint wants to be spoken to; absent: as its address tells. */
  readonly dialect?: DialectSetting;
}

/**
 * A message of OpenAI's chat completions; roles system, user, assistant and tool only. Each call of an assistant message has
 * its result in a tool message right after it, in the order of the calls. System messages may stand anywhere.
 */
export type ChatMessage =
  | { readonly role: "system" | "user"; readonly content: string }
  | {
      readonly role: "assistant";
      readonly content: string;
      readonly toolCalls: readonly ModelCall[];
      /** What its provider takes back beside that. */
      readonly provider?: ProviderPart;
      /** No model has said it: the runtime's own reads. */
      readonly own?: true;
    }
  | { readonly role: "tool"; readonly toolCallId: string; readonly content: string };

/** What a model is asked. */
export interface ChatRequest {
  readonly settings: ModelSettings;
  /** The whole conversation of the node visit, oldest first. */
  readonly messages: readonly ChatMessage[];
  /** What the model may call. */
  readonly tools: readonly FunctionTool[];
  /** Fires when nobody waits for the answer any more: the run was cancelled, the worker stops, or the time is up. */
  readonly signal: AbortSignal;
  /** Hears where the request goes, as terminals may show it, before it goes there. */
  readonly onAsked?: (address: string) => void;
  /** Hears what comes of a streamed answer. */
  readonly onPiece?: OnPiece;
}

/** What a model has answered. */
export interface ChatAnswer {
  /** Its text; empty where it only calls tools. Without calls it is a question to the user. */
  readonly content: string;
  /** With the ids that its provider gave them, which may be empty. */
  readonly toolCalls: readonly ModelCall[];
  /** As `stop` or `tool_calls`; `length` where the answer was cut off: none of its calls is run. */
  readonly finishReason: string;
  /** Tokens of this request and its answer; 0 where they are not counted, and then estimated. `cost`: what the provider says they cost, which counts where the settings have no price. */
  readonly usage: Pick<TurnUsage, "promptTokens" | "completionTokens" | "cachedPromptTokens"> &
    Partial<Pick<TurnUsage, "cost">>;
  /** The name of the model that has answered. */
  readonly model: string;
  /** What goes back to the provider beside text and calls; absent where there is nothing. */
  readonly provider?: ProviderPart;
  /** The model or its provider has refused: the run waits for the user, with these words. */
  readonly refusal?: ModelRefusal;
}

/** What answers for an agent. The default speaks to any OpenAI-compatible endpoint; a program may bring its own. */
export interface ChatModel {
  /**
   * One answer to one request. It is not repeated here: what is worth another try is tried again by Temporal, and an answer is
   * asked for again when a worker dies before it has written it down.
   *
   * Rejects with a `ModelError`: `retryable` says whether another try may help, `retryAfterMs` when the next one begins at the
   * earliest. When the signal fires, it rejects with the signal's reason. Anything else that is thrown counts as a broken
   * connection (`LLM_HTTP_ERROR`) where it is one, and as `LLM_BAD_RESPONSE` where not; both are tried again.
   */
  complete(request: ChatRequest): Promise<ChatAnswer>;
}
