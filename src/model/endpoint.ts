import { barredPort } from "../core/barred-port.js";
import { isHeaderValue } from "../core/header-value.js";
import { excerpt } from "../core/text.js";
import type { ModelSettings } from "./chat.js";
import { type Dialect, OPENAI_URL } from "./dialects.js";
import { unusableEndpoint, unusableKey } from "./model-error.js";
import type { WireAnswer } from "../http/send.js";

/** A path below the base URL, whose query stays one. Throws a `ModelError` for one that cannot be used. */
export function endpointOf({ baseUrl }: ModelSettings, path: "chat/completions" | "models"): URL {
  const url = parseUrl(baseUrl ?? OPENAI_URL);
  if (url === undefined) throw unusableEndpoint("The model's base URL is not a URL. Correct it.");
  if (url.username !== "" || url.password !== "") {
    throw unusableEndpoint(
      "The model's base URL holds a user name or a password. Take them out of it, and give the key on its own.",
    );
  }
  const barred = barredPort(url);
  if (barred !== undefined) throw unusableEndpoint(`The model's base URL ${barred}.`);
  // The address of the completions is often given whole.
  url.pathname = `${url.pathname.replace(/\/+$/, "").replace(/\/chat\/completions$/, "")}/${path}`;
  return url;
}

function parseUrl(text: string, base?: string): URL | undefined {
  return URL.canParse(text, base) ? new URL(text, base) : undefined;
}

/** Following one would hand the prompt to whoever it names. */
export function redirected(response: WireAnswer, from: URL): Error {
  const location = response.headers.get("location") ?? "";
  const host = location === "" ? "" : (parseUrl(location, from.href)?.host ?? "");
  return unusableEndpoint(
    `The model endpoint answered ${response.status}, a redirect to ${host === "" ? "nowhere" : excerpt(host)}. Redirects are not followed: set the base URL to where the model really answers.`,
  );
}

/** What each request has, the key with it. */
export function headersFor(
  { apiKey }: ModelSettings,
  { keyHeader, headers }: Dialect,
): Record<string, string> {
  if (apiKey !== undefined && !isHeaderValue(apiKey)) throw unusableKey();
  const value = /authorization$/i.test(keyHeader) ? `Bearer ${apiKey}` : apiKey;
  return {
    ...headers,
    accept: "application/json",
    "content-type": "application/json",
    ...(value === undefined || apiKey === undefined ? {} : { [keyHeader]: value }),
  };
}
