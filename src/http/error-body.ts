import { textOf } from "../core/json.js";
import { type Fields, answerOrNone, fieldsOf, listOf, unlisted } from "./answer-json.js";

/** What a server says went wrong. */
export interface ErrorBody {
  readonly words: string;
  /** Its codes, types, statuses and reasons, as texts. */
  readonly codes: readonly string[];
}

/** How much of a server's text is looked at. */
export const MAX_LOOKED_AT = 4_000;

/** Reads an error wherever its kind of server puts it; the body as it is where that is none of the known places. */
export function readErrorBody(body: string): ErrorBody {
  return errorIn(body, 0);
}

function errorIn(body: string, depth: number): ErrorBody {
  const value = parsed(body);
  if (value === undefined) return { words: isPage(body) ? wordsOfPage(body) : body, codes: [] };
  const fields = unlisted(value) ?? {};
  const error = fieldsOf(fields["error"]) ?? fields;
  const told = wordsIn(value, 0);
  const own = /^<(?:!doctype|html)\b/i.test(told) ? wordsOfPage(told) : told; // a proxy's, which a gateway passes on
  const field = depth < MAX_PASSED_ON ? passedOn(fields, error) : "";
  const json = field === "" && depth < MAX_PASSED_ON ? jsonIn(own) : "";
  const inner = field + json === "" ? NOTHING : errorIn(field + json, depth + 1);
  // Words that hold it say it already; those that are nothing else are not shown as JSON.
  const said = json === "" ? [own, inner.words] : [own === json ? inner.words : own];
  return {
    words: said.filter((words) => words !== "").join(": ") || body,
    codes: [...codesIn(fields, error), ...inner.codes],
  };
}

/** As JSON, or as a stream's event that holds some. */
function parsed(body: string): unknown {
  return answerOrNone(/^\s{0,9}(?:event:.{0,99}\s{1,2})?data:(.+)/.exec(body)?.[1] ?? body);
}

/** Whether what came in place of an answer says something to somebody. */
export function saysWords(fields: Fields): boolean {
  return wordsIn(fields, 0) !== "";
}

/** Where the words of an error stand, the best first. */
const PLACES = [
  "message",
  "error_description",
  "error",
  "detail",
  "errors",
  "msg",
  "title",
  "error_msg",
  "error_message",
  "errorMessage",
  "errorMsg",
  "Message",
  "Error",
];
const MAX_DEPTH = 5;
const MAX_ERRORS = 5;

function wordsIn(value: unknown, depth: number): string {
  if (typeof value === "string") return value.trim();
  if (depth > MAX_DEPTH) return "";
  if (Array.isArray(value)) {
    const all = value.slice(0, MAX_ERRORS).map((item: unknown) => wordsIn(item, depth + 1));
    return all.filter((words) => words !== "").join("; ");
  }
  const fields = fieldsOf(value);
  if (fields === undefined) return "";
  for (const place of PLACES) {
    const words = wordsIn(fields[place], depth + 1);
    if (words !== "") return `${placeOf(fields)}${withBesides(words, fields)}${moreIn(fields)}`;
  }
  return textOf(fieldsOf(fields["base_resp"])?.["status_msg"]);
}

/** What frameworks have beside a general sentence: what is wrong with the request, in a list or by the names of its parts (ASP.NET). */
function withBesides(words: string, fields: Fields): string {
  const all = [fields["errors"], fields["validation"], fields["details"]].map((said) =>
    Array.isArray(said) ? wordsIn(said, 1) : wordsByName(said),
  );
  const more = all.filter((said) => said !== "" && !words.includes(said));
  return more.length === 0 ? words : [words.replace(/\.$/, ""), ...more].join(": ");
}

function wordsByName(value: unknown): string {
  const named = Object.entries(fieldsOf(value) ?? {}).slice(0, MAX_ERRORS);
  const all = named.map(([name, said]) => [name, wordsIn(said, 1)]);
  return all.flatMap(([name, said]) => (said === "" ? [] : [`${name}: ${said}`])).join("; ");
}

