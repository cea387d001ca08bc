import { textOf } from "../core/json.js";
import { type Fields, answerOrNone, fieldsOf, unlisted } from "../http/answer-json.js";
import { MAX_LOOKED_AT } from "../http/error-body.js";
import { isUsedUp } from "./provider-error.js";

/** What they say of a request that has too many bytes: a number there is none of tokens. */
const OF_ITS_BYTES =
  /\b(?:message size|payload|body)\b.{0,30}exceeds? (?:the )?(?:configured )?(?:payload |size )?limit/;

/** What servers say of a request that is longer than their model's context. */
const TOO_LONG: readonly RegExp[] = [
  /exceed\w*.{0,80}context[ _-]?(?:length|window|size|limit)/,
  /context[ _-]?(?:length|window|size|limit).{0,60}(?:exceed|overflow|is only|too (?:small|short))/,
  /(?:maximum|configured|longer than|greater than|larger than|too large for|too long for|fit).{0,60}context[ _-]?(?:length|window|size)/,
  /maximum (?:(?:allowed|supported) )?(?:prompt|input|sequence|model) length/,
  /sum of prompt length\b.{0,120}\bshould not exceed max_/, // TensorRT-LLM
  /longer than the maximum model length/,
  /\b(?:prompt|input) length\b.{0,30}\bexceeds?\b/,
  /\b(?:prompt|input|request)(?: \S{1,80})? exceeds the (?:model'?s )?max(?:imum)? (?:number of (?:input )?tokens|context)\b/,
  /\b(?:prompt|context)_too_long\b/,
  /(?:prompt|input|request|messages?|conversation)(?: you submitted| tokens?| text| length){0,2} (?:is |are |was |were )?too (?:long|large)/,
  /max_(?:completion_)?tokens must be at least 1, got -\d/, // what the prompt has left of it
  /default_max_tokens.{0,20} (?:should|must) be greater than 0/,
  /prompt exceeds max length/,
  /(?:entity|payload|body) too large/,
  OF_ITS_BYTES,
  /(?:prompt|input)[ _]tokens?.{0,60}(?:exceed|limit|maximum|supports? (?:only )?up to|greater|larger)/,
  /(?:prompt|input) token count/,
  /tokens?\b.{0,40}exceeds? (?:the )?(?:max|model|limit)/,
  /exceed\w* (?:the )?model token limit/,
  /tokens in request more than max tokens allowed/, // z.ai
  /too many (?:input |prompt )?tokens/,
  /token limit exceeded/,
  /input length should be/,
  /reduce the length of/,
  /`?inputs`? (?:tokens \+ `?max_new_tokens`? must be|must have less than)/,
  /(?:prompt|input|request|messages?)(?:(?!image|audio|video|file|name|description|tools?\b).){0,40}(?:exceeds?|(?:greater|longer|larger|less) than) (?:the )?(?:max(?:imum)? (?:allowed )?(?:length|size)|max_seq_len|max_model_len)/,
  /context (?:overflow|is full)/,
  /loaded with context length of only/,
  /context shift is disabled/, // llama.cpp, where an answer has filled what the request has left
  /\bprompt has \d+ tokens\b.{0,30}\b(?:larger|greater|longer) than\b/, // MLC
  /\b(?:prompt|input) length\b.{0,30}\bshould be less than\b/,
  /\bmax tokens of \d+ exceeded/, // Snowflake
  /(?:上下文|输入|prompt|messages?|tokens?).{0,20}(?:超过|超出|超限|超长|过长)/,
];

/** What they say of too many requests or tokens in a time: nothing is too long there. */
const TOO_MANY_IN_A_TIME =
  /rate.?limit|too many requests|per[ -](?:second|minute|hour|day)|\b[tr]p[md]\b|quota|throttl|please wait|每分钟|每秒|频率|速率|限流/;

/** Of a request that is alone more than a time's tokens: OpenAI and Groq say how many those are. */
const MORE_THAN_A_TIME_HAS =
  /request too large\b.{0,200}\btokens per \w{1,9}\b.{0,20}\blimit ([1-9]\d{0,8}), requested \d/;

/** Of a request beyond what a plan of Anthropic's has, in its words under 429: another try does not help, less of the conversation does. */
const BEYOND_PLAN = /\bextra usage is required for long context\b/;
const PLAN_TOKENS = 200_000;

/** What they say of the length of a text that is no message's, such as a call's id: less of the conversation does not help. */
const PART_TOO_LONG = /\b(?:id|name|description)\b'?:? string too long/;

/** What gpt-oss's parser says of an answer that it could not read. */
const ANSWER_MISREAD = /tokens remaining (?:after|in)\b/;

/** What they say of the length that an answer may have: the request is as long as it may be. */
const ANSWER_TOO_LONG =
  /max_(?:completion_|output_)?tokens`? (?:must be less|exceeds the maximum output)|(?<!\band )maximum output tokens|^(?!.*(?:context|prompt|input|conversation|sequence|\+|\b(?:messages?|total|sum|plus|(?:your|the) request)\b)).*(?:max(?:imum)?[ _]?(?:completion_?|output_?|new_?)?tokens|(?:output|completion) tokens)\b.{0,40}(?:\bexceeds?\b|\breduce the length of (?:the )?(?:max|output|completion))/;

/** What may be said of one in words that nobody here knows. */
const MAY_BE_TOO_LONG: readonly RegExp[] = [
  /\b(?:tokens|token (?:count|length|size)|context(?:[ _-](?:length|window|size|limit))?|sequence(?: length)?|max_(?:seq|model)_len\w*|kv cache)\b.{0,40}\b(?:exceed\w*|exceeds|(?:longer|larger|greater|bigger|more) than|too (?:long|large|big)|reached|is full|exhausted)/,
  /\bexceed\w*\b.{0,40}\b(?:(?:input|prompt|total|context) tokens|max context|max_(?:seq|model)_len\w*|token limit)/,
  /\b(?:prompt|inputs?|history|conversation|query|request|sequence)\b(?: \w+){0,4} (?:too (?:long|large|big)|(?:longer|larger|bigger) than)\b/,
  /\b(?:prompt|inputs?|request|conversation)\b.{0,60}\b\d{3,9} (?:input )?tokens\b.{0,60}\b\d{3,9}\b/,
  /\bexpected maxlength: \d{3,9}, actual: \d/, // Bedrock's, in characters
  /\bsupports at most \d{3,9} input tokens\b|input_tokens\b.{0,60} > \d{3,9}/,
  /\b(?:fit|too big)\b.{0,30}\bcontext\b|\bnot enough context\b/,
  /上下文.{0,20}(?:最大|超)|(?:输入|内容).{0,10}过长|превышен.{0,60}(?:контекст|токен)|コンテキスト.{0,20}超/,
];
const OF_SOMETHING_ELSE =
  /\b(?:images?|audio|video|files?|names?|descriptions?|tools?|ids?|urls?|headers?|authentication|deadline|cancell?ed|stop sequences?)\b/;

/** Where the length of the context stands in such a sentence. */
const NAMED_LENGTH: readonly RegExp[] = [
  /n_ctx\W{0,5}(\d[\d,]*)/,
  /(?:tokens?(?:: \d{1,9})?|[+(] ?\d{1,9}) ?> ?(\d[\d,]*)/,
  /(?:maximum|max|allowed|only|model'?s?|available|configured) (?:(?:allowed|supported) )?(?:context|prompt|input|sequence|model) (?:length|size|window|limit)(?: is| of| only| just| has|:|=){0,3} ?\(?(\d[\d,]*)/,
  /context (?:length|size|window|limit)(?: limit)?(?: of \S{1,80} is| is| of| only| has|:|=){0,3} ?\(?(\d[\d,]*)/,
  /input length limit (\d[\d,]*)/,
  /max tokens of (\d[\d,]*)/,
  /with (\d[\d,]*) maximum context/,
  /maximum number of (?:input )?tokens(?: allowed)?\W{0,5}(\d[\d,]*)/,
  /supports? (?:only )?up to (\d[\d,]*)/,
  /input length should be \[?\d+, ?(\d[\d,]*)/,
  /(?:max_seq_len(?:gth)?|max_num_tokens|max_model_len|max-model-len)\W{0,3}(\d[\d,]*)/,
  /max(?:imum)? (?:size|(?:allowed )?length|(?:input |prompt )?tokens)(?: is| of|:|=){0,2} ?\(?(\d[\d,]*)/,
  /limit(?: for this model)?(?: is| of|:)? (\d[\d,]*)/,
  /最大(?:长度|限制)?\D{0,8}(\d[\d,]*)/,
  /context length of only (\d[\d,]*)/,
  /must (?:be <=|have less than) (\d[\d,]*)/,
  /(?:cannot exceed|\blength exceeds) (\d[\d,]*)/,
];

const GUESSED = { contextTokens: undefined, isGuess: true } as const;

const OF_BYTES = /^ ?(?:bytes|[kmg]i?b\b)/;

/** Other statuses say something else, whatever the words. */
const STATUSES: ReadonlySet<number> = new Set([400, 413, 422, 429, 500]);

/** An error of a provider, as far as it tells whether a request was too long. */
export interface SaidByProvider {
  /** Absent where the error came in an answer. */
  readonly status?: number | undefined;
  readonly words: string;
  readonly codes: readonly string[];
  readonly body: string;
}

/**
 * Whether a provider has refused a request because it is longer than the model's context, and how many tokens that has
 * where it says so. Undefined for every other refusal. `isGuess`: its words are none that are known.
 */
export function readOverflow({
  status,
  words,
  codes,
  body,
}: SaidByProvider): { readonly contextTokens: number | undefined; readonly isGuess?: true } | undefined {
  if (status !== undefined && !STATUSES.has(status)) return undefined;
  const error = errorFields(body);
  const raw = textOf(fieldsOf(error?.["metadata"])?.["raw"]);
  const text = `${codes.join(" ")} ${words} ${raw}`
    .slice(0, MAX_LOOKED_AT)
    .toLowerCase()
    .replace(/\s+/g, " ");
  const named = MORE_THAN_A_TIME_HAS.exec(text)?.[1];
  if (named !== undefined) return { contextTokens: Number(named) };
  if (BEYOND_PLAN.test(text)) return { contextTokens: PLAN_TOKENS };
  if (status === 429) return undefined;
  const others = [TOO_MANY_IN_A_TIME, PART_TOO_LONG, ANSWER_MISREAD, ANSWER_TOO_LONG];
  if (others.some((said) => said.test(text)) || isUsedUp({ words, codes })) return undefined;
  if (!TOO_LONG.some((said) => said.test(text))) {
    if (status === 413) return { contextTokens: undefined }; // the status says it alone, whatever a proxy's words
    const mayBe = status !== undefined && status !== 500 && !OF_SOMETHING_ELSE.test(text);
    return mayBe && MAY_BE_TOO_LONG.some((said) => said.test(text)) ? GUESSED : undefined;
  }
  const field = error?.["n_ctx"];
  return { contextTokens: typeof field === "number" ? field : lengthIn(text) };
}

function lengthIn(text: string): number | undefined {
  if (OF_ITS_BYTES.test(text)) return undefined;
  for (const said of NAMED_LENGTH) {
    const found = said.exec(text);
    const digits = found?.[1]?.replaceAll(",", "");
    if (found === null || digits === undefined || digits.length > 9) continue;
    if (!OF_BYTES.test(text.slice(found.index + found[0].length))) return Number(digits);
  }
  return undefined;
}

function errorFields(body: string): Fields | undefined {
  const fields = unlisted(answerOrNone(body));
  return fieldsOf(fields?.["error"]) ?? fields;
}
