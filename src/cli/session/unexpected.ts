import { closedWords, systemCode, systemWords } from "../../core/system-code.js";

/** Errors whose messages say what to do. */
const SENTENCES: ReadonlySet<string> = new Set(["EmbeddedServerError", "TemporalCliError"]);
/** A disk that is full, or is only read. */
const NO_WRITING: ReadonlySet<unknown> = new Set(["ENOSPC", "EDQUOT", "EROFS"]);

/** What a command has not expected, in a sentence. Temporal's client is loaded where it was used: what it throws has a code, or names itself. */
export async function unexpected(error: unknown): Promise<string> {
  if (!(error instanceof Error)) return String(error);
  // By its name: a command that asks no Temporal loads no client.
  if (error.name === "InterlockError" && "code" in error) return `${String(error.code)}: ${error.message}`;
  if (SENTENCES.has(error.name)) return error.message;
  if ("syscall" in error && error.syscall === "uv_cwd") {
    return "The directory that this command was called in is not there any more. Change to another one.";
  }
  if ("syscall" in error && error.syscall === "mkdtemp") {
    return `No temporary folder can be made: ${systemWords(error)}. TMPDIR says where they are made.`;
  }
  if (NO_WRITING.has(systemCode(error))) {
    return `Nothing can be written: ${systemWords(error)}. Make room, or make the place writable; interlock doctor says how the store stands, and TMPDIR where temporary files are made.`;
  }
  const closed = "syscall" in error ? closedWords(error) : undefined;
  if (closed !== undefined) return `${closed} interlock doctor says how the store stands.`;
  const mayBeTemporals =
    "code" in error || /^(?:ServiceError|NamespaceNotFoundError|TransportError)$/.test(error.name);
  const words = mayBeTemporals
    ? (await import("../../client/temporal/temporal-words.js")).temporalWords(error)
    : undefined;
  // Of a plain error the name says nothing.
  return (
    words ??
    (error.name === "Error" && error.message !== "" ? error.message : `${error.name}: ${error.message}`)
  );
}
