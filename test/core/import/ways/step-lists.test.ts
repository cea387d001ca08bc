import { describe, expect, test } from "vitest";
import { importOf, page, said, ways } from "../step-files.js";

/* The order of steps as documents tell it, and what is no step though it is called like one. */

const END = "Do it. The workflow is complete.";

/** Steps of these names without a word on what follows, below a document of these lines. */
function listed(names: readonly string[], ...document: readonly string[]) {
  const steps = names.map((name) => [`steps/${name}.md`, page({ name }, `# ${name}`, "", "Do it.")]);
  return importOf({
    "workflow.md": page({ name: "listed" }, ...document),
    ...Object.fromEntries<string>(steps as [string, string][]),
  });
}

describe("a list of a document that goes through the steps", () => {
  test("leads to its first step, and says which follows which", () => {
    const imported = listed(
      ["step-00-check", "step-01-load", "step-02-create", "step-03-review"],
      "1. Read `steps/step-00-check.md` and verify the tools. Stop here if not.",
      "2. Read `notes.xml`.",
      "3. Read `steps/step-01-load.md` (if it is there).",
      "",
      "   It takes a while.",
      "4. Read `steps/step-03-review.md` and run the review.",
    );
    expect(ways(imported)).toEqual([
      "step-00-check -next*-> step-01-load",
      "step-01-load -next*-> step-03-review",
    ]);
    expect(said(imported)).toEqual([
      "warning steps/step-02-create.md:0 no step leads here: it is in the package, but no node",
    ]);
  });

  test("leads to its first step where the words of one tell when it does something", () => {
    const imported = listed(
      ["step-01-load", "step-02-scan", "step-03-render"],
      "Read fully and follow `./steps/step-01-load.md`",
      "",
      "1. `step-01-load.md` - Load it",
      "2. `step-02-scan.md` - Run the scan",
      "3. `step-03-render.md` - Render it, and stop when asked to",
    );
    expect(ways(imported)).toEqual([
      "step-01-load -next*-> step-02-scan",
      "step-02-scan -next*-> step-03-render",
    ]);
  });

  test.each([
    [
      "their names tell what is done",
      "- `steps/step-02-run-gates.md` - gates",
      "- `step-03-review.md`: a view",
    ],
    [
      "their lines tell what is done",
      "- step-02-run-gates: continue with gates",
      "- step-03-review, then exit",
    ],
  ])("leads to none of the later steps where %s", (_what, second, third) => {
    const imported = listed(
      ["step-01-start", "step-02-run-gates", "step-03-review"],
      "Read fully and follow: `steps/step-01-start.md`",
      "",
      "- `steps/step-01-start.md` - the beginning",
      second,
      third,
    );
    expect(ways(imported)).toEqual([
      "step-01-start -next*-> step-02-run-gates",
      "step-02-run-gates -next*-> step-03-review",
    ]);
    expect(said(imported)).toEqual([]);
  });

  test("of each mode leads to where it begins, also where its line has no verb", () => {
    const names = ["step-01-c-plan", "step-02-c-write", "step-10-e-load", "step-11-e-apply"];
    const imported = listed(
      names,
      "## Create",
      "1. `step-01-c-plan.md` - the plan",
      "2. `step-02-c-write.md` - the text",
      "## Edit",
      "1. `step-10-e-load.md` - Load what is there",
      "2. `step-11-e-apply.md` - Apply the changes",
    );
    expect(ways(imported).toSorted()).toEqual([
      "step-01-c-plan -next*-> step-02-c-write",
      "step-10-e-load -next*-> step-11-e-apply",
      "workflow -create-> step-01-c-plan",
      "workflow -next-> step-10-e-load",
    ]);
  });

  test.each([
    [
      "in a list of other things",
      ["1. Parse it", "2. Load `step-01-load.md`", "3. Load `step-02-scan.md`", "4. Load `step-03-end.md`"],
    ],
    ["told as the next", ["After the start, the workflow proceeds to `steps/step-01-load.md`."]],
  ])("leads to no later step beside an earlier one: %s", (_what, lines) => {
    const imported = listed(
      ["step-00-install", "step-00b-start", "step-01-load", "step-02-scan", "step-03-end"],
      ...lines,
      "",
      "FIRST: Load `steps/step-00b-start.md`.",
    );
    expect(ways(imported).toSorted()).toEqual([
      "step-00b-start -next*-> step-01-load",
      "step-01-load -next*-> step-02-scan",
      "step-02-scan -next*-> step-03-end",
    ]);
  });

  test("may begin at a later step, where it is numbered", () => {
    const imported = listed(
      ["step-00-new", "step-01-import", "step-02-rate", "step-03-plan"],
      "New: load `steps/step-00-new.md`",
      "Import:",
      "1. Load `step-01-import.md`",
      "2. Load `step-02-rate.md`",
      "3. Load `step-03-plan.md`",
    );
    expect(ways(imported).filter((way) => way.startsWith("workflow "))).toEqual([
      "workflow -next-> step-00-new",
      "workflow -next-> step-01-import",
    ]);
  });

  test.each([
    ["asks", "Which one do you want?", "1. Load `steps/step-01-a.md`", "2. Load `steps/step-02-b.md`"],
    [
      "has conditions",
      "",
      "1. If it is new: load `steps/step-01-a.md`",
      "2. Otherwise load `steps/step-02-b.md`",
    ],
    ["has letters", "", "- [A] load `steps/step-01-a.md`", "- [B] load `steps/step-02-b.md`"],
    ["names modes", "", "- Create mode: load `steps/step-01-a.md`", "- Edit mode: load `steps/step-02-b.md`"],
    [
      "has cases before arrows",
      "",
      "- **short** → Load and execute `steps/step-01-a.md`",
      "- **whole** → Load and execute `steps/step-02-b.md`",
    ],
    [
      "is said to depend on something",
      "Based on `level`:",
      "- short: load `steps/step-01-a.md`",
      "- whole: load `steps/step-02-b.md`",
    ],
    ["begins elsewhere", "", "- load `steps/step-02-b.md`", "- load `steps/step-01-a.md`"],
  ])("offers its items where it %s", (_what, before, one, other) => {
    const imported = listed(["step-01-a", "step-02-b", "step-03-c"], before, one, other);
    const starts = ways(imported).filter((way) => way.startsWith("workflow "));
    expect(starts).toHaveLength(2);
  });
});

