import { expect, test } from "vitest";
import { importOf, page, potOf, said, ways } from "./step-files.js";

/* The words in which a step leads on, and those in which it only tells of a step. A word against it stands in its own clause. */

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
  "The leaf is not open, so, to be safe, go back to `./step-01-pot.md`.",
  "If the pot is unknown, read fully and follow `./step-01-pot.md` for context gathering.",
  "If the pot is unknown, go to `./step-01-pot.md` for the template.",
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
  "Don’t load `./step-01-pot.md`.",
  "You mustn't go back to `./step-01-pot.md`.",
  "It is not permitted, under any condition, to load `./step-01-pot.md`.",
  "It is not necessary, when the cup is warm, to return to `./step-01-pot.md`.",
  "The agent does not, at any time, load `./step-01-pot.md`.",
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

test.each([
  "If rejected: `./step-01-pot.md`",
  "[R] Again: `./step-01-pot.md`",
  "⇒ `./step-01-pot.md`",
  "Rejected ➜ step-01",
  "-> step-01",
  "Back to step-01.",
  "Re-loop step-01 (pot) → step-02",
  "Rerun `step-01`.",
  "Redo `./step-01-pot.md`.",
  "Repeat `./step-01-pot.md` until it is hot.",
  "If empty → Resume at step-01 (pot)",
  "Resume at step-03 (cup) or step-01 (pot)",
  "Hand over to `./step-01-pot.md`.",
  "Navigate to `./step-01-pot.md`.",
  "Load @steps/step-01-pot.md.",
  "Please open @./step-01-pot.md now.",
  "If ./step-01-pot.md was skipped, go back to ./step-01-pot.md",
  "If `./step-01-pot.md` is to be done again, load it.",
  "When `./step-01-pot.md` is what they want, read fully and follow it.",
  "If so `./step-01-pot.md` → load",
  "When `./step-01-pot.md` reports a leak, return to it.",
  "If `./step-01-pot.md` is needed, load the file.",
  "When ./step-01-pot.md fails, re-run that step.",
])("a way is read in these words as well: %s", (line) => {
  const made = secondSays(line);
  expect(made.edges.map(({ to }) => to)).toContain("step-01-pot");
  expect(said(made)).toEqual([]);
});

test.each([
  "Check it as step-01 is to be repeated.",
  "Perform the same tasting as in `./step-01-pot.md`.",
  "If the pot is named in the log: see `./step-01-pot.md` for rules.",
  "The transfer of what `./step-01-pot.md` has made is done.",
  "Do not hand over to `./step-01-pot.md`.",
  "If you need the list of pots: `./step-01-pot.md` has it.",
  "When this step began: `./step-01-pot.md` had been completed.",
  "When writing, use the template: `./step-01-pot.md`",
  "[A] Notes: `./step-01-pot.md` is the source",
  "The checks that repeat `./step-01-pot.md` are not needed.",
  "`./step-01-pot.md` holds the leaf→pot table, which is needed for re-filling.",
  "`step-01-pot.md §2` passed it over, as it was cold → (said below)",
  "Load `./step-01-pot.md` as reference for what pots there are.",
  "Read `./step-01-pot.md` for context.",
  "Once `./step-01-pot.md` is complete, load `./step-03-cup.md`.",
  "If the ./step-01-pot.md was skipped, go on to ./step-03-cup.md",
  "When `./step-01-pot.md` fails, load `./step-03-cup.md`.",
  "Load `./step-03-cup.md` after `./step-01-pot.md` has run.",
  "When `./step-01-pot.md` is done, return to the guest and load `./step-03-cup.md`.",
])("a step that is told of is no way: %s", (line) => {
  expect(secondSays(line).edges.map(({ to }) => to)).not.toContain("step-01-pot");
});

test.each([
  ['<action if="the pot is cold">Load ./step-01-pot.md</action>', "the pot is cold"],
  ["(R) Redo: load `./step-01-pot.md`", "R"],
  ["- cold or empty → [[tea-snapshot:step-01-pot.md]]", "cold or empty"],
  ["IF mode == return-to-pot: load `./step-01-pot.md`", "mode == return-to-pot"],
  ["1️⃣ Redo → load `./step-01-pot.md`", "Redo"],
])("a way has what the line says of when it is taken: %s", (line, label) => {
  expect(secondSays(line).edges.find(({ to }) => to === "step-01-pot")?.label).toBe(label);
});

