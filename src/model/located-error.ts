import { redactKey } from "../core/prompt/redact-key.js";
import { redactSecrets } from "../core/prompt/redact.js";
import { excerpt } from "../core/text.js";
import { ModelError } from "./model-error.js";

/** What the sentences about an endpoint begin with: its address is put behind it. */
const SUBJECT = "The model endpoint ";

/** Where a request went, as messages and terminals show it: origin and path, without what is secret in them. */
export function shownAddress(url: URL, apiKey = ""): string {
  const address = redactKey(`${url.origin}${url.pathname}`.slice(0, MAX_LOOKED_AT), apiKey);
  return excerpt(redactSecrets(address), MAX_ADDRESS_CHARS);
}

const MAX_LOOKED_AT = 4_000;
const MAX_ADDRESS_CHARS = 200;

/** The same error, saying where it happened. What is no model error is returned as it is. */
export function located(error: unknown, address: string): unknown {
  if (!(error instanceof ModelError) || address === "" || error.message.includes(address)) return error;
  const { message, code, retryable, retryAfterMs, contextTokens } = error;
  const sentence = message.startsWith(SUBJECT)
    ? `${SUBJECT}${address} ${message.slice(SUBJECT.length)}`
    : `${message} It came from ${address}.`;
  return new ModelError({ code, message: sentence, retryable, retryAfterMs, contextTokens }, error.cause);
}
