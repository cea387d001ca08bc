import { cutText } from "../../text.js";
import type { Token } from "../source/references.js";
import { withoutMarks } from "../source/source-text.js";

/** What a row of a menu says of the step that it leads to. */
interface MenuRow {
  readonly label: string;
  readonly condition: string;
  /** All that the row says. */
  readonly words: string;
}

/** "| it is cold | Go back to `x.md` |": the first cell says when. */
const CASE_IN_ROW =
  /^\|\s{0,8}([^|]{1,80}?)\s{0,8}\|(?:.*\|)?\s{0,4}[`*]{0,2}(?:(?:→|->|=>|[⇒➜➡])\s{1,3}|(?:go|skip|jump|return|proceed|continue|route|move|back)\b[^|]{0,20}\bto\s{1,3}(?:the\s)?)[`*"'([]{0,4}(?:[\w.{}/-]{0,80}\/)?$/i;
const GOES_IN_CELL =
  /\|\s{0,4}[`*]{0,2}(?:(?:go|skip|jump|return|proceed|continue|route|move|back)\b[^|]{0,20}\bto|load|read|follow|execute|run)\s{1,3}(?:the\s)?[`*"'([]{0,4}(?:[\w.{}/-]{0,80}\/)?$/i;

/** A row of a menu, `| [C] | workflow-create.md | … |`, `| C2 | Again | Go to x.md |`, leads on; any other table tells of files: undefined. */
export function rowOf(text: string, token: Token, lead: string): MenuRow | undefined {
  const goes = GOES_IN_CELL.test(lead)
    ? /^\|\s{0,4}[`*]{0,2}([A-Z]\d?)[`*]{0,2}\s{0,4}\|/.exec(text)?.[1]
    : undefined;
  const label = /^\|\s{0,4}`?\[([A-Z]{1,2}|\d)\]/.exec(text)?.[1] ?? goes ?? caseOf(lead);
  if (label === undefined || !token.text.endsWith(".md")) return undefined;
  const words = withoutMarks(text.replaceAll("|", " "));
  return { label, condition: words.slice(0, 300), words };
}

/** "3", "Step 3", "`step-03`": the row tells of a step, and not of a case. */
const OF_ORDER =
  /^(?:step|phase|stage)?[\s\d.]{0,8}$|\.md\b|^(?:(?:step|phase|stage)[\s_-]?)?\d{1,3}[a-z]?(?:[\s.):_-]|$)/i;

function caseOf(lead: string): string | undefined {
  const words = withoutMarks(CASE_IN_ROW.exec(lead.trimStart())?.[1] ?? "");
  return words === "" || OF_ORDER.test(words) ? undefined : cutText(words, 60);
}
