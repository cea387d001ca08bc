import { answerOrNone, fieldsOf } from "../http/answer-json.js";
import { readText } from "./answer-bounds.js";
import type { ModelSettings } from "./chat.js";
import { endpointOf, headersFor } from "./endpoint.js";
import { dialectOf } from "./dialects.js";
import { send } from "../http/send.js";

/** What an endpoint says at `GET /models`. */
export interface ModelList {
  readonly status: number;
  /** Undefined where the answer is no list, or no more than the first page of one. */
  readonly ids: readonly string[] | undefined;
}

/** Asks an endpoint which models it has. Rejects as `fetch` does, and with a `ModelError` for a URL that is none. */
export async function listModels(settings: ModelSettings, signal: AbortSignal): Promise<ModelList> {
  const url = endpointOf(settings, "models");
  const headers = headersFor(settings, dialectOf(url, settings.dialect));
  const response = await send(url, { method: "GET", headers, redirect: "manual", signal });
  const text = await readText(response);
  return { status: response.status, ids: response.ok ? idsOf(text) : undefined };
}

function idsOf(text: string): readonly string[] | undefined {
  const answer = answerOrNone(text);
  const fields = fieldsOf(answer);
  const list: unknown = Array.isArray(answer) ? answer : fields?.["data"]; // Together has the list alone
  // Anthropic says the newest twenty: of what is not among them nothing is known.
  if (!Array.isArray(list) || fields?.["has_more"] === true) return undefined;
  const ids = list.map((entry) => fieldsOf(entry)?.["id"]);
  return ids.filter((id) => typeof id === "string").map((id) => id.replace(/^models\//, ""));
}
