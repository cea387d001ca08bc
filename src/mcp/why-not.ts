import { SdkErrorCode } from "@modelcontextprotocol/client";
import { missingProgram, whyNotStarted } from "./find-program.js";
import { OF_OLD_FORM, aboutItsToken, isLost, mayBeOfOldForm, whyFailed, whyNotTaken } from "./http-way.js";
import { TOO_LONG, isUnreadable } from "./message-lines.js";
import type { McpServer } from "./server-settings.js";
import { METHOD_NOT_FOUND, isOf, isRefusal, notBegun, refuses, whyNotUnderstood } from "./server-words.js";
import type { Surroundings } from "./transport.js";

/** Why a server has not done what it was asked, each as the end of a sentence about it. */

export const ENDED_FOR_LENGTH = `was ended: it has said ${TOO_LONG}`;

/** It answers, and has no word for what lists its tools. */
export function knowsNoTools(error: unknown): boolean {
  return isRefusal(error) && error.code === METHOD_NOT_FOUND;
}

/** Of one that was asked which tools it has. */
export function whyUnlisted(error: unknown, server: McpServer, isTooLong: boolean): string {
  const unread = isUnreadable(error) ? "says which tools it has in what cannot be read" : undefined;
  const why = isTooLong ? ENDED_FOR_LENGTH : unread;
  const isStrange = knowsNoTools(error) || isOf(error, SdkErrorCode.InvalidResult);
  const strange = isStrange ? whyNotUnderstood(error) : undefined;
  const refused = isRefusal(error) && !isLost(error) ? refuses("say which tools it has", error) : undefined;
  const answered = whyNotTaken(error) ?? whyFailed(error);
  const said = why ?? answered ?? strange ?? refused ?? "has not said which tools it has";
  return `${said}${aboutItsToken(error, server)}`;
}

/** Of one that was to begin. `waited`: how long that was waited for, and whether it wrote meanwhile what is no message. */
export async function whyNotBegun(
  error: unknown,
  { server, dir, projectRoot, variable }: Surroundings & { readonly server: McpServer },
  waited: { readonly milliseconds: number; readonly strays: boolean },
): Promise<string> {
  if (isOf(error, SdkErrorCode.RequestTimeout)) return notBegun(waited.milliseconds, waited.strays);
  if ("url" in server) {
    const answered = whyNotTaken(error) ?? whyFailed(error);
    const isRefused = isRefusal(error) && !isUnreadable(error) && !isLost(error);
    const refused = isRefused ? refuses("begin", error) : undefined;
    const why = answered ?? refused ?? whyNotUnderstood(error) ?? "cannot be reached";
    const more = mayBeOfOldForm(error, server.url) ? `; ${OF_OLD_FORM}` : "";
    return `${why}${more}${aboutItsToken(error, server)}`;
  }
  const missing =
    (await missingProgram(server, { dir, path: variable("PATH") ?? "" })) ??
    (await whyNotStarted(error, server, { dir, projectRoot }));
  if (missing !== undefined) return `cannot be started: ${missing}`;
  if (isOf(error, SdkErrorCode.ConnectionClosed)) return "ended before it had begun";
  if (isRefusal(error) && !isUnreadable(error)) return refuses("begin", error);
  return whyNotUnderstood(error) ?? "cannot be reached";
}

/** Of one that has taken up a call. */
export function whyUnanswered(error: unknown, isTooLong: boolean): string {
  if (isTooLong) return `${ENDED_FOR_LENGTH}. Ask for less`;
  if (isOf(error, SdkErrorCode.ConnectionClosed) || isLost(error)) return "has ended while the call ran";
  const isLong = error instanceof Error && isUnreadable(error) && error.message.includes(TOO_LONG);
  return `has not given an answer that can be read${isLong ? `: ${error.message}. Ask for less` : ""}`;
}
