import { MAX_NAMES, tokensInBody } from "../words/body-tokens.js";
import { chainedTo, directiveOf, leadsBack, startsFolder } from "../words/directives.js";
import { routedRows, routedTo } from "../words/routing-tables.js";
import { conditionsAbove } from "../words/conditions-above.js";
import { waysInCode } from "./ways-in-code.js";
import type { Entry } from "./entries.js";
import { type FrontWay, edgeOf, isEndValue, waysInFront } from "./front-ways.js";
import { targetOfKey } from "./key-target.js";
import { type Finish, finishesOf, lastByName, saysLast } from "./ends.js";
import { type ImportFindings, named } from "../source/findings.js";
import { firstStepsBelow, firstStepsIn, firstPassedOver, modesBeside } from "./first-steps.js";
import { FoundGraph } from "./found-graph.js";
import { whyAbsent } from "../source/left-out.js";
import { References, type Token, isBelow } from "../source/references.js";
import {
  type SourceLine,
  type SourceText,
  lineOfKey,
  readSource,
  variablesFor,
} from "../source/source-text.js";
import { type SourceEdge, lacksFirst } from "./source-edge.js";
import { type SourceTree, folderOf, nameOf, workflowBeside, isEntryName } from "../source/source-tree.js";
import {
  comesBefore,
  isMaterial,
  isStepFile,
  isStepFolder,
  namesStepBeside,
  nearestStep,
  nextInOrder,
} from "../source/step-files.js";
import { StepLists } from "./step-lists.js";
import { StepsBeside } from "./steps-beside.js";
import { stepBehind } from "./step-behind.js";
import { unsaidWays } from "./unsaid-ways.js";
import {
  reportName,
  takeNext,
  tellOfAssumed,
  tellOfCircle,
  tellOfCode,
  tellOfFirst,
  tellOfMode,
  tellOfNames,
  tellOfNumber,
  tellOfGone,
  tellOfOutside,
  tellOfTaken,
  tellOfText,
} from "./step-reports.js";
import { reportUnreached } from "./unreached.js";
import { StepNames, goesBack, hasPart, isOfOther, leadsTo } from "../words/step-names.js";

/** The files that become nodes, in the order in which they are reached, and the ways between them. */
export interface SourceGraph {
  /** What the entry document is read as; a node of its own only where `startsAt` is it. */
  readonly document: string;
  readonly startsAt: string;
  readonly nodes: readonly string[];
  readonly edges: readonly SourceEdge[];
  readonly texts: ReadonlyMap<string, SourceText>;
  /** Files that steps use and come back from: data, templates, helpers, other skills. */
  readonly used: ReadonlySet<string>;
  /** The folders of other workflows that a menu calls and comes back from. */
  readonly called: ReadonlySet<string>;
  /** The nodes after which a run may be finished, beside those that nothing follows. */
  readonly finishedAfter: readonly Finish[];
}

const NEXT = { label: "next", isDefault: true };
/** Of a step that a key names by its title. */
const MAX_TITLE_WORDS = 5;
/** Follows an entry from step to step. What is ambiguous becomes a finding. */
export function planGraph(tree: SourceTree, entry: Entry, findings: ImportFindings): SourceGraph {
  const walk = new GraphWalk(tree, entry, findings);
  walk.run();
  return walk.graph();
}

class GraphWalk {
  private readonly tree: SourceTree;
  private readonly entry: Entry;
  private readonly findings: ImportFindings;
  private readonly folder: string;
  private readonly document: SourceText;
  private readonly texts = new Map<string, SourceText>();
  private readonly called = new Set<string>();
  /** So many of them were asked what is behind them, and for ways in blocks of code: each once. */
  private readonly asked = { behind: 0, code: 0 };
  private readonly found: FoundGraph;
  private readonly beside: StepsBeside;
  private readonly names: StepNames;
  private readonly lists: StepLists;

  constructor(tree: SourceTree, entry: Entry, findings: ImportFindings) {
    this.tree = tree;
    this.entry = entry;
    this.findings = findings;
    this.folder = folderOf(entry.document);
    this.document = readSource(tree.text(entry.document));
    this.found = new FoundGraph(entry, findings);
    this.beside = new StepsBeside(tree, findings);
    this.names = new StepNames(tree, this.folder);
    this.lists = new StepLists(tree, entry.document, this.document, this.names);
  }

