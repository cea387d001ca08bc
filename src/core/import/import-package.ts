import { configValues } from "./render/config-values.js";
import { customizationOf } from "./source/customization.js";
import { type Entry, hasStepsOf } from "./ways/entries.js";
import { type ImportFinding, ImportFindings, named } from "./source/findings.js";
import { reportLeftOut } from "./source/left-out.js";
import { type Need, needsOf, referencesOf, remembers } from "./render/needs.js";
import { CUSTOMIZATION, PackageMaker, packageName } from "./render/package-maker.js";
import { Places } from "./render/places.js";
import { type SourceGraph, planGraph } from "./ways/plan-graph.js";
import { tellOfIncluded } from "./source/included.js";
import { filesInNamedFolders } from "./source/named-folders.js";
import { References, isBelow } from "./source/references.js";
import type { MadeEdge, MadeNode } from "./render/render-package.js";
import { type Call, callsOf, filesOfSkill } from "./skills.js";
import { readSource, variablesFor } from "./source/source-text.js";
import { type SourceTree, folderOf, nameOf, workflowBeside } from "./source/source-tree.js";

/** A package that was made from an entry, and what there is to say of it. */
export interface Imported {
  readonly entry: Entry;
  readonly name: string;
  /** The package's files by their paths; empty where a finding is an error. */
  readonly files: ReadonlyMap<string, string>;
  readonly nodes: readonly MadeNode[];
  readonly edges: readonly MadeEdge[];
  readonly findings: readonly ImportFinding[];
  readonly needs: readonly Need[];
  readonly calls: readonly Call[];
  /** The files that config values were taken from. */
  readonly configFiles: readonly string[];
  /** Steps rely on what was said before them: runs of the package keep the conversation. */
  readonly wholeRunConversation: boolean;
}

/** Makes a graph package of an entry that is no `workflow.yaml`. Never throws for what the source holds. */
export function importPackage(tree: SourceTree, entry: Entry): Imported {
  const findings = new ImportFindings();
  const graph = planGraph(tree, entry, findings);
  reportLeftOut(tree, entry, findings);
  reportTwin(tree, entry, findings);
  for (const [path, text] of graph.texts)
    tellOfIncluded(path, text, new References(tree, folderOf(entry.document), path, new Map()), findings);
  const config = configValues(tree, entry.document);
  const used = [...graph.texts.keys()].map((path) => tree.text(path));
  for (const { key, file, line, message } of config.problems) {
    if (key === undefined || used.some((text) => text.includes(`{${key}}`)))
      findings.add("warning", file, line, message);
  }
  const custom = customizationOf(tree, entry.path);
  for (const { file, line, message } of custom.problems) findings.add("warning", file, line, message);
  const places = new Places(entry, findings, custom.files.length > 0 ? [CUSTOMIZATION] : []);
  const calls = callsOf(tree, graph, entry, findings);
  takeAlong(tree, entry, graph, calls, places);
  for (const path of filesNamedByFolder(tree, entry, graph, { calls, findings })) places.add(tree, path);
  const made = new PackageMaker({ tree, entry, graph, config, custom, places, findings });
  made.tellOfNames();
  const remembering = [...graph.texts].flatMap(([path, source]) => {
    const line = remembers(source);
    return line === undefined || graph.nodes.length === 1 ? [] : [{ path, line }];
  });
  const [first] = remembering;
  if (first !== undefined) {
    findings.add(
      "note",
      first.path,
      first.line,
      "relies on what was said before: runs keep the whole conversation",
    );
  }
  const listed = findings.list();
  return {
    entry,
    name: packageName(entry),
    files: listed.some(({ severity }) => severity === "error") ? new Map() : made.files(first !== undefined),
    nodes: made.nodes,
    edges: made.edges,
    findings: listed,
    needs: needsOf([...graph.texts, ...referencesOf(tree, entry, graph)]),
    calls,
    configFiles: [...config.files, ...custom.files],
    wholeRunConversation: first !== undefined,
  };
}

/** Says of a skill without steps that the `workflow.md` beside it has some: it is a package of its own, of the same name. */
function reportTwin(tree: SourceTree, entry: Entry, findings: ImportFindings): void {
  const twin = workflowBeside(entry.path);
  if (entry.form !== "instructions" || nameOf(entry.document) !== "SKILL.md" || !tree.has(twin)) return;
  if (!hasStepsOf(tree, twin)) return;
  const what = `has no steps, and does not lead to those of ${named("workflow.md")} beside it: import that one as well`;
  findings.add("warning", entry.path, 0, what);
}

/** What lies in the folders elsewhere that steps name. */
function filesNamedByFolder(
  tree: SourceTree,
  entry: Entry,
  graph: SourceGraph,
  { calls, findings }: { readonly calls: readonly Call[]; readonly findings: ImportFindings },
): readonly string[] {
  const folder = folderOf(entry.document);
  const called = new Set(calls.flatMap((call) => call.folder ?? []));
  const document = graph.texts.get(entry.document) ?? readSource("");
  const texts = [...graph.texts].map(([path, source]) => ({
    path,
    source,
    references: new References(tree, folder, path, variablesFor(source, document)),
  }));
  return filesInNamedFolders(tree, folder, texts, called, findings);
}

/** The workflow's own folder, what its steps use from elsewhere, and the skills that they call. */
function takeAlong(
  tree: SourceTree,
  entry: Entry,
  graph: SourceGraph,
  calls: readonly Call[],
  places: Places,
): void {
  for (const path of graph.nodes) if (path !== graph.document) places.add(tree, path);
  const folder = folderOf(entry.document);
  for (const path of tree.filesBelow(folder)) if (path !== entry.document) places.add(tree, path);
  for (const call of calls) {
    const from = call.folder;
    if (from === undefined || isBelow(folder, from) || folder === from) continue;
    for (const path of filesOfSkill(tree, from))
      places.add(tree, path, { folder: from, as: `skills/${call.name}` });
  }
  for (const path of graph.used) if (path !== graph.document) places.add(tree, path);
}
