import { cutText } from "../../text.js";
import type { Directive } from "./directives.js";
import { OPENS } from "./line-words.js";
import type { Token } from "../source/references.js";
import { type SourceLine, withoutMarks } from "../source/source-text.js";

/** A row of a table that says where each case leads: in which column, and of which case. */
export interface RoutedRow {
  readonly column: number;
  readonly label: string;
  /** The column's head alone does not lead on: its cells begin with what they lead to. */
  readonly isBegun: boolean;
}

const RULE = /^\s{0,12}\|?[\s:|-]{3,400}\|?\s{0,8}$/;
/** "Next step", "Load Step", "Go to": what stands below it leads on. */
const LEADS =
  /^(?:(?:load|go|goto|jump|proceed|continue|route|run|execute|follow)\b(?!-).{0,40}|next(?: (?:step|file|phase|stage))?(?: file)?)$/i;
/** Behind a first column of cases these lead on as well, where a cell begins with the step: "| Choice | Action |", "| If | Then |". */
const CASES = /^(?:if|when|case|condition|choice|answer|decision|outcome)$/i;
const LEADS_FROM_CASES = /^(?:then|action|do|step|file|target)$/i;
const BEGINS_WITH = new RegExp(
  String.raw`\|\s{0,4}[*_]{0,2}(?:(?:(?:go|return|back|skip|jump|proceed|continue|loop)(?: back| on)?(?: to| with)|load|read|follow|execute|run|open)\s(?:fully\s|and follow\s|the\s){0,3})?(?:\[[^[\]|]{1,80}\]\()?${OPENS}`,
  "i",
);
/** "#", "Step": the rows follow one another. */
const COUNTS = /^(?:|#|no\.?|nr\.?|order|step|phase|stage)$/i;
const OTHERWISE = /^(?:(?:by )?default|otherwise|else|anything else|sonst)$/i;
const NAMES_STEP = /\.md\b|\bstep[-_]\d/i;
const MAX_LABEL = 60;
const MAX_CONDITION = 300;

/** The rows of such tables, by the line's number. One whose case is another step tells where that one leads. */
export function routedRows(body: readonly SourceLine[]): ReadonlyMap<number, RoutedRow> {
  const rows = new Map<number, RoutedRow>();
  let column: Column | undefined;
  for (const [index, { text, number, isCode }] of body.entries()) {
    const isRow = !isCode && text.trimStart().startsWith("|");
    const rule = body[index + 1]?.text ?? "";
    if (!isRow) column = undefined;
    else if (column === undefined && rule.includes("-") && RULE.test(rule)) column = leadingColumn(text);
    const [label = ""] = isRow && column !== undefined ? cellsOf(text) : [];
    if (column !== undefined && label !== "" && !NAMES_STEP.test(label))
      rows.set(number, { ...column, label: cutText(label, MAX_LABEL) });
  }
  return rows;
}

/** What a row says of a step that stands in the column which leads on. */
export function routedTo(
  row: RoutedRow | undefined,
  { text }: SourceLine,
  { at }: Token,
): Directive | undefined {
  const lead = text.slice(0, at);
  if (row === undefined || lead.split("|").length - 2 !== row.column) return undefined;
  if (row.isBegun && !BEGINS_WITH.test(lead)) return undefined;
  const words = withoutMarks(text.replaceAll("|", " "));
  const isDefault = OTHERWISE.test(row.label);
  return { kind: "go", label: row.label, condition: cutText(words, MAX_CONDITION), isDefault, words };
}

type Column = Omit<RoutedRow, "label">;

function leadingColumn(head: string): Column | undefined {
  const [first = "", ...others] = cellsOf(head);
  if (COUNTS.test(first)) return undefined;
  const said = others.findIndex((cell) => LEADS.test(cell));
  if (said !== -1) return { column: said + 1, isBegun: false };
  const begun = CASES.test(first) ? others.findIndex((cell) => LEADS_FROM_CASES.test(cell)) : -1;
  return begun === -1 ? undefined : { column: begun + 1, isBegun: true };
}

function cellsOf(row: string): readonly string[] {
  const inner = row.trim().replace(/^\|/, "").replace(/\|$/, "");
  return inner.split("|").map((cell) => withoutMarks(cell));
}
