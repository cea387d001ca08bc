/** Codes of calls that were made and went wrong, or found nothing: nobody has said no to them. */
const NO_REFUSALS: readonly string[] = ["ENOENT", "E_INTERNAL", "TOOL_FAILED", "TOOL_OUTCOME_UNKNOWN"];

/** Whether a tool call with this error code was refused by the runtime: by the guard, the sandbox, a limit or a schema. */
export function isRefusal(code: string): boolean {
  return !NO_REFUSALS.includes(code);
}
