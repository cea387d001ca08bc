import { type ErrorBody, MAX_LOOKED_AT } from "../http/error-body.js";

/** What servers call a status, where they do not say its number. */
const STATUSES: readonly (readonly [RegExp, number])[] = [
  [/^(?:authentication|auth|authorized)_?error$|^unauth(?:ori[sz]ed|enticated)$/i, 401],
  [/^permission_?(?:denied_?)?error$|^(?:permission|access)_?denied$|^forbidden$/i, 403],
  [/^(?:model_)?not_?found(?:_?error)?$/i, 404],
  [
    /^rate_?limit(?:ed|_?error|_exceeded)?$|^too_?many_?requests$|^resource_exhausted$|^throttling(?:\.\w{1,40})?$/i,
    429,
  ],
  [/^overloaded(?:_error)?$|^service_?unavailable(?:_?error)?$/i, 503],
];

/** As a gateway in Python begins them, whose own refusal has come into its stream (AWS's Bedrock Access Gateway). */
const IN_WORDS = /^([45]\d\d): (?=\S)/;

/** MiniMax's, whose codes are numbers of its own. */
const OF_A_LIMIT = /^(?:rate|usage|token) limit (?:is )?(?:exceeded|reached)\b/i;

/** LM Studio's, of an address without `/v1`, under 200. */
const NO_PATH = /^unexpected endpoint or method\b/i;

/** The status of an error that came in an answer of another one; undefined where it names none. */
export function statusNamed({ words, codes }: ErrorBody): number | undefined {
  if (NO_PATH.test(words)) return 404;
  const [, inWords] = IN_WORDS.exec(words) ?? [];
  const number = [...codes, inWords].map(Number).find((code) => code >= 400 && code < 600);
  if (number === undefined && OF_A_LIMIT.test(words)) return 429;
  return number ?? STATUSES.find(([name]) => codes.some((code) => name.test(code)))?.[1];
}