test("a document that leads to the first step leads to no later one that it only names in its order", () => {
  const imported = listed(
    ["step-01-init", "step-02-scan", "step-03-check"],
    "Or follow the step file by hand: `./steps/step-03-check.md`",
    "",
    "Read fully and follow: `./steps/step-01-init.md`",
    "After initialization, the workflow proceeds to `./steps/step-02-scan.md`.",
  );
  expect(ways(imported)).toEqual([
    "step-01-init -next*-> step-02-scan",
    "step-02-scan -next*-> step-03-check",
  ]);
});

test("a document still leads to a later step under a condition", () => {
  const imported = listed(
    ["step-01-init", "step-02-scan"],
    "Read fully and follow: `./steps/step-01-init.md`",
    "If it is initialized already, proceed to `./steps/step-02-scan.md`.",
  );
  expect(ways(imported)).toContain("workflow -it is initialized already-> step-02-scan");
});

test("the last step of a mode does not lead into the next mode by its number", () => {
  const imported = listed(
    ["step-01-c-plan", "step-02-c-write", "step-03-e-load"],
    "Go on: `steps/step-01-c-plan.md`",
  );
  expect(ways(imported).filter((way) => way.startsWith("step"))).toEqual([
    "step-01-c-plan -next*-> step-02-c-write",
  ]);
});

