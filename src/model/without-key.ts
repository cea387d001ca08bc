import { isSecretInTexts, redactKey } from "../core/prompt/redact-key.js";
import type { ProviderPart } from "../core/run/provider-part.js";
import type { ChatAnswer } from "./chat.js";

/** An answer longer than this in all is looked through for the key as it is, and not for its encodings. */
const LONGEST_LOOKED_THROUGH = 16 * 1024;

/** What a model says is written down: the key with which it was asked is not. */
export function withoutKey(answer: ChatAnswer, apiKey: string | undefined): ChatAnswer {
  if (apiKey === undefined || !isSecretInTexts(apiKey)) return answer;
  const texts = answer.toolCalls.flatMap(({ id, name, argumentsJson }) => [id, name, argumentsJson]);
  const length = [answer.content, ...texts].reduce((sum, text) => sum + text.length, 0);
  const clean = (text: string): string =>
    length > LONGEST_LOOKED_THROUGH ? text.replaceAll(apiKey, "<secret>") : redactKey(text, apiKey);
  return {
    ...answer,
    content: clean(answer.content),
    model: clean(answer.model.slice(0, MAX_PROVIDER_NAME_CHARS)),
    finishReason: clean(answer.finishReason.slice(0, MAX_PROVIDER_NAME_CHARS)),
    toolCalls: answer.toolCalls.map((call) => ({
      id: clean(call.id),
      name: clean(call.name),
      argumentsJson: clean(call.argumentsJson),
    })),
    ...(answer.refusal === undefined
      ? {}
      : { refusal: { ...answer.refusal, words: clean(answer.refusal.words) } }),
    ...(answer.provider === undefined ? {} : { provider: providerWithoutKey(answer.provider, apiKey) }),
  };
}

/** Of names that a provider gives. */
const MAX_PROVIDER_NAME_CHARS = 1_000;

/** As of the answer; where a provider's own fields are long, the key as it is and as JSON has it is all that is taken out of them. */
function providerWithoutKey(provider: ProviderPart, apiKey: string): ProviderPart {
  const json = JSON.stringify(provider);
  const escaped = JSON.stringify(apiKey).slice(1, -1);
  const isLong = json.length > LONGEST_LOOKED_THROUGH;
  if (isLong && !json.includes(escaped)) return provider;
  // The same, with other texts.
  if (isLong) return JSON.parse(json.replaceAll(escaped, "<secret>")) as ProviderPart;
  return JSON.parse(json, (_, value: unknown) =>
    typeof value === "string" ? redactKey(value, apiKey) : value,
  ) as ProviderPart;
}
