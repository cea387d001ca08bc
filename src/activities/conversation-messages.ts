import { MAX_RESULT_CHARS_PER_ANSWER } from "../core/run/limits.js";
import { foldedResult } from "../core/prompt/folded-result.js";
import { renderUserInput } from "../core/prompt/shells.js";
import type { Fault } from "../core/errors.js";
import type { ChatMessage } from "../model/chat.js";
import type { RecordedResult } from "../store/runs/call-journal.js";
import type { JsonObject } from "../core/json.js";
import type { RecordedModelCall } from "../core/tools/external-tool.js";
import type { AssistantEntry, ConversationEntry } from "../store/runs/conversation.js";

/**
 * The messages of a request: what was said, with each call's result right after the answer that made it, in the
 * order of the calls (contracts §8), folded where the conversation says so. User input written down before a visit began
 * follows that visit's shells.
 */
export function toMessages(
  entries: readonly ConversationEntry[],
  resultOf: (callId: string) => RecordedResult | undefined,
  toResult: (fault: Fault) => RecordedResult = (error) => ({ ok: false, error }),
): readonly ChatMessage[] {
  const messages: ChatMessage[] = [];
  const folds = foldsOf(entries);
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
        messages.push(...resultMessages(entry.calls, resultOf, toResult, folds));
        break;
      case "fold":
        break;
    }
  }
  return messages;
}

/** Before the first turn of a visit there is no model that could have said anything: the runtime has read. */
function isOwn({ turn }: AssistantEntry): boolean {
  return turn === 0;
}

/** How the results of calls are left out. */
export type Folds = ReadonlyMap<string, "folded" | "withheld">;

/** What a conversation leaves out. What was withheld once stays so: a request begins as the one before it. */
export function foldsOf(entries: readonly ConversationEntry[]): Folds {
  const folds = new Map<string, "folded" | "withheld">();
  for (const entry of entries) {
    if (entry.type !== "fold") continue;
    for (const id of entry.calls) folds.set(id, "folded");
    for (const id of entry.withheld) folds.set(id, "withheld");
  }
  return folds;
}

/** One message for each call, in order; results that are too much together are held back. */
function resultMessages(
  calls: readonly RecordedModelCall[],
  resultOf: (callId: string) => RecordedResult | undefined,
  toResult: (fault: Fault) => RecordedResult,
  folds: Folds,
): readonly ChatMessage[] {
  let total = 0;
  return calls.map((call) => {
    const { id } = call;
    const result = resultOf(id) ?? toResult(NOT_RUN);
    const content = JSON.stringify(result);
    // By their own lengths, also of those that are folded: what is held back stays so.
    total += content.length;
    const isTooMuch = total > MAX_RESULT_CHARS_PER_ANSWER;
    if (isTooMuch) total -= content.length;
    const fold = folds.get(id);
    const shown = fold === undefined ? content : inPlaceOf(call, result, fold, toResult);
    return { role: "tool", toolCallId: id, content: isTooMuch ? JSON.stringify(toResult(HELD_BACK)) : shown };
  });
}

/** What stands in the place of a result that is left out, as JSON; the result itself where it is none of those that are. */
export function inPlaceOf(
  call: RecordedModelCall,
  result: RecordedResult,
  fold: "folded" | "withheld",
  toResult: (fault: Fault) => RecordedResult,
): string {
  const folded = foldedResult(call, result as JsonObject); // tool results are JSON
  if (folded === undefined) return JSON.stringify(result);
  return fold === "folded" ? folded : JSON.stringify(toResult(WITHHELD));
}

const WITHHELD: Fault = {
  code: "E_READ_LIMIT",
  message:
    "The call was run, but its result is too long for what is left of your context. Ask for less at once: fewer files, or windows of lines.",
};

const HELD_BACK: Fault = {
  code: "E_READ_LIMIT",
  message:
    "The call was run, but the results of this answer are too much together to be shown. Ask for less at once: fewer files, or windows of lines.",
};

const NOT_RUN: Fault = {
  code: "ENGINE_ABORTED",
  message: "The call was not run: the run was interrupted before it.",
};
