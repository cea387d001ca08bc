import { MAX_RESULT_CHARS_PER_ANSWER } from "../core/run/limits.js";
import { renderUserInput } from "../core/prompt/shells.js";
import type { Fault } from "../core/errors.js";
import type { ChatMessage } from "../model/chat-model.js";
import type { RecordedResult } from "../store/runs/call-journal.js";
import type { ModelCall } from "../core/tools/model-call.js";
import type { AssistantEntry, ConversationEntry } from "../store/runs/conversation.js";

/**
 * The messages of a request: what was said, with each call's result right after the answer that made it, in the
 * order of the calls (contracts §8). User input written down before a visit began follows that visit's shells.
 */
export function toMessages(
  entries: readonly ConversationEntry[],
  resultOf: (callId: string) => RecordedResult | undefined,
  toResult: (fault: Fault) => RecordedResult = (error) => ({ ok: false, error }),
): readonly ChatMessage[] {
  const messages: ChatMessage[] = [];
  let beforeBegin: ChatMessage[] = [];
  let begun = false;
  for (const entry of entries) {
    switch (entry.type) {
      case "begin":
        messages.push(...entry.messages, ...beforeBegin);
        beforeBegin = [];
        begun = true;
        break;
      case "user":
        (begun ? messages : beforeBegin).push({
          role: "user",
          content: renderUserInput(entry.nodeId, entry.text),
        });
        break;
      case "correction":
        messages.push({ role: "system", content: entry.text });
        break;
      case "assistant":
        messages.push({
          role: "assistant",
          content: entry.content,
          toolCalls: entry.calls,
          ...(entry.provider === undefined ? {} : { provider: entry.provider }),
          ...(isOwn(entry) ? { own: true } : {}),
        });
        messages.push(...resultMessages(entry.calls, resultOf, toResult));
        break;
    }
  }
  return messages;
}

/** Before the first turn of a visit there is no model that could have said anything: the runtime has read. */
function isOwn({ turn }: AssistantEntry): boolean {
  return turn === 0;
}

/** One message for each call, in order; results that are too much together are held back. */
function resultMessages(
  calls: readonly ModelCall[],
  resultOf: (callId: string) => RecordedResult | undefined,
  toResult: (fault: Fault) => RecordedResult,
): readonly ChatMessage[] {
  let total = 0;
  return calls.map(({ id }) => {
    const content = JSON.stringify(resultOf(id) ?? toResult(NOT_RUN));
    total += content.length;
    const isTooMuch = total > MAX_RESULT_CHARS_PER_ANSWER;
    if (isTooMuch) total -= content.length;
    return {
      role: "tool",
      toolCallId: id,
      content: isTooMuch ? JSON.stringify(toResult(HELD_BACK)) : content,
    };
  });
}

const HELD_BACK: Fault = {
  code: "E_READ_LIMIT",
  message:
    "The call was run, but the results of this answer are too much together to be shown. Ask for less at once: fewer files, or windows of lines.",
};

const NOT_RUN: Fault = {
  code: "ENGINE_ABORTED",
  message: "The call was not run: the run was interrupted before it.",
};
