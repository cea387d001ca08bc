import { MAX_LOOKED_AT } from "./error-body.js";
import type { WireAnswer } from "./send.js";

const LONGEST_WAIT_MS = 10 * 60_000;
/** Of a limit, which may be one of a day. */
const LONGEST_LIMIT_MS = 24 * 60 * 60_000;
/** By so much no answer is older than its headers: a clock that is off by more is wrong. */
const CLOCK_OFF_MS = 15 * 60_000;
/** What some send in place of the seconds to wait: when the wait is over, in seconds since 1970. */
const EPOCH_MS = 1_000_000_000_000;

/**
 * How long a provider asks to wait, in milliseconds, bounded: as its headers say, else as its error does. `isLimit`: it has been asked too
 * often, and not failed.
 */
export function readRetryAfter(
  headers: WireAnswer["headers"],
  at: Date,
  body = "",
  isLimit = false,
): number | undefined {
  const now = byItsClock(headers, at);
  const said = body.slice(0, MAX_LOOKED_AT);
  const waits = [
    inHeaders(headers, now),
    inBody(said),
    untilResetOf(headers, said),
    isLimit ? untilReset(headers, now) : undefined,
    untilDate(said, now),
  ].filter((wait) => wait !== undefined);
  // None at all says nothing, where another place says more.
  const wait = waits.find((told) => told > 0) ?? waits[0];
  return wait === undefined ? undefined : Math.min(wait, isLimit ? LONGEST_LIMIT_MS : LONGEST_WAIT_MS);
}

/** How far the clock of whoever has answered is ahead of this machine's, in milliseconds; NaN where it does not say. */
export function clockAhead(headers: WireAnswer["headers"], now: Date): number {
  return dateIn(headers.get("date") ?? "") - now.getTime();
}

/** When it is for the provider, whose dates are to be understood: this machine's clock may be far off. */
function byItsClock(headers: WireAnswer["headers"], now: Date): Date {
  const ahead = clockAhead(headers, now);
  return Math.abs(ahead) > CLOCK_OFF_MS ? new Date(now.getTime() + ahead) : now;
}

/** Of the limit that the words name, where a header says when it is over, as Cerebras has it. */
function untilResetOf(headers: WireAnswer["headers"], body: string): number | undefined {
  const [, kind, time] = /\b(requests|tokens) per (minute|hour|day)\b/i.exec(body.toLowerCase()) ?? [];
  return kind === undefined ? undefined : toWait(headers.get(`x-ratelimit-reset-${kind}-${time}`), 1_000);
}

/** Names of a wait in milliseconds, and of one that is a number of seconds or a date, the best first. */
const IN_MILLISECONDS = ["retry-after-ms", "x-ms-retry-after-ms"] as const;
const WAITS = ["retry-after", "x-retry-after"] as const;
/** Of a limit, which some may tell with each answer; the last is that of GitHub's models. */
const WAITS_OF_LIMITS = [
  "x-ratelimit-retry-after",
  "x-ratelimit-reset-after",
  "x-ratelimit-timeremaining",
] as const;

/** The first of them that says anything. */
function inHeaders(headers: WireAnswer["headers"], now: Date): number | undefined {
  const waits = [
    ...IN_MILLISECONDS.map((name) => toWait(headers.get(name), 1)),
    ...WAITS.map((name) => afterOf(headers.get(name), now)),
  ];
  return waits.find((wait) => wait !== undefined);
}

/** `Retry-After` in seconds, as an HTTP date or as seconds since 1970. */
function afterOf(value: string | null, now: Date): number | undefined {
  const wait = toWait(value, 1_000) ?? durationIn(value ?? "");
  if (value === null || (wait !== undefined && wait < EPOCH_MS)) return wait;
  return until(wait === undefined ? dateIn(value) : epochIn(wait / 1_000), now);
}

/** A time since 1970 in milliseconds, also where it is said in seconds. */
function epochIn(digits: number): number {
  return digits < EPOCH_MS ? digits * 1_000 : digits;
}

/** A date in one of the forms of HTTP, or of ISO 8601: of GMT where it names no zone. What else a parser takes for a date, such as "-5", is none. */
function dateIn(value: string): number {
  if (!/[a-z]{3}.*\d\d:\d\d|^\s*\d{4}-\d\d-\d\d/i.test(value)) return Number.NaN;
  const isZoned = /(?:GMT|UTC|Z|[+-]\d\d:?\d\d)\s*$/i.test(value);
  return Date.parse(isZoned ? value : `${value.replace(/(?<=\d)T(?=\d)/, " ")} GMT`);
}

