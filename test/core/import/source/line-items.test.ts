import { expect, test } from "vitest";
import { itemsApart } from "../../../../src/core/import/source/line-items.js";
import { potOf } from "../step-files.js";

/* A menu in one line: what an item says holds of that item alone. */

test.each<readonly [string, readonly string[]]>([
  [
    "[R] Again: return to `./step-03-cup.md`, [C] On: load `./step-02-leaf.md`",
    ["step-03-cup: R", "step-02-leaf: C"],
  ],
  [
    "- **[R] Again**: back to `./step-03-cup.md` / **[C] On**: load `./step-02-leaf.md`",
    ["step-03-cup: R", "step-02-leaf: C"],
  ],
  [
    "IF R: return to `./step-03-cup.md`; IF C: load `./step-02-leaf.md`",
    ["step-03-cup: R", "step-02-leaf: C"],
  ],
  ["R: return to `./step-03-cup.md`, C: load `./step-02-leaf.md`", ["step-03-cup: R", "step-02-leaf: C"]],
  ["(R) Again → `./step-03-cup.md`, (C) On → `./step-02-leaf.md`", ["step-03-cup: R", "step-02-leaf: C"]],
  [
    "1) Again: load `./step-03-cup.md`, 2) On: load `./step-02-leaf.md`",
    ["step-03-cup: 1", "step-02-leaf: 2"],
  ],
  [
    "Choose: [R] Again: return to `./step-03-cup.md`, [C] On: load `./step-02-leaf.md`",
    ["step-03-cup: R", "step-02-leaf: C"],
  ],
  ["[A] More: do not load `./step-03-cup.md`, [C] On: load `./step-02-leaf.md`", ["step-02-leaf: C"]],
  ["[X] Stop: end the workflow, [C] On: load `./step-02-leaf.md`", ["step-02-leaf: C", "finished: finished"]],
])("%s", (line, labels) => {
  expect(potOf(line).labels).toEqual(labels);
});

test("the line stays in the package as it stood", () => {
  const line = "[R] Again: stay here, [C] On: load `./step-02-leaf.md`";
  const written = potOf(line).made.files.get("steps/step-01-pot.md") ?? "";
  expect(written).toContain(line.replace("./", "@pkg/steps/"));
});

test.each([
  "Example: [R] Again: return to x, [C] On: load y",
  "Never: [R] Again: return to x, [C] On: load y",
  "The keys are [1]: the pot, [2]: the leaf.",
  "The box has A: tea and B: milk.",
  "| [R] Again: x | [C] On: y |",
  "[C] On: load x, and [C] again: load y",
  "Copy C:\\tea to D:\\pot",
  "[C] On: load x",
])("is no menu of several items: %s", (text) => {
  const line = { text, isCode: false };
  expect(itemsApart([line])).toEqual([line]);
});

test("a line of code is none", () => {
  const line = { text: "[R] Again: x, [C] On: y", isCode: true };
  expect(itemsApart([line])).toEqual([line]);
});
