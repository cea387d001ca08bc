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
  /unsupported|not supported|does not support|unknown|unrecogni[sz]ed|unexpected|not permitted|not allowed|extra|invalid|additional|forbidden/i;

/** How many of them are told to be enough to forget the oldest. */
const MAX_REMEMBERED = 1_000;

/** Which parameters the models of an endpoint do not take, as they have said themselves; for the life of a worker. */
export class LearnedParameters {
  private readonly known = new Map<string, ReadonlyMap<string, string | undefined>>();

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
    const words = `${readProviderError(body).words} ${body}`;
    if (!NOT_TAKEN.test(words)) return false;
    const refused = OPTIONAL.find(
      ([name]) => Object.hasOwn(sent, name) && new RegExp(`(?<!\\w)${name}(?!\\w)`).test(words),
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
