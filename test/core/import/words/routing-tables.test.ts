import { expect, test } from "vitest";
import { importOf, page, said, ways } from "../step-files.js";

/* Tables that say where each case leads, and those that look like them. */

const KITCHEN = {
  "steps/pour.md": "# Pour\n\nThe last step.\n",
  "steps/rinse.md": "# Rinse\n\nThe last step.\n",
};

test("a table with a column of steps to load is a menu, with the first cell as the case", () => {
  const made = importOf({
    "workflow.md": page(
      { name: "tea", description: "x" },
      "Ask what is wanted, then load the step:",
      "",
      "| Input | Words | Load Step |",
      "| :--- | --- | ---: |",
      "| `1` | cup, 杯 | `./steps/pour.md` |",
      "| 2 | pot | [Rinse](./steps/rinse.md) |",
      "| X | leave | Exit the workflow |",
    ),
    ...KITCHEN,
  });
  expect(ways(made)).toEqual(["workflow -1-> pour", "workflow -2-> rinse", "workflow -finished-> finished"]);
  expect(said(made)).toEqual([]);
});

function potOf(...lines: readonly string[]) {
  const made = importOf({
    "SKILL.md": page({ name: "tea", description: "x" }, "Load ./steps/step-01-pot.md"),
    "steps/step-01-pot.md": page({}, "# Pot", "", ...lines),
    "steps/step-02-leaf.md": page({}, "# Leaf", "", "load ./step-04-sip.md"),
    "steps/step-03-cup.md": page({}, "# Cup", "", "load ./step-04-sip.md"),
    "steps/step-04-sip.md": page({}, "# Sip", "", "The last step."),
  });
  return {
    made,
    labels: made.edges.filter(({ from }) => from === "step-01-pot").map(({ to, label }) => `${to}: ${label}`),
  };
}

test("in a step as well: each case has its way", () => {
  const { made, labels } = potOf(
    "| Water | Next step | Why |",
    "|---|---|---|",
    "| hot | step-02-leaf.md | see step-04-sip.md |",
    "| **cold** | `step-03-cup.md` | |",
  );
  expect(labels).toEqual(["step-02-leaf: hot", "step-03-cup: cold"]);
  expect(made.edges[1]?.conditionText).toBe("cold step-03-cup.md");
});

test("a case that is called the default is it", () => {
  const { made } = potOf(
    "| Flag | Next step |",
    "|---|---|",
    "| --cold | → step-03-cup.md |",
    "| Default | → step-02-leaf.md |",
  );
  expect(made.edges.filter(({ isDefault }) => isDefault).map(({ to }) => to)).toContain("step-02-leaf");
  expect(made.edges.find(({ to }) => to === "step-03-cup")?.isDefault).toBe(false);
});

test.each<readonly [string, ...(readonly string[])]>([
  ["that counts the steps", "| # | Load |", "|---|---|", "| 1 | step-02-leaf.md |", "| 2 | step-03-cup.md |"],
  ["of what comes after which", "| Done | Next step |", "|---|---|", "| step-02-leaf.md | step-03-cup.md |"],
  ["that describes them", "| Water | Step file |", "|---|---|", "| hot | step-03-cup.md |"],
  ["of follow-ups", "| Water | Follow-up |", "|---|---|", "| hot | step-03-cup.md |"],
  ["without a rule below its head", "| Water | Next step |", "| hot | step-03-cup.md |"],
])("a table %s leads nowhere", (_what, ...lines) => {
  expect(potOf(...lines, "", "load ./step-02-leaf.md").labels).toEqual(["step-02-leaf: next"]);
});

test("a block of code alone leads on to no step before: templates begin with their first", () => {
  const made = importOf({
    "SKILL.md": page({ name: "tea", description: "x" }, "Load ./steps/step-01-pot.md"),
    "steps/step-01-pot.md": page({}, "load ./step-02-cup.md"),
    "steps/step-02-cup.md": page({}, "Write it:", "", "```markdown", "Start with step-01-pot.md", "```"),
  });
  expect(ways(made)).toEqual(["step-01-pot -next*-> step-02-cup"]);
  expect(said(made)).toEqual([]);
});

test("when, with a list below it, is no way otherwise; a bracket around a condition is none of its words", () => {
  expect(potOf("Proceed to step-02-leaf.md when:", "- it is warm").labels).toEqual(["step-02-leaf: next"]);
  expect(potOf("Load step-02-leaf.md (or load step-03-cup.md if --cold)").labels).toEqual([
    "step-02-leaf: next",
    "step-03-cup: --cold",
  ]);
});

test("what has to be done before is no way", () => {
  const { labels } = potOf("- Completion of step-03-cup.md (PROCEED or not)", "", "load ./step-02-leaf.md");
  expect(labels).toEqual(["step-02-leaf: next"]);
});
