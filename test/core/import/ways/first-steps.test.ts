import { expect, test } from "vitest";
import { type Texts, importOf, page, said, ways } from "../step-files.js";

/* Workflows that do not name the file of their first step. */

const on = (next: string) => `# A step\n\nProceed to \`${next}\`.\n`;
const LAST = "# Last\n\nThe workflow is complete.\n";
const THREE: Texts = {
  "steps/step-01-pot.md": on("step-02-leaf.md"),
  "steps/step-02-leaf.md": on("step-03-cup.md"),
  "steps/step-03-cup.md": LAST,
};
/** More than a pointer has. */
const LONG = ["Greet.", "Look round.", "Sit.", "Wait.", "Stand.", "Bow."];
const IN_ORDER = ["step-01-pot -next*-> step-02-leaf", "step-02-leaf -next*-> step-03-cup"];

test.each([
  ["entryStep", "./steps/step-01-pot.md"],
  ["entry_step_file", "{installed_path}/steps/step-01-pot.md"],
  ["firstStepFile", "steps/step-01-pot.md"],
  ["start-step", "step-01-pot"],
  ["initialStep", "step-01"],
])("the first step is the one that %s of the front matter names", (key, value) => {
  const made = importOf({
    "workflow.md": page({ name: "tea", [key]: value }, "Follow the entry step file."),
    ...THREE,
  });
  expect(made.entry.form).toBe("steps");
  expect(ways(made)).toEqual(IN_ORDER);
  expect(said(made)).toEqual([]);
});

test("steps that a document speaks of and does not name begin with their first, and that is said", () => {
  const body = "Step 1 fetches the pot, step 2 the leaf. Do them in order.";
  const made = importOf({ "SKILL.md": page({ name: "tea" }, body), ...THREE });
  expect(made.entry.form).toBe("steps");
  expect(ways(made)).toEqual(IN_ORDER);
  expect(said(made)).toEqual(['warning SKILL.md:0 names no first step: the first of "steps" was taken']);
});

test("steps without numbers of which none names another are each a way where the document tells of several", () => {
  const lines = [
    "- **`pour`**: fill the cup. See [it](steps/pour.md).",
    "- **`clean`**: see `steps/clean.md`.",
  ];
  const texts = {
    "SKILL.md": page({ name: "tea" }, ...lines),
    "steps/pour.md": LAST,
    "steps/clean.md": LAST,
  };
  expect(ways(importOf(texts))).toEqual(["SKILL -clean-> clean", "SKILL -pour-> pour"]);
  const inOrder = importOf({ ...texts, "steps/clean.md": "Clean it. Then load `pour.md`." });
  expect(ways(inOrder)).toEqual(["clean -next*-> pour"]);
});

test("a step between the first and the second does not begin, whatever its name is sorted like", () => {
  const made = importOf({
    "SKILL.md": page({ name: "tea" }, "Do what the steps say."),
    "steps/step-01-5-leaf.md": on("step-02-cup.md"),
    "steps/step-01-pot.md": on("step-01-5-leaf.md"),
    "steps/step-02-cup.md": LAST,
  });
  expect(ways(made)).toEqual(["step-01-pot -next*-> step-01-5-leaf", "step-01-5-leaf -next*-> step-02-cup"]);
});

test("steps beside their document are its steps as well, in the order of their numbers", () => {
  const made = importOf({
    "SKILL.md": page({ name: "tea" }, "Do what the steps say."),
    "step-10-end.md": LAST,
    "step-9-cup.md": on("step-10-end.md"),
  });
  expect(ways(made)).toEqual(["step-9-cup -next*-> step-10-end"]);
});

const MODES: Texts = {
  "steps/step-01-c-pot.md": on("step-02-c-cup.md"),
  "steps/step-02-c-cup.md": LAST,
  "steps/step-10-e-load.md": LAST,
  "steps/step-20-v-check.md": LAST,
};

