import type { ErrorCode, Fault } from "../../core/errors.js";
import type { JsonObject } from "../../core/json.js";
import { systemCode } from "../../core/system-code.js";
import type { Access } from "../../core/tools/name-rules.js";

/** A refusal on its way out of a tool: thrown inside, turned into the tool's result at its edge. */
export class Refusal extends Error {
  readonly fault: Fault;

  constructor(code: ErrorCode, message: string, details?: JsonObject) {
    super(message);
    this.fault = details === undefined ? { code, message } : { code, message, details };
  }
}

/** Wraps what a caller's own hook threw, so that it leaves the tool unchanged and is not mistaken for ours. */
export class HookFailure extends Error {
  constructor(cause: unknown) {
    super("A hook failed.", { cause });
  }
}

/** The code of an error that the operating system reported; undefined for every other error. */
export function systemErrorCode(error: unknown): string | undefined {
  return error instanceof Error && "errno" in error ? systemCode(error) : undefined;
}

/**
 * The fixed sentence for an error of the operating system (contracts §7): its own text names host paths and
 * is never passed on. `subject` is the alias path as messages show it.
 */
export function systemFault(code: string, subject: string, access: Access): Fault {
  const fault = (faultCode: ErrorCode, sentence: string): Fault => ({
    code: faultCode,
    message: `${subject} ${sentence}`,
  });
  switch (code) {
    case "ENOENT":
      return fault("ENOENT", "does not exist.");
    case "ENOTDIR":
      return access === "read"
        ? fault("ENOENT", "does not exist: a name on the way to it is not a directory.")
        : fault("TOOL_ARGS_INVALID", "cannot be made: a name on the way to it is not a directory.");
    case "EISDIR":
      return fault("TOOL_ARGS_INVALID", "is a directory.");
    case "ENAMETOOLONG":
      return fault("TOOL_ARGS_INVALID", "has a name that is too long for the file system.");
    case "EILSEQ":
    case "EINVAL":
      return fault("TOOL_ARGS_INVALID", "has a name that the file system does not accept.");
    case "ELOOP":
      return fault("E_SANDBOX_VIOLATION", "leads through a link that is not followed.");
    case "EACCES":
    case "EPERM":
      return fault("E_SANDBOX_VIOLATION", `may not be ${participle(access)}: the system denies permission.`);
    case "EROFS":
      return fault("E_SANDBOX_VIOLATION", "cannot be written: its file system is read-only.");
    case "ENOSPC":
    case "EDQUOT":
      return fault("E_WRITE_LIMIT", "was not written: the disk is full. What was there before is unchanged.");
    case "EFBIG":
      return fault(
        "E_WRITE_LIMIT",
        "was not written: the system allows no file of this size. Nothing changed.",
      );
    case "EMFILE":
    case "ENFILE":
    case "ENOMEM":
      return fault("E_INTERNAL", `could not be ${participle(access)}: the system is out of resources.`);
    case "EBUSY":
    case "ETXTBSY":
      return fault("E_INTERNAL", `could not be ${participle(access)}: it is in use by the system.`);
    default:
      return fault("E_INTERNAL", `could not be ${participle(access)}: the system reported an error.`);
  }
}

function participle(access: Access): string {
  return access === "read" ? "read" : "written";
}

const UNFORESEEN: Fault = {
  code: "E_INTERNAL",
  message: "The call failed for an unforeseen reason. Read what it was about before you repeat it.",
};

const DISK_FULL: Fault = {
  code: "E_WRITE_LIMIT",
  message: "Nothing was written: the disk is full. What was there before is unchanged.",
};

/** What a call comes to that ended in an error nobody foresaw. */
export function callFault(error: unknown): Fault {
  const code = systemErrorCode(error);
  return code === "ENOSPC" || code === "EDQUOT" || code === "EFBIG" ? DISK_FULL : UNFORESEEN;
}
