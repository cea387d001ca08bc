import { type JsonObject, type JsonValue, jsonIn, textIn } from "../../core/json.js";
import type { ChatMessage } from "../../model/chat.js";

/**
 * Hashes of files that differ from run to run, as that of the state document: a test writes `{{sha256 @state/workflow.md}}`, which
 * stands for the one that the conversation told last.
 */

/** The newest hash of each file, by its path. */
export type Versions = ReadonlyMap<string, string>;

const MARK = /^\{\{sha256 (.+)\}\}$/;

/** What stands for the hash of a file. */
export function versionMark(path: string): string {
  return `{{sha256 ${path}}}`;
}

/** What a conversation has told of files, the newest hash of each. */
export function versionsIn(messages: readonly ChatMessage[]): Versions {
  const paths = new Map<string, string>();
  const versions = new Map<string, string>();
  for (const message of messages) {
    if (message.role === "assistant") {
      for (const { id, argumentsJson } of message.toolCalls) {
        const path = textIn(jsonIn(argumentsJson), "path");
        if (path !== undefined) paths.set(id, path);
      }
    }
    if (message.role !== "tool") continue;
    const path = paths.get(message.toolCallId);
    const version = path === undefined ? undefined : versionTold(jsonIn(message.content));
    if (path !== undefined && version !== undefined) versions.set(path, version);
  }
  return versions;
}

/** The hash of a file that a tool's result tells. */
export function versionTold(result: JsonValue | undefined): string | undefined {
  return textIn(result, "sha256After") ?? textIn(result, "sha256");
}

/** A call's arguments with the hashes that marks stand for; a mark of a file that nothing was told of stays. */
export function withVersions(value: JsonObject, versions: Versions): JsonValue {
  return mapped(value, (text) => versions.get(MARK.exec(text)?.[1] ?? "") ?? text);
}

/** A value with each of its texts replaced. */
export function mapped(value: JsonValue, replace: (text: string) => string): JsonValue {
  if (typeof value === "string") return replace(value);
  if (Array.isArray(value)) return value.map((each: JsonValue) => mapped(each, replace));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, mapped(each, replace)]));
}
