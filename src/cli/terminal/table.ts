import { cutText } from "../../core/text.js";
import { printable } from "../../core/printable.js";
import { inColumns, textWidth } from "./cell-width.js";

export interface Column {
  readonly title: string;
  /** What a cell has at most, in characters. */
  readonly max: number;
  /** Gives way where the lines are too long for the terminal, down to the length of its title or to `least`. */
  readonly gives?: boolean;
  /** So many characters are of use to somebody, fewer are not. */
  readonly least?: number;
}

const GAP = "  ";

/**
 * A table with a header. Cells are texts from outside: each is printable and on one line. `width` is that of the terminal;
 * absent, nothing gives way.
 */
export function tableLines(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width?: number,
): readonly string[] {
  const cells = rows.map((row) => columns.map(({ max }, index) => cutText(printable(row[index] ?? ""), max)));
  const widths = columns.map(({ title }, index) =>
    Math.max(textWidth(title), ...cells.map((row) => textWidth(row[index] ?? ""))),
  );
  shrink(columns, widths, width);
  const titles = columns.map(({ title }) => title);
  return [titles, ...cells].map((row) =>
    row
      .map((cell, index) => inColumns(cell, widths[index] ?? 0))
      .join(GAP)
      .trimEnd(),
  );
}

/** Takes what is too much from the widest column that gives way, one character after the other. */
function shrink(columns: readonly Column[], widths: number[], width: number | undefined): void {
  if (width === undefined) return;
  let excess = widths.reduce((sum, each) => sum + each, 0) + GAP.length * (widths.length - 1) - width;
  for (; excess > 0; excess -= 1) {
    let widest = -1;
    for (const [index, column] of columns.entries()) {
      const { gives = false, least = 0, title } = column;
      const mayGive = gives && (widths[index] ?? 0) > Math.max(least, textWidth(title));
      if (mayGive && (widths[index] ?? 0) > (widths[widest] ?? 0)) widest = index;
    }
    if (widest === -1) return;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
}
