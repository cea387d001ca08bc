import { expect, test } from "vitest";
import { findEntries } from "../../../../src/core/import/ways/entries.js";
import { importPackage } from "../../../../src/core/import/import-package.js";
import { unreadEntries } from "../../../../src/core/import/source/left-out.js";
import { SourceTree } from "../../../../src/core/import/source/source-tree.js";
import { page, said } from "../step-files.js";

const TREE = new SourceTree(
  new Map([
    ["tea/workflow.md", page({ name: "tea" }, "Read fully and follow: `./steps/step-01-pot.md`")],
    [
      "tea/steps/step-01-pot.md",
      page({ nextStepFile: "./step-02-brew.md" }, "# Pot", "", "Then load `./step-02-brew.md`."),
    ],
  ]),
  new Map([
    ["tea/steps/step-02-brew.md", "unread"],
    ["tea/data/leaves.csv", "unread"],
    ["tea/assets/pot.png", "no text"],
    ["tea/notes.md", "link"],
    ["cups/SKILL.md", "unread"],
    ["cups/cup.png", "no text"],
  ] as const),
);

test("a step that could not be read is told of, and not as one that does not exist", () => {
  const [entry] = findEntries(TREE);
  if (entry === undefined) throw new Error("There is no entry.");
  expect(said(importPackage(TREE, entry), true)).toEqual([
    'warning tea/steps/step-01-pot.md:2 nextStepFile names "./step-02-brew.md", which was not read: no edge was made',
    'warning tea/steps/step-01-pot.md:6 names "tea/steps/step-02-brew.md", which was not read',
    "warning tea/steps/step-02-brew.md:0 is no UTF-8 text of at most 1 MiB: it was not read",
    "note tea/workflow.md:0 the package is without data/leaves.csv: no UTF-8 text of at most 1 MiB",
    "note tea/workflow.md:0 the package is without assets/pot.png: of a kind that is not read",
    "note tea/workflow.md:0 the package is without notes.md: links are not followed",
  ]);
});

test("a skill that could not be read is known to be one", () => {
  expect(unreadEntries(TREE)).toEqual(["cups/SKILL.md"]);
});
