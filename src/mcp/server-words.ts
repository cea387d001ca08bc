import { ProtocolError, SdkError, type SdkErrorCode } from "@modelcontextprotocol/client";
import { z } from "zod";
import { boundsProblem } from "../core/json-bounds.js";
import { cutText, excerpt } from "../core/text.js";

/** What a server has said, in place of an answer or before it ended, in the words that people are told. */

const SAID_FIRST_CHARS = 300;
const SAID_LAST_CHARS = 700;

/** Of what a process has said last, its beginning and its end: Node says first what is wrong, Python last. */
export function bothEnds(said: string): string {
  const text = excerpt(said, said.length);
  if (text.length <= SAID_FIRST_CHARS + SAID_LAST_CHARS) return text;
  return `${cutText(text, SAID_FIRST_CHARS)} ${text.slice(-SAID_LAST_CHARS).toWellFormed()}`;
}

/** Some look for their tools elsewhere, with a token that is not taken there; a proxy begins with the server behind it. */
export function refuses(what: string, { message }: Error): string {
  return `refuses to ${what}: ${excerpt(message.replace(/\.$/, ""), 300)}`;
}

export function notBegun(milliseconds: number, strays = false): string {
  const what =
    ": what it has written to its output by then is no message of JSON-RPC, each on a line of its own";
  return `has not begun within ${milliseconds / 1_000} seconds${strays ? what : ""}`;
}

/** The server was reached, and what it says is not what is known here of the protocol. */
export function whyNotUnderstood(error: unknown): string | undefined {
  const isOfSystem = error instanceof Error && "syscall" in error; // it could not be spawned
  if (!(error instanceof Error) || error instanceof TypeError || isOfSystem) return undefined;
  return `does not speak the protocol as it is known here: ${excerpt(error.message.replace(/\.$/, ""), 300)}`;
}

/** JSON-RPC's: as servers say it that have no tools at all. */
export const METHOD_NOT_FOUND = -32_601;
/**
 * JSON-RPC's and the protocol's, of a server that has not begun with what it was asked. Any other tells of what went wrong in it: a request
 * of its own that failed, and of a proxy, that its time was over or that the server behind it has ended while the call ran.
 */
const NOT_BEGUN: ReadonlySet<number> = new Set([
  -32_700,
  -32_600,
  METHOD_NOT_FOUND,
  -32_602,
  -32_020,
  -32_021,
  -32_022,
  -32_042,
]);

const NOT_ANSWERED = "is not answered here: a tool has what its arguments say, and nobody to ask";

/** What a server hears that asks for a model, a person or directories amid a call. Many hand these words on as the call's failure. */
export function refuseRequest({ method }: { readonly method: string }): never {
  throw new ProtocolError(METHOD_NOT_FOUND, `${excerpt(method, 100)} ${NOT_ANSWERED}.`);
}

/** What an answer that is an error says of the call. One that hands on what the server itself was refused comes of a call that was begun. */
export function whatOfCall({ code, message }: { readonly code: number; readonly message: string }): string {
  return NOT_BEGUN.has(code) && !message.includes(NOT_ANSWERED)
    ? "The server refuses the call"
    : "The server has failed in the call, and does not say what it had done by then";
}

const elicitationsSchema = z.object({
  elicitations: z.array(z.object({ message: z.string(), url: z.string() })).min(1),
});
const MAX_DATA_CHARS = 300;

/** What an error has beside its message: where a person has to go first, or which argument is wrong. */
export function saidBeside(error: Error): string {
  const data: unknown = "data" in error ? error.data : undefined;
  if (data === undefined || data === null || boundsProblem(data, DATA_BOUNDS) !== undefined) return "";
  const parsed = elicitationsSchema.safeParse(data);
  const said = parsed.success
    ? parsed.data.elicitations
        .map(({ message, url }) => `${excerpt(message, MAX_DATA_CHARS)} ${url}`)
        .join(" ")
    : excerpt(typeof data === "string" ? data : JSON.stringify(data), MAX_DATA_CHARS);
  return said === "" || error.message.includes(said) ? "" : ` ${said}`;
}

const DATA_BOUNDS = { maxDepth: 20, maxValues: 1_000 };

/** The server has answered, with an error. */
export function isRefusal(error: unknown): error is Error & { readonly code: number } {
  return error instanceof Error && "code" in error && typeof error.code === "number";
}

export function isOf(error: unknown, code: SdkErrorCode): boolean {
  return error instanceof SdkError && error.code === code;
}