  run(): void {
    this.visit(this.entry.document);
    this.followFirst();
    const { order } = this.found;
    for (const path of order) {
      this.visit(path);
      // Each adds to the order: the next one looks for more where none has found anything.
      if (path === order.at(-1)) this.followModes();
      if (path === order.at(-1)) this.followBeside();
      if (path === order.at(-1)) this.followBehind();
      if (path === order.at(-1)) this.followAllCode();
    }
    const { tree, folder, findings } = this;
    const reached = new Set([...order, ...this.found.helpers, this.entry.document]);
    this.beside.tell((from, to) => this.found.leads(from, to));
    reportUnreached(tree, { folder, order, reached }, findings);
  }

  graph(): SourceGraph {
    const { document } = this.entry;
    const edges = this.lists.withoutSkips(this.tree, this.found.edges);
    const starts = edges.filter((edge) => edge.from === document);
    const isReturnedTo = edges.some((edge) => edge.to === document);
    const [first] = starts;
    const isNode = first === undefined || starts.length > 1 || isReturnedTo;
    const nodes = isNode ? [document, ...this.found.order] : this.found.order;
    const kept = edges.filter((edge) => isNode || edge.from !== document);
    const last = lastByName(nodes, kept);
    const finishes = finishesOf(nodes, kept, last, this.texts);
    for (const { path, isAdded } of finishes) if (isAdded) tellOfCircle(path, this.findings);
    return {
      document,
      startsAt: isNode ? document : first.to,
      nodes,
      edges: kept,
      texts: this.texts,
      used: this.found.used,
      called: this.called,
      finishedAfter: [...last.map((path) => ({ path })), ...finishes],
    };
  }

  private visit(path: string): void {
    const source = path === this.entry.document ? this.document : readSource(this.tree.text(path));
    this.texts.set(path, source);
    tellOfText(path, source, source === this.document, this.findings);
    const references = this.referencesOf(path, source);
    this.followKeys(path, source, references);
    this.followBody(path, source, references);
    this.followNames(path, source);
    this.followLists(path);
    if (this.found.edgesFrom(path).length === 0) this.followUnsaid(path, source, references);
    if (this.found.edgesFrom(path).length > 0) this.noteUnsaid(path, source, references);
    if (this.found.edgesFrom(path).length === 0) this.followCode(path, source, references);
    if (lacksFirst(this.found.waysOnFrom(path))) this.followOrder(path, source);
  }

  private referencesOf(path: string, source: SourceText): References {
    return new References(this.tree, this.folder, path, variablesFor(source, this.document));
  }

  /** `nextStepFile` and its like, `next: [{ when, goto }]`, `on_failure`. */
  private followKeys(path: string, source: SourceText, references: References): void {
    for (const way of waysInFront(source.frontmatter)) this.followKey(path, way, references);
  }

  private followKey(path: string, said: FrontWay, references: References): void {
    const { key, value, when, isNext } = said;
    const line = lineOfKey(this.tree.text(path), key);
    const target = targetOfKey(value, path, references, this.names);
    if (target.kind === "file" && target.path === path) {
      if (isNext && when === undefined)
        this.findings.add("warning", path, line, `${key} names the step itself: no edge was made`);
      return;
    }
    const way = edgeOf(said);
    if (target.kind === "missing") {
      if (!/\.md$/i.test(value) && (isEndValue(value) || !isNext)) return;
      if (!/file|step$/i.test(key) && value.trim().split(/\s+/).length > MAX_TITLE_WORDS) return; // it tells of something
      const near = nearestStep(this.tree, path, target.path);
      const remedy = near === undefined ? "no edge was made" : `taken for ${named(near)}`;
      const problem = `${key} names ${named(value)}, which ${whyAbsent(this.tree, target.path)}: ${remedy}`;
      this.findings.add("warning", path, line, problem);
      if (near !== undefined) this.found.connect(path, near, line, when === undefined ? NEXT : way);
      else if (way.isDefault) this.found.lost.add(path);
    } else if (
      target.kind === "file" &&
      (isNext ? target.path.endsWith(".md") : isStepFile(this.tree, target.path))
    )
      // Named as the step after another one it is one, whatever it is called: `step-02-resume.md` of what takes up a paused project.
      this.found.connect(path, target.path, line, way, way.isDefault);
  }