function until(date: number, now: Date): number | undefined {
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
  const seconds =
    fieldIn(body, "retryDelay|retry[-_]?after[-_]?seconds|resets_in_seconds|estimated_time") ??
    RETRY_INFO.exec(body)?.[1];
  if (seconds !== undefined) return Number(seconds) * 1_000;
  const bare = fieldIn(body, "retry[-_]?after");
  if (bare !== undefined) return ofNoUnit(bare);
  const said = SAID.exec(body)?.[1] ?? SAID_IN_CHINESE.exec(body)?.[1];
  return said === undefined ? undefined : (durationIn(said) ?? secondsIn(said));
}

/** Google's `RetryInfo` as its libraries print it, and gateways pass it on. */
const RETRY_INFO = /\bretry_?delay"?\s{0,9}:?\s{0,9}\{\s{0,9}"?seconds"?\s{0,9}:\s{0,9}"?(\d{1,9})\b/i;

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

/** The limits that headers tell of, one by one. */
const LIMITS = ["x-ratelimit", "ratelimit", "x-rate-limit", "ratelimitbysize"] as const;
const KINDS = ["requests", "tokens", "req"] as const; // the last is Mistral's
const TIMES = ["", "-minute", "-hour", "-day", "-per-minute", "-per-hour", "-per-day", "-1h"] as const;
const ANTHROPICS = ["requests", "tokens", "input-tokens", "output-tokens"] as const;

/** What is left of a limit of a kind, and when there is all of it again. */
const LEFT_AND_RESET: readonly (readonly [string, string])[] = [
  ...KINDS.flatMap((kind) =>
    TIMES.map(
      (time) => [`x-ratelimit-remaining-${kind}${time}`, `x-ratelimit-reset-${kind}${time}`] as const,
    ),
  ),
  ...ANTHROPICS.map(
    (kind) => [`anthropic-ratelimit-${kind}-remaining`, `anthropic-ratelimit-${kind}-reset`] as const,
  ),
];

/** When the limits are over that are reached: in seconds, with a unit or as a date. Many say it with each answer, of each limit. */
function untilReset(headers: WireAnswer["headers"], now: Date): number | undefined {
  const plain = LIMITS.map((name) => {
    const isLeft = Number(headers.get(`${name}-remaining`)) > 0;
    return isLeft ? null : headers.get(`${name}-reset`);
  });
  const ofKinds = LEFT_AND_RESET.map(([left, reset]) =>
    headers.get(left)?.trim() === "0" ? headers.get(reset) : null,
  );
  const waited = WAITS_OF_LIMITS.map((name) => headers.get(name));
  const told = [...plain, ...waited, ...ofKinds, ...inOneHeader(headers.get("ratelimit") ?? "")];
  const waits = told.map((value) => (value === null ? undefined : ofReset(value, now)));
  return waits.filter((wait) => wait !== undefined).sort((one, other) => other - one)[0];
}

/** As in the later drafts of the standard, and at Hugging Face: `"api";r=0;t=55`; as in an earlier one: `limit=9, remaining=0, reset=55`. */
function inOneHeader(value: string): readonly string[] {
  const reached = value.split(",").filter((limit) => /;\s?r=0\s?(?:;|$)/.test(limit));
  const isReached = /\bremaining=0\b/.test(value);
  return [
    ...reached.map((limit) => /;\s?t=(\d{1,9})\b/.exec(limit)?.[1]),
    isReached ? /\breset=(\d{1,9})\b/.exec(value)?.[1] : undefined,
  ].filter((seconds) => seconds !== undefined);
}

function ofReset(value: string, now: Date): number | undefined {
  const digits = toWait(value, 1);
  if (digits === undefined) return durationIn(value) ?? until(dateIn(value), now);
  return digits * 1_000 < EPOCH_MS ? ofNoUnit(digits) : until(epochIn(digits), now);
}

function untilDate(text: string, now: Date): number | undefined {
  const body = text.replace(/\\+"/g, '"');
  const [, epoch = "", day = "", time = "", zone = ""] =
    RESET_FIELD.exec(body) ?? RESET_SAID.exec(body) ?? [];
  if (epoch + day === "") return undefined;
  const date =
    epoch === "" ? Date.parse(`${day}T${time}${/^[A-Z]/i.test(zone) ? "Z" : zone}`) : epochIn(Number(epoch));
  return until(date, now);
}

/** A number without its unit is taken for seconds; some servers mean milliseconds, so that nobody waits a day for it. */
function ofNoUnit(seconds: number): number {
  return Math.min(seconds * 1_000, LONGEST_WAIT_MS);
}

const SAID =
  /\b(?:(?:try again|retry(?:ing)?|wait|resets?|available)(?: later| again| your request| is possible)?(?: after| in| for| about|:){1,3}|wait) ~?(\d.{0,59})/i;

const SAID_IN_CHINESE = /(\d{1,5})\s?秒(?:后|之后)/;

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
