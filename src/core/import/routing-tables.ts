import { cutText } from "../text.js";
import type { Directive } from "./directives.js";
import type { Token } from "./references.js";
import { type SourceLine, withoutMarks } from "./source-text.js";

/** A row of a table that says where each case leads: in which column, and of which case. */
export interface RoutedRow {
  readonly column: number;
  readonly label: string;
}

const RULE = /^\s{0,12}\|?[\s:|-]{3,400}\|?\s{0,8}$/;
/** "Next step", "Load Step", "Go to": what stands below it leads on. */
const LEADS =
  /^(?:(?:load|go|goto|jump|proceed|continue|route|run|execute|follow)\b(?!-).{0,40}|next(?: (?:step|file|phase|stage))?(?: file)?)$/i;
/** "#", "Step": the rows follow one another. */
const COUNTS = /^(?:|#|no\.?|nr\.?|order|step|phase|stage)$/i;
const OTHERWISE = /^(?:(?:by )?default|otherwise|else|anything else|sonst)$/i;
const NAMES_STEP = /\.md\b|\bstep[-_]\d/i;
const MAX_LABEL = 60;
const MAX_CONDITION = 300;

/** The rows of such tables, by the line's number. One whose case is another step tells where that one leads. */
export function routedRows(body: readonly SourceLine[]): ReadonlyMap<number, RoutedRow> {
  const rows = new Map<number, RoutedRow>();
  let column: number | undefined;
  for (const [index, { text, number, isCode }] of body.entries()) {
    const isRow = !isCode && text.trimStart().startsWith("|");
    const rule = body[index + 1]?.text ?? "";
    if (!isRow) column = undefined;
    else if (column === undefined && rule.includes("-") && RULE.test(rule)) column = leadingColumn(text);
    const [label = ""] = isRow && column !== undefined ? cellsOf(text) : [];
    if (column !== undefined && label !== "" && !NAMES_STEP.test(label))
      rows.set(number, { column, label: cutText(label, MAX_LABEL) });
  }
  return rows;
}

/** What a row says of a step that stands in the column which leads on. */
export function routedTo(
  row: RoutedRow | undefined,
  { text }: SourceLine,
  { at }: Token,
): Directive | undefined {
  if (row === undefined || text.slice(0, at).split("|").length - 2 !== row.column) return undefined;
  const words = withoutMarks(text.replaceAll("|", " "));
  const isDefault = OTHERWISE.test(row.label);
  return { kind: "go", label: row.label, condition: cutText(words, MAX_CONDITION), isDefault, words };
}

function leadingColumn(head: string): number | undefined {
  const [first = "", ...others] = cellsOf(head);
  const at = COUNTS.test(first) ? -1 : others.findIndex((cell) => LEADS.test(cell));
  return at === -1 ? undefined : at + 1;
}

function cellsOf(row: string): readonly string[] {
  const inner = row.trim().replace(/^\|/, "").replace(/\|$/, "");
  return inner.split("|").map((cell) => withoutMarks(cell));
}
