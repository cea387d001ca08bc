import { expect, test } from "vitest";
import { type Texts, importOf, page, potOf, said, ways } from "./step-files.js";

/* Steps that are named otherwise than by their file: by its stem, by their number, by their title. */

const STEPS: Texts = {
  "steps/step-02-leaf.md": page({}, "# Step 2: Leaf", "", "Last. The workflow is complete."),
  "steps/step-03-cup.md": page({}, "# Step 3 - The Cup", "", "Last. The workflow is complete."),
};

/** A workflow whose first step has this body. The third is where it goes on. */
function firstSays(body: string, others: Texts = STEPS) {
  return importOf({
    "workflow.md": page({ name: "tea", description: "x" }, "Load and execute `./steps/step-01-pot.md`."),
    "steps/step-01-pot.md": page({}, "# Step 1: Pot", "", ...body.split("\n")),
    ...others,
  });
}

/** Where the first step leads. */
function onward(imported: ReturnType<typeof importOf>): readonly string[] {
  return imported.edges.filter(({ from }) => from === "step-01-pot").map(({ to }) => to);
}

/** What is said of the first step. */
function saidOfFirst(imported: ReturnType<typeof importOf>, notes = false): readonly string[] {
  return said(imported, notes).filter((finding) => finding.includes("step-01-pot.md"));
}

test.each([
  ["a number, in backticks", "Proceed to `step-03`."],
  ["a number, in quotes", 'Proceed to "step-03".'],
  ["a number, in bold", "Proceed to **step-03**."],
  ["a number, bare", "Then continue to step-03 and do what it says."],
  ["a number, with an underscore", "Then go to step_3."],
  ["a stem", "Proceed to `step-03-cup`."],
  ["a stem, bare", "[C] Continue to step-03-cup"],
  ["a stem, in capitals", "Load STEP-03-CUP next."],
  ["a stem with a folder", "Read fully and follow `steps/step-03-cup`."],
  ["a stem with dots before it", "Read fully and follow `./step-03-cup`."],
  ["a stem as a link", "Now go on with [the cup](step-03-cup)."],
  ["a stem as a link with an anchor", "Now go on with [the cup](./step-03-cup#start)."],
  ["a file as a link with an anchor", "Now go on with [the cup](./step-03-cup.md#start)."],
  ["a file as a link with a title", 'Now go on with [the cup](./step-03-cup.md "The cup").'],
  ["a file as a link in angle brackets", "Now go on with [the cup](<./step-03-cup.md>)."],
  ["a file as a wiki link", "Now go on with [[step-03-cup]]."],
  ["a link whose target stands below", "Now go on with [the cup][cup].\n\n[cup]: ./step-03-cup.md"],
  ["a link that is its own name", "Now go on with [cup][].\n\n[cup]: <./step-03-cup.md>"],
  ["a number in words", "Proceed to Step 3."],
  ["a number in words, in bold", "Proceed to **Step 3**"],
  ["a number with its title", "[C] Continue to Step 3: The Cup"],
  ["a title, in quotes", 'Once it steeps, proceed to "The Cup".'],
  ["a title, in bold", "Continue with **The Cup**."],
  ["a title, in backticks", "Go to `the cup`."],
  ["a title, as a step", "Go to the step The Cup."],
  ["a title, bare", 'Display: "**Select:** [A] Ask [C] Continue to The Cup"'],
  ["a title, bare, with its number", "[C] Continue to The Cup (Step 3 of 3)"],
])("a line names a step by %s", (_how, body) => {
  const imported = firstSays(body);
  expect([onward(imported), saidOfFirst(imported)]).toEqual([["step-03-cup"], []]);
});