test.each([
  [
    "a table of patterns",
    ["| **Create** | `step-01-c-*` through `step-02-c-*` |", "| **Edit** | `step-10-e-*` |"],
  ],
  ["a list", ["Follow the steps:", "", "1. **step-01-c-pot** - the pot", "2. **step-02-c-cup** - the cup"]],
  ["nothing at all", ["Make tea."]],
  ["the folder alone", ["Create: follow the steps in `steps/` in order."]],
])("each mode of a workflow begins with its own first step, where the document has %s", (_name, body) => {
  const made = importOf({ "workflow.md": page({ name: "tea" }, ...body), ...MODES });
  expect(ways(made)).toEqual([
    "workflow -create-> step-01-c-pot",
    "workflow -edit-> step-10-e-load",
    "workflow -validate-> step-20-v-check",
    "step-01-c-pot -next*-> step-02-c-cup",
  ]);
  expect(made.nodes[0]?.type).toBe("decision");
  expect(said(made).filter((finding) => finding.includes("no step leads here"))).toEqual([]);
});

test("modes that a document does not lead to, beside one that it does, are ways on from it as well, and that is said", () => {
  const body = ["Modify the pot: step-10-e-load", "", "Read fully and follow: `./steps/step-01-c-pot.md`"];
  const made = importOf({ "workflow.md": page({ name: "tea" }, ...body), ...MODES });
  expect(ways(made)).toEqual([
    "workflow -next*-> step-01-c-pot",
    "step-01-c-pot -next*-> step-02-c-cup",
    "workflow -edit-> step-10-e-load",
    "workflow -validate-> step-20-v-check",
  ]);
  expect(said(made)).toEqual([
    'warning steps/step-10-e-load.md:0 begins the mode "edit", which nothing leads to: a way from "workflow.md" was added',
    'warning steps/step-20-v-check.md:0 begins the mode "validate", which nothing leads to: a way from "workflow.md" was added',
  ]);
});

test("modes that a document names by how their files begin are ways on from it, whatever else leads there", () => {
  const made = importOf({
    "workflow.md": page(
      { name: "tea" },
      "| Mode | Entry point |",
      "| --- | --- |",
      "| Create | `steps/step-01-c-*` |",
      "| Edit | `steps/step-10-e-*` |",
      "",
      "Follow the steps with the prefix `step-0X-c-`, or `step-1X-e-`.",
      "Read fully and follow `./steps/step-01-c-pot.md`.",
    ),
    "steps/step-01-c-pot.md": on("step-02-c-cup.md"),
    "steps/step-02-c-cup.md": on("step-10-e-load.md"),
    "steps/step-10-e-load.md": on("step-11-e-change.md"),
    "steps/step-11-e-change.md": LAST,
  });
  expect(ways(made)).toContain("workflow -next*-> step-01-c-pot");
  expect(ways(made)).toContain("workflow -edit-> step-10-e-load");
  expect(said(made, true)).toEqual([
    'note steps/step-10-e-load.md:0 begins the mode "edit", which the document names: a way from "workflow.md" was added',
  ]);
});

test("a mode is begun where the document begins it, and not a second time with an earlier step", () => {
  const made = importOf({
    "workflow.md": page(
      { name: "tea" },
      "- To create: load `./steps/step-01-c-pot.md`",
      "- To edit: load `./steps/step-10-e-load.md`",
    ),
    "steps/step-00-c-check.md": "# Check\n",
    ...MODES,
  });
  expect(ways(made).filter((way) => way.startsWith("workflow"))).toEqual([
    "workflow -next-> step-01-c-pot",
    "workflow -next-> step-10-e-load",
    "workflow -validate-> step-20-v-check",
  ]);
});

test("a letter that each step has another of is no mode", () => {
  const made = importOf({
    "workflow.md": page({ name: "tea" }, "Make tea."),
    "steps/step-01-a-pot.md": on("step-02-b-cup.md"),
    "steps/step-02-b-cup.md": LAST,
  });
  expect(ways(made)).toEqual(["step-01-a-pot -next*-> step-02-b-cup"]);
});

test("a workflow document that a skill leads to begins its steps in the same way", () => {
  const made = importOf(
    {
      "SKILL.md": page({ name: "tea" }, ...LONG, "Begin by reading `workflow.md`."),
      "workflow.md": "# Tea\n\nThe steps lie in `steps/`.\n",
      ...THREE,
    },
    "SKILL.md",
  );
  expect(made.entry.form).toBe("steps");
  expect(ways(made)).toEqual(["workflow -steps*-> step-01-pot", ...IN_ORDER]);
});