test.each([
  ["If `{warmth}` < 7 return to `./step-01-pot.md`, else go to `./step-03-cup.md`.", "otherwise"],
  ["If rejected return to ./step-01-pot.md otherwise continue with ./step-03-cup.md.", "otherwise"],
  ["Return to `./step-01-pot.md` if it fails and go on to `./step-03-cup.md` if it passes.", "it passes"],
  ["Return to `./step-01-pot.md` if rejected, or continue to `./step-03-cup.md`.", "next"],
  ["Return the pot to the guest, and load `./step-03-cup.md`.", "next"],
  ["Go back to `./step-01-pot.md` or `./step-03-cup.md`.", "back"],
  ["Re-run ./step-01-pot.md and ./step-03-cup.md", "back"],
  ["Re-run ./pot.md, ./step-01-pot.md, and ./step-03-cup.md", "back"],
  ["Go back to `./pot.md`, `./step-01-pot.md` or `./step-03-cup.md`.", "back"],
  ["Return to `./step-01-pot.md` §2 (the first) or `./step-03-cup.md` §3.", "back"],
  ["Return to `./step-01-pot.md`, look at it and load `./step-03-cup.md`.", "next"],
  ["Return to `./step-01-pot.md` order by order; `./step-03-cup.md` is what follows → go on.", "next"],
  ["Go back and, if it is warm, load `./step-03-cup.md`.", "back"],
  ["After the look, load `./step-01-pot.md` when warm, `./step-03-cup.md` when cold.", "cold"],
  ["Once it has drawn: load `./step-01-pot.md` if weak, `./step-03-cup.md` only if strong.", "strong"],
  ["Read `notes.md` if there are any. If it is warm load `./step-03-cup.md` when asked.", "it is warm"],
  ["After the look, note it in `notes.md` when asked, and load `./step-03-cup.md`.", "the look"],
  ["If `./pot.md` is missing, load `./step-03-cup.md`.", "./pot.md is missing"],
  ["If anything else is missing, load `./step-03-cup.md`.", "anything else is missing"],
  ["Unless it is said otherwise, load `./step-03-cup.md`.", "unless it is said otherwise"],
])("a way on is not called after the way back beside it: %s", (line, label) => {
  const made = importOf({
    "SKILL.md": page({ name: "tea", description: "x" }, "Load ./steps/step-01-pot.md"),
    "steps/step-01-pot.md": page({}, "# Pot", "", "load ./step-02-leaf.md"),
    "steps/step-02-leaf.md": page({}, "# Leaf", "", line),
    "steps/step-03-cup.md": page({}, "# Cup", "", "The last step."),
  });
  expect(made.edges.find(({ to }) => to === "step-03-cup")?.label).toBe(label);
});

