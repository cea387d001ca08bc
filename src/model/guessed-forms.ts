import { textOf } from "../core/json.js";
import { objectsOf } from "../http/answer-json.js";
import type { Dialect } from "./dialects.js";

/* The forms in which a request is made again where nobody here knows the words of its refusal. */

export type Body = Readonly<Record<string, unknown>>;

export type ToForm = (dialect: Dialect) => Partial<Dialect>;

/** What a template refuses without its words coming through (Together): what templates refuse most, one after the other. */
const WORDLESS = /template error\b.{0,80}raise_exception|unable to call .?raise_exception/i;
const OF_TEMPLATES: readonly ToForm[] = [
  () => ({ parallelCalls: "apart" }),
  ({ rules }) => ({ rules: oneRule(rules), corrections: "user" }),
  () => ({ userMessages: "joined", ownReads: "words", afterTools: "assistant" }),
];

/** What a refusal is about whose words nobody here knows, whether the request has any of it, and the forms that are tried then, one after the other. */
const GUESSES: readonly (readonly [
  about: RegExp,
  isThere: (sent: Body) => boolean,
  forms: readonly ToForm[],
])[] = [
  [
    /\bcontents?\b|\bempty\b|\bblank\b|\btext\b|\bnull\b|\bcharacters?\b|too short|\bmust have a message\b|内容|为空/i,
    (sent) => answersIn(sent).some(({ content }) => content === null || textOf(content).trim() === ""),
    [
      () => ({ emptyAnswers: "left-out" }),
      ({ noText }) => ({ noText: noText === "null" ? "empty" : noText }),
      () => ({ noText: "dot" }),
    ],
  ],
  [
    /\bsystem\b|\bdeveloper\b/i,
    () => true,
    [
      ({ rules }) => ({ rules: oneRule(rules), corrections: "user" }),
      () => ({ rules: "words", corrections: "user" }),
    ],
  ],
  [
    /\broles?\b|\bconsecutive\b|\bin a row\b|alternat|\bfirst message\b|\bstarts? with a user\b|\buser messages?\b|角色|交替/i,
    () => true,
    [
      takingTurns,
      (dialect) => ({ ...takingTurns(dialect), afterTools: "assistant" }),
      () => ({ rules: "words" }),
    ],
  ],
  [
    /\b(?:tool|function)[ _-]?calls?(?:'s|s')?\W{0,3}[ _-]?ids?\b|\btool_use_ids?\b/i,
    (sent) => answersIn(sent).some(({ tool_calls: calls }) => objectsOf(calls).length > 0),
    [() => ({ callIds: "nine" })],
  ],
  [
    /\btool[ _]?calls?\b|\bparallel\b/i,
    (sent) => answersIn(sent).some(({ tool_calls: calls }) => objectsOf(calls).length > 1),
    [() => ({ parallelCalls: "apart" })],
  ],
  [
    /\btools?\b|\bfunctions?\b|schema|\bkeyword\b|\blist\b|\btemplate\b|\bproto\b/i,
    ({ tools }) => objectsOf(tools).length > 0,
    [() => ({ toolSchemas: "plain" })],
  ],
];

/** Parts of a request that a guess may change, and names that are words like others. */
const OF_FORM: ReadonlySet<string> = new Set(["messages", "tools", "model", "stream"]);

/** The forms to try for a refusal in words that are not known; none for one that names a parameter. */
export function guessesFor(
  words: string,
  sent: Body,
  parameters: readonly string[],
  mayGuess: boolean,
): readonly ToForm[] {
  if (WORDLESS.test(words)) return OF_TEMPLATES;
  if (!mayGuess) return [];
  const named = new Set(words.match(/\w+/g));
  if (parameters.some((name) => !OF_FORM.has(name) && named.has(name))) return []; // about that, whatever else it speaks of
  const meant = GUESSES.filter(([about, isThere]) => about.test(words) && isThere(sent));
  return meant.flatMap(([, , forms]) => forms);
}

/** User and assistant speak in turn. */
export function takingTurns({ rules }: Dialect): Partial<Dialect> {
  return { rules: oneRule(rules), userMessages: "joined", corrections: "user", ownReads: "words" };
}

/** One rule, the first: where it stands in the user's words it stays there. */
export function oneRule(rules: Dialect["rules"]): Dialect["rules"] {
  return rules === "words" ? "words" : "first";
}

export function answersIn({ messages }: Body): readonly Body[] {
  return objectsOf(messages).filter(({ role }) => role === "assistant");
}
