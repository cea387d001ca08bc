import type { WireAnswer } from "./send.js";

const LONGEST_WAIT_MS = 10 * 60_000;
/** Of a limit, which may be one of a day. */
const LONGEST_LIMIT_MS = 24 * 60 * 60_000;
/** What some send in place of the seconds to wait: when the wait is over, in seconds since 1970. */
const EPOCH_MS = 1_000_000_000_000;
const MAX_LOOKED_AT = 4_000;

/**
 * How long a provider asks to wait, in milliseconds, bounded: as its headers say, else as its error does. `isLimit`: it has been asked too
 * often, and not failed.
 */
export function readRetryAfter(
  headers: WireAnswer["headers"],
  now: Date,
  body = "",
  isLimit = false,
): number | undefined {
  const said = body.slice(0, MAX_LOOKED_AT);
  const reset = isLimit ? headerOfReset(headers) : "";
  const wait =
    inHeaders(headers, now) ?? inBody(said) ?? untilDate(reset + said, now) ?? untilTomorrow(headers, said);
  return wait === undefined ? undefined : Math.min(wait, isLimit ? LONGEST_LIMIT_MS : LONGEST_WAIT_MS);
}

/** Of a limit of a day, where a header says when it is over, as Cerebras has it. */
function untilTomorrow(headers: WireAnswer["headers"], body: string): number | undefined {
  const kind = /\b(requests|tokens) per day\b/i.exec(body)?.[1]?.toLowerCase();
  return kind === undefined ? undefined : toWait(headers.get(`x-ratelimit-reset-${kind}-day`), 1_000);
}

/** `retry-after-ms`, else `Retry-After` in seconds, as an HTTP date or as seconds since 1970. */
function inHeaders(headers: WireAnswer["headers"], now: Date): number | undefined {
  const milliseconds = toWait(headers.get("retry-after-ms"), 1);
  if (milliseconds !== undefined) return milliseconds;
  const value = headers.get("retry-after");
  const wait = toWait(value, 1_000) ?? durationIn(value ?? "");
  if (value === null || (wait !== undefined && wait < EPOCH_MS)) return wait;
  const date = wait ?? Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(date - now.getTime(), 0);
}

function toWait(value: string | null, unitMs: number): number | undefined {
  if (value === null || !/^\s*\d+(\.\d+)?\s*$/.test(value)) return undefined;
  return Number(value) * unitMs;
}

/** In a field, as Gemini and some gateways have it, or in the sentence, as in "Please try again in 1m2.5s". */
function inBody(text: string): number | undefined {
  const body = text.replace(/\\+(["n])/g, (_, char) => (char === "n" ? " " : '"')); // JSON in a text of JSON
  const milliseconds = fieldIn(body, "retry[-_]?after[-_]?ms");
  if (milliseconds !== undefined) return milliseconds;
  const seconds = fieldIn(body, "retryDelay|retry[-_]?after[-_]?seconds|resets_in_seconds|estimated_time");
  if (seconds !== undefined) return seconds * 1_000;
  const bare = fieldIn(body, "retry[-_]?after");
  if (bare !== undefined) return ofNoUnit(bare);
  const said = SAID.exec(body)?.[1];
  return said === undefined ? undefined : (durationIn(said) ?? secondsIn(said));
}

/** When a limit is over: in a field, as routers pass a header on, or in the sentence. Without its zone a date says nothing. */
const DATE = String.raw`(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?) ?(Z|UTC|GMT|[+-]\d\d:\d\d)`;
const RESET_FIELD = new RegExp(
  String.raw`"(?:x-?ratelimit-?reset|resets?_?at|resets?_?time|retry_?at)"\s{0,9}:\s{0,9}"?(?:(\d{10}(?:\d{3})?)(?:\.\d{1,9})?["},\s]|${DATE})`,
  "i",
);
const RESET_SAID = new RegExp(
  String.raw`\b(?:resets?|try again|retry|wait|available)(?: again)?(?: at| on| after| until|:){1,2} ()${DATE}`,
  "i",
);

/** As a field: OpenRouter has it in a header, or in its error. Many say it with each answer, also where the limit is not reached. */
function headerOfReset(headers: WireAnswer["headers"]): string {
  if (Number(headers.get("x-ratelimit-remaining")) > 0) return "";
  return JSON.stringify({ "x-ratelimit-reset": headers.get("x-ratelimit-reset") });
}

function untilDate(text: string, now: Date): number | undefined {
  const body = text.replace(/\\+"/g, '"');
  const [, epoch = "", day = "", time = "", zone = ""] =
    RESET_FIELD.exec(body) ?? RESET_SAID.exec(body) ?? [];
  if (epoch + day === "") return undefined;
  const date =
    epoch === ""
      ? Date.parse(`${day}T${time}${/^[A-Z]/i.test(zone) ? "Z" : zone}`)
      : Number(epoch.padEnd(13, "0"));
  return Number.isNaN(date) ? undefined : Math.max(date - now.getTime(), 0);
}

/** A number without its unit is taken for seconds; some servers mean milliseconds, so that nobody waits a day for it. */
function ofNoUnit(seconds: number): number {
  return Math.min(seconds * 1_000, LONGEST_WAIT_MS);
}

const SAID =
  /\b(?:(?:try again|retry(?:ing)?|wait|resets?)(?: later| your request| is possible)?(?: after| in| for| about|:){1,3}|wait) (\d.{0,59})/i;

/** A number alone. */
function secondsIn(text: string): number | undefined {
  const digits = /^(\d{1,5}(?:\.\d{1,9})?)(?=["'\\)\]},;!]|\.?\s*$|\.["'\s])/.exec(text)?.[1];
  return digits === undefined ? undefined : ofNoUnit(Number(digits));
}

/** A number in a field, with or without its unit. */
function fieldIn(body: string, name: string): number | undefined {
  const field = new RegExp(`"(?:${name})"\\s{0,9}:\\s{0,9}"?(\\d{1,9}(?:\\.\\d{1,9})?)s?[",}\\s]`, "i").exec(
    body,
  )?.[1];
  return field === undefined ? undefined : Number(field);
}

const UNITS: readonly (readonly [RegExp, number])[] = [
  [/^ms|^milli/i, 1],
  [/^s/i, 1_000],
  [/^m/i, 60_000],
  [/^h/i, 3_600_000],
  [/^d/i, 86_400_000],
];

/** The duration that a text begins with: "320ms", "7.66s", "6m2.5s", "12 seconds". */
function durationIn(text: string): number | undefined {
  const whole =
    /^\s{0,3}(?:\d{1,9}(?:\.\d{1,9})?\s?(?:ms|milliseconds?|d(?:ays?)?|h(?:ours?)?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?)\s?)+/i.exec(
      text,
    )?.[0];
  if (whole === undefined) return undefined;
  let wait = 0;
  for (const [, digits = "", unit = ""] of whole.matchAll(/(\d[\d.]*)\s?([a-z]+)/gi)) {
    wait += Number(digits) * (UNITS.find(([name]) => name.test(unit))?.[1] ?? 0);
  }
  return wait;
}
