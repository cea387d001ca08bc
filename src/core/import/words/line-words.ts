/** "Without mid-run surgery", "in a dry-run" lead nowhere. */
export const GOES =
  /(?<!\b(?:dry|long|mid|per|post|pre|test|trial)-)\b(?:load|loads|loading|read|follow|follows|execute|executes|proceed|proceeds|continue|continues|continuing|go|goto|jump|route|routes|return|returns|restart|begin|start|launch|move|advance|skip|open|exit|loop|resume|transition|next|run|start|enter|switch|lade|lädt|folge|folgt|weiter|fahre|gehe|zurück|beginne|starte|lies (?:die|das|den|nun|jetzt)|lies `|kehre|springe|wechsle|fortfahren|befolge|führe)\b(?!-\w)/i;

/** Marks and folders that a step's name may stand behind. */
export const OPENS = "[`*\"'([<]{0,4}(?:[\\w.{}@/-]{0,80}/)?$";

/** "Yes: `./step-02-x.md`", "- **Failed** – `./step-03-x.md`": what came of a question or a check. */
const ANSWER =
  /^[-*\s\d.)]{0,8}["'[]?((?:(?:if|on|upon) )?(?:yes|no|y|n|true|false|ok|pass(?:ed|es)?|fail(?:ed|ure|s)?|success(?:ful)?|errors?|approv(?:ed?|al)|reject(?:ed|ion)?|retry|accepted|declined|denied|confirmed|(?:not )?found|(?:in)?valid|(?:in)?complete|unclear|unknown|ja|nein|oui|non|sí|não)(?:\s\([^()]{1,60}\))?)["'\]]?\s{0,2}(?:[:：]|[-–—]\s)[\s*_]{0,4}$/i;
const MAX_ANSWER_LEAD = 240;
const OPENED = new RegExp(String.raw`(?:\[[^[\]]{1,80}\]\()?${OPENS}`);

/** What a file is called says nothing of what is done with it: `step-02-run-gates.md`. */
export const PAGE = /(?<![\w./{}@-])[\w./{}@-]{1,200}\.md\b/g;

/** The answer that a line begins with, where what it names is all that it has on it. */
export function answerOf(lead: string): string | undefined {
  if (lead.length > MAX_ANSWER_LEAD) return undefined;
  return ANSWER.exec(lead.replace(OPENED, "").replaceAll(/\*|(?<!\w)_|_(?!\w)/g, ""))?.[1];
}

/** Of a long line so many characters before and behind what it names say when a way is taken. */
export const MAX_WORDS = 800;

/** What stands in brackets: "(if any)". */
export const ASIDE = /\([^()]{0,200}\)/g;

/** What a text begins with, to the end of its first sentence. */
export function sentenceIn(text: string): string {
  return /^(?:[^.!?;]|[.!?;](?!\s)){0,400}/.exec(text)?.[0] ?? "";
}