  private followBody(path: string, source: SourceText, references: References): void {
    const above = conditionsAbove(source.body);
    const rows = routedRows(source.body);
    let names = 0;
    for (const { line, token, before } of tokensInBody(source.body)) {
      const target = references.resolve(token.text);
      if (target.kind === "other") continue;
      names += 1;
      if (names > MAX_NAMES) return tellOfNames(path, line.number, this.findings);
      if (this.isOfAnother(path, line, token.at)) continue;
      if (target.kind === "outside") {
        tellOfOutside(path, line.number, token.text, this.findings);
        continue;
      }
      const directive =
        routedTo(rows.get(line.number), line, token) ??
        directiveOf(line, token, before, above.get(line.number));
      if (target.kind === "missing") {
        if (directive.kind === "go") this.beside.addMissing(path, line.number, target.path, directive);
        else if (target.isOwn) tellOfGone(path, line.number, target.path, this.findings);
      } else if (target.kind === "folder") {
        if (directive.kind === "go" && isStepFolder(this.tree, target.path) && startsFolder(line))
          this.found.enter(path, firstStepsIn(this.tree, target.path, path), line.number);
      } else if (directive.kind === "go" && this.mayBeNode(target.path, path, line, token)) {
        if (this.isCall(target.path, directive.label)) this.called.add(folderOf(target.path));
        else if (path !== this.entry.document && this.isProcedure(target.path))
          this.found.use(target.path, path);
        else this.found.connect(path, target.path, line.number, directive);
      } else if (directive.kind !== "pass" && target.path !== path) this.found.use(target.path, path);
    }
  }

  /** Of a document that leads to where some of its lists begin: to where the others begin as well. */
  private followLists(document: string): void {
    const { firsts } = this.lists.in(document);
    const starts = this.found.edgesFrom(document).map(({ to }) => to);
    if (starts.length === 0 || starts.some((path) => !firsts.has(path))) return;
    for (const [path, line] of firsts) {
      if (starts.includes(path)) continue;
      const steps = firstStepsIn(this.tree, folderOf(path), document).filter((step) => step.path === path);
      this.found.enter(document, steps, line);
    }
  }

  /** Steps that the body names by number, stem or title. Their number in words leads on only where no file is named. */
  private followNames(path: string, source: SourceText): void {
    const namesFiles = this.found.edgesFrom(path).length > 0;
    const above = conditionsAbove(source.body);
    const rows = routedRows(source.body);
    let before = "";
    for (const line of source.body) {
      for (const step of this.names.in(line.text, path)) {
        const routed = routedTo(rows.get(line.number), line, step);
        const directive = routed ?? directiveOf(line, step, before, above.get(line.number));
        if (directive.kind !== "go" || (routed === undefined && !leadsTo(line.text, step, before))) continue;
        const isReturn = directive.label === "back" || goesBack(line.text, step);
        if (step.steps.includes(path) || hasPart(source.body, step, line.number, isReturn)) continue;
        if (this.isOfAnother(path, line, step.at)) continue;
        const [only, ...others] = step.steps;
        const isKnown = step.steps.some((to) => this.found.leads(path, to));
        if (others.length > 0 && isKnown) continue;
        const isEarlier = only !== undefined && comesBefore(only, path);
        const isBack = isEarlier && isReturn && !isOfOther(source.body, line, step);
        if (step.form === "number" && namesFiles && !isBack) {
          if (!isKnown) tellOfNumber(path, line.number, step, this.findings);
        } else if (only !== undefined && others.length === 0)
          this.found.connect(path, only, line.number, directive);
        else reportName(path, line.number, step, this.findings);
      }
      if (line.text.trim() !== "") before = line.text.slice(0, 400);
    }
  }

  /** Whether what stands at a place of a line comes after another step than this one: "`step-01` → `step-02`", or an item of a list. */
  private isOfAnother(path: string, line: SourceLine, at: number): boolean {
    if (this.lists.in(path).later.has(line.number)) return true;
    const from = chainedTo(line.text, at);
    if (from === undefined || `${from}.md` === nameOf(path)) return false;
    return !this.names.called(from, path).includes(path);
  }

  /** `[A]` and `[P]` lead into other workflows and return; only `[C]` goes on. */
  private isCall(target: string, label: string): boolean {
    return !isBelow(target, this.folder) && isEntryName(nameOf(target)) && /^[A-BD-Z]$/.test(label);
  }

  /** A workflow of its own among the references is carried out and come back from. */
  private isProcedure(target: string): boolean {
    return isEntryName(nameOf(target)) && isMaterial(target, this.folder);
  }

  private mayBeNode(target: string, from: string, line: SourceLine, token: Token): boolean {
    if (!target.endsWith(".md") || target === from) return false;
    const isOwn = target === workflowBeside(this.entry.document) && from !== this.entry.document;
    if (target === this.entry.document || isOwn) return leadsBack(line, token);
    if (isStepFile(this.tree, target)) return true;
    return isEntryName(nameOf(target)) && nameOf(target) !== "SKILL.md";
  }