test.each([
  [
    "a text that shows steps",
    "data/standards.md",
    "# Standards\n\n```yaml\n---\nnextStepFile: './step-02.md'\n---\n```\n",
  ],
  ["a text that tells of steps", "data/step-patterns.md", "# Patterns\n"],
  ["a text about workflows", "data/workflow-examples.md", "# Examples\n"],
  ["a workflow of its own", "references/research/workflow.md", "Load `./steps/step-01-ask.md`.\n"],
])("%s among the material is read, and no step that the workflow may end in", (_what, path, text) => {
  const imported = importOf(
    {
      "SKILL.md": page({ name: "tea" }, "Read fully and follow: `./steps/step-01-pot.md`"),
      "steps/step-01-pot.md": page(
        { nextStepFile: "./step-02-brew.md" },
        `Load \`../${path}\` to understand it. Then load, read entire file, then execute {nextStepFile}.`,
      ),
      "steps/step-02-brew.md": page({}, END),
      [path]: text,
    },
    "SKILL.md",
  );
  expect([imported.nodes.map(({ id }) => id), said(imported)]).toEqual([["step-01-pot", "step-02-brew"], []]);
  expect([...imported.files.keys()]).toContain(path);
});

test.each([
  "The variable is consumed by `./step-03-late.md` §1.",
  "Files are generated alongside, generated by `./step-03-late.md`.",
  "A run-level line, per `./step-03-late.md`.",
  "A read-only view of `./step-03-late.md`.",
])("a line that tells of a step leads to none: %s", (line) => {
  const imported = importOf({
    "workflow.md": page({ name: "tea" }, "Load and execute `./steps/step-01-pot.md`."),
    "steps/step-01-pot.md": page({ nextStepFile: "./step-02-brew.md" }, line),
    "steps/step-02-brew.md": page({ nextStepFile: "./step-03-late.md" }, "# Brew"),
    "steps/step-03-late.md": page({}, END),
  });
  expect(ways(imported)).toEqual(["step-01-pot -next*-> step-02-brew", "step-02-brew -next*-> step-03-late"]);
});

test.each([
  ["Check the goals. If yes → load `./step-02-a.md`. If no → load `./step-03-b.md` first", ["yes", "no"]],
  ["T = weigh → return | S = load `./step-02-a.md` | C = save, load `./step-03-b.md`", ["S", "C"]],
  ["If it passed, load `./step-02-a.md`. If it failed, go back to `./step-03-b.md`.", ["it passed", "back"]],
  ["   - If yes, load `./step-02-a.md` (late). \n   - If no, load `./step-03-b.md`.", ["yes", "no"]],
  [
    `${"If so, x. ".repeat(200)}When ready, load \`./step-02-a.md\`. If late, load \`./step-03-b.md\`.`,
    ["ready", "late"],
  ],
  ["`draft` or `new` → `./step-02-a.md`, done → `./step-03-b.md`", ["draft or new", "next"]],
  ["      - `draft` → `./step-02-a.md`, else `./step-03-b.md`", ["draft", "otherwise"]],
  [
    "Load `./step-02-a.md` (if any). Or load `./step-03-b.md` when it is ready (or late).",
    ["next", "it is ready"],
  ],
  [
    "Ask about <frozen-after-approval>, load `./step-02-a.md`. Otherwise, load `./step-03-b.md`.",
    ["next", "otherwise"],
  ],
])("each way of a line has the words that stand by it: %s", (line, labels) => {
  const imported = importOf({
    "workflow.md": page({ name: "tea" }, "Load and execute `./steps/step-01-pot.md`."),
    "steps/step-01-pot.md": page({}, line),
    "steps/step-02-a.md": page({}, END),
    "steps/step-03-b.md": page({}, END),
  });
  expect(imported.edges.map(({ label }) => label)).toEqual(labels);
});

