import { expect, test } from "vitest";
import { importOf, page, said } from "./step-files.js";

/* A word against something stands in its own clause: in the condition of a way it denies nothing. */

function secondSays(line: string) {
  return importOf({
    "SKILL.md": page({ name: "tea", description: "x" }, "Load ./steps/step-01-pot.md"),
    "steps/step-01-pot.md": page({}, "# Pot", "", "load ./step-02-leaf.md"),
    "steps/step-02-leaf.md": page({}, "# Leaf", "", line, "", "Otherwise load ./step-03-cup.md"),
    "steps/step-03-cup.md": page({}, "# Cup", "", "The last step."),
  });
}

test.each([
  "If the water is not warm, go back to `./step-01-pot.md`.",
  "If not approved, return to `./step-01-pot.md`.",
  "If not approved return to `./step-01-pot.md`.",
  "When the guest doesn't like it, read fully and follow `./step-01-pot.md`.",
  "The leaf has not opened, so go back to `./step-01-pot.md`.",
  "- Not found → load `./step-01-pot.md`",
  "- Poured without a strainer - go back to `step-01`",
  "If it was never rinsed then go to `./step-01-pot.md`.",
  "If there was no time before — return to `./step-01-pot.md`",
  "Do not wait for an answer, continue with `./step-01-pot.md`.",
  "Don't stop and go back to `./step-01-pot.md`.",
  "Wenn das Wasser nicht warm ist, gehe zurück zu `./step-01-pot.md`.",
])("a condition that denies something has its way: %s", (line) => {
  const made = secondSays(line);
  expect(made.edges.map(({ to }) => to)).toContain("step-01-pot");
  expect(said(made)).toEqual([]);
});

test.each([
  "If it is cold, do not load `./step-01-pot.md` again.",
  "Do NOT, when in doubt, load `./step-01-pot.md`.",
  "If it is not warm, do not read, load or follow `./step-01-pot.md`.",
  "This step does not load `./step-01-pot.md`.",
  "Do not wait, ask or go back to `./step-01-pot.md`.",
  "Proceed without loading `./step-01-pot.md`.",
  "Never load `./step-01-pot.md` from here.",
])("what a line denies is no way: %s", (line) => {
  expect(secondSays(line).edges.map(({ to }) => to)).not.toContain("step-01-pot");
});

test("a step that ends the workflow where something is not so has a way to the end", () => {
  const made = importOf({
    "SKILL.md": page({ name: "tea", description: "x" }, "Load ./steps/step-01-pot.md"),
    "steps/step-01-pot.md": page({}, "# Pot", "", "load ./step-02-leaf.md"),
    "steps/step-02-leaf.md": "If the guest does not want more, exit the workflow.\nload ./step-01-pot.md\n",
  });
  expect(said(made)).toEqual([]);
  expect(made.edges.map(({ to }) => to)).toContain("finished");
});
