import { NewestKept } from "../core/newest-kept.js";
import { fieldsOf, objectsOf } from "../http/answer-json.js";
import { type Dialect, NO_THOUGHTS } from "./dialects.js";
import { type Body, type ToForm, answersIn, guessesFor, oneRule, takingTurns } from "./guessed-forms.js";
import type { Refusal } from "./model-error.js";
import { MAX_LOOKED_AT, isPage, readErrorBody } from "../http/error-body.js";
import { isUsedUp } from "./provider-error.js";
import { inObject } from "./to-request.js";

/** Parameters that a request can do without, and what takes the place of one: another name, or another value. */
const OPTIONAL: readonly Optional[] = [
  { name: "max_completion_tokens", instead: "max_tokens" },
  { name: "max_tokens", instead: "max_completion_tokens" },
  { name: "stream_options", said: /stream[ _]options/i },
  { name: "temperature" },
  { name: "reasoning_effort", sent: "none" }, // what somebody has set is refused in their sight
  // Some take none of nothing, and do without: TGI, GigaChat, MiniMax, Qianfan, GLM.
  {
    name: "temperature",
    said: /\btemperature\b.{0,40}(?:\bstrictly positive|\bgreater than 0(?![.\d])|\(0(?:\.0{1,9})?,)|\btemperature\W{0,3}参数非法/i,
    sent: 0,
    isSaying: true,
  },
  {
    name: "stream",
    said: /\bto stream this model|\bunsupported for streaming|\bsupport the stream field|\bstream(?:ing)?\b.{0,60}\bnot (?:\w+ )?(?:supported|allowed|available|permitted)|cannot use tools with stream|support tool use in streaming|\bstream`?\b.{0,30}\bmust be (?:set to (?:be )?)?`?false/i,
    value: false,
  },
  {
    name: "stream",
    said: /\bonly supports? (?:the )?stream|non-?stream(?:ing)? (?:calls?|requests?|mode)|\bstream`?\s?[=:]\s?`?false|(?:must|should|need to) (?:have|use|set|be) `?stream`?\s?[=:]\s?`?true|\bstream\b.{0,30}\b(?:must|has to|should|needs to) be (?:set to )?`?(?:true|enabled)|requires? (?:`?stream\b|streaming)|streaming is (?:required|strongly recommended)|enable (?:the )?stream|非流式|[只仅]支持(?:流式|stream)/i,
    value: true,
    isSaying: true,
  },
];

interface Optional {
  readonly name: string;
  readonly instead?: string;
  /** What a server says of it other than its name, and the value that is sent instead. */
  readonly said?: RegExp;
  readonly value?: boolean;
  /** The value that is meant, where not all of them are. */
  readonly sent?: number | string;
  /** What is said of it says that it is not taken, too. */
  readonly isSaying?: true;
}

/** What servers say of a parameter that they do not take. Of one whose value is too large they say something else. */
const NOT_TAKEN =
  /unsupported|not supported|does ?n['o]t support|unknown|unrecogni[sz]ed|not recogni[sz]ed|unexpected|not permitted|not allowed|not accept|not implemented|not available|extra|invalid (?:parameter|argument|field)|not a valid|additional|should not exist|forbidden|deprecated|can(?:not|'t) be (?:used|set|specified|changed)|can(?:not|'t) use|\bonly\b.{0,40}\b(?:allowed|supported|accepted|defined)|only be set|must be (?:set to (?:be )?)?`?false|must be verified|please remove|不支持/i;

/** What servers say of a form that they do not take, and the form that they do. */
const FORMS: readonly (readonly [RegExp, ToForm])[] = [
  // OpenAI says so of models that reason unless they are told not to, whether or not the request names an effort.
  [
    /\btools?\b.{0,40}\breasoning_effort\b.{0,20}\bnot supported|\bset\W{1,3}reasoning_effort\W{1,3}to\W{1,3}none\b/i,
    () => ({ reasoningWithTools: "none" }),
  ],
  [/after role '?"?tool/i, () => ({ afterTools: "assistant", corrections: "user" })],
  [
    /system role (?:is )?not supported|does not support (?:the )?(?:role )?'?"?system\b|(?:developer|system) instruction is not (?:enabled|supported)/i,
    () => ({ rules: "words", corrections: "user" }),
  ],
  [/\balternate\b.{0,60}except for tool calls/i, () => ({ afterTools: "assistant", corrections: "user" })],
  [
    /\b(?:must|should|to|requests) (?:alternate|be alternating)\b|successive user or assistant messages/i,
    takingTurns,
  ],
  // Results count as the user's words here, as Hunyuan and Qianfan have it.
  [
    /角色需?要?交替|提问结束|length of messages must be an odd number|role of message with (?:odd|even) index/i,
    (dialect) => ({ ...takingTurns(dialect), afterTools: "assistant" }),
  ],
  // One system message is taken; the first of these is MiniMax's word for it.
  [
    /invalid chat setting|invalid message role: system|(?:only|more than|support) one system (?:message|prompt)|single system (?:message|prompt)|initial optional system message|roles are supported, got system\b|multiple system (?:messages|prompts)|(?:unknown|invalid|unsupported|unexpected) (?:message )?role\W{1,4}system\b|\brole\W{1,4}system\W{1,3}(?:is )?not (?:allowed|permitted|valid)|Input should be 'user' or 'assistant'/i,
    ({ rules }) => ({ rules: rules === "any" ? "first" : "words", corrections: "user" }),
  ],
  [
    /system (?:message|role|prompt)[^.]{0,60}(?:beginning|first|start)|\bsystem\W{1,3}(?:role |messages? )?(?:must|should|may|can)\b.{0,20}\b(?:beginning|first|start)\b|role '?"?system'?"? after/i,
    ({ rules }) => ({ rules: oneRule(rules), corrections: "user" }),
  ],
  // Some take what systems say out of a conversation: then its last word is the assistant's.
  [
    /message prefill|conversation complete\b|must end with a user message|ends? with a user role|function call turn comes immediately after|final assistant content|expected last role|last message\b.{0,40}\b(?:must|should) (?:be|have|not be)\b|cannot end with the \W?system|\bin the final position\b|role '?"?system'?"? must precede/i,
    () => ({ corrections: "user" }),
  ],
  [
    /reasoning_content.{0,80}(?:must be|missing|required)|(?:missing|without).{0,20}reasoning_content/i,
    () => ({ ownReads: "words", foreignMessage: NO_THOUGHTS }),
  ],
  [/expected \W{0,2}thinking\b.{0,80}\bfound \W{0,2}tool_use/i, () => ({ ownReads: "words" })],
  [
    /missing a \W?thought_?signature/i,
    () => ({
      ownReads: "words",
      foreignCall: { extra_content: { google: { thought_signature: "skip_thought_signature_validator" } } },
    }),
  ],
  [
    /text content blocks must (?:be non-empty|contain non-whitespace)|content field in the message object.{0,40} is empty|text field in the ContentBlock\b.{0,60} is blank/i,
    () => ({ emptyAnswers: "left-out", noText: "dot" }),
  ],
  [
    /content or tool_calls,? but not both|text content is not allowed when tool_calls|both content and thinking/i,
    () => ({ textBesideCalls: "left-out" }),
  ],
  [
    /at least one (?:non-empty )?content element|chat content is empty|content\W{1,4}(?:can ?not|must not|may not|should not) be (?:empty|blank)|content\W{0,8}不能为空|\btext\W{1,2}is not (?:present|set)\b|\bsubscript null\b|value is not an? [\w ]{1,30}: null/i,
    ({ noText }) => ({ emptyAnswers: "left-out", noText: noText === "null" ? "empty" : "dot" }),
  ],
  [
    /parts must not be empty|at least one parts field|role '?assistant'? must not be empty|(?:either|(?:have|contain)) '?content'? or '?tool_calls|content.{0,40}(?:must not be empty|non-empty)|non-empty content|invalid assistant message/i,
    () => ({ emptyAnswers: "left-out" }),
  ],
  [
    /content\b.{0,60}(?:must|should) be a (?:valid )?string|content\b.{0,80}(?:null|None|nil|empty)|\bcontent\W{1,4}(?:field )?is (?:a )?required|'?"?NoneType\b|messages?\b.{0,60}content\b.{0,20}: '?(?:Field required|Input should be a valid string)|\bmissing\b.{0,20}\bcontent\b|\btype must be string, but is null|messages?\b.{0,40}invalid type: null, expected a string|untagged enum \w*(?:Message|Content)/i,
    ({ noText }) => ({ noText: noText === "dot" ? "dot" : "empty" }),
  ],
  // What Gemini says behind gateways that do not look for the call of a result.
  [
    /function_?response\W{0,3}name\b.{0,20}(?:empty|required)|\btool (?:message|result)s?\b.{0,40}(?:missing|requires?|must have|without) (?:an? |the )?(?:\w+ )?\W?name\b/i,
    () => ({ resultNames: "sent" }),
  ],
  [
    /single tool[- ]calls? at once|only (?:one|a single|single) tool[- ]calls?\b|(?:multiple|parallel) tool[- ]calls? (?:are|is) not supported|number of function response parts\b.{0,40}\bfunction call parts/i,
    () => ({ parallelCalls: "apart" }),
  ],
  [
    /tool call ids? (?:was|should be|must be) .{0,200}\b(?:length (?:of )?|exactly )9\b|(?:\btool_calls?(?:\W{1,4}\d{1,4})?\W{1,4}id|tool_?(?:call|use)_?id|\btool_use\.id)\b.{0,80}(?:too long|maximum length|at most|contains letters|pattern|failed to satisfy)/i,
    () => ({ callIds: "nine" }),
  ],
  [
    /\b(?:function|tools?)\b.{0,60}\bdescription\b.{0,60}(?:too long|maximum length|at most|exceed|longer than|less than or equal)/i,
    () => ({ toolTexts: "short" }),
  ],
  [
    /\b(?:additionalProperties|exclusive(?:Minimum|Maximum)|(?:property|pattern)(?:Names|Properties)|oneOf|allOf|anyOf)\b|\$(?:schema|ref|defs)\b|\b(?:JSON|invalid|tools?|function|input|parameters?)\W{0,2}_?schemas?\b|schema (?:for|of) (?:the )?(?:function|tool)|schema with types|(?:function|tool) format\b|\btools?\W{0,3}\d{1,3}\W{1,3}(?:function|custom)\W{1,3}parameters\b|pars(?:e|ing) grammar|grammar error|function_?declarations?\b/i,
    () => ({ toolSchemas: "plain" }),
  ],
  [
    /arguments\b.{0,160}\b(?:JSON|object|dict|dictionary|map|mapping|parse|string)\b|\bJSON\b.{0,80}\barguments\b|tool call.{0,40}\barguments|Expecting (?:value|property name|'[,:]' delimiter)|Unterminated string|Invalid \\?\\escape|Invalid control character|Extra data: line|unexpected end of JSON|JSONDecodeError|has no attribute 'items'|filter 'items' for type|get item pairs from a mapping/i,
    () => ({ brokenArguments: "wrapped" }),
  ],
];

/** What of a request's assistant messages is their provider's own: each may be refused by the server that has made it. */
function ownFieldsIn(sent: Body): readonly string[] {
  const names = new Set<string>();
  for (const message of answersIn(sent)) {
    const calls = objectsOf(message["tool_calls"]);
    const functions = calls.map((call) => call["function"]);
    const all = [
      ...namesIn(message, ["role", "content", "tool_calls"]),
      ...calls.flatMap((call) => namesIn(call, ["id", "type", "function"])),
      ...functions.flatMap((body) => namesIn(body, ["name", "arguments"])),
    ];
    for (const name of all) names.add(name);
  }
  return [...names];
}

function namesIn(value: unknown, standard: readonly string[]): readonly string[] {
  return Object.keys(fieldsOf(value) ?? {}).filter((name) => !standard.includes(name));
}

/** The form without the fields that a server has named as those that it does not take back. */
function withoutRefusedFields(
  words: string,
  { notTakenBack }: Dialect,
  sent: Body,
): Partial<Dialect> | undefined {
  if (!NOT_TAKEN.test(words)) return undefined;
  const named = new Set(words.match(/\w+/g));
  const refused = ownFieldsIn(sent).filter((name) => named.has(name) && !notTakenBack.includes(name));
  return refused.length === 0 ? undefined : { notTakenBack: [...notTakenBack, ...refused] };
}

/**
 * The form in which all arguments are objects. A server that reads those of former calls refuses the conversation for ever for what is none,
 * in whatever words its parser has.
 */
function withoutBrokenArguments(sent: Body): Partial<Dialect> | undefined {
  const all = answersIn(sent).flatMap(({ tool_calls: calls }) => objectsOf(calls));
  const isBroken = ({ function: body }: Body): boolean => {
    const text = fieldsOf(body)?.["arguments"];
    return typeof text === "string" && inObject(text) !== text;
  };
  return all.some(isBroken) ? { brokenArguments: "wrapped" } : undefined;
}

/** What servers say of a content that is a list of parts, where they take texts. */
const PARTS_NOT_TAKEN =
  /\b(?:got|type|not|unmarshal|found)\b\W{1,5}(?:an? )?\W?(?:list|array|sequence)\b|\W(?:list|array)\W{1,2}not in\b|\blist object\b|untagged enum \w*Content|\bcontent\b.{0,60}\bstr(?:ing)?\b/i;

/** The form whose answers go back as their text, where one has gone back in its parts. */
function withoutParts(words: string, { notTakenBack }: Dialect, sent: Body): Partial<Dialect> | undefined {
  const hasParts = answersIn(sent).some(({ content }) => Array.isArray(content));
  return hasParts && PARTS_NOT_TAKEN.test(words) ? { notTakenBack: [...notTakenBack, "content"] } : undefined;
}

/** What a model at an endpoint has said of the requests that it takes. */
export interface Learned {
  /** What it does not take. */
  readonly refused: ReadonlyMap<string, Optional>;
  readonly form: Partial<Dialect>;
  /** It says how its streams have ended. */
  readonly saysEnds?: true;
  /** A stream of it has broken off, and the whole answer came. */
  readonly hasBrokenOff?: true;
}

const NOTHING: Learned = { refused: new Map(), form: {} };

/** Endpoints and models; more than any settings name. */
const MAX_REMEMBERED = 1_000;

/** What models have said so, for the life of a worker. */
export class LearnedParameters {
  private readonly known = new NewestKept<string, Learned>(MAX_REMEMBERED);

  of(endpoint: string, model: string): Learned {
    return this.known.get(keyOf(endpoint, model)) ?? NOTHING;
  }

  add(endpoint: string, model: string, { refused, form }: Learned): void {
    const known = this.of(endpoint, model);
    const all = { refused: new Map([...known.refused, ...refused]), form: { ...known.form, ...form } };
    this.keep(endpoint, model, { ...known, ...all });
  }

  saysEnds(endpoint: string, model: string): void {
    const known = this.of(endpoint, model);
    if (known.saysEnds !== true) this.keep(endpoint, model, { ...known, saysEnds: true });
  }

  /**
   * A stream of the model's has broken off, and the whole answer came. The second time, where none has ever told its end, whole answers are
   * asked for from then on: true.
   */
  brokeOff(endpoint: string, model: string): boolean {
    const known = this.of(endpoint, model);
    if (known.saysEnds === true) return false;
    const { refused, hasBrokenOff = false } = known;
    const left: [string, Optional][] = hasBrokenOff ? [["stream", { name: "stream", value: false }]] : [];
    this.keep(endpoint, model, { ...known, refused: new Map([...refused, ...left]), hasBrokenOff: true });
    return hasBrokenOff;
  }

  /** As it was known at some time. */
  keep(endpoint: string, model: string, learned: Learned): void {
    this.known.set(keyOf(endpoint, model), learned);
  }
}

/** Whether an answer is asked for as a stream: as wanted, where the model has said nothing of it. */
export function asksForStream(wanted: boolean, { refused }: Learned): boolean {
  return refused.get("stream")?.value ?? wanted;
}

/** Whether a model takes no request for a whole answer. */
export function answersAsStreamOnly({ refused }: Learned): boolean {
  return refused.get("stream")?.value === true;
}

/** A request without what its model does not take. */
export function withoutRefused(body: Body, { refused }: Learned): Body {
  const entries = Object.entries(body).flatMap(([name, value]): readonly [string, unknown][] => {
    const optional = refused.get(name);
    if (optional === undefined || optional.value !== undefined) return [[name, value]];
    if (optional.sent !== undefined && optional.sent !== value) return [[name, value]]; // another value than the one that was refused
    const { instead } = optional;
    return instead === undefined || refused.has(instead) ? [] : [[instead, value]];
  });
  return Object.fromEntries(entries);
}

/**
 * What a refusal says beside what was known when the request was made: what that can do without, or another form of it. `isFinal`: nothing else
 * helps, so where its words are none that are known, what they are about is enough.
 */
export function learnFrom(
  refusal: Refusal,
  sent: Body,
  dialect: Dialect,
  known: Learned,
  isFinal: boolean,
): Learned | undefined {
  const optional = optionalIn(refusal, sent, known);
  if (optional !== undefined) return { ...NOTHING, refused: new Map([[optional.name, optional]]) };
  const form = formIn(refusal, sent, { ...dialect, ...known.form }, isFinal);
  return form && { ...NOTHING, form };
}

/** The parameter that a refusal names, of those that were sent and can be left out. */
function optionalIn({ status, body }: Refusal, sent: Body, { refused }: Learned): Optional | undefined {
  if (![400, 404, 422, 500, 501].includes(status)) return undefined; // 404: Azure's older versions
  const { words, codes } = readErrorBody(body);
  const said = `${words} ${body}`.slice(0, MAX_LOOKED_AT);
  const isNotTaken = NOT_TAKEN.test(`${words} ${codes.join(" ")}`.slice(0, MAX_LOOKED_AT));
  return OPTIONAL.find((optional) => {
    const isSaid = optional.isSaying === true ? optional.said?.test(words) === true : isNotTaken;
    return isSaid && !refused.has(optional.name) && isSent(optional, sent) && isNamed(optional, said);
  });
}

/** Another form than the one that a refusal names, where the dialect need not have that. */
function formIn(
  { status, body }: Refusal,
  sent: Body,
  dialect: Dialect,
  mayGuess: boolean,
): Partial<Dialect> | undefined {
  // 404: MLX's server, whatever goes wrong before an answer.
  const isMaybeNoPath = status === 404 && !isPage(body);
  if (status !== 400 && status !== 422 && status !== 500 && !isMaybeNoPath) return undefined;
  const said = readErrorBody(body);
  const words = `${said.words} ${withoutNulls(body)}`.slice(0, MAX_LOOKED_AT);
  const parameters = [...OPTIONAL.map(({ name }) => name), ...Object.keys(sent)];
  const guesses = guessesFor(words, sent, parameters, mayGuess && !isMaybeNoPath && !isUsedUp(said));
  return [
    withoutRefusedFields(words, dialect, sent),
    withoutParts(words, dialect, sent),
    ...FORMS.map(([said, toForm]) => (said.test(words) ? toForm(dialect) : undefined)),
    withoutBrokenArguments(sent),
    ...guesses.map((toForm) => toForm(dialect)),
  ].find((changes) => JSON.stringify({ ...dialect, ...changes }) !== JSON.stringify(dialect));
}

/** An error without the fields that have nothing to say, as `"param": null`: nobody speaks of a null of the request there. */
function withoutNulls(body: string): string {
  return body.replace(/"\w{1,60}"\s{0,9}:\s{0,9}null\b/g, "");
}

function isSent({ name, value, sent: meant }: Optional, sent: Body): boolean {
  if (!Object.hasOwn(sent, name) || (meant !== undefined && sent[name] !== meant)) return false;
  return value === undefined || sent[name] !== value;
}

/** The name of one that is a common word has to be the parameter's, as OpenAI says it. */
function isNamed({ name, said, value }: Optional, words: string): boolean {
  const isWord = value !== undefined;
  const named = isWord ? `"param"\\s{0,9}:\\s{0,9}"${name}"` : `(?<!\\w)${name}(?!\\w)`;
  return said?.test(words) === true || new RegExp(named).test(words);
}

function keyOf(endpoint: string, model: string): string {
  return JSON.stringify([endpoint, model]);
}