  /** Steps that a text names in words that are not known, where no other lead on. */
  private followUnsaid(path: string, source: SourceText, references: References): void {
    for (const way of unsaidWays(this.tree, path, source, references, this.entry)) {
      tellOfTaken(this.tree, path, way, this.findings);
      this.found.connect(path, way.to, way.line, way);
    }
  }

  private noteUnsaid(path: string, source: SourceText, references: References): void {
    const led = new Set(this.found.edgesFrom(path).map(({ to }) => to));
    this.beside.addUnsaid(path, source, references, { document: this.entry.document, led });
  }

  private followBeside(): void {
    this.beside.follow(
      (path) => this.found.order.includes(path) || !isBelow(path, this.folder),
      (...way) => this.found.connect(...way),
    );
  }

  /** The one step that blocks of code alone lead to: people leave fences open. */
  private followCode(path: string, source: SourceText, references: References): void {
    const [only, ...others] = waysInCode(this.tree, path, source, references);
    if (only === undefined || others.length > 0 || path === this.entry.document) return;
    const [to, { line }] = only;
    tellOfCode(path, line, to, this.findings);
    this.found.connect(path, to, line, NEXT);
  }

  /** The steps that nothing but blocks of code leads to: "IF {it_is_cold}: → Load `x.md`". */
  private followAllCode(): void {
    for (const path of this.unasked("code")) {
      const source = this.texts.get(path);
      if (source === undefined || this.found.isDocument(path)) continue;
      const ways = waysInCode(this.tree, path, source, this.referencesOf(path, source));
      for (const [to, { line, way }] of ways) {
        if (this.found.order.includes(to) || !isBelow(to, this.folder) || !namesStepBeside(this.tree, to))
          continue;
        tellOfCode(path, line, to, this.findings);
        this.found.connect(path, to, line, { ...way, isDefault: false });
      }
    }
  }

  /** A step that names none after it, with one numbered after it beside it, and that does not say it is the last. */
  private followOrder(path: string, source: SourceText): void {
    if (this.found.isDocument(path)) {
      if (path !== this.entry.document || this.entry.form === "steps") this.assumeFirst(path);
      return;
    }
    const listed = this.lists.after(path);
    if (listed !== undefined) return this.found.connect(path, listed, 0, NEXT);
    if (saysLast(source) || this.found.helpers.has(path)) return;
    const inOrder = nextInOrder(this.tree, path);
    const known = inOrder.find((next) => this.found.leads(path, next)); // a later item of its menu names it
    const next = known ?? takeNext(path, inOrder, this.lists.lines, this.findings);
    if (next !== undefined) this.found.connect(path, next, 0, NEXT);
  }

  private unasked(what: "behind" | "code"): readonly string[] {
    const from = this.asked[what];
    this.asked[what] = this.found.order.length;
    return this.found.order.slice(from);
  }

  private followBehind(): void {
    for (const path of this.unasked("behind")) {
      const next = stepBehind(this.tree, path, this.found.edgesFrom(path), this.texts.get(path));
      if (next === undefined || this.found.order.includes(next) || this.found.used.has(next)) continue;
      this.found.connect(path, takeNext(path, [next], this.lists.lines, this.findings) ?? next, 0, NEXT);
    }
  }

  /** Where every way out of the document is one under a condition, to a later step: else a run begins with the first. */
  private followFirst(): void {
    const { document } = this.entry;
    const first = firstPassedOver(this.tree, this.found.edgesFrom(document), document);
    if (first === undefined) return;
    tellOfFirst(document, first, this.findings);
    this.found.connect(document, first, 0, NEXT);
  }

  /** The modes of the first step's folder that nothing leads to: a document may say how to choose in words of its own. */
  private followModes(): void {
    const { document } = this.entry;
    const starts = this.found.edgesFrom(document).map(({ to }) => to);
    for (const mode of modesBeside(this.tree, starts, document)) {
      const { path, label } = mode;
      if (this.found.order.includes(path) && !mode.isNamed) continue; // else only another mode leads there
      tellOfMode(mode, document, this.findings);
      this.found.connect(document, path, 0, { label, isDefault: false });
    }
  }

  private assumeFirst(path: string): void {
    const steps = firstStepsBelow(this.tree, path);
    if (steps.length === 0) return;
    tellOfAssumed(this.tree, path, steps, this.findings);
    this.found.enter(path, steps, 0);
  }
}
