import { textOf } from "../core/json.js";
import { type Fields, answerOrNone, fieldsOf, listOf, unlisted } from "./answer-json.js";

/** What a provider says went wrong. */
export interface ProviderError {
  readonly words: string;
  /** Its codes, types, statuses and reasons, as texts. */
  readonly codes: readonly string[];
}

/** How much of a provider's text is looked at. */
export const MAX_LOOKED_AT = 4_000;

/** Reads an error wherever its kind of server puts it; the body as it is where that is none of the known places. */
export function readProviderError(body: string): ProviderError {
  return errorIn(body, 0);
}

function errorIn(body: string, depth: number): ProviderError {
  const value = parsed(body);
  if (value === undefined) return { words: isPage(body) ? wordsOfPage(body) : body, codes: [] };
  const fields = unlisted(value) ?? {};
  const error = fieldsOf(fields["error"]) ?? fields;
  const own = wordsIn(value, 0);
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
  ];
  return codes.filter((code) => typeof code === "string" || typeof code === "number").map(String);
}

/** What servers call a status, where they do not say its number. */
const STATUSES: readonly (readonly [RegExp, number])[] = [
  [/^(?:authentication|auth|authorized)_?error$|^unauth(?:ori[sz]ed|enticated)$/i, 401],
  [/^permission_?(?:denied_?)?error$|^(?:permission|access)_?denied$|^forbidden$/i, 403],
  [/^(?:model_)?not_?found(?:_?error)?$/i, 404],
  [/^rate_?limit(?:ed|_?error|_exceeded)?$|^too_?many_?requests$|^resource_exhausted$/i, 429],
  [/^overloaded(?:_error)?$|^service_?unavailable(?:_?error)?$/i, 503],
];

/** As a gateway in Python begins them, whose own refusal has come into its stream (AWS's Bedrock Access Gateway). */
const IN_WORDS = /^([45]\d\d): (?=\S)/;

/** MiniMax's, whose codes are numbers of its own. */
const OF_A_LIMIT = /^(?:rate|usage|token) limit (?:is )?(?:exceeded|reached)\b/i;

/** LM Studio's, of an address without `/v1`, under 200. */
const NO_PATH = /^unexpected endpoint or method\b/i;

/** The status of an error that came in an answer of another one; undefined where it names none. */
export function statusNamed({ words, codes }: ProviderError): number | undefined {
  if (NO_PATH.test(words)) return 404;
  const [, inWords] = IN_WORDS.exec(words) ?? [];
  const number = [...codes, inWords].map(Number).find((code) => code >= 400 && code < 600);
  if (number === undefined && OF_A_LIMIT.test(words)) return 429;
  return number ?? STATUSES.find(([name]) => codes.some((code) => name.test(code)))?.[1];
}

/** Routers behind one another pass an error on. */
const MAX_PASSED_ON = 3;
const NOTHING: ProviderError = { words: "", codes: [] };

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