test.each([
  ["never", "Do NOT proceed to step-03 until it has steeped."],
  ["as an example", "For example: proceed to `step-03`."],
  ["as a helper's work", "Let a subagent run step-03 in parallel."],
  ["as a record", "stepsCompleted: ['step-01-pot', 'step-03-cup']"],
  ["in a table", "| 3 | step-03-cup | go on with the cup |"],
  ["as where something was said", 'Only proceed if the water is "hot" from step-03.'],
  ["as what is made", "Load the kettle to begin building step-03."],
  ["as a template", "Go on with the **Blank Step**."],
  ["in code", "```\nProceed to step-03.\n```"],
  ["as a part of this step", "### 3. Pour\n\nWhen it is poured, proceed to step 3 again."],
])("a step that is named %s is no way", (_how, body) => {
  const template = { "templates/step-04-blank.md": page({}, "# Blank Step") };
  const imported = firstSays(body, { ...STEPS, ...template });
  expect(onward(imported)).toEqual(["step-02-leaf"]);
});

test("of steps in several languages the one in the language of the step is meant", () => {
  const imported = importOf({
    "workflow.md": page(
      { name: "tea", description: "x" },
      "Begin: `./steps/step-01-pot.md` or, in Portuguese, load `./steps/step-01-pot_pt-br.md`.",
    ),
    "steps/step-01-pot.md": page({}, "# Pot", "", "Proceed to step-02."),
    "steps/step-01-pot_pt-br.md": page({}, "# Bule"),
    "steps/step-02-cup.md": page({}, "# Cup", "", "The last step."),
    "steps/step-02-cup_pt-br.md": page({}, "# Xícara", "", "The last step."),
  });
  const steps = imported.edges.filter(({ from }) => from.startsWith("step-01"));
  expect(steps.map(({ from, to }) => `${from} ${to}`)).toEqual([
    "step-01-pot step-02-cup",
    "step-01-pot_pt-br step-02-cup_pt-br",
  ]);
});

test("of steps of one number and several letters all are meant, which is said where none is named", () => {
  const lettered = {
    "steps/step-02a-green.md": page({}, "# Green"),
    "steps/step-02b-black.md": page({}, "# Black"),
  };
  expect(saidOfFirst(firstSays("Load the right step-02 file.", lettered)).join("\n")).toMatch(
    /:5 names "step-02", which may be /,
  );
  const named = "If it is green, load `./step-02a-green.md`.\nIf it is black, load `./step-02b-black.md`.";
  expect(saidOfFirst(firstSays(`${named}\nLoad the right step-02 file.`, lettered))).toEqual([]);
});

test("a name that several steps have, or none, is said with its line, and no way is made of it", () => {
  const twins = {
    "steps/step-03-cup.md": STEPS["steps/step-03-cup.md"] ?? "",
    "steps/step-03-mug.md": page({}, "# The Cup"),
  };
  for (const [body, word] of [
    ["Proceed to `step-03`.", "step-03"],
    ["Proceed to Step 3.", "Step 3"],
    ["Proceed to **The Cup**.", "The Cup"],
  ] as const) {
    const imported = firstSays(body, twins);
    expect(onward(imported)).not.toContain("step-03-cup");
    expect(saidOfFirst(imported)).toContainEqual(
      `warning steps/step-01-pot.md:5 names "${word}", which may be "steps/step-03-cup.md", "steps/step-03-mug.md": no edge was made. Name the file`,
    );
  }
  expect(saidOfFirst(firstSays("Proceed to `step-09`."))).toContainEqual(
    'warning steps/step-01-pot.md:5 names "step-09", which is no step of this workflow: no edge was made. Name the file',
  );
});

test("a number in words beside a file that is named is told of, and changes nothing", () => {
  const imported = firstSays("[C] Continue: read fully and follow `./step-02-leaf.md`. Then go to step 3.");
  expect(onward(imported)).toEqual(["step-02-leaf"]);
  expect(saidOfFirst(imported, true)).toEqual([
    'note steps/step-01-pot.md:5 says "step 3", which may be "steps/step-03-cup.md": the step names files, so no edge was made',
  ]);
});

