import { expect, test } from "vitest";
import { importOf, page, said, ways } from "../step-files.js";

/* What a front matter says of the ways on: lists with conditions, mappings, keys for failures, and TOML. */

function teaOf(first: string, second = page({}, "# Leaf", "", "The leaf.")) {
  return importOf({
    "SKILL.md": page({ name: "tea", description: "x" }, "Load ./steps/step-01-pot.md"),
    "steps/step-01-pot.md": first,
    "steps/step-02-leaf.md": second,
    "steps/step-03-cup.md": page({}, "# Cup", "", "The last step."),
  });
}

function pot(...head: readonly string[]): string {
  return ["---", ...head, "---", "# Pot", "", "Look.", ""].join("\n");
}

const LEAF_ON = "step-02-leaf -next*-> step-03-cup";

test.each([
  [["next: [{ id: step-02-leaf }]"], "step-01-pot -next*-> step-02-leaf"],
  [["next: [{ id: step-02-leaf, when: warm }]"], "step-01-pot -warm*-> step-02-leaf"],
  [["next: [{ id: warm, goto: step-02-leaf }]"], "step-01-pot -next*-> step-02-leaf"],
])("a step may be named by its id: %s", (head, way) => {
  const made = teaOf(pot(...head));
  expect(ways(made)).toEqual([way, LEAF_ON]);
  expect(said(made).filter((line) => line.includes("step-01-pot"))).toEqual([]);
});

test.each([
  [
    [
      "next:",
      "  - when: approved",
      "    goto: step-02-leaf",
      "  - when: rejected",
      "    goto: ./step-03-cup.md",
    ],
    ["step-01-pot -approved-> step-02-leaf", "step-01-pot -rejected-> step-03-cup", LEAF_ON],
  ],
  [
    ["next:", "  - { if: it is warm, to: step-02-leaf }", "  - else: step-03-cup"],
    ["step-01-pot -it is warm-> step-02-leaf", "step-01-pot -otherwise-> step-03-cup", LEAF_ON],
  ],
  [
    ["next:", "  approved: ./step-02-leaf.md", "  not_approved: ./step-03-cup.md"],
    ["step-01-pot -approved-> step-02-leaf", "step-01-pot -not approved-> step-03-cup", LEAF_ON],
  ],
  [
    ["transitions:", "  - on: done", "    target: step-02-leaf", "  - on: skip", "    target: step-03-cup"],
    ["step-01-pot -done-> step-02-leaf", "step-01-pot -skip-> step-03-cup", LEAF_ON],
  ],
  [
    ["flow:", "  next: step-02-leaf", "  on_failure: step-03-cup"],
    ["step-01-pot -next*-> step-02-leaf", "step-01-pot -on failure-> step-03-cup", LEAF_ON],
  ],
  [
    ["onApprove: step-02-leaf", "onReject: step-03-cup"],
    ["step-01-pot -on approve-> step-02-leaf", "step-01-pot -on reject-> step-03-cup", LEAF_ON],
  ],
  [
    ["next:", "  - when: approved", "    goto: step-02-leaf", "  - when: rejected", "    goto: end"],
    ["step-01-pot -approved*-> step-02-leaf", LEAF_ON, "step-01-pot -finished-> finished"],
  ],
  [
    ["next: step-02-leaf", "on_failure: abort"],
    ["step-01-pot -next*-> step-02-leaf", LEAF_ON, "step-01-pot -finished-> finished"],
  ],
  [
    ["next: step-02-leaf", "on_failure: retry"],
    ["step-01-pot -next*-> step-02-leaf", LEAF_ON],
  ],
  [
    ["next: step-02-leaf", "branches: [main, step-03-cup.txt]"],
    ["step-01-pot -next*-> step-02-leaf", LEAF_ON],
  ],
])("a front matter says when a way is taken: %j", (head, expected) => {
  const made = teaOf(pot(...head));
  expect(ways(made)).toEqual(expected);
  expect(said(made).filter((line) => !line.includes("by its number"))).toEqual([]);
});

test.each([
  "branch: cup",
  "routes: [home, cup]",
  "transition: fade",
  "on_failure: 3",
  "on_retry: 3",
  "on_timeout: 3",
  "on_error: log",
])("what a front matter says of other things is no way: %s", (line) => {
  const made = teaOf(pot("next: step-02-leaf", line));
  expect(ways(made)).toEqual(["step-01-pot -next*-> step-02-leaf", LEAF_ON]);
});

test("a step that says only what comes of a failure goes on to the next one by its number", () => {
  const made = teaOf(pot("next: step-02-leaf"), pot("on_failure: step-01-pot"));
  expect(ways(made)).toContain("step-02-leaf -next*-> step-03-cup");
  expect(ways(made)).toContain("step-02-leaf -on failure-> step-01-pot");
});

test("a case that names what is not there is said with its line", () => {
  const made = teaOf(
    pot("next:", "  - when: approved", "    goto: step-02-leaf", "  - when: x", "    goto: ./step-07.md"),
  );
  expect(said(made)).toContain(
    'warning steps/step-01-pot.md:2 next names "./step-07.md", which does not exist: no edge was made',
  );
});

test("a front matter of TOML is read, and said with its line where it is none", () => {
  const made = teaOf(
    ["+++", 'next_step = "step-03-cup.md"', 'error_step = "step-02-leaf.md"', "+++", "# Pot", ""].join("\n"),
  );
  expect(ways(made)).toEqual([
    "step-01-pot -next*-> step-03-cup",
    "step-01-pot -on error-> step-02-leaf",
    LEAF_ON,
  ]);
  expect(made.nodes[0]?.title).toBe("Pot");
  const broken = teaOf(
    ["+++", "a = 1", "next step", "+++", "# Pot", "", "load ./step-02-leaf.md"].join("\n"),
  );
  expect(said(broken)[0]).toMatch(/^warning steps\/step-01-pot\.md:1 the front matter is no TOML \(line 3: /);
});
