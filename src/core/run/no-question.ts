import { DONE_LINE } from "../bundle/done-line.js";
import { type JsonValue, isList, isObject, jsonIn } from "../json.js";

/**
 * Why an answer without calls is no question: nothing in it, a call written as text, prose that asks nothing or, of a bundle run, an end that is
 * not said as it has to be.
 */
export type NoQuestion = "empty" | "written-call" | "asks-nothing" | "unclear-end";

/** How much of an answer is looked at. */
const MAX_LOOKED_AT = 64 * 1024;

/** What a person can read of a text: some models answer with `...`, with `{}`, or with characters that have no width. */
const READABLE = /[\p{L}\p{N}?？؟]/u;

/** What models write where their server does not read their calls. */
const CALL_MARKS =
  /<\|?(?:\w{1,20}[:_|])?(?:tool_?calls?(?:_[a-z]{1,20}){0,3}|function_calls?|start_function_call|invoke(?:_tool_(?:json|text))?|tool▁calls?|tool_(?:use|code|request)|tools_prefix|execute_tool|use_mcp_tool|action_start|start_action)(?!\w)|<function[=\s]|<\|open\|>tools|\[TOOL_CALLS\]|\w\[ARGS\]|<\|python_tag\|>|<[|｜‖]{0,4}DSML(?!\w)|<｜tool|\bto=functions\.|```tool_(?:code|call)/i;

const CALL_OBJECT =
  /["'](?:name|tool|function|(?:tool|function|recipient)_name|action|command)["']\s{0,20}:\s{0,20}["'](?:functions\.)?([\w.-]{1,80})["']/g;

/** A call as code of its own, in a list, of a module, or as an action's name. */
const CALL_IN_CODE =
  /(?:\n|\bprint\()\s{0,20}\[?(?:default_api\.|functions\.)?([\w.-]{1,80})\(|\nAction:\s{0,5}([\w.-]{1,80})/g;

/** A tool's name in a place where only a call has one: as a tag, between tags, as the key of an object, or over one. */
const CALL_BY_PLACE =
  /<\/?(?:call:)?([\w.-]{1,80})(?=[\s>/])|>\s{0,9}([\w.-]{1,80})(?=\s{0,9}<)|["']([\w.-]{1,80})["']\s{0,9}:\s{0,9}\{|\[?\btool[ _]?(?:use|call):\s{0,9}`?([\w.-]{1,80})|\bto=([\w.-]{1,80})|\n[*`#>\s]{0,9}([\w.-]{1,80})[*`:]{0,4}\s{1,9}(?:```(?:json)?\s{0,9})?\{|\n`([\w.-]{1,80})\(/gi;

/** A tool's name right before its arguments: what is left of a call whose marks a server has taken out (Mistral's, Kimi's, Gemma's). */
const CALL_WITHOUT_MARKS = /(?<![\w-])([\w-]{1,80})(?::\d{1,4})?\{\s{0,9}(?:["}]|\w{1,40}:)/g;

/** A tool's name as YAML has it: alone behind its key. */
const CALL_IN_YAML =
  /\n[ \t]{0,20}(?:- )?["']?(?:name|tool|function|(?:tool|function|recipient)_name|action)["']?: {0,9}["'`]?(?:functions\.)?([\w.-]{1,80})["'`]?[ \t\r]{0,9}(?=\n)/gi;

/** Where a call has its tool and its arguments. */
const NAMES_TOOL = ["name", "tool", "tool_name", "function_name", "recipient_name", "action"] as const;
const HOLDS_ARGUMENTS = ["arguments", "parameters", "args", "input", "tool_input", "action_input"] as const;

/** What asks or requests wherever it stands. */
const ASKS =
  /[?？؟⸮՞;]|[[(]y(?:es)?\/no?\b[^\])\n]{0,40}[\])]\W{0,9}(?:\n|$)|\b(?:please|tell me|let me know|bitte|sag mir|sagen Sie|wähle|por favor|dime|veuillez|prego)\b|请|どう|ください|пожалуйста/i;
/** A key of a menu, as in `[a] Advanced Elicitation, [c] Continue`; no link, index or footnote. */
const MENU_KEY = /(?<![\p{L}\p{N}\])^])\[([a-z])\](?![([:])/giu;
/** A key with the word that it stands for: `[c] Continue`, `[c]ontinue`, `Continue [c]`. Citations and marks of a list have none. */
const KEY_OF_WORD =
  /\[([a-z])\](?:[a-z]|[\s*_`–-]{1,6}(?!(?:and|as|are|by|but)\b)\1)|(?<![\p{L}\p{N}])([a-z])[\p{L}-]{0,30} \[\2\]/iu;

const QUESTION_WORDS = "which|what|who|when|where|why|how|welche[rsn]?|quelle?s?|quale";
const REQUESTS = "confirm|choose|pick|select|provide|specify|decide|answer|reply|wait(?:ing)?|awaiting";
/** What asks or requests where a sentence begins with it. */
const FIRST_WORDS = String.raw`could|would|should|can|may|shall|(?:do|does|are|is|will) (?:you|i|we|that|this|these|it|there)|enter|press|type|say|name|give|describe|awaiting`;
/** What may stand before it. */
const LEAD_IN = String.raw`(?:(?:okay|ok|sure|great|good|perfect|alright|right|thanks|now|next|first|then|so|well|finally|and|but|or)\b\W{1,5}){0,4}`;
const BEGINS_TO_ASK = new RegExp(
  String.raw`(?:^|:)\W{0,20}${LEAD_IN}(?:${QUESTION_WORDS}|${FIRST_WORDS})\b|(?:^|[,:(–—-]|\b(?:and|or|then|so|to)\s)\W{0,20}(?:${REQUESTS})\b`,
  "i",
);
/** What asks or requests where somebody is spoken to. */
const MAY_ASK = new RegExp(String.raw`\b(?:${QUESTION_WORDS}|${REQUESTS})\b`, "i");
const SPOKEN_TO = /\b(?:you|yours?)\b/i;
/** A sentence of what the model lacks: it says so to whoever knows. */
const LACKS = new RegExp(
  String.raw`\b(?:i|we)\b.{0,20}\b(?:(?:need|want|like|have) to know|(?:not|un)\s?(?:sure|clear|certain)|(?:do not|don['’]t) know|(?:cannot|can['’]t) (?:tell|know|decide))\b.{0,80}\b(?:${QUESTION_WORDS})\b|\bneed (?:an? |the )?(?:decision|answer|choice|confirmation|clarification|approval)\b|\b(?:wait(?:ing)? for|await(?:ing)?) (?:an? |the )?(?:users?\b|approval|confirmation|input|selection|choice|decision|answer|reply|feedback)`,
  "i",
);
/** A sentence of what the model does itself: it may speak of what it chooses, and how. */
const ANNOUNCES = new RegExp(
  String.raw`^\W{0,20}${LEAD_IN}(?:i|we|ich|wir|je|nous|let me|let us|let['’]s|proceeding|continuing|moving|going|starting)\b`,
  "i",
);

/** Whether a text asks for anything, sentence by sentence. */
function asks(text: string): boolean {
  if (ASKS.test(text) || isMenu(text)) return true;
  return text.split(/[.!\n。！…]+/).some((sentence) => {
    if (LACKS.test(sentence) || (SPOKEN_TO.test(sentence) && MAY_ASK.test(sentence))) return true;
    return !ANNOUNCES.test(sentence) && BEGINS_TO_ASK.test(sentence);
  });
}

/** Where a text ends with it. One key alone may tick a box. */
function isMenu(text: string): boolean {
  const end = text.split("\n").findLast((line) => READABLE.test(line)) ?? "";
  if (end.search(MENU_KEY) === -1 || !KEY_OF_WORD.test(text)) return false;
  return new Set([...text.matchAll(MENU_KEY)].map(([, key = ""]) => key.toLowerCase())).size > 1;
}

/**
 * Whether a text that a person would be asked asks anything. `tools` are the names that the model may call. Judged by
 * signs, since a person is bothered only after the model was told once.
 */
export function whyNoQuestion(text: string, tools: readonly string[]): NoQuestion | undefined {
  const looked = text.slice(0, MAX_LOOKED_AT);
  if (!READABLE.test(looked)) return "empty";
  if (isWrittenCall(looked, tools)) return "written-call";
  // A single word says too little to be prose.
  return asks(looked) || !/\S\s+\S/.test(looked) ? undefined : "asks-nothing";
}

/** Whether a text has what models write about a call where their server does not read it. */
export function hasCallMark(text: string): boolean {
  return CALL_MARKS.test(text);
}

function isWrittenCall(text: string, tools: readonly string[]): boolean {
  if (hasCallMark(text)) return true;
  const known = new Set(tools.flatMap((tool) => [tool, tool.replace("_", ".")]));
  for (const [, name = ""] of text.matchAll(CALL_OBJECT)) if (known.has(name)) return true;
  if (isCallAlone(text)) return true;
  return [CALL_IN_CODE, CALL_BY_PLACE, CALL_WITHOUT_MARKS, CALL_IN_YAML].some((places) =>
    [...`\n${text}\n`.matchAll(places)].some(([, ...names]) => names.some((name) => known.has(name ?? ""))),
  );
}

/** Whether a text is a call as JSON and nothing else, or a list of some: whatever its tool is, nobody is asked so. */
function isCallAlone(text: string): boolean {
  const json = text.trim().replace(/^```\w{0,20}\s{1,9}|\s{0,9}```$/g, "");
  if (!/^[{[]/.test(json)) return false;
  const value = jsonIn(json);
  const all = isList(value) ? value : [value];
  return all.length > 0 && all.every(isCall);
}

function isCall(value: JsonValue | undefined): boolean {
  if (!isObject(value)) return false;
  if (isObject(value["function"])) return isCall(value["function"]);
  return (
    NAMES_TOOL.some((name) => typeof value[name] === "string") &&
    HOLDS_ARGUMENTS.some((name) => value[name] !== undefined)
  );
}

/** How often the model is told before a person is asked. */
export function mostNudges(autopilot: boolean): number {
  return autopilot ? 3 : 1;
}

/** What the model is told. */
export const NUDGES: Readonly<Record<NoQuestion, string>> = {
  empty:
    "Your answer was empty: it held no text and called no tool. Go on with a tool call, or ask the user a question in plain text.",
  "written-call":
    "Your answer held a tool call written as text, and text is never run. Make the call as a tool call, or ask the user a question in plain text.",
  "asks-nothing":
    "Your answer called no tool and asked nothing, so nothing has happened. Go on with a tool call, or ask the user a question in plain text.",
  "unclear-end": `Your answer speaks of the workflow's end, and does not end with a line that is exactly ${DONE_LINE}, without marks around it and with nothing behind it. If the workflow is complete, end so. Else go on with a tool call, or ask the user a question without that line.`,
};

/** What is added where the run ends by the model's word. */
export const HOW_TO_END = ` If the workflow is complete, end with a line that is exactly ${DONE_LINE}`;

/** What a person is asked where telling the model has not helped; the model's words stand above it. */
export const NO_QUESTION_ASKED: Readonly<Record<NoQuestion, string>> = {
  empty: "The agent's answers are empty. Tell it what to do.",
  "written-call": "The agent writes its tool calls as text, and text is not run. Tell it what to do.",
  "asks-nothing": "",
  "unclear-end":
    "The agent seems to be done, and does not say so as it has to. Tell it to go on, or end the run as it is.",
};