const USED_UP =
  /insufficient[ _](?:account )?(?:balance|credits?|funds|quota)|(?:credit|account) balance is too low|out of credits|not enough (?:credits?|balance|funds)|billing (?:hard limit|is not active)|account (?:\S{1,80} ){0,2}(?:is |has been )?(?:suspended|deactivated|disabled|overdue|in arrears)|\b(?:spending|spend|credit) (?:limit|cap)\b|used (?:up )?(?:all|your) (?:\w+ )?credits|(?:n[o']t|never) have any credits|monthly (?:included |free )?(?:credits|quota|budget|usage limit)|(?:calls|requests|tokens) ?(?:\/|per|a) ?month|(?<!\b(?:thinking|reasoning|tokens?) )budget (?:has been |was |is )?exceeded|exceeded (?:your |its |the |their )?(?:(?!thinking|reasoning|token)\w+ )?budget|\b(?:trial|free tier|subscription) has (?:expired|ended)\b|余额(?:不足|已用)|额度不足|欠费|充值|额度(?:已|已经)?(?:用完|用尽|耗尽)|\bbalance (?:is |has been )?(?:insufficient|negative|exhausted|depleted|zero|0(?![\d.]))|credits? (?:(?:is|are|has been|have been) )?(?:exhausted|depleted|used up)|\bno (?:remaining )?(?:credits?|balance)\b|run out of (?:credits?|funds|balance)|free allocated quota exceeded|monthly limit|for this billing cycle|please (?:recharge|top[ -]?up)|free-models-per-day|package has expired|plan (?:has (?:expired|ended)|does not (?:yet )?include)|(?:session|weekly) usage limit|specified API usage limits|reached the set inference limit|exhausted (?:its|your|the) free (?:trial )?quota|free tier of .{0,40} (?:has been )?exhausted|套餐已到期|tokens must be reduced|monthly (?:\w+ ){0,2}limit (?:\w+ )?(?:reached|exceeded)|premium request allowance|account is not active, please check your billing|exceeded your current token quota: 0\b|exceeded your current quota\b.{0,120}\bplatform\.openai\.com|quota exceeded for metric: \S{1,200}, limit: 0\b(?!\.)/i;

/** What is given of tokens is for a month or a day, or there are more in a minute. */
const ALLOWANCE_USED_UP =
  /run out of tokens?\b|\bquota is not enough\b|pre-consumed quota failed|预扣费额度失败|\b(?:over|crossed) (?:(?:its|the|your|their) )?budget\b|\bExceeded(?:Token)?Budget\b|used up (?:all )?(?:of )?your .{0,40}(?:allocation|quota|allowance|tokens|balance)/i;
const OF_A_MINUTE = /\b(?:per|this|a|each|current)[ -](?:second|minute)\b/i;

/** Whether what was paid for is used up, or too little for this request: another try does not help, however busy the status says that the server is. */
export function isUsedUp({ words }: ErrorBody): boolean {
  const said = words.slice(0, MAX_LOOKED_AT);
  return USED_UP.test(said) || (ALLOWANCE_USED_UP.test(said) && !OF_A_MINUTE.test(said));
}

/** Alibaba's words for a minute's tokens that are used up, under the code that OpenAI has for what is paid for. */
const TOKENS_OF_A_MINUTE =
  /\ballocated quota exceeded\b|exceeded your current quota\b.{0,200}\b(?:aliyun|alibabacloud)\.com\b/i;

/** Whether a limit passes by itself, whatever its code says. */
export function passesByItself({ words }: ErrorBody): boolean {
  return TOKENS_OF_A_MINUTE.test(words.slice(0, MAX_LOOKED_AT));
}

/** Whether words or codes of an error have a form. */
function says({ words, codes }: ErrorBody, form: RegExp): boolean {
  return [words.slice(0, MAX_LOOKED_AT), ...codes].some((said) => form.test(said));
}

const OUT_OF_QUOTA =
  /quota[ _](?:(?:is|was|has been) )?(?:exceeded|reached|exhausted)\b|\bout of (?:\w+ ){0,3}quota\b|\binsufficient_quota\b|\bkey limit exceeded\b|\brequires? billing to be enabled\b|exceeded your current quota\b/i;

/** Whether a quota is what a key may do no more by, for however long: the key is as it should be. */
export function isOutOfQuota(error: ErrorBody): boolean {
  return says(error, OUT_OF_QUOTA);
}

const FROM_ELSEWHERE =
  /\bvirtual network\b|\bprivate endpoint\b|\bpublic (?:network )?access is disabled\b|\bip (?:address(?:es)?\b|acl\b).{0,80}\b(?:not (?:allowed|authorized|permitted|whitelisted)|blocked|denied)\b|\b(?:blocked|denied|not (?:allowed|authorized|permitted))\b.{0,40}\bip (?:address|acl)|\b(?:country|region|territory|location)\b.{0,60}\bnot supported\b|^(?:unsupported_country_region_territory|ip_not_authorized)$/i;

/** Whether nobody is let in from where the request came from, such as from outside of a private network: the key is as it should be. */
export function isFromElsewhere(error: ErrorBody): boolean {
  return says(error, FROM_ELSEWHERE);
}

/** TGI has each of its errors under 422 in a stream. */
const BUSY =
  /\bDEGRADED function\b|\brequest failed during generation\b|\bincomplete generation\b|\bModelNotReady|\bmodel (?:has crashed|(?:is |was )?unloaded)\b|\bno models provided\b|\b(?:Throttling|TooManyRequests|ServiceUnavailable|ModelTimeout)Exception\b|\b(?:model|server|service|engine|system)s? (?:is|are) (?:currently |temporarily )?(?:overloaded|loading|busy|starting|unavailable(?! (?:in|for|to|on|under|with)\b)|at capacity|experiencing high demand)\b|\btemporarily (?:unavailable|overloaded)\b|\bover capacity\b|\btoo many requests, please (?:wait|try again)\b|\b(?:try again|retry) later\b|请稍[后候]再?(?:重试|试|请求)/i;

/** Whether a server says that it will do in a while what it does not do now, where its status is one of wrong requests. */
export function isBusy(error: ErrorBody): boolean {
  return says(error, BUSY);
}

/** Whether a server says with which option it has to be started, as llama.cpp's does of tools under 500. */
export function wantsOption({ words }: ErrorBody): boolean {
  return /\brequires? (?:the )?\W?--[a-z]/i.test(words.slice(0, MAX_LOOKED_AT));
}

const OF_TEMPLATE =
  /\bjinja2?\b.{0,20}(?:exception|error)|\braise_exception\b|\btemplate: .{0,80}: executing "/is;

/** Whether the model's template does not take the conversation, as llama.cpp's server says it under 500: another time it does not either. */
export function isOfTemplate({ words }: ErrorBody): boolean {
  return OF_TEMPLATE.test(words.slice(0, MAX_LOOKED_AT));
}

const WRONG_KEY =
  /\bapi[ _-]?key (?:is )?(?:not valid|invalid|expired|missing|incorrect)|\b(?:invalid|incorrect|missing|no|expired) api[ _-]?key|\binvalid x-api-key|\blogin fail\b|\bexpired key\b|^(?:expired_key|no_db_connection|api_key_invalid|invalid_?api_?key)$/i;

/** Whether the key is at fault, where the status does not say so. */
export function isWrongKey(error: ErrorBody): boolean {
  return says(error, WRONG_KEY);
}

const FILTERED =
  /content exists risk|content management policy|ContentPolicyViolation|(?:input|prompt|content|request) (?:was|has been|is) flagged|violat(?:es|ed|ing) (?:our |the |openai's )?(?:(?:\S{1,40} ){0,3}(?:usage|content|safety|guardrail|moderation) )?(?:polic|guideline)|sensitive content detected|considered high risk|contains? (?:inappropriate|prohibited) content|\bnew_sensitive\b|potentially unsafe or sensitive content|content filtering policy|blocked by (?:model armor|(?:a |the |our )?(?:content filter|guardrail))|rejected (?:by|as a result of) (?:the|our) safety system|blocked due to security configurations|violation of provider terms|limited access to this content for safety|violates? google's responsible ai|(?:prompt|response) (?:(?:is|was) )?blocked\b|\bcontent blocked(?::| by\b)|\bprompt[ _](?:injection|threat)(?:[ _]\w{1,12})?[ _](?:attack|detected)\b|\brequest blocked: .{0,80}\bdetected\b|\bguardrail\b.{0,80}\bblocked\b|failed (?:the )?content safety check|\bblock_?reason\W{1,5}[A-Z]|blocked (?:due to|because of)(?: its|:)? (?:content|safety|prohibited_content)\b|\brejected due to inappropriate content\b|content[ _]policy[ _]violation|guardrail[ _](?:intervened|triggered|violation)|\b(?:content|safety) filter triggered\b|\bflagged (?:by|as)\b.{0,30}\b(?:moderation|unsafe)\b|(?:blocked|denied|rejected) by (?:the |our )?(?:content safety|guardrails)\b|\bcontain sensitive information\b|content filtered due to\b|\binappropriate content (?:was |is )?detected|不安全或敏感内容|内容审核不通过|内容违规|涉及敏感/i;

export function isFiltered({ codes, words }: ErrorBody): boolean {
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
export function isMisread(error: ErrorBody): boolean {
  const isCode = error.codes.some((code) => /^(?:tool_use|output_parse|json_validate)_failed$/i.test(code));
  return isCode || says(error, MISREAD);
}

const THOUGHTS_REFUSED =
  /(?:invalid|corrupted|expired|malformed)\W{1,3}(?:thought[ _])?signature|thought_? ?signature\W{0,3} (?:is )?(?:not valid|invalid|corrupted|expired)|thinking\W{1,3}signature\W{1,3}(?:field )?required|encrypted[ _](?:content|reasoning)\b.{0,2000}\b(?:verif(?:y|ied)|decrypt(?:ed)?|not issued to)\b|thinking\b.{0,60}\bblocks?\b.{0,60}\bcannot be modified|\bthinking blocks? must contain thinking\b/i;

/** Whether a server refuses what its own model has thought: signed by another of the machines behind it, or too old. */
export function isOfThoughts({ words }: ErrorBody): boolean {
  return THOUGHTS_REFUSED.test(words.slice(0, MAX_LOOKED_AT));
}
