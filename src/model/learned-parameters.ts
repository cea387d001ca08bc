import type { Dialect } from "./dialects.js";
import { type Refusal, readProviderError } from "./model-error.js";

type Body = Readonly<Record<string, unknown>>;

/** Parameters that a request can do without, and what may take the place of one. */
const OPTIONAL: readonly (readonly [name: string, instead?: string])[] = [
  ["max_completion_tokens", "max_tokens"],
  ["max_tokens", "max_completion_tokens"],
  ["stream_options"],
  ["temperature"],
];

/** What servers say of a parameter that they do not take. Of one whose value is too large they say something else. */
const NOT_TAKEN =
  /unsupported|not supported|does not support|unknown|unrecogni[sz]ed|unexpected|not permitted|not allowed|extra|invalid (?:parameter|argument|field)|additional|forbidden/i;

/** What servers say of a form that they do not take, and the form that they do. */
const FORMS: readonly (readonly [RegExp, (words: string, dialect: Dialect) => Partial<Dialect>])[] = [
  [/after role '?"?tool/i, () => ({ afterTools: "assistant", corrections: "user" })],
  [
    /system (?:message|role|prompt)[^.]{0,60}(?:beginning|first|start)|role '?"?system'?"? after|roles must alternate/i,
    () => ({ corrections: "user" }),
  ],
  [
    /reasoning_content.{0,80}(?:must be|missing|required)|missing.{0,20}reasoning_content/i,
    () => ({ ownReads: "words", foreignMessage: { reasoning_content: "" } }),
  ],
  [
    /missing a thought_?signature/i,
    () => ({
      ownReads: "words",
      foreignCall: { extra_content: { google: { thought_signature: "skip_thought_signature_validator" } } },
    }),
  ],
  [
    /parts must not be empty|either content or tool_calls|content.{0,40}(?:must not be empty|non-empty)/i,
    () => ({ emptyAnswers: "left-out" }),
  ],
  [/tool call id was .{0,200}length of 9/i, () => ({ callIds: "nine" })],
  [/\b(?:additionalProperties|exclusiveMinimum|propertyNames|\$schema)\b/, () => ({ toolSchemas: "plain" })],
  [
    /\b(reasoning|reasoning_content|reasoning_details|thinking)\b.{0,80}(?:unsupported|not supported|not permitted|unknown|extra)/i,
    (words, { notTakenBack }) => ({
      notTakenBack: [...new Set([...notTakenBack, ...REASONING.filter((name) => words.includes(name))])],
    }),
  ],
];
const REASONING = ["reasoning", "reasoning_content", "reasoning_details", "thinking"];

/** Of what a server says. */
const MAX_LOOKED_AT = 4_000;
/** Endpoints and models; more than any settings name. */
const MAX_REMEMBERED = 1_000;

/** Which parameters the models of an endpoint do not take, as they have said themselves; for the life of a worker. */
export class LearnedParameters {
  private readonly known = new Map<string, ReadonlyMap<string, string | undefined>>();

  private readonly forms = new Map<string, Partial<Dialect>>();

  /** The dialect with what an endpoint has said of it. */
  adapt<D extends Dialect>(dialect: D, endpoint: string, model: string): D {
    return { ...dialect, ...this.forms.get(keyOf(endpoint, model)) };
  }

  /** Whether the refusal names a form that the dialect has and need not have: then it has another, from now on. */
  learnHow({ status, body }: Refusal, dialect: Dialect, endpoint: string, model: string): boolean {
    if (status !== 400 && status !== 422 && status !== 500) return false;
    const words = `${readProviderError(body).words} ${body}`.slice(0, MAX_LOOKED_AT);
    const form = FORMS.find(([said]) => said.test(words))?.[1](words, dialect) ?? {};
    const next = { ...dialect, ...form };
    if (JSON.stringify(next) === JSON.stringify(dialect)) return false;
    const key = keyOf(endpoint, model);
    if (this.forms.size >= MAX_REMEMBERED) this.forms.clear();
    this.forms.set(key, { ...this.forms.get(key), ...form });
    return true;
  }

  applyTo(body: Body, endpoint: string, model: string): Body {
    const refused = this.known.get(keyOf(endpoint, model));
    if (refused === undefined) return body;
    const entries = Object.entries(body).flatMap(([name, value]): readonly [string, unknown][] => {
      if (!refused.has(name)) return [[name, value]];
      const instead = refused.get(name);
      return instead === undefined || refused.has(instead) ? [] : [[instead, value]];
    });
    return Object.fromEntries(entries);
  }

  /** Whether the refusal names something that was sent and can be left out: then it is, from now on. */
  learnFrom({ status, body }: Refusal, sent: Body, endpoint: string, model: string): boolean {
    if (status !== 400 && status !== 422) return false;
    const { words, codes } = readProviderError(body);
    if (!NOT_TAKEN.test(`${words} ${codes.join(" ")}`)) return false;
    const refused = OPTIONAL.find(
      ([name]) => Object.hasOwn(sent, name) && new RegExp(`(?<!\\w)${name}(?!\\w)`).test(`${words} ${body}`),
    );
    if (refused === undefined) return false;
    const key = keyOf(endpoint, model);
    const [name, instead] = refused;
    if (this.known.size >= MAX_REMEMBERED) this.known.clear();
    this.known.set(key, new Map([...(this.known.get(key) ?? []), [name, instead]]));
    return true;
  }
}

function keyOf(endpoint: string, model: string): string {
  return JSON.stringify([endpoint, model]);
}