test("a workflow document that a skill leads to is no workflow of its own; of one that it does not lead to it says so", () => {
  const texts = (last: string) => ({
    "SKILL.md": page({ name: "tea" }, ...LONG, last),
    "workflow.md": "# Tea\n\nLoad `./steps/step-01-pot.md`.\n",
    ...THREE,
  });
  const led = importOf(texts("Begin by reading `workflow.md`."));
  expect(led.nodes.map(({ id }) => id)).toContain("step-03-cup");
  expect(said(led)).toEqual([]);
  expect(said(importOf(texts("Pour."), "SKILL.md"))).toEqual([
    'warning SKILL.md:0 has no steps, and does not lead to those of "workflow.md" beside it: import that one as well',
  ]);
  expect(ways(importOf(texts("Pour."), "workflow.md"))).toEqual(IN_ORDER);
});

test("of several workflows in a folder each has the steps that it names, or that no other names", () => {
  const texts = {
    "workflow-make.md": page({ name: "make" }, "Make it, as `steps-c/` has it."),
    "workflow-mend.md": page({ name: "mend" }, "Mend it."),
    "steps-c/step-01-clay.md": on("step-02-kiln.md"),
    "steps-c/step-02-kiln.md": LAST,
    "steps-e/step-01-glue.md": on("step-02-dry.md"),
    "steps-e/step-02-dry.md": LAST,
  };
  expect(ways(importOf(texts, "workflow-make.md"))).toEqual(["step-01-clay -next*-> step-02-kiln"]);
  expect(ways(importOf(texts, "workflow-mend.md"))).toEqual(["step-01-glue -next*-> step-02-dry"]);
});

test("of a chain of steps in one line only the first follows what the line says", () => {
  const made = importOf({
    "workflow.md": page({ name: "tea" }, "Follow the steps: step-01-pot → `step-02-leaf.md` → step-03-cup"),
    ...THREE,
  });
  expect(ways(made)).toEqual(IN_ORDER);
});

test.each(["step-01-c", "`step-01-c`", "step-c-01"])("a step by its number and its mode: %s", (name) => {
  const made = importOf({ "workflow.md": page({ name: "tea" }, `Create: proceed to ${name}`), ...MODES });
  expect(ways(made).slice(0, 1)).toEqual(["workflow -next-> step-01-c-pot"]);
});

test("a name that one step's begins with is that step's", () => {
  const made = importOf({
    "workflow.md": page({ name: "tea" }, "Begin with step-01-pot."),
    "steps/step-01-pot-of-clay.md": LAST,
    "steps/step-01-potter.md": LAST,
  });
  expect(made.nodes.map(({ id }) => id)).toEqual(["step-01-pot-of-clay"]);
});

test("a document that tells of steps further down begins with the first of them", () => {
  const made = importOf({
    "workflow.md": page({ name: "tea" }, "The steps are `parts/steps/step-01-pot.md` and those beside it."),
    "parts/steps/step-01-pot.md": on("step-02-cup.md"),
    "parts/steps/step-02-cup.md": LAST,
  });
  expect(ways(made)).toEqual(["step-01-pot -next*-> step-02-cup"]);
  expect(said(made, true)).toEqual([
    'note workflow.md:0 names its steps, and does not say where they begin: "step-01-pot.md" was taken',
  ]);
});

test("steps in a folder of other texts are begun with where the document has them in a table, and one that nothing leads to is told", () => {
  const made = importOf({
    "tea/SKILL.md": page(
      { name: "tea" },
      "# Tea",
      "1. `tea resume`: load `references/step-resume.md`.",
      "2. `tea`: run from stage 0.",
      "",
      "| # | stage | file |",
      "| - | ----- | ---- |",
      "| 0 | Pot | references/step-01-pot.md |",
      "| 1 | Leaf | references/step-02-leaf.md |",
    ),
    "tea/references/step-01-pot.md": page({ nextStepFile: "step-02-leaf.md" }, "# Pot"),
    "tea/references/step-02-leaf.md": "# Leaf\n",
    "tea/references/step-07-lost.md": "# Lost\n",
    "tea/references/step-resume.md": "# Resume\n\nWith a leaf, load `step-02-leaf.md`.\n",
    "tea/references/kinds.md": "# Kinds\n",
  });
  expect(ways(made)).toEqual(["step-01-pot -next*-> step-02-leaf"]);
  expect(said(made)).toEqual([
    "warning tea/references/step-07-lost.md:0 no step leads here: it is in the package, but no node",
  ]);
});