test("a workflow that names its first step without its file is one of steps", () => {
  const imported = importOf({
    "SKILL.md": page({ name: "tea", description: "x" }, "Begin with step-01-pot and follow it."),
    "steps/step-01-pot.md": page({}, "# Pot", "", "Proceed to `step-02`."),
    ...STEPS,
  });
  expect(imported.entry.form).toBe("steps");
  expect(imported.edges.map(({ from, to }) => `${from} ${to}`)).toEqual(["step-01-pot step-02-leaf"]);
});

test("a step that nothing leads to belongs to another workflow, or is one in another language, where that can be seen", () => {
  const last = page({}, "# Cup", "", "The last step.");
  const imported = importOf(
    {
      "workflow-make.md": page({ name: "make" }, "Load and execute `./steps-c/step-01-cup.md`."),
      "workflow-mend.md": page({ name: "mend" }, "Load and execute `./steps-e/step-01-glue.md`."),
      "steps-c/step-01-cup.md": page(
        {},
        "# Cup",
        "",
        "Proceed to `./deep/steps/step-01-in.md`.",
        "Or load `../steps-e/step-02-dry.md`.",
      ),
      "steps-c/step-01-cup.de.md": last,
      "steps-c/step-09-lost.md": last,
      "steps-c/step-01b-continue.md": last,
      "steps-e/step-01-glue.md": last,
      "steps-e/step-02-dry.md": last,
      "steps-c/deep/workflow.md": page({ name: "deep" }, "Load `./steps/step-01-in.md`."),
      "steps-c/deep/steps/step-01-in.md": last,
      "steps-c/deep/steps/step-02-other.md": last,
    },
    "workflow-make.md",
  );
  expect(said(imported, true).filter((finding) => finding.includes(":0 "))).toEqual([
    "warning steps-c/step-09-lost.md:0 no step leads here: it is in the package, but no node",
    'note steps-c/deep/steps/step-02-other.md:0 belongs to "steps-c/deep/workflow.md", another workflow: import it as well',
    'note steps-c/step-01-cup.de.md:0 is "step-01-cup.md" in another language: it is in the package, but no node',
    "note steps-c/step-01b-continue.md:0 is left out: Interlock itself goes on with a run that was interrupted",
    'note steps-e/step-01-glue.md:0 belongs to "workflow-mend.md", another workflow: import it as well',
  ]);
});

test("a step that nothing leads to does not belong to another workflow where that one is a node of the same package", () => {
  const imported = importOf(
    {
      "SKILL.md": page(
        { name: "tea" },
        "Follow the instructions in ./workflow.md.",
        "",
        "Speak as in `./steps/step-02-cup.md`.",
      ),
      "workflow.md": page({}, "Load step: `./steps/step-02-cup.md`"),
      "steps/step-01-pot.md": page({}, "# Pot"),
      "steps/step-02-cup.md": page({}, "# Cup", "", "The last step."),
    },
    "SKILL.md",
  );
  expect(imported.nodes.map(({ id }) => id)).toEqual(["workflow", "step-02-cup"]);
  expect(said(imported, true)).toEqual([
    "warning steps/step-01-pot.md:0 no step leads here: it is in the package, but no node",
  ]);
});

test("a way on that stands in a block of code is taken where the step names no other, which is said", () => {
  const imported = firstSays("Show this:\n```\nPour.\n\n## NEXT STEP\n\nLoad `./step-03-cup.md`.\n```");
  expect(onward(imported)).toEqual(["step-03-cup"]);
  expect(saidOfFirst(imported)).toEqual([
    'warning steps/step-01-pot.md:11 leads on to "step-03-cup.md" in a block of code alone: it was taken for the way on',
  ]);
  const both = "```\nLoad `./step-03-cup.md`.\nLoad `./step-02-leaf.md`.\n```";
  expect(onward(firstSays(both))).toEqual(["step-02-leaf"]); // by its number, which is said
  expect(onward(firstSays(`Load \`./step-02-leaf.md\`.\n${both}`))).toEqual(["step-02-leaf"]);
});

