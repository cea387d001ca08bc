import { findEntries } from "../../../src/core/import/ways/entries.js";
import { type Imported, importPackage } from "../../../src/core/import/import-package.js";
import { SourceTree } from "../../../src/core/import/source/source-tree.js";

export type Texts = Readonly<Record<string, string>>;

export function treeOf(texts: Texts): SourceTree {
  return new SourceTree(new Map(Object.entries(texts)));
}

/** Front matter and body. */
export function page(frontmatter: Texts, ...body: readonly string[]): string {
  const head = Object.entries(frontmatter).map(([key, value]) => `${key}: '${value}'`);
  return ["---", ...head, "---", ...body, ""].join("\n");
}

/** Imports the one entry of a tree that is not a `workflow.yaml`, or the one of this path. */
export function importOf(texts: Texts, path?: string): Imported {
  const tree = treeOf(texts);
  const found = findEntries(tree).filter(
    (entry) => entry.form !== "yaml" && (path ?? entry.path) === entry.path,
  );
  const [entry] = found;
  if (entry === undefined || found.length > 1) throw new Error(`There are ${found.length} entries.`);
  return importPackage(tree, entry);
}

/** Imports four steps about tea. The first is the one whose lines are given; the two after it lead to the last. */
export function potOf(...lines: readonly string[]) {
  const texts: Texts = {
    "SKILL.md": page({ name: "tea", description: "x" }, "Load ./steps/step-01-pot.md"),
    "steps/step-01-pot.md": page({}, "# Pot", "", ...lines),
    "steps/step-02-leaf.md": page({}, "# Leaf", "", "load ./step-04-sip.md"),
    "steps/step-03-cup.md": page({}, "# Cup", "", "load ./step-04-sip.md"),
    "steps/step-04-sip.md": page({}, "# Sip", "", "The last step."),
  };
  const made = importOf(texts);
  const from = made.edges.filter((edge) => edge.from === "step-01-pot");
  return {
    made,
    to: from.map(({ to }) => to),
    labels: from.map(({ to, label }) => `${to}: ${label}`),
    conditions: from.map(({ to, conditionText }) => `${to}: ${conditionText ?? ""}`),
  };
}

/** The ways of a package: `from -label-> to`, with `*` where it is the default. */
export function ways({ edges }: Imported): readonly string[] {
  return edges.map(({ from, to, label, isDefault }) => `${from} -${label}${isDefault ? "*" : ""}-> ${to}`);
}

/** What an import says, `severity file:line message`, without its notes where they are not asked for. */
export function said({ findings }: Imported, notes = false): readonly string[] {
  return findings
    .filter(({ severity }) => notes || severity !== "note")
    .map(({ severity, file, line, message }) => `${severity} ${file}:${line} ${message}`);
}