test("a name that says how steps are called misses no file", () => {
  const made = importOf({
    "workflow.md": page({ name: "tea" }, "Load `./steps/step-01-pot.md`."),
    "steps/step-01-pot.md":
      "# Pot\n\nThe pattern is: load `./step-XX-name.md` or `./step-N-name.md`, or go to step-NN. Load `./step-02-cup.md`.\n",
    "steps/step-02-cup.md": LAST,
  });
  expect(ways(made)).toEqual(["step-01-pot -next*-> step-02-cup"]);
  expect(said(made, true)).toEqual([]);
});

test("of steps of one number the one whose mode a name has is meant", () => {
  const made = importOf({
    "workflow.md": page({ name: "tea" }, "Load `./steps/step-01-c-pot.md`."),
    "steps/step-01-c-pot.md": "# Pot\n\nProceed to step-10-c.\n",
    "steps/step-10-c-cup.md": LAST,
    "steps/step-10-e-load.md": LAST,
  });
  expect(ways(made).filter((way) => way.startsWith("step-01"))).toEqual([
    "step-01-c-pot -next*-> step-10-c-cup",
  ]);
});

test("steps that a skill keeps among its references are known by their numbers and in other languages", () => {
  const made = importOf({
    "SKILL.md": page(
      { name: "tea", description: "x" },
      "- 步骤: `references/step-01-pot.md` 到 `references/step-03-cup.md`",
    ),
    "references/step-01-pot.md": page(
      { altStepFile: "references/step-02-warm.md" },
      "**如果热:**",
      "",
      "完整阅读并遵循：下一步 (step-03-cup.md)",
    ),
    "references/step-02-warm.md": "# Warm\n\nProceed to step-03.\n",
    "references/step-03-cup.md": LAST,
  });
  expect(ways(made)).toEqual([
    "step-01-pot -altStepFile-> step-02-warm",
    "step-02-warm -next*-> step-03-cup",
    "step-01-pot -next-> step-03-cup",
  ]);
  expect(said(made)).toEqual([]);
});

test("modes that a document names in no known words are called as modes are", () => {
  const made = importOf({
    "SKILL.md": page(
      { name: "tea", description: "x" },
      "- 创建 (C): `steps/step-01-c-pot.md` 到 `steps/step-02-c-cup.md`",
      "- 编辑 (E): `steps/step-10-e-load.md`",
      "- 验证 (V): `steps/step-20-v-check.md`",
    ),
    ...MODES,
  });
  expect(ways(made).slice(0, 3)).toEqual([
    "SKILL -create-> step-01-c-pot",
    "SKILL -edit-> step-10-e-load",
    "SKILL -validate-> step-20-v-check",
  ]);
});

/* Folders that are called otherwise. */

const BEHIND = (next: string) => `# A phase\n\n## Next Phase\n\nProceed to [the next one](${next}).\n`;
const PHASES: Texts = {
  "phases/01-pot.md": BEHIND("02-leaf.md"),
  "phases/02-leaf.md": BEHIND("./03-cup.md"),
  "phases/03-cup.md": LAST,
};
const LISTED = "| 1 | [phases/01-pot.md](phases/01-pot.md) | The pot |";

test.each([
  ["phases", PHASES, ["01-pot -next*-> 02-leaf", "02-leaf -next*-> 03-cup"]],
  [
    "phases of which one is done in a case",
    {
      ...PHASES,
      "phases/01-pot.md": "# Pot\n\n- If it is cold: [Warm](01.5-warm.md)\n- Else: [Leaf](02-leaf.md)\n",
      "phases/01.5-warm.md": BEHIND("02-leaf.md"),
    },
    [
      "01-pot -it is cold-> 01.5-warm",
      "01-pot -otherwise-> 02-leaf",
      "01.5-warm -next*-> 02-leaf",
      "02-leaf -next*-> 03-cup",
    ],
  ],
  [
    "stages, whose names say what they are",
    {
      "stages/stage-9-pot.md": "# Pot\n\nThen read `stages/stage-10-cup.md`.\n",
      "stages/stage-10-cup.md": LAST,
    },
    ["stage-9-pot -next*-> stage-10-cup"],
  ],
])("%s that lead to one another are steps", (_name, texts, expected) => {
  const made = importOf({ "SKILL.md": page({ name: "tea" }, "# Tea", LISTED, ...LONG), ...texts });
  expect(made.entry.form).toBe("steps");
  expect(ways(made)).toEqual(expected);
});

