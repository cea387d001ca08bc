import { REHEARSAL_MODEL, type Turn } from "./wire.js";

const DELTA_CHARS = 200;
const CHARS_PER_TOKEN = 4;

/** A turn with what the wire needs beside it. */
export interface Completion {
  readonly id: string;
  /** Unix time in seconds. */
  readonly created: number;
  readonly turn: Turn;
  /** One id for each call of the turn, in order. */
  readonly callIds: readonly string[];
  readonly usage: TokenEstimate;
}

interface TokenEstimate {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
}

/**
 * An estimate, not a count: no tokenizer is at work here, so four characters are taken for one token, as a rule
 * of thumb for English text. It is of the right size to see how a run's token use grows.
 */
export function estimateUsage(requestText: string, turn: Turn): TokenEstimate {
  const answerChars = turn.content.length + JSON.stringify(turn.calls).length;
  const prompt = Math.ceil(requestText.length / CHARS_PER_TOKEN);
  const completion = Math.ceil(answerChars / CHARS_PER_TOKEN);
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
}

/** The answer in one piece. */
export function completionBody(completion: Completion): object {
  const calls = toolCalls(completion);
  return {
    ...head(completion, "chat.completion"),
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: completion.turn.content,
          refusal: null,
          ...(calls.length === 0 ? {} : { tool_calls: calls }),
        },
        logprobs: null,
        finish_reason: finishReason(completion),
      },
    ],
    usage: completion.usage,
  };
}

/** The same answer as the server-sent events of a stream, `[DONE]` included. */
export function completionEvents(completion: Completion, includeUsage: boolean): string[] {
  const chunk = (choices: readonly object[], usage: TokenEstimate | null): string =>
    event(
      JSON.stringify({
        ...head(completion, "chat.completion.chunk"),
        choices,
        // With include_usage every chunk has the field, and all but the last have null in it.
        ...(includeUsage ? { usage } : {}),
      }),
    );
  const delta = (content: object, finish: string | null = null): string =>
    chunk([{ index: 0, delta: content, logprobs: null, finish_reason: finish }], null);
  return [
    delta({ role: "assistant", content: "" }),
    ...pieces(completion.turn.content).map((content) => delta({ content })),
    ...toolCalls(completion).flatMap((call, index) => [
      delta({ tool_calls: [{ index, ...call, function: { name: call.function.name, arguments: "" } }] }),
      ...pieces(call.function.arguments).map((part) =>
        delta({ tool_calls: [{ index, function: { arguments: part } }] }),
      ),
    ]),
    delta({}, finishReason(completion)),
    ...(includeUsage ? [chunk([], completion.usage)] : []),
    event("[DONE]"),
  ];
}

function event(data: string): string {
  return `data: ${data}\n\n`;
}

function head(completion: Completion, object: string): object {
  return { id: completion.id, object, created: completion.created, model: REHEARSAL_MODEL };
}

function finishReason(completion: Completion): "tool_calls" | "stop" {
  return completion.turn.calls.length > 0 ? "tool_calls" : "stop";
}

function toolCalls(completion: Completion) {
  return completion.turn.calls.map((call, index) => ({
    id: completion.callIds[index] ?? `call_${index}`,
    type: "function" as const,
    function: { name: call.name, arguments: JSON.stringify(call.arguments) },
  }));
}

/** Cuts text into deltas without splitting a character. */
function pieces(text: string): string[] {
  const parts: string[] = [];
  let part = "";
  for (const char of text) {
    part += char;
    if (part.length >= DELTA_CHARS) {
      parts.push(part);
      part = "";
    }
  }
  return part === "" ? parts : [...parts, part];
}