const USED_UP =
  /insufficient[ _](?:account )?(?:balance|credits?|funds|quota)|(?:credit|account) balance is too low|out of credits|not enough (?:credits?|balance|funds)|billing (?:hard limit|is not active)|account (?:\S{1,80} ){0,2}(?:is |has been )?(?:suspended|deactivated|disabled|overdue|in arrears)|\b(?:spending|spend|credit) (?:limit|cap)\b|used (?:up )?(?:all|your) (?:\w+ )?credits|(?:n[o']t|never) have any credits|monthly (?:included |free )?(?:credits|quota|budget|usage limit)|(?:calls|requests|tokens) ?(?:\/|per|a) ?month|(?<!\b(?:thinking|reasoning|tokens?) )budget (?:has been |was |is )?exceeded|exceeded (?:your |its |the |their )?(?:(?!thinking|reasoning|token)\w+ )?budget|\b(?:trial|free tier|subscription) has (?:expired|ended)\b|余额(?:不足|已用)|额度不足|欠费|充值|额度(?:已|已经)?(?:用完|用尽|耗尽)|\bbalance (?:is |has been )?(?:insufficient|negative|exhausted|depleted|zero|0(?![\d.]))|credits? (?:(?:is|are|has been|have been) )?(?:exhausted|depleted|used up)|\bno (?:remaining )?(?:credits?|balance)\b|run out of (?:credits?|funds|balance)|free allocated quota exceeded|monthly limit|for this billing cycle|please (?:recharge|top[ -]?up)|free-models-per-day|package has expired|plan (?:has (?:expired|ended)|does not (?:yet )?include)|(?:session|weekly) usage limit|specified API usage limits|reached the set inference limit|exhausted (?:its|your|the) free (?:trial )?quota|free tier of .{0,40} (?:has been )?exhausted|套餐已到期|tokens must be reduced|monthly (?:\w+ ){0,2}limit (?:\w+ )?(?:reached|exceeded)|premium request allowance|account is not active, please check your billing|exceeded your current token quota: 0\b|exceeded your current quota\b.{0,120}\bplatform\.openai\.com|quota exceeded for metric: \S{1,200}, limit: 0\b(?!\.)/i;

/** What is given of tokens is for a month or a day, or there are more in a minute. */
const ALLOWANCE_USED_UP =
  /run out of tokens?\b|\bquota is not enough\b|pre-consumed quota failed|预扣费额度失败|\b(?:over|crossed) (?:(?:its|the|your|their) )?budget\b|\bExceeded(?:Token)?Budget\b|used up (?:all )?(?:of )?your .{0,40}(?:allocation|quota|allowance|tokens|balance)/i;
const OF_A_MINUTE = /\b(?:per|this|a|each|current)[ -](?:second|minute)\b/i;

/** Whether what was paid for is used up, or too little for this request: another try does not help, however busy the status says that the server is. */
export function isUsedUp({ words }: ProviderError): boolean {
  const said = words.slice(0, MAX_LOOKED_AT);
  return USED_UP.test(said) || (ALLOWANCE_USED_UP.test(said) && !OF_A_MINUTE.test(said));
}

/** Alibaba's words for a minute's tokens that are used up, under the code that OpenAI has for what is paid for. */
const TOKENS_OF_A_MINUTE =
  /\ballocated quota exceeded\b|exceeded your current quota\b.{0,200}\b(?:aliyun|alibabacloud)\.com\b/i;

/** Whether a limit passes by itself, whatever its code says. */
export function passesByItself({ words }: ProviderError): boolean {
  return TOKENS_OF_A_MINUTE.test(words.slice(0, MAX_LOOKED_AT));
}

/** Whether words or codes of an error have a form. */
function says({ words, codes }: ProviderError, form: RegExp): boolean {
  return [words.slice(0, MAX_LOOKED_AT), ...codes].some((said) => form.test(said));
}

const OUT_OF_QUOTA =
  /quota[ _](?:(?:is|was|has been) )?(?:exceeded|reached|exhausted)\b|\bout of (?:\w+ ){0,3}quota\b|\binsufficient_quota\b|\bkey limit exceeded\b|\brequires? billing to be enabled\b|exceeded your current quota\b/i;

/** Whether a quota is what a key may do no more by, for however long: the key is as it should be. */
export function isOutOfQuota(error: ProviderError): boolean {
  return says(error, OUT_OF_QUOTA);
}

/** TGI has each of its errors under 422 in a stream. */
const BUSY =
  /\bDEGRADED function\b|\brequest failed during generation\b|\bincomplete generation\b|\bModelNotReady|\bmodel (?:has crashed|(?:is |was )?unloaded)\b|\bno models provided\b|\b(?:Throttling|TooManyRequests|ServiceUnavailable|ModelTimeout)Exception\b|\b(?:model|server|service|engine|system)s? (?:is|are) (?:currently |temporarily )?(?:overloaded|loading|busy|starting|unavailable(?! (?:in|for|to|on|under|with)\b)|at capacity|experiencing high demand)\b|\btemporarily (?:unavailable|overloaded)\b|\bover capacity\b|\btoo many requests, please (?:wait|try again)\b|\b(?:try again|retry) later\b|请稍[后候]再?(?:重试|试|请求)/i;

/** Whether a server says that it will do in a while what it does not do now, where its status is one of wrong requests. */
export function isBusy(error: ProviderError): boolean {
  return says(error, BUSY);
}

/** Whether a server says with which option it has to be started, as llama.cpp's does of tools under 500. */
export function wantsOption({ words }: ProviderError): boolean {
  return /\brequires? (?:the )?\W?--[a-z]/i.test(words.slice(0, MAX_LOOKED_AT));
}

const OF_TEMPLATE =
  /\bjinja2?\b.{0,20}(?:exception|error)|\braise_exception\b|\btemplate: .{0,80}: executing "/is;

/** Whether the model's template does not take the conversation, as llama.cpp's server says it under 500: another time it does not either. */
export function isOfTemplate({ words }: ProviderError): boolean {
  return OF_TEMPLATE.test(words.slice(0, MAX_LOOKED_AT));
}

const WRONG_KEY =
  /\bapi[ _-]?key (?:is )?(?:not valid|invalid|expired|missing|incorrect)|\b(?:invalid|incorrect|missing|no|expired) api[ _-]?key|\binvalid x-api-key|\blogin fail\b|\bexpired key\b|^(?:expired_key|no_db_connection|api_key_invalid|invalid_?api_?key)$/i;

/** Whether the key is at fault, where the status does not say so. */
export function isWrongKey(error: ProviderError): boolean {
  return says(error, WRONG_KEY);
}

const FILTERED =
  /content exists risk|content management policy|ContentPolicyViolation|(?:input|prompt|content|request) (?:was|has been|is) flagged|violat(?:es|ed|ing) (?:our |the |openai's )?(?:usage |content |content safety |safety |guardrail |moderation )?(?:polic|guideline)|sensitive content detected|considered high risk|contains? inappropriate content|\bnew_sensitive\b|potentially unsafe or sensitive content|content filtering policy|blocked by (?:model armor|(?:a |the |our )?(?:content filter|guardrail))|rejected (?:by|as a result of) (?:the|our) safety system|blocked due to security configurations|violation of provider terms|limited access to this content for safety|violates? google's responsible ai|prompt (?:is|was) blocked\b|blocked (?:due to|because of)(?: its|:)? (?:content|safety|prohibited_content)\b|content[ _]policy[ _]violation|guardrail[ _](?:intervened|triggered|violation)|\b(?:content|safety) filter triggered\b|\bflagged (?:by|as)\b.{0,30}\b(?:moderation|unsafe)\b|(?:blocked|denied|rejected) by (?:the |our )?(?:content safety|guardrails)\b|\bcontain sensitive information\b|content filtered due to\b|\binappropriate content (?:was |is )?detected|不安全或敏感内容|内容审核不通过|内容违规|涉及敏感/i;

export function isFiltered({ codes, words }: ProviderError): boolean {
  const isCode = codes.some((code) =>
    /^(?:content_filter|content_policy_violation|moderation_blocked|ResponsibleAIPolicyViolation|data_?inspection_?failed|censorship_blocked|hooks_failed|sensitive_words_detected|guardrail_(?:violation|blocked)|\w*sensitive_?content_?detected(?:\.\w+)?)$/i.test(
      code,
    ),
  );
  return isCode || FILTERED.test(words.slice(0, MAX_LOOKED_AT));
}

const MISREAD =
  /failed to generate (?:a |the )?tool[ _]?calls?|failed to parse (?:generated text|fc related info)\b|\bfailed to parse input at pos \d|\bmodel produced output that does not match|\bXML syntax error on line \d|expected element type <\w{1,40}> but have|\btool call validation failed\b|error parsing tool call: raw=|returned invalid tool call arguments\b|\btool_use_failed\b|tokens remaining (?:in message header|after extracting content-type)|unexpected token \d{1,9} while expecting|model response did not respect the required format|produced invalid sequence as part of tool ?use|\bno valid (?:tool call|response)(?: or (?:tool call|response))? generated/i;

/** Whether the server has refused what its own model has answered, as a call that it could not read. */
export function isMisread(error: ProviderError): boolean {
  const isCode = error.codes.some((code) => /^(?:tool_use|output_parse|json_validate)_failed$/i.test(code));
  return isCode || says(error, MISREAD);
}

const THOUGHTS_REFUSED =
  /(?:invalid|corrupted|expired|malformed)\W{1,3}(?:thought[ _])?signature|thought_? ?signature\W{0,3} (?:is )?(?:not valid|invalid|corrupted|expired)|thinking\W{1,3}signature\W{1,3}(?:field )?required|encrypted[ _](?:content|reasoning)\b.{0,2000}\b(?:verif(?:y|ied)|decrypt(?:ed)?|not issued to)\b|thinking\b.{0,60}\bblocks?\b.{0,60}\bcannot be modified|\bthinking blocks? must contain thinking\b/i;

/** Whether a server refuses what its own model has thought: signed by another of the machines behind it, or too old. */
export function isOfThoughts({ words }: ProviderError): boolean {
  return THOUGHTS_REFUSED.test(words.slice(0, MAX_LOOKED_AT));
}