test.each([
  ["that do not", { ...PHASES, "phases/02-leaf.md": "# Leaf\n\nReport.\n" }],
  ["that only list one another", { ...PHASES, "phases/01-pot.md": "# Pot\n\n| next | `02-leaf.md` |\n" }],
  ["of which there is one", { "phases/01-pot.md": BEHIND("02-leaf.md") }],
])("phases %s are read by the one node that there is", (_name, texts) => {
  const made = importOf({ "SKILL.md": page({ name: "tea" }, "# Tea", LISTED, ...LONG), ...texts });
  expect(made.entry.form).toBe("instructions");
  expect(ways(made)).toEqual([]);
});

const TASKS: Texts = {
  "01-pot.md": BEHIND("02-leaf.md"),
  "02-leaf.md": BEHIND("./03-cup.md"),
  "03-cup.md": LAST,
};
const inFolder = (folder: string, texts: Texts): Texts =>
  Object.fromEntries(Object.entries(texts).map(([name, text]) => [`${folder}${name}`, text]));

test.each(["tasks/", "schritte/", ""])(
  "numbered files in %j that lead to one another are steps of the document that leads to the first",
  (folder) => {
    const document = page({ name: "tea" }, "# Tea", `Read and follow \`${folder}01-pot.md\`.`, ...LONG);
    const made = importOf({
      "SKILL.md": document,
      "readme.md": "# Read me\n",
      ...inFolder(folder, TASKS),
    });
    expect(made.entry.form).toBe("steps");
    expect(ways(made)).toEqual(["01-pot -next*-> 02-leaf", "02-leaf -next*-> 03-cup"]);
  },
);

test.each(["docs/", "references/", "data/"])("numbered files in %j are none", (folder) => {
  const document = page({ name: "tea" }, "# Tea", `Read and follow \`${folder}01-pot.md\`.`, ...LONG);
  const made = importOf({ "SKILL.md": document, ...inFolder(folder, TASKS) });
  expect(ways(made)).toEqual([]);
});

test("a document that leads to later steps alone, each under a condition, begins with the first", () => {
  const made = importOf({
    "SKILL.md": page(
      { name: "tea" },
      "# Tea",
      "```",
      "Phase 1\n  └─ Read(steps/step-01-pot.md)",
      "```",
      "- **If the user selects Pour**: Read(`steps/step-03-cup.md`), execute it here",
      ...LONG,
    ),
    ...THREE,
  });
  expect(ways(made)).toEqual([
    "SKILL -the user selects Pour-> step-03-cup",
    "SKILL -next*-> step-01-pot",
    ...IN_ORDER,
  ]);
  expect(said(made)).toEqual([
    'warning SKILL.md:0 leads to later steps alone, each under a condition: a way to the first of them, "step-01-pot.md", was added',
  ]);
});

test.each([
  ["it leads there in any case", ["Read fully and follow `steps/step-02-leaf.md`."]],
  [
    "it leads to the first as well",
    [
      "Read fully and follow `steps/step-01-pot.md`.",
      "If the pot is there: read fully and follow `steps/step-02-leaf.md`.",
    ],
  ],
])("nothing is added to the ways of a document where %s", (_why, lines) => {
  const made = importOf({ "SKILL.md": page({ name: "tea" }, ...lines, ...LONG), ...THREE });
  expect(said(made).join("\n")).not.toContain("was added");
});

const STEPS_IN_TABLE = [
  "Read fully and follow `steps/step-01-pot.md`.",
  "| 1 | `steps/step-01-pot.md` | The pot |",
  "| 2 | `steps/step-02-leaf.md` | The leaf |",
  "| 3 | `steps/step-03-cup.md` | The cup |",
  ...LONG,
];

test.each([
  ["document", { "SKILL.md": page({ name: "tea" }, ...STEPS_IN_TABLE) }, []],
  [
    "workflow.md that it leads to",
    {
      "SKILL.md": page({ name: "tea" }, "Read fully and follow `./workflow.md`.", ...LONG),
      "workflow.md": page({}, ...STEPS_IN_TABLE),
    },
    ["workflow -next*-> step-01-pot"],
  ],
])(
  "a step that names none after it is followed by the next number, also where the %s has all steps in a table",
  (_where, documents, before) => {
    const made = importOf(
      {
        ...documents,
        ...THREE,
        "steps/step-01-pot.md": "# Pot\n\n**Next:** Read FULLY and apply: `./step-02-brew.md`.\n",
      },
      "SKILL.md",
    );
    expect(ways(made)).toEqual([...before, ...IN_ORDER]);
    expect(said(made)).toEqual([
      'warning steps/step-01-pot.md:3 names "steps/step-02-brew.md", which does not exist; "steps/step-02-leaf.md" is like it',
    ]);
    expect(said(made, true)).toContain(
      'note steps/step-01-pot.md:0 names no step after it: "step-02-leaf.md" was taken, by its number',
    );
  },
);