test.each([
  ["a fence in a fence is none", "```\n```text\nPour.\n```\nThen load `./step-03-cup.md`.", []],
  ["a fence of another kind closes nothing", "~~~\n```\nPour.\n~~~\nThen load `./step-03-cup.md`.", []],
  [
    "a block that is never closed is text",
    "Pour.\n```\nThen load `./step-03-cup.md`.",
    [
      "warning steps/step-01-pot.md:6 opens a block of code that is never closed: what follows was read as text",
    ],
  ],
])("%s", (_what, body, findings) => {
  const imported = firstSays(body);
  expect([onward(imported), saidOfFirst(imported)]).toEqual([["step-03-cup"], findings]);
});

test("a key with a folder that nobody knows names the file beside it, which is said", () => {
  const imported = importOf({
    "workflow.md": page({ name: "tea", description: "x" }, "Load and execute `./steps/step-01-pot.md`."),
    "steps/step-01-pot.md": page({ nextStepFile: "{some_path}/steps/step-03-cup.md" }, "# Pot"),
    ...STEPS,
  });
  expect([onward(imported), saidOfFirst(imported)]).toEqual([
    ["step-03-cup"],
    [
      'warning steps/step-01-pot.md:2 nextStepFile names "{some_path}/steps/step-03-cup.md", which does not exist: taken for "steps/step-03-cup.md"',
    ],
  ]);
});

test.each([
  ["its file", "Proceed to `step-03.5-sugar.md`."],
  ["its stem", "Proceed to step-03.5-sugar"],
  ["its number", "Proceed to `step-03.5`."],
  ["its number in words", "Then proceed to Step 3.5: sugar."],
])("a step between two numbers is named by %s, and is not the one before it", (_name, line) => {
  const made = firstSays(line, {
    ...STEPS,
    "steps/step-03.5-sugar.md": page({}, "# Sugar", "", "The last step."),
  });
  expect(onward(made)).toEqual(["step-03.5-sugar"]);
});

test("after a step comes the one between it and the next number, then the next number", () => {
  const made = importOf({
    "workflow.md": page({ name: "tea", description: "x" }, "Load and execute `./steps/step-01-pot.md`."),
    "steps/step-01-pot.md": "# Pot\n",
    "steps/step-01.5-lid.md": "# Lid\n",
    "steps/step-02-cup.md": "# Cup\n\nThe last step.\n",
  });
  expect(made.edges.map(({ from, to }) => `${from} ${to}`)).toEqual([
    "step-01-pot step-01.5-lid",
    "step-01.5-lid step-02-cup",
  ]);
});

test("a part of a step, 3.5 under its own heading, is no step", () => {
  const made = firstSays("Proceed to Step 3.5.\n\n### 3.5. Sugar\n\nNow load `./step-02-leaf.md`.");
  expect(onward(made)).toEqual(["step-02-leaf"]);
  expect(saidOfFirst(made, true)).toEqual([]);
});

test("a key that only begins with next, and tells of something, names no step", () => {
  const told = "Implementation roadmap outlined for recommended option";
  const made = importOf({ "SKILL.md": page({ name: "tea", next_steps_defined: told }, "Make tea.") });
  expect(said(made)).toEqual([]);
});

function potSays(...lines: readonly string[]): readonly string[] {
  const { edges } = firstSays(lines.join("\n"), {
    "steps/step-02-leaf.md": page({}, "# Leaf", "", "load ./step-03-cup.md"),
    "steps/step-03-cup.md": page({}, "# Cup", "", "The last step."),
  });
  return edges.filter(({ from }) => from === "step-01-pot").map(({ to, label }) => `${to}: ${label}`);
}

