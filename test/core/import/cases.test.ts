import { expect, test } from "vitest";
import { type Texts, importOf, page, potOf, said, ways } from "./step-files.js";

/* The shapes in which a step says which of several ways is taken, and what it says without meaning it. */

test.each([
  ["Is it hot?", "- Yes: `step-02-leaf.md`", "- No: `step-03-cup.md`"],
  ["Is it hot?", "- **Yes:** `./step-02-leaf.md`", "- **No:** `./step-03-cup.md`"],
  ["Is it hot?", "* Yes – [leaf](./step-02-leaf.md)", "* No – [cup](./step-03-cup.md)"],
])("what came of a question leads on, each answer to its step: %s %s %s", (...lines) => {
  const { made, labels } = potOf(...lines);
  expect(labels).toEqual(["step-02-leaf: Yes", "step-03-cup: No"]);
  expect(said(made)).toEqual([]);
});

test.each([
  ["Upon approval, load `./step-02-leaf.md`.", "approval"],
  ["Based upon the user's answer, load `./step-02-leaf.md`.", "next"],
])("what comes upon something is a case, and what is based upon it none: %s", (line, label) => {
  expect(potOf(line).labels).toEqual([`step-02-leaf: ${label}`]);
});

test.each([
  ["Gate: approve → `./step-02-leaf.md`; revise → `./step-03-cup.md`", ["approve", "revise"]],
  ["If it is cold: warm it → `./step-02-leaf.md`", ["it is cold"]],
  ["Save the file; then → `./step-02-leaf.md`", ["next"]],
])("words before an arrow are a case where another one stands beside it: %s", (line, labels) => {
  expect(potOf(line).labels.map((label) => label.replace(/^.*: /, ""))).toEqual(labels);
});

test.each([
  ["- If it is green: [Leaf: the green one](./step-02-leaf.md)", "step-02-leaf: it is green"],
  ["- Else: [the cup](step-03-cup.md)", "step-03-cup: otherwise"],
  ["- **[1, 2]** → Read fully and follow: `./step-02-leaf.md`", "step-02-leaf: [1, 2]"],
  ["- Déjà chaud → Lire complètement et suivre : `./step-02-leaf.md`", "step-02-leaf: Déjà chaud"],
])("a case is one before a link, and before an arrow with some words behind it: %s", (line, label) => {
  expect(potOf(line).labels).toEqual([label]);
});

test("an answer that is told of leads nowhere", () => {
  const { to } = potOf("- No: `step-03-cup.md` is not for black tea.", "", "load ./step-02-leaf.md");
  expect(to).toEqual(["step-02-leaf"]);
});

test("of a list that says no more than names the first is taken, and each other one that nothing else leads to", () => {
  const { made, to } = potOf("Ways:", "* `step-02-leaf.md` – green", "* `step-03-cup.md` – black");
  expect(to).toEqual(["step-02-leaf", "step-03-cup"]);
  expect(said(made, true)).toEqual([
    expect.stringContaining(
      'steps/step-01-pot.md:6 names "step-02-leaf.md" in words that are not known to lead there: it was taken',
    ),
    expect.stringContaining(
      'steps/step-01-pot.md:7 names "step-03-cup.md" in words that are not known to lead there: it was taken',
    ),
  ]);
});

test.each<readonly [string, ...(readonly string[])]>([
  [
    "in the same text",
    "**If it is hot:**",
    "Say so.",
    "Then load `./step-02-leaf.md`",
    "",
    "**If it is cold:**",
    "Load `./step-03-cup.md`",
  ],
  [
    "in a section",
    "### If it is hot",
    "",
    "Say so.",
    "",
    "Load `./step-02-leaf.md`",
    "",
    "### If it is cold",
    "",
    "Load `./step-03-cup.md`",
  ],
  [
    "in a numbered section",
    "### 2. If it is hot:",
    "",
    "Load `./step-02-leaf.md`",
    "",
    "### 3. If it is cold:",
    "",
    "Load `./step-03-cup.md`",
  ],
])("a condition above a way is its own, %s", (_where, ...lines) => {
  const { labels } = potOf(...lines);
  expect(labels).toEqual(["step-02-leaf: it is hot", "step-03-cup: it is cold"]);
});

test("a section's condition ends with it, and one of a text with its blank line", () => {
  const { conditions } = potOf(
    "### If it is hot",
    "",
    "Blow on it.",
    "",
    "### Then",
    "",
    "Load `./step-02-leaf.md`",
    "",
    "**If it is cold:**",
    "Say so.",
    "",
    "Load `./step-03-cup.md`",
  );
  expect(conditions).toEqual(["step-02-leaf: Load ./step-02-leaf.md", "step-03-cup: Load ./step-03-cup.md"]);
});

