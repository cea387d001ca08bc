import { type ImportFindings, named } from "./findings.js";
import { whyAbsent } from "./left-out.js";
import type { SourceTree } from "./source-tree.js";
import { nearestStep, resumesRun } from "./step-files.js";
import type { NamedStep } from "./step-names.js";

/** Says of "Step 3" in a step that names files which one it may be. */
export function tellOfNumber(
  path: string,
  line: number,
  { text, steps }: NamedStep,
  findings: ImportFindings,
): void {
  if (steps.length === 0) return;
  const what = `says ${named(text)}, which may be ${listed(steps)}: the step names files, so no edge was made`;
  findings.add("note", path, line, what);
}

/** Says of a name that it is no step's, or that of several. */
export function reportName(
  path: string,
  line: number,
  { text, steps }: NamedStep,
  findings: ImportFindings,
): void {
  const is = steps.length === 0 ? "is no step of this workflow" : `may be ${listed(steps)}`;
  findings.add("warning", path, line, `names ${named(text)}, which ${is}: no edge was made. Name the file`);
}

/** Says of a step that a line leads to that it is not there, with what is like it. */
export function reportMissing(
  tree: SourceTree,
  path: string,
  line: number,
  target: string,
  findings: ImportFindings,
): void {
  if (resumesRun(target)) return;
  const near = nearestStep(tree, path, target);
  const hint = near === undefined ? "" : `; ${named(near)} is like it`;
  findings.add("warning", path, line, `names ${named(target)}, which ${whyAbsent(tree, target)}${hint}`);
}

function listed(steps: readonly string[]): string {
  return steps.slice(0, 5).map(named).join(", ");
}
