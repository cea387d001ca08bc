import { renderUserInput } from "../core/prompt/shells.js";
import type { ToolResult } from "../core/tools/tool-result.js";
import type { ChatMessage } from "../model/chat-model.js";
import type { ConversationEntry } from "../store/conversation.js";

/**
 * The messages of a request: what was said, with each call's result right after the answer that made it, in the
 * order of the calls (contracts §8). User input written down before a visit began follows that visit's shells.
 */
export function toMessages(
  entries: readonly ConversationEntry[],
  resultOf: (callId: string) => ToolResult | undefined,
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
        messages.push({ role: "assistant", content: entry.content, toolCalls: entry.calls });
        for (const call of entry.calls) {
          messages.push({
            role: "tool",
            toolCallId: call.id,
            content: JSON.stringify(resultOf(call.id) ?? NOT_RUN),
          });
        }
        break;
    }
  }
  return messages;
}

const NOT_RUN: ToolResult = {
  ok: false,
  error: { code: "ENGINE_ABORTED", message: "The call was not run: the run was interrupted before it." },
};
