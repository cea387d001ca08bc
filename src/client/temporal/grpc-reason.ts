import { NO_HEADER_VALUE } from "../../core/header-value.js";
import { statusOf } from "./grpc-status.js";
import { wordsOf } from "../../core/system-code.js";

/** OpenSSL says where in its code an error came about, over several lines. */
const OPENSSL = /^[\dA-F]+:error:[\dA-F]+:[^:]*:[^:]*:(?<what>[^:]+):/;
/** What it says where something else than TLS is answered. */
const NO_TLS = "wrong version number";

/** What gRPC says without its own words, as in `connect ECONNREFUSED 127.0.0.1:7233`. */
export function grpcReason(error: unknown): string {
  const message = wordsOf(error);
  if (message.startsWith("Metadata string value ")) return `a key or another header ${NO_HEADER_VALUE}`; // it repeats the value
  const details = statusOf(error)?.details;
  if (details === undefined) return message;
  if (details === "") return "nothing more is said";
  const cause =
    /Last error: (?:Error(?: \[\w+\])?: )?(.+?)\.?(?: Resolution note: .*)?$/s.exec(details)?.[1] ?? details;
  const what = OPENSSL.exec(cause)?.groups?.["what"];
  if (what !== undefined) return what === NO_TLS ? "no TLS is spoken there" : what;
  // gRPC puts the time behind it, and says nothing else of a connection that came about.
  if (/^Failed to connect \(\d{4}-\S+\)$/.test(cause)) return "the connection was closed without an answer";
  // What of its time was spent on what, and with whom.
  if (cause.startsWith("Deadline exceeded after ")) return "Deadline exceeded";
  return cause.replace(/ \(\d{4}-\d\d-\d\dT[\d:.]+Z\)$/, "");
}