test.each([
  [
    ["- Pass: step-03-cup", "- Fail: step-02-leaf"],
    ["Pass", "Fail"],
  ],
  [
    ["- Pass: Step 3", "- Fail: **Step 2** (the leaf)"],
    ["Pass", "Fail"],
  ],
  [
    ["**On success:** `step-03-cup`", "**On failure:** `step-02-leaf`"],
    ["On success", "On failure"],
  ],
  [
    ["If score < 7: goto step-02-leaf", "If score >= 7: goto step-03-cup"],
    ["score >= 7", "score < 7"],
  ],
  [
    ["If it is warm: step-03-cup", "If it is cold: step-02-leaf"],
    ["it is warm", "it is cold"],
  ],
  [
    ["[A] Again: step-02-leaf", "[B] Better: step-03-cup"],
    ["B", "A"],
  ],
  [
    ["| Verdict | Next |", "|---|---|", "| PASS | step-03-cup |", "| FAIL | Step 2 |"],
    ["PASS", "FAIL"],
  ],
])(
  "a step's name behind an answer, a case or in a column of ways leads there: %j",
  (lines, [third, second]) => {
    expect(potSays(...lines).toSorted()).toEqual([`step-02-leaf: ${second}`, `step-03-cup: ${third}`]);
  },
);

test.each([
  "- Pass: step-03-cup has the list",
  "- Result: step-03-cup",
  "- Fail: Step 3 of the recipe was left out",
  "If unsure: see step-03-cup",
])("what tells of a step behind a colon is no way: %s", (line) => {
  expect(potSays(line, "", "Then load ./step-02-leaf.md")).toEqual(["step-02-leaf: next"]);
});

test("the steps of a workflow that is called alike and more are not this one's", () => {
  const made = importOf(
    {
      "skills/tea/SKILL.md": page({ name: "tea", description: "x" }, "Load `./steps/step-01-pot.md`."),
      "skills/tea/steps/step-01-pot.md": "# Pot\n\nProceed to step-02.\n",
      "skills/tea-new/SKILL.md": page(
        { name: "tea-new", description: "x" },
        "Load `./steps/step-01-pot.md`.",
      ),
      "skills/tea-new/steps/step-01-pot.md": "# Pot\n\nLoad `./step-02-cup.md`.\n",
      "skills/tea-new/steps/step-02-cup.md": "# Cup\n\nThe workflow is complete.\n",
    },
    "skills/tea/SKILL.md",
  );
  expect(said(made, true)).toEqual([
    'warning skills/tea/steps/step-01-pot.md:3 names "step-02", which is no step of this workflow: no edge was made. Name the file',
  ]);
});

test("a step that names files may say the number of an earlier one that it goes back to", () => {
  const back = importOf({
    "workflow.md": page({ name: "tea" }, "Load `./steps/step-01-pot.md`."),
    "steps/step-01-pot.md": "# Pot\n\nLoad `./step-02-leaf.md`.\n",
    "steps/step-02-leaf.md":
      "# Leaf\n\nIf the pot is cold, return to Step 1.\n\nAs in step 3, the cup is warm.\n\nLoad `./step-03-cup.md`.\n",
    "steps/step-03-cup.md": "# Cup\n\nThe workflow is complete.\n",
  });
  expect(back.edges.map(({ from, to, label }) => `${from} ${label} ${to}`)).toEqual([
    "step-01-pot next step-02-leaf",
    "step-02-leaf next step-03-cup",
    "step-02-leaf back step-01-pot",
  ]);
});

test.each([
  ["Step 1 of the guide", ""],
  ["Step 1 above", ""],
  ["step 1", "1. Pour.\n2. Taste."],
  ["Step 1", "- Step 1: Pour\n- Step 2: Taste"],
])("%s is no step to go back to, with %j above", (step, above) => {
  const made = importOf({
    "workflow.md": page({ name: "tea" }, "Load `./steps/step-01-pot.md`."),
    "steps/step-01-pot.md": "# Pot\n\nLoad `./step-02-leaf.md`.\n",
    "steps/step-02-leaf.md": `# Leaf\n\n${above}\n\nIf the pot is cold, return to ${step}.\n\nLoad \`./step-03-cup.md\`.\n`,
    "steps/step-03-cup.md": "# Cup\n\nThe workflow is complete.\n",
  });
  expect(made.edges.map(({ from, to }) => `${from} ${to}`)).toEqual([
    "step-01-pot step-02-leaf",
    "step-02-leaf step-03-cup",
  ]);
});

