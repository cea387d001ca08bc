import { fail } from "../../core/errors.js";
import {
  type AliasPath,
  describeAliasPath,
  formatAliasPath,
  isStateDocument,
  parseAliasPath,
} from "../../core/tools/alias-path.js";
import type { ToolResult } from "../../core/tools/tool-result.js";
import { EDIT_TOOL, type STATE_TOOL, type ToolCall } from "../../core/tools/tool-specs.js";
import type { CallOutcome } from "../../store/runs/call-journal.js";
import { editFile } from "../files/edit.js";
import { listDirectory } from "../files/list.js";
import { readFile } from "../files/read.js";
import { searchFiles } from "../files/search.js";
import { writeFile } from "../files/write.js";
import { Refusal } from "../sandbox/faults.js";
import { runTool } from "../sandbox/run-on-path.js";
import { openWriteTarget } from "../sandbox/write-target.js";
import { changeFile } from "./artifact-write.js";
import { type CallEnvironment, type ToolCallRequest, refused } from "./call-context.js";
import { changeStateDocument } from "./state-change.js";

/** Runs a file tool with the arguments that were parsed. */
export function runFileTool(
  environment: CallEnvironment,
  request: ToolCallRequest,
  call: Exclude<ToolCall, { tool: typeof STATE_TOOL }>,
): Promise<CallOutcome> | CallOutcome {
  switch (call.tool) {
    case "fs.list":
      return plain(listDirectory(environment.workspace, call.arguments));
    case "fs.read":
      return plain(readFile(environment.workspace, call.arguments, environment.limits));
    case "fs.search":
      return plain(searchFiles(environment.workspace, call.arguments, environment.limits, request.signal));
    case EDIT_TOOL:
      return changeFile(environment, request.toolCallId, (hooks) =>
        editFile(environment.workspace, call.arguments, environment.limits, hooks),
      );
    case "fs.write":
    case "fs.apply_patch": {
      const path = parseAliasPath(call.arguments.path);
      if (!path.ok) return refused(path.error);
      if (isStateDocument(path.value)) return changeStateDocument(environment, request.toolCallId, call);
      if (call.tool === "fs.write") {
        return changeFile(environment, request.toolCallId, (hooks) =>
          writeFile(environment.workspace, call.arguments, environment.limits, hooks),
        );
      }
      return refusePatch(environment, path.value);
    }
  }
}

/** Only the state document takes a patch. Where nothing may be written at all, that is what the model hears. */
async function refusePatch({ workspace }: CallEnvironment, path: AliasPath): Promise<CallOutcome> {
  const sentence = `fs.apply_patch changes @state/workflow.md only, not ${describeAliasPath(path)}. Use fs.write.`;
  const result = await runTool(formatAliasPath(path), "write", async () => {
    if (path.mount === "pkg") throw new Refusal("E_SANDBOX_VIOLATION", "@pkg is read-only.");
    openWriteTarget(workspace, path, false)?.close();
    throw new Refusal("TOOL_ARGS_INVALID", sentence);
  });
  const isForbidden = !result.ok && result.error.code === "E_SANDBOX_VIOLATION";
  return isForbidden ? { result } : refused(fail("TOOL_ARGS_INVALID", sentence).error);
}

async function plain(result: Promise<ToolResult>): Promise<CallOutcome> {
  return { result: await result };
}