test.each<[string, string, string]>([
  ["a paragraph", "**If `{cold}` = true:**\n→ Load `./step-01-pot.md` to begin again", "{cold} = true"],
  [
    "a paragraph with items",
    "If the pot is cold:\n\n1. Say so.\n2. Load `./step-01-pot.md`.",
    "the pot is cold",
  ],
  ["an item", "- If the pot is cold:\n  - Say so.\n  - Go to step-01.\n- Be quiet.", "the pot is cold"],
  ["a letter", "IF R:\n- Load `./step-01-pot.md`", "R"],
  ["an item before", "- If the pot is cold:\n  - Say so.\n- Load `./step-01-pot.md`", "next"],
  [
    "a paragraph before",
    "If the pot is cold:\n- Say so.\n\nThis is so.\n\n- Load `./step-01-pot.md`",
    "next",
  ],
])("a way stands under the condition above it: %s", (_how, lines, label) => {
  const way = secondSays(lines).edges.find(({ to }) => to === "step-01-pot");
  expect(way?.label).toBe(label);
  expect(way?.conditionText?.startsWith(lines.split("\n")[0]?.replaceAll(/[*`]/g, "") ?? "?")).toBe(
    label !== "next",
  );
});

test("a letter in quotes is one, and a line's own condition comes before one above it", () => {
  const lines =
    "#### If 'C' (Continue):\n\n- Load `./step-01-pot.md`\n\nAfter it has brewed, load `./step-01-pot.md`.";
  const way = secondSays(lines).edges.find(({ to }) => to === "step-01-pot");
  expect([way?.label, way?.conditionText]).toEqual(["C", "After it has brewed, load ./step-01-pot.md."]);
});

test("of several ways in a line each has its own case, in marks before its arrow, and the words around it", () => {
  const before = "If there is tea (green, black, white or any other that the house has), set it out. ".repeat(
    4,
  );
  const cases = "`cold`/`old` → `./step-01-pot.md`, `warm` → `./step-03-cup.md`";
  const made = secondSays(`- ${before}Then exit to the step of its state: ${cases}. Sit down.`);
  const from = made.edges.filter((edge) => edge.from === "step-02-leaf");
  expect(from.map(({ to, label }) => [to, label])).toEqual([
    ["step-01-pot", "cold/old"],
    ["step-03-cup", "warm"],
  ]);
  expect(from[0]?.conditionText).toMatch(/^Then exit to the step of its state: cold\/old → /);
});

test("a chain of steps in a line is no way past the first, whatever stands behind its name", () => {
  const made = importOf({
    "SKILL.md": page(
      { name: "tea" },
      "Load ./steps/step-01-pot.md",
      "",
      "In a hurry, when called so, the chain is: step-01-pot.md §1 (look) → §2 (smell) → `step-03-cup.md`.",
    ),
    "steps/step-01-pot.md": page({}, "load ./step-02-leaf.md"),
    "steps/step-02-leaf.md": page({}, "load ./step-03-cup.md"),
    "steps/step-03-cup.md": page({}, "The last step."),
  });
  expect(made.nodes.map(({ id }) => id)).toEqual(["step-01-pot", "step-02-leaf", "step-03-cup"]);
});

test("a compound is no word that leads on", () => {
  const made = secondSays("Keep to what step-01-pot.md §4 derives, without mid-run changes.");
  expect(made.edges.map(({ from, to }) => `${from} ${to}`)).not.toContain("step-02-leaf step-01-pot");
});

test("a table whose cells send on is a menu by its letters, and one that describes steps is none", () => {
  const made = importOf({
    "SKILL.md": page({ name: "tea" }, "Load ./steps/step-01-pot.md"),
    "steps/step-01-pot.md": page({}, "load ./step-02-leaf.md"),
    "steps/step-02-leaf.md": page(
      { nextStepFile: "./step-03-cup.md" },
      "| Choice | What | Where |",
      "| ------ | ---- | ----- |",
      "| C1 | On | Continue to step-03-cup.md |",
      "| C2 | Again | Go to step-01-pot.md |",
      "",
      "| A | step-04-sip.md | Load the cup |",
    ),
    "steps/step-03-cup.md": page({}, "load ./step-04-sip.md"),
    "steps/step-04-sip.md": page({}, "The last step."),
  });
  const from = made.edges.filter((edge) => edge.from === "step-02-leaf");
  expect(from.map(({ to, label }) => [to, label])).toEqual([
    ["step-03-cup", "C1"],
    ["step-01-pot", "C2"],
  ]);
});

test("a menu whose first item names no file leads on to the next step beside its other ways", () => {
  const menu = importOf({
    "SKILL.md": page({ name: "tea" }, "Load ./steps/step-01-pot.md"),
    "steps/step-01-pot.md": page({}, "load ./step-02-leaf.md"),
    "steps/step-02-leaf.md": page({}, "| C1 | On | Proceed |", "| C2 | Again | Go to step-01-pot.md |"),
    "steps/step-03-cup.md": page({}, "The last step."),
  });
  expect(menu.edges.filter(({ from }) => from === "step-02-leaf").map(({ to }) => to)).toEqual([
    "step-01-pot",
    "step-03-cup",
  ]);
});

test("a condition that the user's words hold is none", () => {
  const made = secondSays('- Improvement: "Could we ...", "What if we ..." -> Go to `./step-01-pot.md`');
  expect(made.edges.find(({ to }) => to === "step-01-pot")?.label).toBe("next");
});

test.each([
  "[Previous: Pot](step-01-pot.md) | [Next: Cup](step-03-cup.md)",
  "← [Pot](step-01-pot.md) | [Cup](step-03-cup.md) →",
  "[⬅️ Pot](step-01-pot.md)   [Cup ➡️](step-03-cup.md)",
  "[← Back](step-01-pot.md) | [Next →](step-03-cup.md)",
  "**Previous:** [the pot](step-01-pot.md) · **Next:** [the cup](step-03-cup.md)",
  "« [Prev](step-01-pot.md) — [Next](step-03-cup.md) »",
  '- Previous step: `step-01-pot.md` with the "execute" decision',
  "- Previous step: `step-01-pot.md` completed",
])("where a reader comes from is no way: %s", (line) => {
  const made = secondSays(line);
  expect(made.edges.map(({ from, to }) => `${from} ${to}`)).toEqual([
    "step-01-pot step-02-leaf",
    "step-02-leaf step-03-cup",
  ]);
});

test.each([
  "If the previous cup was cold, go back to `step-01-pot.md`.",
  "Return to the previous step: `step-01-pot.md`",
  "Previous cup cold → `step-01-pot.md`",
])("what is done about what was before is a way: %s", (line) => {
  expect(secondSays(line).edges.map(({ to }) => to)).toContain("step-01-pot");
});

test.each([
  "Redirect to `./step-01-pot.md` if it is cold.",
  "Divert the guest to `./step-01-pot.md`.",
  "Branch to [the pot](./step-01-pot.md) if it is cold.",
  "Forward to `./step-01-pot.md`",
  "Delegate the work to `step-01-pot.md`.",
  "Send them back to `./step-01-pot.md` if it is cold.",
  "Pass control to `./step-01-pot.md`.",
  "Drop back into `step-01`.",
  "Trigger `./step-01-pot.md` where it is cold.",
  "Then: `./step-01-pot.md`",
  "Redirect the user to step-01-pot.",
])("what is sent to a step goes on there: %s", (line) => {
  const made = secondSays(line);
  expect(made.edges.map(({ to }) => to)).toContain("step-01-pot");
  expect(said(made)).toEqual([]);
});

test.each([
  "Send `step-01-pot.md` to the guest.",
  "Do not redirect to `step-01-pot.md`.",
  "The branch of `step-01-pot.md` stays.",
  "It passes what `step-01-pot.md` has made.",
  "Note the colour and pass it to step-01 as COLOUR.",
])("what is sent, and what is not, goes nowhere: %s", (line) => {
  expect(secondSays(line).edges.map(({ to }) => to)).not.toContain("step-01-pot");
});

test("a word that leads on does so in its own sentence", () => {
  const { to } = potOf(
    "Run the check as it is. In step 3 (`step-03-cup.md`), behind the first part, a part on milk is added.",
    "",
    "The pot is warm. Go on now. You find it at `./step-02-leaf.md`.",
  );
  expect(to).toEqual(["step-02-leaf"]);
});

test("the case of what else may be done is not the way's own", () => {
  const { labels } = potOf(
    "This completes the pot. Run `./step-02-leaf.md` to enter the next mode, or proceed to another pot if it is cold.",
    "Load `./step-03-cup.md` if it is warm.",
  );
  expect(labels).toEqual(["step-02-leaf: next", "step-03-cup: it is warm"]);
});

test("an arrow between two words of a sentence leads nowhere", () => {
  const line = "The pots (leaf→cup table and four cases) are in `./step-03-cup.md`, which holds their names.";
  expect(potOf(line, "", "load ./step-02-leaf.md").to).toEqual(["step-02-leaf"]);
  expect(potOf("cold→`./step-03-cup.md`, else load ./step-02-leaf.md").to).toEqual([
    "step-03-cup",
    "step-02-leaf",
  ]);
});

test.each([
  "IF S: ask for a path (e.g. `src/`). Then load `./step-03-cup.md` to begin anew.",
  "IF S (a path, e.g. `src/`): load `./step-03-cup.md`",
])("an example of something else keeps no way from being one: %s", (line) => {
  expect(potOf(line).labels).toEqual(["step-03-cup: S"]);
});

test.each([
  "Load the first of them (e.g. `./step-03-cup.md`).",
  "For example, load `./step-03-cup.md` then.",
  "**Example:** it is cold. Load `./step-03-cup.md`.",
  "- **P4** — a patch (e.g. of a `pot`). Routes to the cook (see leaf.md §3 / `./step-03-cup.md` §2).",
  "Then re-run the cold and warm checks from `./step-03-cup.md` for each pot.",
  "It routes to the cook, and is applied by `./step-03-cup.md` §2.",
])("an example, a place to look at and what is done here lead nowhere: %s", (line) => {
  expect(potOf(line, "", "load ./step-02-leaf.md").to).toEqual(["step-02-leaf"]);
});

test("a case that goes on at once says nothing of the way on, which other lines name as well", () => {
  const made = importOf({
    "SKILL.md": page({ name: "tea", description: "x" }, "Load ./steps/step-01-pot.md"),
    "steps/step-01-pot.md": page(
      { nextStepFile: "./step-02-leaf.md" },
      "# Pot",
      "",
      "Proceed to {nextStepFile}.",
      "If there is no pot, skip this and go directly to {nextStepFile}.",
    ),
    "steps/step-02-leaf.md": page({}, "# Leaf", "", "The last step."),
  });
  expect(ways(made)).toEqual(["step-01-pot -next*-> step-02-leaf"]);
});
