import { barredPort } from "../core/barred-port.js";
import { bodyOf } from "../core/notify/message-bodies.js";
import type { Notice } from "../core/notify/notice.js";
import type { Webhook } from "../core/notify/webhooks.js";
import { noticeLine } from "../core/notify/notice-texts.js";
import { redactKey } from "../core/prompt/redact-key.js";
import { readErrorText } from "../http/bounded-body.js";
import { wordsOfConnection } from "../http/connection-words.js";
import { clockAhead, readRetryAfter } from "../http/retry-after.js";
import { signatureHeaders } from "./sign-message.js";
import { systemCode } from "../core/system-code.js";

/** A receiver has that long for its answer. */
const ANSWER_MS = 10_000;
/** Receivers refuse a signature whose time is five minutes off by their clock. */
const CLOCK_OFF_MS = 4 * 60_000;
/** What they answer then. */
const UNSIGNED_STATUSES: readonly number[] = [400, 401, 403];

/** What came of sending a message. `found` is one printable line without the address, which may be a secret. */
export type Delivery =
  | { readonly ok: true; readonly status: number; readonly found: string }
  | {
      readonly ok: false;
      readonly found: string;
      /** Another try may help. */
      readonly retryable: boolean;
      /** The receiver wants to be left alone for that long. */
      readonly retryAfterMs?: number | undefined;
      /** Nothing came back. */
      readonly isUnanswered?: true;
    };

/** Sends one message, once. Never rejects. Redirects are not followed, and of an answer only the beginning is read. */
export async function sendMessage(
  { format, target }: Webhook,
  id: string,
  notice: Notice,
  limitMs = ANSWER_MS,
): Promise<Delivery> {
  if ("problem" in target) return { ok: false, retryable: true, found: target.problem };
  const barred = barredPort(new URL(target.url));
  if (barred !== undefined) return { ok: false, retryable: true, found: `not reached: its URL ${barred}` };
  const body = JSON.stringify(bodyOf(format, notice));
  const signal = AbortSignal.timeout(limitMs);
  let response: Response;
  try {
    response = await fetch(target.url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "user-agent": "interlock",
        ...signatureHeaders(id, body, new Date(), target.secrets),
      },
      body,
      redirect: "manual",
      signal,
    });
  } catch (error) {
    const found = signal.aborted ? `no answer within ${limitMs / 1_000} s` : whyNotReached(error);
    return { ok: false, retryable: true, isUnanswered: true, found };
  }
  if (response.ok) {
    await response.body?.cancel().catch(() => undefined);
    return { ok: true, status: response.status, found: `taken with ${response.status}` };
  }
  return refusal(response, target);
}

async function refusal(
  response: Response,
  { url, secrets }: Extract<Webhook["target"], { readonly url: string }>,
): Promise<Delivery> {
  const { status, headers } = response;
  if (status >= 300 && status < 400) {
    await response.body?.cancel().catch(() => undefined);
    return { ok: false, retryable: false, found: `answered ${status}, a redirect: they are not followed` };
  }
  const said = noticeLine(secretsIn(url).reduce(redactKey, await readErrorText(response)));
  const now = new Date();
  const mayBeClock = secrets.length > 0 && UNSIGNED_STATUSES.includes(status);
  const clock = mayBeClock ? clockFault(clockAhead(headers, now)) : undefined;
  const retryable = status === 408 || status === 429 || status >= 500 || clock !== undefined;
  const words = [said, clock].filter((word) => word !== "" && word !== undefined).join("; ");
  return {
    ok: false,
    retryable,
    found: `refused with ${status}${words === "" ? "" : `: ${words}`}`,
    retryAfterMs: retryable ? readRetryAfter(headers, now) : undefined,
  };
}

/** Why a receiver takes no signature of this machine, until somebody sets a clock. */
function clockFault(aheadMs: number): string | undefined {
  if (!(Math.abs(aheadMs) > CLOCK_OFF_MS)) return undefined; // it may not be a number
  const minutes = Math.round(Math.abs(aheadMs) / 60_000);
  return `this machine's clock is ${minutes} min ${aheadMs > 0 ? "behind" : "ahead of"} the receiver's`;
}

/** Of Slack, Teams and Discord, what stands after the host is the secret; who repeats it may repeat the part alone that lets in. */
function secretsIn(url: string): readonly string[] {
  const { pathname, search, searchParams } = new URL(url);
  const parts = [`${pathname}${search}`, ...pathname.split("/"), ...searchParams.values()];
  return parts.filter(({ length }) => length >= SHORTEST_SECRET);
}

const SHORTEST_SECRET = 12;

/** By the system's code: a message may repeat the address. */
function whyNotReached(error: unknown): string {
  const code = systemCode(error instanceof Error && error.cause instanceof Error ? error.cause : error);
  return code === undefined ? wordsOfConnection("") : `${wordsOfConnection(code)} (${code})`;
}