test("a row whose cell sends on leads there, with its first cell as the case", () => {
  const { labels } = potOf(
    "| Found | Weight | Do |",
    "| --- | --- | --- |",
    "| A cold pot | low | Go to `step-02-leaf.md` |",
    "| No pot | **high** | Return to step-03-cup.md |",
    "| 4 | | Proceed to `step-04-sip.md` |",
    "| A leaf | low | Described in `step-04-sip.md` |",
  );
  expect(labels).toEqual(["step-02-leaf: A cold pot", "step-03-cup: No pot"]);
});

test.each([
  [
    "Go to `step-02-leaf.md` unless it is cold, in which case go to `step-03-cup.md`.",
    "unless it is cold",
    "it is cold",
  ],
  [
    "Unless it is cold, go to `step-02-leaf.md`. If it is cold, go to `step-03-cup.md`.",
    "unless it is cold",
    "it is cold",
  ],
  ["For each pot: load `step-02-leaf.md`, when none is left load `step-03-cup.md`.", "next", "none is left"],
])("a condition is said of its own step, and the right way round: %s", (line, first, second) => {
  expect(potOf(line).labels).toEqual([`step-02-leaf: ${first}`, `step-03-cup: ${second}`]);
});

test.each([
  ["If it is hot, load `./step-02-leaf.md`; else load `./step-03-cup.md`.", "it is hot", "otherwise"],
  ["If it is hot, load `./step-02-leaf.md`. Otherwise load `./step-03-cup.md`.", "it is hot", "otherwise"],
  ["If hot, load `./step-02-leaf.md`, otherwise proceed directly to `./step-03-cup.md`.", "hot", "otherwise"],
  ["Wenn heiß, lade `./step-02-leaf.md`, sonst weiter mit `./step-03-cup.md`.", "heiß", "otherwise"],
  [
    "If it is hot, load `./step-02-leaf.md`, else if it is cold, load `./step-03-cup.md`.",
    "it is hot",
    "it is cold",
  ],
])("what is done otherwise is not called as the case before it: %s", (line, first, second) => {
  expect(potOf(line).labels).toEqual([`step-02-leaf: ${first}`, `step-03-cup: ${second}`]);
});

test("what comes below an else is said to be otherwise", () => {
  const { labels } = potOf(
    "if it is hot:",
    "    load ./step-02-leaf.md",
    "else:",
    "    load ./step-03-cup.md",
  );
  expect(labels).toEqual(["step-02-leaf: it is hot", "step-03-cup: otherwise"]);
});

test("anything else is no other case", () => {
  expect(potOf("For anything else, load `./step-02-leaf.md`.").labels).toEqual(["step-02-leaf: next"]);
});

test.each([
  ["C → `./step-02-leaf.md`", "S → `./step-03-cup.md`", "C", "S"],
  ["C: `./step-02-leaf.md`", "S: `./step-03-cup.md`", "C", "S"],
  ["[C] `./step-02-leaf.md`", "[S] `./step-03-cup.md`", "C", "S"],
  ["y → step-02-leaf.md", "n → step-03-cup.md", "y", "n"],
  ["✅ → `./step-02-leaf.md`", "❌ → `./step-03-cup.md`", "✅", "❌"],
])("a case of a letter is its own line's, and not the line's before it: %s", (first, second, one, other) => {
  const { made, labels, conditions } = potOf("Is it hot?", "", first, second);
  expect(labels).toEqual([`step-02-leaf: ${one}`, `step-03-cup: ${other}`]);
  expect(conditions.join("\n")).not.toMatch(/Is it hot|leaf.*cup|cup.*leaf/);
  expect(said(made)).toEqual([]);
});

test("what stands in a tag that says when is done then", () => {
  const { labels } = potOf(
    '<check if="it is hot">',
    "  <check if='it is very hot'>",
    "    <action>Load step-03-cup.md</action>",
    "  </check>",
    "  <action>Load step-02-leaf.md</action>",
    "</check>",
    "Load step-04-sip.md",
  );
  expect(labels).toEqual(["step-03-cup: it is very hot", "step-02-leaf: it is hot", "step-04-sip: next"]);
});

test("a tag that has no end says nothing of what comes below it", () => {
  expect(potOf('<check if="it is hot">', "Say so.", "", "Load step-02-leaf.md").labels).toEqual([
    "step-02-leaf: next",
  ]);
});

