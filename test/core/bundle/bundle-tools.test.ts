import { describe, expect, test } from "vitest";
import { BUNDLE_FUNCTION_TOOLS, parseBundleCall } from "../../../src/core/bundle/bundle-tools.js";

describe("parseBundleCall", () => {
  test("the tools and their arguments are as existing instructions spell them", () => {
    const shapes = BUNDLE_FUNCTION_TOOLS.map(({ function: { name, parameters } }) => [
      name,
      parameters["required"],
    ]);
    expect(shapes).toEqual([
      ["read_file", ["file_path"]],
      ["save_output", ["file_path", "content"]],
      ["preload_workflow", ["workflow_path"]],
    ]);
    expect(parseBundleCall("save_output", '{"file_path":"a","content":""}')).toEqual({
      ok: true,
      value: { tool: "save_output", arguments: { file_path: "a", content: "" } },
    });
  });

  test.each([
    ["fs.read", "{}", "TOOL_NOT_AVAILABLE"],
    ["constructor", "{}", "TOOL_NOT_AVAILABLE"],
    ["read_file", "", "TOOL_ARGS_INVALID_JSON"],
    ["read_file", "{'file_path':1}", "TOOL_ARGS_INVALID_JSON"],
    ["read_file", "{}", "TOOL_ARGS_INVALID"],
    ["read_file", '{"file_path":""}', "TOOL_ARGS_INVALID"],
    ["read_file", '{"file_path":"a","more":1}', "TOOL_ARGS_INVALID"],
    ["read_file", '{"file_path":"a","__proto__":{}}', "TOOL_ARGS_INVALID"],
    ["read_file", '{"file_path":"a","\\u005f_proto__":{}}', "TOOL_ARGS_INVALID"],
    ["read_file", `{"file_path":${"[".repeat(101)}${"]".repeat(101)}}`, "TOOL_ARGS_INVALID"],
    ["read_file", JSON.stringify({ file_path: "x".repeat(70_000) }), "TOOL_ARGS_INVALID"],
    ["save_output", '{"file_path":"a","content":"\\ud800"}', "TOOL_ARGS_INVALID"],
    ["save_output", JSON.stringify({ file_path: "a", content: "x".repeat(5_000_000) }), "E_WRITE_LIMIT"],
  ])("%s with wrong arguments", (name, args, code) => {
    expect(parseBundleCall(name, args)).toMatchObject({ ok: false, error: { code } });
  });
});