test("of several ways each has its line as condition, where it says none", () => {
  const imported = importOf({
    "workflow.md": page({ name: "tea" }, "Load and execute `./steps/step-01-pot.md`."),
    "steps/step-01-pot.md": page(
      { nextStepFile: "./step-02-a.md" },
      "Batches: load `./step-03-b.md` in place of it.",
    ),
    "steps/step-02-a.md": page({}, END),
    "steps/step-03-b.md": page({}, END),
  });
  expect(imported.edges.map(({ to, conditionText }) => [to, conditionText])).toEqual([
    ["step-02-a", undefined],
    ["step-03-b", "Batches: load ./step-03-b.md in place of it."],
  ]);
});

test("in another language a menu's letters and the other lines that end in a step lead on, whatever the files are called", () => {
  const imported = importOf({
    "workflow.md": page({ name: "thé" }, "Lire complètement et suivre : `./steps/step-01-mode.md`"),
    "steps/step-01-mode.md": page(
      {},
      "- **SUIVANT :** Lire complètement et suivre : `./step-03-execute.md`.",
      "- SI E : Demandez, puis lire complètement et suivre : `./step-02-gathering.md`.",
      "Plus tard vient `./step-04-review.md`.",
    ),
    "steps/step-02-gathering.md": page({}, "Lire complètement et suivre : `./step-03-execute.md`."),
    "steps/step-03-execute.md": page({}, "Lisez et suivez : `./step-04-review.md`"),
    "steps/step-04-review.md": page({}, END),
  });
  expect(ways(imported)).toEqual([
    "step-01-mode -next-> step-03-execute",
    "step-01-mode -E-> step-02-gathering",
    "step-03-execute -next*-> step-04-review",
    "step-02-gathering -next*-> step-03-execute",
  ]);
});

test("a step that is called like a last one, and leads to one after it, is not where a run ends by default", () => {
  const imported = importOf({
    "workflow.md": page({ name: "tea" }, "Load and execute `./steps/step-01-preflight-complete.md`."),
    "steps/step-01-preflight-complete.md": page({ nextStepFile: "./step-02-brew.md" }, "# Preflight"),
    "steps/step-02-brew.md": page({ nextStepFile: "./step-03-final.md" }, "# Brew"),
    "steps/step-03-final.md": page({}, "Again: load `./step-02-brew.md`."),
  });
  expect(ways(imported)).toEqual([
    "step-03-final -finished*-> finished",
    "step-01-preflight-complete -next*-> step-02-brew",
    "step-02-brew -next*-> step-03-final",
    "step-03-final -next-> step-02-brew",
  ]);
});

test("the way that a line calls the default is the default", () => {
  const imported = importOf({
    "workflow.md": page({ name: "tea" }, "Load and execute `./steps/step-01-pot.md`."),
    "steps/step-01-pot.md": page(
      {},
      "If they want to stop: load `./step-03-end.md`",
      "Default: load `./step-02-brew.md`",
    ),
    "steps/step-02-brew.md": page({ nextStepFile: "./step-03-end.md" }, "# Brew"),
    "steps/step-03-end.md": page({}, END),
  });
  expect(ways(imported)).toContain("step-01-pot -next*-> step-02-brew");
});

test("the lists of the workflow.md that a longer SKILL.md leads to say the order as well", () => {
  const imported = importOf(
    {
      "SKILL.md": page(
        { name: "pr" },
        ..."one two three four five six".split(" "),
        "Follow `./workflow.md`.",
      ),
      "workflow.md": page(
        {},
        "1. Read `steps/step-00-check.md` first.",
        "2. Read `steps/step-01-load.md`.",
        "3. Read `steps/step-03-review.md`.",
      ),
      "steps/step-00-check.md": page({}, "# Check"),
      "steps/step-01-load.md": page({}, "# Load"),
      "steps/step-02-create.md": page({}, "# Create"),
      "steps/step-03-review.md": page({}, "# Review"),
    },
    "SKILL.md",
  );
  expect(ways(imported)).toEqual([
    "workflow -next*-> step-00-check",
    "step-00-check -next*-> step-01-load",
    "step-01-load -next*-> step-03-review",
  ]);
});
