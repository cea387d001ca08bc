import type { ImportFindings } from "../source/findings.js";
import type { References } from "../source/references.js";
import type { SourceEdge } from "./source-edge.js";
import type { SourceText } from "../source/source-text.js";
import type { SourceTree } from "../source/source-tree.js";
import { comesBefore, isNumberedStep, nearestStep } from "../source/step-files.js";
import { reportMissing, takenInPlace, tellOfTaken, tellOfUnsaid } from "./step-reports.js";
import { type UnsaidWay, unsaidBeside } from "./unsaid-ways.js";

interface NamedStep extends UnsaidWay {
  readonly from: string;
  readonly isMisnamed: boolean;
}

/** Steps that are named beside the ways that are known: in words that are not known, or by names that are not quite theirs. */
export class StepsBeside {
  private readonly tree: SourceTree;
  private readonly findings: ImportFindings;
  private readonly steps: NamedStep[] = [];

  constructor(tree: SourceTree, findings: ImportFindings) {
    this.tree = tree;
    this.findings = findings;
  }

  /** A line leads on to a file that is not there. */
  addMissing(from: string, line: number, missing: string, way: Omit<SourceEdge, "from" | "to">): void {
    reportMissing(this.tree, from, line, missing, this.findings);
    const to = nearestStep(this.tree, from, missing);
    if (to !== undefined)
      this.steps.push({ from, line, words: "", ...way, to, isMisnamed: true, isSaid: false });
  }

  addUnsaid(
    from: string,
    source: SourceText,
    references: References,
    around: { readonly document: string; readonly led: ReadonlySet<string> },
  ): void {
    for (const way of unsaidBeside(this.tree, from, source, references, around))
      this.steps.push({ from, ...way, isMisnamed: false });
  }

  /** To those of them that are no others' and that nothing else leads to: else whole steps would be lost. */
  follow(
    isSettled: (path: string) => boolean,
    connect: (from: string, to: string, line: number, way: Omit<SourceEdge, "from" | "to">) => void,
  ): void {
    for (const { isMisnamed, ...step } of this.steps) {
      const { from, to, line } = step;
      const isWay = !isMisnamed && step.isSaid; // else only to a step that would be lost
      if (!isWay && (isSettled(to) || comesBefore(to, from) || !isNumberedStep(to))) continue;
      if (isMisnamed) this.findings.add("warning", from, line, takenInPlace(to));
      else tellOfTaken(this.tree, from, step, this.findings);
      connect(from, to, line, { ...step, isDefault: false });
    }
  }

  /** Says of those that were named in unknown words which were not followed. */
  tell(isWay: (from: string, to: string) => boolean): void {
    for (const { from, to, line, isMisnamed } of this.steps)
      if (!isMisnamed && !isWay(from, to)) tellOfUnsaid(from, line, to, this.findings);
  }
}
