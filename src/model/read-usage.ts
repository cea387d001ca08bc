import { type Fields, fieldsOf } from "../http/answer-json.js";
import type { ChatAnswer } from "./chat.js";
import type { WireAnswer } from "../http/send.js";

/** Where servers say more of a prompt's tokens; Mistral has two spellings of the first. */
const DETAILS = ["prompt_tokens_details", "prompt_token_details", "input_tokens_details"];

const ANSWER_DETAILS = ["completion_tokens_details", "output_tokens_details"];

/** The tokens of an answer in the names that servers have for them: 0 where a server has counted nothing. */
export function toUsage(value: unknown): ChatAnswer["usage"] {
  const usage = fieldsOf(value) ?? {};
  const details = DETAILS.map((name) => fieldsOf(usage[name])?.["cached_tokens"]);
  const cached = firstCount([
    ...details,
    usage["prompt_cache_hit_tokens"],
    usage["cache_read_input_tokens"],
    usage["cached_tokens"],
    usage["num_cached_tokens"],
    usage["cache_n"],
  ]);
  const written = count(usage["cache_creation_input_tokens"]);
  const said = firstCount([
    usage["prompt_tokens"],
    usage["input_tokens"],
    usage["promptTokens"],
    usage["prompt_n"],
  ]);
  const missed = count(usage["prompt_cache_miss_tokens"]);
  const answered = firstCount([
    usage["completion_tokens"],
    usage["output_tokens"],
    usage["completionTokens"],
    usage["predicted_n"],
  ]);
  const total = count(usage["total_tokens"]);
  const read = count(usage["cache_read_input_tokens"]);
  // Some count what was read from the cache, and what was written to it, beside the other tokens.
  const isBeside =
    (usage["prompt_tokens"] === undefined &&
      (usage["cache_read_input_tokens"] !== undefined || usage["cache_n"] !== undefined)) ||
    [read, cached].some((taken) => taken + written > 0 && total === said + taken + written + answered);
  const promptTokens =
    said === 0
      ? missed > 0
        ? cached + missed
        : 0
      : isBeside || cached > said
        ? said + cached + written
        : said;
  // Some count what a model has thought in the total alone, or beside it, and bill it as they do answers.
  const reasoned = firstCount(ANSWER_DETAILS.map((name) => fieldsOf(usage[name])?.["reasoning_tokens"]));
  const beside = reasoned > answered ? reasoned : 0;
  const thought = promptTokens === 0 ? 0 : Math.max(beside, total - promptTokens - answered);
  return {
    promptTokens,
    completionTokens: answered + thought,
    ...(cached === 0 ? {} : { cachedPromptTokens: cached }),
    ...costIn(usage),
  };
}

/**
 * What an answer has cost in dollars, as OpenRouter and other routers say it, or as xAI does. With a key of one's own at a provider, a router's cost is
 * its fee, and what the provider takes stands beside it.
 */
function costIn({ cost, cost_in_usd_ticks: ticks, is_byok: isOwnKey, cost_details: details }: Fields): Cost {
  const charged = dollars(cost) || dollars(typeof ticks === "number" ? ticks / TICKS_A_DOLLAR : undefined);
  const beside = isOwnKey === true ? dollars(fieldsOf(details)?.["upstream_inference_cost"]) : 0;
  return toCost(charged + beside);
}

/** The same, as LiteLLM says it before an answer that is whole; before a stream it does not know. */
export function costBefore(headers: WireAnswer["headers"] | undefined): Cost {
  return toCost(dollars(Number(headers?.get("x-litellm-response-cost") ?? 0)));
}

type Cost = Pick<ChatAnswer["usage"], "cost">;

const TICKS_A_DOLLAR = 10_000_000_000;

function toCost(cost: number): Cost {
  return cost > 0 ? { cost } : {};
}

/** 0 where it is no cost. */
function dollars(cost: unknown): number {
  return typeof cost === "number" && cost > 0 && cost <= MAX_COST ? cost : 0;
}

/** More than any answer costs, in whatever currency. */
const MAX_COST = 1_000_000;

/** Whether a server has counted anything: some end a stream with zeros. */
export function hasCounted(value: unknown): boolean {
  const { promptTokens, completionTokens } = toUsage(value);
  return promptTokens + completionTokens > 0;
}

/** What a stream has counted so far: a later count stands, but for what it leaves at zero, which gateways to Anthropic do. */
export function withCounts(before: unknown, usage: unknown): unknown {
  if (before === undefined || usage === undefined) return usage ?? before;
  const counted = Object.entries(fieldsOf(usage) ?? {}).filter(([, value]) => value !== 0 && value !== null);
  return { ...fieldsOf(before), ...Object.fromEntries(counted) };
}

function firstCount(values: readonly unknown[]): number {
  return count(values.find((value) => count(value) > 0));
}

/** More than any request and answer have: what is beyond was not counted, and a run's sum would be no number of tokens any more. */
const MAX_COUNT = 1_000_000_000;

/** Some gateways have their counts as texts. */
function count(value: unknown): number {
  const counted = typeof value === "string" && /^\d{1,10}$/.test(value) ? Number(value) : value;
  return typeof counted === "number" && counted > 0 && counted <= MAX_COUNT ? Math.floor(counted) : 0;
}