test("a step that stands in a table of the document alone is said to be led to by none", () => {
  const made = importOf({
    "SKILL.md": page(
      { name: "tea" },
      "Read fully and follow `steps/step-01-pot.md`.",
      "| 0 | `steps/step-00-shop.md` | Where to buy |",
      ...LONG,
    ),
    ...THREE,
    "steps/step-00-shop.md": LAST,
  });
  expect(ways(made)).toEqual(IN_ORDER);
  expect(said(made)).toEqual([
    "warning steps/step-00-shop.md:0 no step leads here: it is in the package, but no node",
  ]);
});

test.each(["instructions.md", "WORKFLOW.md", "create-tea.workflow.md"])(
  "a short skill that points to a document of steps has its ways, whatever it is called: %s",
  (name) => {
    const made = importOf({
      "SKILL.md": page({ name: "tea", description: "x" }, `Read and follow ./${name}.`),
      [name]: [
        "# Tea",
        "",
        `IF the guest is new: load \`./steps-c/step-01-pot.md\``,
        `IF the tea was cold: load \`./steps-e/step-01-look.md\``,
      ].join("\n"),
      "steps-c/step-01-pot.md": page({ nextStepFile: "./step-02-leaf.md" }, "# Pot"),
      "steps-c/step-02-leaf.md": "# Leaf\n",
      "steps-e/step-01-look.md": "# Look\n",
    });
    expect(made.entry.document).toBe(name);
    expect(made.edges.map(({ to, label }) => `${to}: ${label}`)).toEqual([
      "step-01-pot: the guest is new",
      "step-01-look: the tea was cold",
      "step-02-leaf: next",
    ]);
    expect(said(made)).toEqual([]);
  },
);

test("a short skill that points to a text without steps is its own document", () => {
  const made = importOf({
    "SKILL.md": page({ name: "tea", description: "x" }, "Read and follow ./instructions.md."),
    "instructions.md": "# Tea\n\nPour.\n",
  });
  expect(made.entry.document).toBe("SKILL.md");
});

test.each([
  "Never begin with `steps/step-10-e-load.md`: the cup leads there.",
  "| 1.2 | `steps/step-10-e-load.md` was split |",
])("a mode that the document names in passing is none to choose: %s", (line) => {
  const made = importOf({
    "workflow.md": page({ name: "tea" }, "Load `./steps/step-01-c-pot.md`.", "", line),
    "steps/step-01-c-pot.md": on("step-02-c-cup.md"),
    "steps/step-02-c-cup.md": on("step-10-e-load.md"),
    "steps/step-10-e-load.md": on("step-11-e-change.md"),
    "steps/step-11-e-change.md": LAST,
  });
  expect(ways(made).filter((way) => way.startsWith("workflow"))).toEqual([]);
});

test("a later step that the document names in passing wants a look where it is taken for the first", () => {
  const made = importOf({
    "workflow.md": page({ name: "tea" }, "- Earlier runs left their notes in `steps/step-02-c-cup.md`."),
    "steps/step-01-c-pot.md": on("step-02-c-cup.md"),
    "steps/step-02-c-cup.md": LAST,
  });
  expect(said(made)).toContain(
    'warning workflow.md:4 names "step-02-c-cup.md" in words that are not known to lead there: it was taken for a way on',
  );
});

test("numbered pages among the references of a skill that has steps are no steps of it", () => {
  const made = importOf({
    "SKILL.md": page({ name: "tea", description: "x" }, "Begin with Step 1."),
    "steps/step-01-pot.md": "# Pot\n\nVoir `../references/step-02-paper.md`.\n\nProceed to step-02.\n",
    "steps/step-02-cup.md": LAST,
    "references/step-01-paper.md": "# Paper\n",
    "references/step-02-paper.md": "# Paper\n",
  });
  expect(ways(made)).toEqual(["step-01-pot -next*-> step-02-cup"]);
  expect(said(made)).toEqual([]);
});
