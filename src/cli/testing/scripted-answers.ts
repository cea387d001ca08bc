import { type JsonObject, jsonIn, objectOf, textIn } from "../../core/json.js";
import type { PackageTest, ScriptedAnswer } from "../../core/package/package-test.js";
import type { ChatAnswer, ChatMessage, ChatModel, ChatRequest } from "../../model/chat.js";
import { ModelError } from "../../model/model-error.js";
import { excerpt } from "../../core/text.js";
import { canonicalToolName } from "../../core/tools/tool-specs.js";
import { type Versions, versionsIn, withVersions } from "./file-versions.js";

/** A model that answers what a test says. */
export interface ScriptedAnswers extends ChatModel {
  /** How many answers nobody has asked for, and where of a script for each node. */
  unused(): readonly { readonly nodeId: string | undefined; readonly count: number }[];
}

/** The settings of its requests. */
export const SCRIPTED_SETTINGS = { model: "scripted", stream: false, timeoutMs: 60_000 } as const;

const MAX_TOLD_CHARS = 300;

/** Each answer is given once, and again to the same request: who asks twice has not heard it. */
export function scriptedAnswers(answers: NonNullable<PackageTest["answers"]>): ScriptedAnswers {
  const isForAll = Array.isArray(answers);
  const left = new Map(
    isForAll ? [["", [...answers]]] : Object.entries(answers).map(([id, own]) => [id, [...own]]),
  );
  let last: { readonly asked: string; readonly answer: ChatAnswer } | undefined;

  function next(request: ChatRequest): ChatAnswer {
    const nodeId = nodeOf(request.messages);
    const answer = left.get(isForAll ? "" : nodeId)?.shift();
    if (answer === undefined) {
      const told = toldLast(request.messages);
      const why = told === "" ? "" : ` The model was told last: ${excerpt(told, MAX_TOLD_CHARS)}`;
      const message = `The test has no answer left for the node "${nodeId}".${why}`;
      throw new ModelError({ code: "LLM_HTTP_ERROR", message, retryable: false });
    }
    return answerOf(answer, request, versionsIn(request.messages));
  }

  return {
    async complete(request) {
      const asked = JSON.stringify(request.messages);
      const answer = last?.asked === asked ? last.answer : next(request);
      last = { asked, answer };
      return answer;
    },
    unused: () =>
      [...left]
        .filter(([, own]) => own.length > 0)
        .map(([id, own]) => ({ nodeId: isForAll ? undefined : id, count: own.length })),
  };
}

/** What was not right with the last answer, in the words that the model is told: why a call failed, or what its text lacks. */
function toldLast(messages: readonly ChatMessage[]): string {
  const last = messages.at(-1);
  if (last?.role === "system") return last.content;
  const results = messages.slice(messages.findLastIndex(({ role }) => role !== "tool") + 1);
  const failures = results.map(({ content }) => textIn(objectOf(jsonIn(content))["error"], "message"));
  return failures.findLast((message) => message !== undefined) ?? "";
}

/** The node whose brief came last; words of users follow a heading of their own. */
function nodeOf(messages: readonly ChatMessage[]): string {
  const briefs = messages.flatMap(({ role, content }) =>
    role === "user" ? (/^NODE_BRIEF\n- currentNodeId: (\S+)/.exec(content)?.[1] ?? []) : [],
  );
  return briefs.at(-1) ?? "";
}

function answerOf(
  { text = "", calls = [] }: ScriptedAnswer,
  request: ChatRequest,
  versions: Versions,
): ChatAnswer {
  return {
    content: text,
    toolCalls: calls.map(({ tool, arguments: given }, index) => ({
      id: `call_${index + 1}`,
      name: spelled(tool, request),
      argumentsJson:
        typeof given === "string" ? given : JSON.stringify(withVersions(given as JsonObject, versions)), // by its schema
    })),
    finishReason: calls.length > 0 ? "tool_calls" : "stop",
    usage: { promptTokens: 0, completionTokens: 0 },
    model: SCRIPTED_SETTINGS.model,
  };
}

/** As the request spells it; a tool that it does not offer, as the test does. */
function spelled(tool: string, { tools }: ChatRequest): string {
  const canonical = canonicalToolName(tool) ?? tool;
  const offered = tools.map(({ function: { name } }) => name);
  return offered.find((name) => name === tool || (canonicalToolName(name) ?? name) === canonical) ?? tool;
}
