import { type AliasPath, describeAliasPath, parseAliasPath } from "../core/tools/alias-path.js";
import { type Fault, type Result, ok } from "../core/errors.js";
import type { JsonObject } from "../core/json.js";
import type { ToolResult, ToolSuccess } from "../core/tools/tool-result.js";
import { HookFailure, Refusal, systemErrorCode, systemFault } from "./faults.js";
import type { Access } from "../core/tools/name-rules.js";

/**
 * The edge of every file tool: the path is taken apart, and whatever the tool refuses or the system reports
 * becomes a result. What a caller's hook threw, and bugs, leave as they are.
 */
export async function runTool(
  pathText: string,
  access: Access,
  tool: (path: AliasPath) => Promise<ToolResult>,
): Promise<ToolResult> {
  const path = parseAliasPath(pathText);
  if (!path.ok) return path;
  const done = await runOnPath(path.value, access, () => tool(path.value));
  return done.ok ? done.value : done;
}

/** As `runTool`, for a path that is taken apart: a refusal or a report of the system is a fault. */
export async function runOnPath<T>(
  path: AliasPath,
  access: Access,
  action: () => Promise<T>,
): Promise<Result<T>> {
  try {
    return ok(await action());
  } catch (error) {
    if (error instanceof HookFailure) throw error.cause;
    const fault = faultOf(error, path, access);
    if (fault === undefined) throw error;
    return { ok: false, error: fault };
  }
}

export function succeed(fields: JsonObject): ToolSuccess {
  return Object.assign({ ok: true } as const, fields);
}

function faultOf(error: unknown, path: AliasPath, access: Access): Fault | undefined {
  if (error instanceof Refusal) return error.fault;
  const code = systemErrorCode(error);
  return code === undefined ? undefined : systemFault(code, describeAliasPath(path), access);
}