/** What of a request is meant, as FastAPI says it. */
function placeOf({ loc }: Fields): string {
  return Array.isArray(loc) && loc.length > 0 ? `${loc.slice(0, MAX_DEPTH).join(".")}: ` : "";
}

/** What stands where the name of a parameter is to be, and says more than one: Xiaomi's have a general word in the message's place. */
function moreIn({ param }: Fields): string {
  const said = textOf(param).trim();
  return /\s/.test(said) ? `: ${said}` : "";
}

/** Where servers put a code or a status under a name of their own. */
const CODES = [
  "error_code",
  "errorCode",
  "status_code",
  "statusCode",
  "StatusCode",
  "http_code",
  "http_status_code",
  "httpStatusCode",
];

function listed(list: unknown): readonly (Fields | undefined)[] {
  return listOf(list).slice(0, MAX_ERRORS).map(fieldsOf);
}

function codesIn(fields: Fields, error: Fields): readonly string[] {
  const codes = [
    error["code"],
    error["type"],
    error["status"],
    error["__type"], // AWS's
    fields["code"],
    ...[fields, error].flatMap((place) => CODES.map((name) => place[name])),
    fieldsOf(error["innererror"])?.["code"],
    fieldsOf(fields["base_resp"])?.["status_code"],
    ...listed(error["details"]).map((detail) => detail?.["reason"]),
    ...listed(fields["errors"]).map((one) => one?.["code"]),
    isOfGuardrail(error) ? "guardrail_blocked" : undefined,
  ];
  return codes.filter((code) => typeof code === "string" || typeof code === "number").map(String);
}

/** LiteLLM names which of its guardrails has refused, each in words of its own; one that has failed itself has another status. */
function isOfGuardrail({ code, provider_specific_fields: more }: Fields): boolean {
  return textOf(fieldsOf(more)?.["guardrail_name"]) !== "" && /^4(?!29)/.test(String(code));
}

/** Routers behind one another pass an error on. */
const MAX_PASSED_ON = 3;
const NOTHING: ErrorBody = { words: "", codes: [] };

/** Where routers put what the provider behind them has said. */
const PASSED_ON = ["external_model_message", "external_model_error"];

/** What the provider behind a router has said, in a field of its own. */
function passedOn(fields: Fields, error: Fields): string {
  const raw = textOf(fieldsOf(error["metadata"])?.["raw"]);
  const unread = fieldsOf(error["value"]); // Vercel's, of what it could not read itself
  const field =
    [fields, error].flatMap((place) => PASSED_ON.map((name) => place[name])).find(Boolean) ??
    (unread !== undefined && saysWords(unread) ? unread : undefined);
  const said = fieldsOf(field) === undefined ? textOf(field) : JSON.stringify(field);
  return (raw || said).slice(0, MAX_LOOKED_AT);
}

/** The same, as JSON among a router's words. Other JSON there, such as a call's arguments, has no words for anybody. */
function jsonIn(words: string): string {
  const json = /\{[^]*\}/.exec(words.slice(0, MAX_LOOKED_AT))?.[0] ?? "";
  const fields = fieldsOf(parsed(json));
  return fields !== undefined && (json === words || saysWords(fields)) ? json : "";
}

/** Whether a text is a page for browsers. */
export function isPage(body: string): boolean {
  return /<(?:!doctype|html|head|body)\b/i.test(body.slice(0, MAX_LOOKED_AT));
}

/** A page's title, else its text. */
export function wordsOfPage(page: string): string {
  const looked = page.slice(0, MAX_LOOKED_AT);
  const title = /<title[^>]{0,200}>([^<]{1,500})/i.exec(looked)?.[1]?.trim() ?? "";
  return title === "" ? looked.replace(/<[^<>]{0,1000}>/g, " ") : title;
}

/** What was said under a status, which the titles of proxies' pages say as well, and servers in Go of any path that they do not have. */
export function wordsUnder(status: number, words: string): string {
  // A proxy asks who is there, and may say whom it was told: the environment's password.
  if (status === 407) return "Proxy Authentication Required: a proxy wants a user and a password";
  return words.replace(/^\s*(\d{3})(?:: | (?=[A-Z]|page not found))/, (said, number) =>
    Number(number) === status ? "" : said,
  );
}
