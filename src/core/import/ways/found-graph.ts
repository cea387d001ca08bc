import type { FirstStep } from "./first-steps.js";
import type { Entry } from "./entries.js";
import type { ImportFindings } from "../source/findings.js";
import { type SourceEdge, better } from "./source-edge.js";
import { folderOf, nameOf, isEntryName } from "../source/source-tree.js";
import { isBelow } from "../source/references.js";
import { comesBefore, resumesRun } from "../source/step-files.js";
import { tellOfResumed, tellOfWorkflow } from "./step-reports.js";

/** More steps and ways than these are no workflow. */
const MAX_NODES = 400;
const MAX_EDGES = 4_000;

/** What has been found of a workflow's graph so far, while it is followed from step to step. */
export class FoundGraph {
  /** The nodes beside the document, as they were reached. */
  readonly order: string[] = [];
  /** Files that are used and come back from. */
  readonly used = new Set<string>();
  /** Of these the ones that a step uses, and not the document alone, which may list its steps in a table. */
  readonly helpers = new Set<string>();
  /** Steps whose `nextStepFile` is not there. */
  readonly lost = new Set<string>();
  private readonly entry: Entry;
  private readonly findings: ImportFindings;
  private readonly folder: string;
  private readonly ways = new Map<string, SourceEdge>();

  constructor(entry: Entry, findings: ImportFindings) {
    this.entry = entry;
    this.findings = findings;
    this.folder = folderOf(entry.document);
  }

  get edges(): readonly SourceEdge[] {
    return [...this.ways.values()];
  }

  edgesFrom(path: string): readonly SourceEdge[] {
    return this.edges.filter((edge) => edge.from === path);
  }

  /** The ways out of a step: of one whose `nextStepFile` is not there those back are none. */
  waysOnFrom(path: string): readonly SourceEdge[] {
    const ways = this.edgesFrom(path);
    if (!this.lost.has(path)) return ways;
    return ways.filter(({ to }) => !isEntryName(nameOf(to)) && !comesBefore(to, path));
  }

  /** Whether there is a way from one to another. */
  leads(from: string, to: string): boolean {
    return this.ways.has(`${from}\n${to}`);
  }

  /** The entry's, or the `workflow.md` that it leads to. */
  isDocument(path: string): boolean {
    return path === this.entry.document || nameOf(path) === "workflow.md";
  }

  use(path: string, by?: string): void {
    this.used.add(path);
    if (!resumesRun(path) && (by === undefined || !this.isDocument(by))) this.helpers.add(path);
  }

  /** "Execute the steps in `./steps-k/`": the first of them. */
  enter(path: string, steps: readonly FirstStep[], line: number): void {
    for (const { path: first, label } of steps) this.connect(path, first, line, { label, isDefault: false });
  }

  /** Makes a node of a file, and a way to it; the likelier of two ways between the same is kept. What is none is told of. */
  connect(
    from: string,
    to: string,
    line: number,
    edge: Omit<SourceEdge, "from" | "to">,
    isStep = this.order.includes(to),
  ): void {
    if (from === to) return;
    if (resumesRun(to) && !isStep) {
      this.use(to);
      return tellOfResumed(to, this.findings);
    }
    if (!isBelow(to, this.folder)) {
      this.use(to);
      return tellOfWorkflow(from, line, to, this.findings);
    }
    const key = `${from}\n${to}`;
    const known = this.ways.get(key);
    const isNew = to !== this.entry.document && !this.order.includes(to);
    if (known !== undefined) this.ways.set(key, better(known, edge));
    else if (this.ways.size >= MAX_EDGES || (isNew && this.order.length >= MAX_NODES)) {
      const bound = `${MAX_NODES} steps and ${MAX_EDGES} ways between them`;
      this.findings.add("error", this.entry.path, 0, `has more than ${bound}: divide it`);
    } else {
      this.ways.set(key, { from, to, ...edge });
      if (isNew) this.order.push(to);
    }
  }
}
