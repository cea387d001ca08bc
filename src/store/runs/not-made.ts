import { type Failed, fail } from "../../core/errors.js";
import { isDenied, isFull, mayPass, requireSystemCode } from "../../core/system-code.js";
import { userHere } from "./user-here.js";

/**
 * Why a folder of a project cannot be made. What the machine lacks for a moment is `E_INTERNAL`, and is tried again; what only its user
 * can change is `E_PROJECT_INVALID`.
 */
export function notMade(what: string, ofPlace: string, error: unknown): Failed {
  const code = requireSystemCode(error);
  const by = isDenied(code) ? ` by ${userHere()}, as whom the worker runs` : "";
  const sentence = `${what} cannot be made${by} (${code}).`;
  if (!mayPass(code)) return fail("E_PROJECT_INVALID", `${sentence} ${ofPlace}`);
  const remedy = isFull(code)
    ? "Make room there."
    : "See to the machine: its disks, and what it lets a process open.";
  return fail("E_INTERNAL", `${sentence} ${remedy}`);
}
