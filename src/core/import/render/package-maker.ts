import { type JsonObject, jsonFile } from "../../json.js";
import { excerpt } from "../../text.js";
import { type ConfigValues, usable } from "./config-values.js";
import { type Layers, valueUnder } from "../source/customization.js";
import type { Entry } from "../ways/entries.js";
import { type ImportFindings, named } from "../source/findings.js";
import { principlesOfMaterial } from "./names-in-material.js";
import { OUTPUT_KEY, UNFILLED, outputPath, withOutputPaths } from "./output-files.js";
import type { Places } from "./places.js";
import type { SourceGraph } from "../ways/plan-graph.js";
import { References, isBelow } from "../source/references.js";
import {
  type MadeEdge,
  type MadeNode,
  renderAgents,
  renderGraph,
  renderManifest,
  renderStep,
  renderWorkflow,
  titleOf,
} from "./render-package.js";
import { type RewriteRules, rewriteJson, rewriteLine, rewriteObject } from "./rewrite.js";
import { conditionOf } from "../ways/source-edge.js";
import { type SourceText, lineOfKey, readSource, textsOf, variablesFor } from "../source/source-text.js";
import { type SourceTree, folderOf, nameOf } from "../source/source-tree.js";

const VERSION = "1.0.0";
/** The file of a package that has what its customisation says. */
export const CUSTOMIZATION = "customization.json";
const CUSTOM_NAME = /^(?:workflow|agent)\./;
const DOTTED_NAME =
  /\{\{(\.\w{1,80}|config\.[\w.-]{1,200})\}\}|(?<!\{)\{((?:workflow|agent)\.[\w.-]{1,200})\}/g;
/** What a tool puts the words of its user in place of. */
const ARGUMENTS = /\$ARGUMENTS\b|\{\{args\}\}|\$\{input:/;
const FINISHED = "finished";
/** In place of the document where it is the one node: the model reads both, and would read it twice. */
const IN_ITS_STEP = ["", "The workflow's own document is the step file of its node.", ""];

/** The name of the package: the entry's, in small letters. */
export function packageName(entry: Entry): string {
  const name = idOf(entry.name.toLowerCase());
  return name === "" ? "workflow" : name;
}

/** A text as an id: letters, digits and dashes. */
function idOf(text: string): string {
  return text
    .slice(0, 200)
    .replace(/[^A-Za-z0-9._-]+/g, "-")
    .replace(/^[^A-Za-z0-9]+/, "")
    .slice(0, 80)
    .replace(/[-.]+$/, "");
}

interface Parts {
  readonly tree: SourceTree;
  readonly entry: Entry;
  readonly graph: SourceGraph;
  readonly config: ConfigValues;
  readonly custom: Layers;
  readonly places: Places;
  readonly findings: ImportFindings;
}

/** Makes the files of a package from what was planned, and says what of them cannot be made. */
export class PackageMaker {
  readonly nodes: readonly MadeNode[];
  readonly edges: readonly MadeEdge[];
  private readonly tree: SourceTree;
  private readonly entry: Entry;
  private readonly graph: SourceGraph;
  private readonly config: ConfigValues;
  private readonly places: Places;
  private readonly findings: ImportFindings;
  private readonly ids: ReadonlyMap<string, string>;
  private readonly document: SourceText;
  /** The customisation as the package has it; absent where the workflow has none. */
  private readonly custom?: JsonObject;

  constructor({ tree, entry, graph, config, custom, places, findings }: Parts) {
    this.tree = tree;
    this.entry = entry;
    this.graph = graph;
    this.config = config;
    this.places = places;
    this.findings = findings;
    this.document = graph.texts.get(graph.document) ?? readSource("");
    this.ids = idsOf(graph.nodes);
    if (custom.files.length > 0)
      this.custom = rewriteObject(custom.tables, this.rulesFor(graph.document, this.document));
    this.edges = this.makeEdges();
    this.nodes = this.makeNodes();
  }

  files(wholeRunConversation: boolean): ReadonlyMap<string, string> {
    const files = new Map<string, string>();
    const name = packageName(this.entry);
    const rules = this.rulesFor(this.graph.document, this.document);
    const body = this.document.written.map((line) => rewriteLine(line, rules));
    files.set("bmad.json", renderManifest(name, VERSION, this.entry.description, wholeRunConversation));
    if (this.custom !== undefined) files.set(CUSTOMIZATION, jsonFile(this.custom));
    const isAlone = this.graph.nodes.every((path) => path === this.graph.document);
    files.set("workflow.md", renderWorkflow(name, isAlone ? IN_ITS_STEP : body));
    const entryNodeId = this.ids.get(this.graph.startsAt) ?? "";
    files.set("workflow.graph.json", renderGraph(entryNodeId, this.nodes, this.edges));
    const nodeFiles = new Set(this.graph.nodes);
    const material = [...this.places.entries()].flatMap(([path, place]) =>
      nodeFiles.has(path) ? [] : [[place, this.material(path)] as const],
    );
    for (const [place, text] of material) files.set(place, text);
    const ofMaterial = principlesOfMaterial(material, rules);
    const hasArguments = [...this.graph.texts.values()].some(({ body }) =>
      body.some(({ text }) => ARGUMENTS.test(text)),
    );
    const told = { isAlone, isCustomized: this.custom !== undefined, hasArguments, ofMaterial };
    files.set("agents.json", renderAgents(name, this.document, told));
    for (const [index, path] of this.graph.nodes.entries()) {
      const node = this.nodes[index];
      if (node !== undefined) files.set(node.file, this.step(path, node));
    }
    const last = this.nodes.at(-1);
    if (last?.id === FINISHED)
      files.set(
        last.file,
        renderStep(last, {}, ["", "# Finished", "", "The workflow is done: finish this node.", ""]),
      );
    return files;
  }

  /** What is no node stays as it is, but for names with a dot in the workflow's own Markdown: no template has such. */
  private material(path: string): string {
    const text = this.tree.text(path);
    if (!path.endsWith(".md") || !isBelow(path, folderOf(this.graph.document))) return text;
    return text.replaceAll(
      DOTTED_NAME,
      (whole, central?: string, own?: string) => this.dottedValue(central ?? own ?? "") ?? whole,
    );
  }

  private step(path: string, node: MadeNode): string {
    const source = this.graph.texts.get(path) ?? readSource("");
    const rules = this.rulesFor(path, source);
    const body = source.written.map((line) => rewriteLine(line, rules));
    const own = withOutputPaths(rewriteObject(source.frontmatter, rules), rules);
    return renderStep(node, { ...own, ...this.inherited(source, body) }, body);
  }

  /** What the body names and only the workflow's document defines. */
  private inherited(source: SourceText, body: readonly string[]): JsonObject {
    const rules = this.rulesFor(this.graph.document, this.document);
    const own = new Set(Object.keys(source.frontmatter));
    const wanted = [...textsOf(this.document.frontmatter)].filter(
      ([key]) => !own.has(key) && !NO_VARIABLE.has(key) && body.some((line) => line.includes(`{${key}}`)),
    );
    return Object.fromEntries(wanted.map(([key, value]) => [key, rewriteJson(value, rules)]));
  }

  private makeNodes(): readonly MadeNode[] {
    const nodes = this.graph.nodes.map((path): MadeNode => {
      const id = this.idOf(path);
      const source = this.graph.texts.get(path) ?? readSource("");
      const out = this.edges.filter((edge) => edge.from === id).length;
      const isRouter = path === this.graph.document && out > 1;
      return {
        id,
        type: isRouter ? "decision" : out === 0 ? "end" : "step",
        file: path === this.graph.document ? "steps/workflow.md" : (this.places.of(path) ?? path),
        title: titleOf(source, id),
        outputs: this.outputsOf(path, source),
      };
    });
    if (this.graph.finishedAfter.length === 0) return nodes;
    return [...nodes, { id: FINISHED, type: "end", file: "finished.md", title: "Finished", outputs: [] }];
  }

  private makeEdges(): readonly MadeEdge[] {
    const seen = new Set<string>();
    const forks = new Set(
      this.graph.edges.flatMap(({ from }) => (seen.size < seen.add(from).size ? [] : [from])),
    );
    const edges = this.graph.edges.map((edge): MadeEdge => {
      const label = excerpt(edge.label, 80) || "next";
      const condition = excerpt(conditionOf(edge, !forks.has(edge.from)) ?? "", 300);
      return {
        from: this.idOf(edge.from),
        to: this.idOf(edge.to),
        label,
        ...(condition === "" || condition === label ? {} : { conditionText: condition }),
        isDefault: edge.isDefault,
      };
    });
    const finished = this.graph.finishedAfter.map(({ path, condition }): MadeEdge => {
      const conditionText = condition ?? "The workflow is done, or the user ends it.";
      const isDefault = condition === undefined;
      return { from: this.idOf(path), to: FINISHED, label: "finished", conditionText, isDefault };
    });
    const likely = finished.filter(({ isDefault }) => isDefault);
    const early = finished.filter(({ isDefault }) => !isDefault); // behind the others: a rehearsal takes the first of those that are alike
    return oneDefaultEach([...likely, ...edges, ...early]);
  }

  private idOf(path: string): string {
    return this.ids.get(path) ?? "";
  }

  /** The project files that a step names as its output file, relative to the project. */
  private outputsOf(path: string, source: SourceText): readonly string[] {
    const outputs = new Set<string>();
    for (const [key, value] of variablesFor(source, this.document)) {
      if (!OUTPUT_KEY.test(key) || !source.body.some(({ text }) => text.includes(`{${key}}`))) continue;
      const output = outputPath(value, this.rulesFor(path, source));
      if (output.path !== undefined) outputs.add(output.path);
      else this.tellOfOutput(path, source, key, `${named(value)}, which ${output.problem}`);
    }
    return [...outputs];
  }

  private tellOfOutput(path: string, source: SourceText, key: string, what: string): void {
    const file = Object.hasOwn(source.frontmatter, key) ? path : this.graph.document;
    const severity = what.endsWith(UNFILLED) ? "note" : "warning";
    const line = lineOfKey(this.tree.text(file), key);
    this.findings.add(severity, file, line, `${key} is ${what}: no output is declared`);
  }

  private rulesFor(path: string, source: SourceText): RewriteRules {
    const variables = variablesFor(source, this.document);
    const references = new References(this.tree, folderOf(this.graph.document), path, variables);
    return {
      resolve: (token) => references.resolve(token),
      placeOf: (target) => {
        if (target.kind === "folder") return this.places.ofFolder(target.path);
        if (target.kind !== "file") return undefined;
        return target.path === this.graph.document ? this.placeOfDocument() : this.places.of(target.path);
      },
      valueOf: (name) =>
        name.includes(".")
          ? this.dottedValue(name)
          : variables.has(name) && !NO_VARIABLE.has(name)
            ? undefined
            : this.config.values.get(name),
    };
  }

  /** `{{.user_name}}`, `{{config.core.user_name}}`, `{workflow.pot}`: a value of one line. */
  private dottedValue(name: string): string | undefined {
    if (name.startsWith(".")) return this.config.values.get(name.slice(1));
    const isCentral = name.startsWith("config.");
    if (!isCentral && !CUSTOM_NAME.test(name)) return undefined;
    const value = isCentral
      ? valueUnder(this.config.central, name.slice("config.".length))
      : valueUnder(this.custom ?? {}, name);
    if (typeof value === "number" || typeof value === "boolean") return String(value);
    if (typeof value !== "string" || value === "" || value.includes("\n")) return undefined;
    return isCentral ? usable(name.slice(name.lastIndexOf(".") + 1), value) : value;
  }

  /** Names with dots in the bodies that nothing is filled in for. */
  tellOfNames(): void {
    for (const [path, { body }] of this.graph.texts) {
      for (const { text, number } of body) {
        for (const [whole, central, name = central ?? ""] of text.slice(0, 4_000).matchAll(DOTTED_NAME)) {
          const why = this.whyUnknown(name);
          if (why !== undefined)
            this.findings.add("warning", path, number, `names ${whole}, ${why}: it is left to the model`);
        }
      }
    }
  }

  private whyUnknown(name: string): string | undefined {
    if (CUSTOM_NAME.test(name)) {
      const isThere = this.custom === undefined || valueUnder(this.custom, name) !== undefined;
      return isThere ? undefined : "which no layer of its customisation has";
    }
    if (/^\.[A-Z]/.test(name) || this.dottedValue(name) !== undefined) return undefined; // `docker ps --format "{{.Names}}"`
    const several = this.config.ambiguous.get(name.slice(1));
    if (several === undefined) return "which no configuration has";
    return `which the configuration has as ${several.slice(0, 5).map(named).join(" and ")}`;
  }

  private placeOfDocument(): string {
    return this.graph.nodes.includes(this.graph.document) ? "steps/workflow.md" : "workflow.md";
  }
}

/** Keys of every workflow document that say what it is. */
const NO_VARIABLE = new Set(["name", "description", "title", "type", "web_bundle", "author", "version"]);

/** At most one default out of each node: the first that says so, else the only way that goes on. */
function oneDefaultEach(edges: readonly MadeEdge[]): readonly MadeEdge[] {
  const withDefault = new Set<string>();
  const count = new Map<string, number>();
  for (const { from, to } of edges) if (to !== FINISHED) count.set(from, (count.get(from) ?? 0) + 1);
  return edges.map((edge) => {
    const isOnly = edge.to !== FINISHED && count.get(edge.from) === 1;
    const isDefault = (edge.isDefault || isOnly) && !withDefault.has(edge.from);
    if (isDefault) withDefault.add(edge.from);
    return { ...edge, isDefault };
  });
}

/** An id for each file: its name, with its folder's where two are alike. */
function idsOf(paths: readonly string[]): ReadonlyMap<string, string> {
  const ids = new Map<string, string>();
  const taken = new Set<string>([FINISHED]);
  for (const path of paths) {
    const name = idOf(nameOf(path).replace(/\.md$/, "")) || "step";
    const folder = idOf(nameOf(folderOf(path)));
    const candidates = [name, `${folder}.${name}`.replace(/^\./, "")];
    let id = candidates.find((candidate) => !taken.has(candidate));
    for (let count = 2; id === undefined; count += 1) {
      const numbered = `${name}.${count}`;
      if (!taken.has(numbered)) id = numbered;
    }
    taken.add(id);
    ids.set(path, id);
  }
  return ids;
}