test("a row whose cell has an arrow before a step leads there, whatever its column is called", () => {
  const { labels, made } = potOf(
    "| Result | What then |",
    "| --- | --- |",
    "| It is hot | → `./step-02-leaf.md` |",
    "| It is cold | → step-03-cup.md |",
  );
  expect(labels).toEqual(["step-02-leaf: It is hot", "step-03-cup: It is cold"]);
  expect(said(made)).toEqual([]);
});

test("a row that says what comes after a step is no case", () => {
  const { to } = potOf(
    "| What | What then |",
    "| --- | --- |",
    "| 2. Leaf | → step-03-cup.md |",
    "| `step-03` | → step-04-sip.md |",
    "",
    "Load ./step-02-leaf.md",
  );
  expect(to).toEqual(["step-02-leaf"]);
});

test("of several ways in a line each has the words right before its arrow", () => {
  const line = "Gate: approve → `./step-02-leaf.md`; ask for more → `./step-03-cup.md`";
  expect(potOf(line).labels).toEqual(["step-02-leaf: approve", "step-03-cup: ask for more"]);
});

test.each([
  ["If it is warm go to ./step-03-cup.md", ["step-03-cup: it is warm", "step-02-leaf: next"]],
  ["Loop back to step 1 until it is warm, then go to step 3.", ["step-03-cup: next"]],
  [
    "Upon approval go to step 2. Upon rejection → step-03-cup.",
    ["step-03-cup: rejection", "step-02-leaf: approval"],
  ],
])("what is said of another way is no case of this one: %s", (line, labels) => {
  expect(potOf(line).labels).toEqual(labels);
});

test.each([
  ["If it is cold --> ./step-02-leaf.md", "it is cold"],
  ["- It is cold --> ./step-02-leaf.md", "It is cold"],
  ["- → Begin: load ./step-02-leaf.md", "next"],
  ["If user selects 'A', stay here. If 'C', skip this and load ./step-02-leaf.md.", "C"],
  ["ONLY when the guest picks [5] (or leaves) will you load ./step-02-leaf.md.", "5"],
  ["When the guest types C, read fully and follow ./step-02-leaf.md.", "C"],
  ["After you have asked the guests, return and I'll load: ./step-02-leaf.md", "you have asked the guests"],
  ["Tea of another pot → return here → load ./step-02-leaf.md", "next"],
  ["On an unknown tea, fall back to ./step-02-leaf.md", "next"],
])("a way is called by the words that say when it is taken: %s", (line, label) => {
  expect(potOf(line).labels).toEqual([`step-02-leaf: ${label}`]);
});

/** How the first step of two leads to the second, with these keys and lines. */
function wayOn(keys: Texts, ...lines: readonly string[]): readonly string[] {
  const made = importOf({
    "SKILL.md": page({ name: "tea", description: "x" }, "Load ./steps/step-01-pot.md"),
    "steps/step-01-pot.md": page(keys, "# Pot", "", ...lines),
    "steps/step-02-leaf.md": page({}, "# Leaf", "", "The last step."),
  });
  return ways(made).filter((way) => way.startsWith("step-01-pot"));
}

test("that a case goes on at once says nothing of the way that is gone in any case", () => {
  const next = { nextStepFile: "./step-02-leaf.md" };
  const shortcut = "If there is no tea, **SKIP this step** and proceed to {nextStepFile}.";
  expect(wayOn(next, shortcut, "", "Load {nextStepFile}.")).toEqual(["step-01-pot -next*-> step-02-leaf"]);
  const menu = "- IF C: load {nextStepFile}";
  expect(wayOn(next, shortcut, "", menu)).toEqual(["step-01-pot -C*-> step-02-leaf"]);
  const skip = "If there is no tea: skip to {nextStepFile}";
  expect(wayOn(next, skip)).toEqual(["step-01-pot -there is no tea*-> step-02-leaf"]);
});

test("what a key is called gives way to what the body says of when", () => {
  const alt = { altStepFile: "./step-02-leaf.md" };
  expect(wayOn(alt, "- [1, 2] → Load {altStepFile}")).toEqual(["step-01-pot -[1, 2]*-> step-02-leaf"]);
  expect(wayOn({ next_step_success: "./step-02-leaf.md" })).toEqual(["step-01-pot -success*-> step-02-leaf"]);
});

test("what an item leaves is a part of the step, where another line says where in it to go on", () => {
  const lines = ["- `X` — Exit tasting early", "", "- On X: keep the rest, go to step 4.", ""];
  expect(potOf(...lines, "Load ./step-02-leaf.md").to).toEqual(["step-02-leaf"]);
  expect(potOf("- `X` — Exit tea early", "", "Load ./step-02-leaf.md").to).toEqual([
    "step-02-leaf",
    "finished",
  ]);
});
