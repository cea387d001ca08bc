import { z } from "zod";
import { LONGEST_TIMER_MS } from "../within.js";
import type { ChatAnswer, ChatModel } from "./chat.js";
import { badResponse, classifyModelError, timedOut } from "./model-error.js";

/** What of an answer the engine relies on. Whatever else it has is passed on as it is. */
const answerSchema = z.looseObject({
  content: z.string(),
  toolCalls: z.array(z.looseObject({ id: z.string(), name: z.string(), argumentsJson: z.string() })),
  finishReason: z.string(),
  usage: z.looseObject({
    promptTokens: z.int().min(0),
    completionTokens: z.int().min(0),
    cachedPromptTokens: z.int().min(0).optional(),
  }),
  model: z.string(),
  provider: z.looseObject({ endpoint: z.string(), dialect: z.string() }).optional(),
  refusal: z
    .looseObject({ code: z.enum(["LLM_REFUSED", "LLM_CONTENT_FILTERED"]), words: z.string() })
    .optional(),
});

/**
 * A program's own model, held to what `ChatModel` says: what it throws is classified, its time is bounded and its signal
 * heeded, whether it heeds them or not, and an answer of another shape is `LLM_BAD_RESPONSE`.
 */
export function heldToInterface(model: ChatModel): ChatModel {
  return {
    async complete(request) {
      const { settings, signal } = request;
      const timeout = AbortSignal.timeout(Math.min(settings.timeoutMs, LONGEST_TIMER_MS));
      const over = AbortSignal.any([signal, timeout]);
      try {
        over.throwIfAborted();
        return checked(await Promise.race([model.complete({ ...request, signal: over }), abortOf(over)]));
      } catch (error) {
        signal.throwIfAborted();
        if (timeout.aborted) throw timedOut(settings.timeoutMs);
        throw classifyModelError(error, settings.apiKey);
      }
    },
  };
}

function abortOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true }); // an AbortError
  });
}

function checked(answer: ChatAnswer): ChatAnswer {
  const parsed = answerSchema.safeParse(answer);
  if (parsed.success) return answer;
  const [issue] = parsed.error.issues;
  throw badResponse(`${issue?.path.map(String).join(".") || "the whole"}: ${issue?.message}`);
}
