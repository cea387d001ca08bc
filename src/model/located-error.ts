import { redactKey } from "../core/prompt/redact-key.js";
import { redactSecrets } from "../core/prompt/redact.js";
import { excerpt } from "../core/text.js";
import { ModelError, restated } from "./model-error.js";

/** What the sentences about an endpoint begin with: its address is put behind it. */
const SUBJECT = "The model endpoint ";

/** Where a request went, as messages and terminals show it: origin and path, without what is secret in them. */
export function shownAddress(url: URL, apiKey = ""): string {
  const address = redactKey(`${url.origin}${url.pathname}`.slice(0, MAX_LOOKED_AT), apiKey);
  return excerpt(redactSecrets(address), MAX_ADDRESS_CHARS);
}

const MAX_LOOKED_AT = 4_000;
const MAX_ADDRESS_CHARS = 200;

/** Names of parameters that hold keys, where gateways take them in the address. */
const NAMES_SECRET = /key|token|secret|sig|code|auth|pass|cred/i;

/** What of an address is secret, and may be repeated by whoever answers there. */
function secretsIn({ searchParams }: URL): readonly string[] {
  return [...searchParams].filter(([name]) => NAMES_SECRET.test(name)).map(([, value]) => value);
}

/** The same error, saying where it happened, without what is secret there. What is no model error is returned as it is. */
export function located(error: unknown, url: URL | undefined, apiKey = ""): unknown {
  if (!(error instanceof ModelError) || url === undefined) return error;
  const address = shownAddress(url, apiKey);
  const said = secretsIn(url).reduce((text, secret) => redactKey(text, secret), error.message);
  const message = said.includes(address)
    ? said
    : said.startsWith(SUBJECT)
      ? `${SUBJECT}${address} ${said.slice(SUBJECT.length)}`
      : `${said} It came from ${address}.`;
  return restated(error, { message, saidInAnswer: undefined }); // which may hold what is secret
}