test("a step with the letter x is a step, however names are called elsewhere", () => {
  const made = importOf({
    "workflow.md": page({ name: "tea" }, "Load `./steps/step-1-pot.md`."),
    "steps/step-1-pot.md": "# Pot\n\nProceed to step-1x.\n",
    "steps/step-1x-leaf.md": "# Leaf\n\nProceed to step-02.\n",
    "steps/step-02-cup.md": "# Cup\n\nThe workflow is complete.\n",
  });
  expect(made.edges.map(({ from, to }) => `${from} ${to}`)).toEqual([
    "step-1-pot step-1x-leaf",
    "step-1x-leaf step-02-cup",
  ]);
});

test.each([
  ["- No pot --> Redirect to the first way (step-02-leaf)", ["step-02-leaf"]],
  ["- It is thin → consider revisiting **step-02** for more leaves", ["step-02-leaf"]],
  ["Run the list (step-02) anew", []],
  ["Make a draft (run step-02 logic for this pot)", []],
])("a step that is named in brackets or is seen again is led to where a word leads there: %s", (line, to) => {
  expect(potOf(line, "", "load ./step-03-cup.md").to.filter((step) => step === "step-02-leaf")).toEqual(to);
});

test("a step that only looks back in some cases, and that none comes after, is the last", () => {
  const made = firstSays("Load ./step-02-leaf.md", {
    "steps/step-02-leaf.md": "# Leaf\n\nLoad ./step-03-cup.md\n",
    "steps/step-03-cup.md": "# Cup\n\n- It is thin → consider revisiting step-02\n",
  });
  expect(ways(made)).toContain("step-03-cup -finished*-> finished");
  expect(said(made)).toEqual([]);
});

/* Where a step goes back to another one by its number, and has parts with numbers of its own. */

const backOf = (...lines: readonly string[]) =>
  ways(
    importOf({
      "SKILL.md": page({ name: "tea", description: "x" }, "Load ./steps/step-01-pot.md"),
      "steps/step-01-pot.md": page({}, "# Pot", "", "load ./step-02-leaf.md"),
      "steps/step-02-leaf.md": page({}, "# Leaf", "", "load ./step-03-cup.md"),
      "steps/step-03-cup.md": page({}, "# Cup", "", "load ./step-04-sip.md", "", ...lines),
      "steps/step-04-sip.md": page({}, "# Sip", "", "The last step."),
    }),
  ).filter((way) => way.startsWith("step-03-cup") && !way.endsWith("step-04-sip"));

test.each([
  [
    "a part that comes only later",
    "### 1. Fill",
    "If it is cold, go back to Step 2 to warm it.",
    "### 2. Pour",
  ],
  ["an item that comes only later", "1. Fill", "If it is cold, go back to Step 2 to warm it.", "2. Pour"],
  [
    "a number spelled as files have it",
    "### 2. Pour",
    "1. Fill",
    "2. Wait",
    "If it is cold, return to step 02.",
  ],
])("nobody goes back to %s: the workflow's step is meant", (_what, ...lines) => {
  expect(backOf(...lines)).toEqual(["step-03-cup -back-> step-02-leaf"]);
});

test("what leads back is a way back, whatever letter a menu gives it", () => {
  expect(backOf("- **IF R:** return to step 2 with the new leaf")).toEqual(["step-03-cup -R-> step-02-leaf"]);
});

test.each([
  ["### 2. Pour", "Pour.", "", "If it is cold, go back to Step 2."],
  ["1. Fill", "2. Pour", "", "If it is cold, go back to Step 2."],
  ["If it is cold, go back to Step 2:", "", "1. Fill", "2. Pour"],
  ["If it is cold, go back to Step 2.", "", "### 1. Fill", "### 2. Pour"],
  ["### Step 2: Pour", "Pour.", "", "If it is cold, go back to step 02."],
])(
  "a part of the step's own that stands before, or is told of beforehand, is gone back to: %s",
  (...lines) => {
    expect(backOf(...lines)).toEqual([]);
  },
);
