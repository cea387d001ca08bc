import { type JsonValue, objectOf, textIn } from "../../core/json.js";
import type { ToolAnswer } from "../../core/package/package-test.js";

/**
 * What an external tool has answered, as a test says it; undefined where the call did not come to the tool. What is not kept of a
 * call that failed or was cut is not in the test: the model was not told it either.
 */
export function answerIn(tool: string, result: JsonValue | undefined): ToolAnswer | undefined {
  const content = textIn(result, "content");
  if (content !== undefined) return { result: content };
  const error = objectOf(result)["error"];
  const message = textIn(error, "message") ?? "";
  switch (textIn(error, "code")) {
    case "TOOL_FAILED":
      return { error: textIn(objectOf(error)["details"], "content") ?? without(`${tool} failed: `, message) };
    case "TOOL_OUTCOME_UNKNOWN":
      return { error: message };
    case "TOOL_ARGS_INVALID":
      return { wrongArguments: without(`The arguments of ${tool} do not fit: `, message) };
    default:
      return undefined;
  }
}

function without(beginning: string, text: string): string {
  return text.startsWith(beginning) ? text.slice(beginning.length) : text;
}
