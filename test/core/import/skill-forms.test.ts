import { expect, test } from "vitest";
import { findEntries } from "../../../src/core/import/ways/entries.js";
import { type Texts, importOf, page, said, treeOf, ways } from "./step-files.js";

/* What skills for coding tools say in forms of their own. */

const OWN = { "kit/skills/tea/scripts/pot.py": "print()\n", "kit/skills/tea/references/leaf.md": "Leaf.\n" };
const TEA = "kit/skills/tea/SKILL.md";

function bodyOf(line: string, others: Readonly<Record<string, string>> = {}): string {
  const texts = { ...OWN, ...others, [TEA]: page({ name: "tea", description: "x" }, line) };
  const { files } = importOf(texts, TEA);
  return files.get("steps/workflow.md")?.split("---\n").at(-1)?.trim() ?? "";
}

test.each([
  ["Read `${CLAUDE_SKILL_DIR}/references/leaf.md`.", "Read `@pkg/references/leaf.md`."],
  ["Run: python3 {baseDir}/scripts/pot.py --hot", "Run: python3 @pkg/scripts/pot.py --hot"],
  ["Run `python3 ~/.claude/skills/tea/scripts/pot.py`", "Run `python3 @pkg/scripts/pot.py`"],
  ["Read [it](.github/skills/tea/references/leaf.md)", "Read [it](@pkg/references/leaf.md)"],
  ["All lies in ${CLAUDE_SKILL_DIR}.", "All lies in @pkg."],
  ["Run `bash ${SKILL_DIR}/scripts/pot.py`", "Run `bash @pkg/scripts/pot.py`"],
  ["Read `{skill_dir}/references/leaf.md`.", "Read `@pkg/references/leaf.md`."],
  ["See {skillsRoot}/tea/references/leaf.md", "See @pkg/references/leaf.md"],
])("a skill's own folder is the package, whatever a tool calls it: %s", (line, written) => {
  expect(bodyOf(line)).toBe(written);
});

test("what a skill reads in the folder of its plugin is taken along", () => {
  const line =
    "Follow ${CLAUDE_PLUGIN_ROOT}/shared/water.md, then ${CLAUDE_PLUGIN_ROOT}/skills/tea/references/leaf.md.";
  expect(bodyOf(line, { "kit/shared/water.md": "Water.\n" })).toBe(
    "Follow @pkg/shared/kit/shared/water.md, then @pkg/references/leaf.md.",
  );
});

test.each([
  ["beside their folders", "kit/", "shared/cups.md", "kit/shared/cups.md"],
  ["from the folder above theirs", "kit/", "kit/shared/cups.md", "kit/shared/cups.md"],
  [
    "from a module's folder, of a skill in a part of it",
    "kit/",
    "shared/cups.md",
    "kit/shared/cups.md",
    "kit/plan/tea",
  ],
  ["at the root, as material", "", "_common/cups.md", "_common/cups.md"],
])(
  "what several skills have in common is taken along: %s",
  (_where, below, named, path, folder = `${below}tea`) => {
    const made = importOf(
      {
        [`${folder}/SKILL.md`]: page({ name: "tea", description: "x" }, `See \`${named}\` for the cups.`),
        [`${below}cake/SKILL.md`]: page({ name: "cake", description: "x" }, "Bake."),
        [`${below}soup/SKILL.md`]: page({ name: "soup", description: "x" }, "Stir."),
        [path]: "# Cups\n",
      },
      `${folder}/SKILL.md`,
    );
    expect(made.files.get(`shared/${path}`)).toBe("# Cups\n");
    expect(made.files.get("steps/workflow.md")).toContain(`See \`@pkg/shared/${path}\` for the cups.`);
  },
);

test("what skills of several folders have in common is taken along", () => {
  const made = importOf(
    {
      "kit/hot/tea/SKILL.md": page({ name: "tea", description: "x" }, "See `kit/_shared/cups.md`."),
      "kit/sweet/cake/SKILL.md": page({ name: "cake", description: "x" }, "Bake."),
      "kit/_shared/cups.md": "# Cups\n",
    },
    "kit/hot/tea/SKILL.md",
  );
  expect(made.files.get("shared/kit/_shared/cups.md")).toBe("# Cups\n");
});

test("a step is handed on to what several skills have in common as to another workflow: it is taken along", () => {
  const made = importOf(
    {
      "kit/tea/SKILL.md": page({ name: "tea", description: "x" }, "Load ./steps/step-01-pot.md"),
      "kit/tea/steps/step-01-pot.md": page(
        { nextStepFile: "shared/wash.md" },
        "# Pot",
        "",
        "load {nextStepFile}",
      ),
      "kit/cake/SKILL.md": page({ name: "cake", description: "x" }, "Bake."),
      "kit/shared/wash.md": "# Wash\n",
    },
    "kit/tea/SKILL.md",
  );
  expect(made.files.get("shared/kit/shared/wash.md")).toBe("# Wash\n");
  expect(made.files.get("steps/step-01-pot.md")).toContain("@pkg/shared/kit/shared/wash.md");
});

test.each([
  ["a project's own file", "", "docs/cups.md", "docs/cups.md"],
  ["a file beside one skill alone", "kit/one/", "shared/cups.md", "kit/one/shared/cups.md"],
  ["another skill's step", "kit/", "cake/steps/step-01-x.md", "kit/cake/steps/step-01-x.md"],
])("what is nothing that several skills have in common stays as it is: %s", (_what, below, named, path) => {
  const made = importOf(
    {
      [`${below}tea/SKILL.md`]: page({ name: "tea", description: "x" }, `See \`${named}\` for the cups.`),
      "kit/cake/SKILL.md": page({ name: "cake", description: "x" }, "Bake."),
      "cake/SKILL.md": page({ name: "cake", description: "x" }, "Bake."),
      [path]: "# Cups\n",
    },
    `${below}tea/SKILL.md`,
  );
  expect(made.files.get("steps/workflow.md")).toContain(`See \`${named}\` for the cups.`);
});

test("a path in marks that begins with a tool's variable is one: it is taken along, and leads on", () => {
  const water = { "kit/shared/water.md": "Water.\n" };
  expect(bodyOf("Read `${CLAUDE_PLUGIN_ROOT}/shared/water.md` first.", water)).toBe(
    "Read `@pkg/shared/kit/shared/water.md` first.",
  );
  const made = importOf(
    {
      [TEA]: page({ name: "tea" }, "Read fully and follow `${CLAUDE_SKILL_DIR}/steps/step-01-pot.md`."),
      "kit/skills/tea/steps/step-01-pot.md": "IF cold: load `${CLAUDE_SKILL_DIR}/steps/step-03-end.md`\n",
      "kit/skills/tea/steps/step-03-end.md": "# End\n",
    },
    TEA,
  );
  expect(ways(made)).toEqual(["step-01-pot -cold*-> step-03-end"]);
});

test("a path of its own with a name in it that is filled in later is none that is missing", () => {
  const line = "Read `${CLAUDE_SKILL_DIR}/../cup/references/{kind}.md`";
  const made = importOf({ ...OWN, [TEA]: page({ name: "tea", description: "x" }, line) }, TEA);
  expect(said(made)).toEqual([]);
});

const CUP = "kit/core-skills/cup/SKILL.md";
const CUPS = { [CUP]: page({ name: "cup" }, "Cup."), "kit/core-skills/cup/references/rim.md": "Rim.\n" };

test.each([
  [
    "Read `~/.claude/skills/cup/references/rim.md`",
    "Read `@pkg/shared/kit/core-skills/cup/references/rim.md`",
  ],
  ["See cup/references/rim.md.", "See @pkg/shared/kit/core-skills/cup/references/rim.md."],
  ["See {skillsRoot}/cup/references/rim.md.", "See @pkg/shared/kit/core-skills/cup/references/rim.md."],
])("what a skill reads of another one that is at hand is taken along: %s", (line, written) => {
  expect(bodyOf(line, CUPS)).toBe(written);
});

test.each([
  "Read `~/.claude/skills/cup/SKILL.md` of it",
  "Write `{skill_dir}/SKILL.md`, then {skill_dir}/none.md",
  "Read `{target_skill_dir}/references/leaf.md`",
  "Read ~/.claude/skills/pot/references/rim.md",
  "Read `${CLAUDE_PLUGIN_ROOT}/{kind}.md`",
  "Read pot/references/rim.md, and cup/SKILL.md",
])("what begins another skill, what is to be written and what is not there stay: %s", (line) => {
  expect(bodyOf(line, { ...CUPS, "kit/pot/references/rim.md": "Rim.\n" })).toBe(line);
});

test("a workflow that is one of a skill's names files by their path from the skill's folder", () => {
  const made = importOf(
    {
      "skills/tea/SKILL.md": page({ name: "tea" }, "Choose a workflow of `workflows/`."),
      "skills/tea/references/leaf.md": "Leaf.\n",
      "skills/tea/workflows/pour/workflow.md": page({ name: "pour" }, "Load ./steps/step-01-pot.md"),
      "skills/tea/workflows/pour/steps/step-01-pot.md":
        "Read `references/leaf.md`, write `docs/tea.md`, then load ./step-02-end.md\n",
      "skills/tea/workflows/pour/steps/step-02-end.md": "# End\n",
      "docs/tea.md": "Of the repository.\n",
    },
    "skills/tea/workflows/pour/workflow.md",
  );
  expect(made.files.get("steps/step-01-pot.md")).toContain(
    "Read `@pkg/shared/skills/tea/references/leaf.md`, write `docs/tea.md`, then load @pkg/steps/step-02-end.md",
  );
});

test.each([
  "Read ~/.claude/skills/tea/none.md and ~/.claude/skills/cup/references/leaf.md",
  "Read ${CLAUDE_PLUGIN_ROOT}/none.md",
  "It is copied to .claude/skills/tea/SKILL.md there",
])("a path that leads to none of its files stays: %s", (line) => {
  expect(bodyOf(line)).toBe(line);
});

test.each(["Review: $ARGUMENTS", "Review {{args}}", "Ask for ${input:cup:Which cup?}"])(
  "a model is told whose words stand in the place of arguments: %s",
  (line) => {
    const made = importOf({ "tea/SKILL.md": page({ name: "tea", description: "x" }, line) });
    expect(made.files.get("agents.json")).toContain(
      "$ARGUMENTS, {{args}}, $1 and ${input:name} in a text stand for",
    );
    const other = importOf({ "tea/SKILL.md": page({ name: "tea", description: "x" }, "It costs $1.") });
    expect(other.files.get("agents.json")).not.toContain("$ARGUMENTS");
  },
);

test.each([
  ["- Branch: !`date --iso`", "shell"],
  ["!`pot --list`", "shell"],
  ["Use mcp__kettle__boil for it.", "mcp"],
])("what a tool would run before, or a server's tool, is a need: %s", (line, name) => {
  const made = importOf({ "tea/SKILL.md": page({ name: "tea", description: "x" }, line) });
  expect(made.needs.map((need) => need.name)).toEqual([name]);
});

test.each(["The mark `!` and `?`: see it", "![a cup](cup.png) `x`", "Call it mcp__ and no more."])(
  "what only looks like one is none: %s",
  (line) => {
    const made = importOf({ "tea/SKILL.md": page({ name: "tea", description: "x" }, line) });
    expect(made.needs).toEqual([]);
  },
);

test.each<[string, Texts]>([
  ["commands/workflow.md", {}],
  [".tool/agents/workflow-lead.md", { name: "lead" }],
  ["kit/steering/workflow.md", {}],
  ["kit/agents/brewing/workflow-lead.md", { name: "lead", tools: "Read" }],
])("a command, rule or agent of a tool that is called so begins no workflow: %s", (path, head) => {
  expect(findEntries(treeOf({ [path]: page(head, "Boil.") }))).toEqual([]);
  const folder = path.slice(0, path.lastIndexOf("/"));
  const led = { [path]: page(head, "Load ./step-01-pot.md"), [`${folder}/step-01-pot.md`]: "# Pot\n" };
  expect(findEntries(treeOf(led)).map(({ form }) => form)).toEqual(["steps"]);
});

test("a workflow in a folder of an agent's own is one", () => {
  const found = findEntries(treeOf({ "kit/agents/lead/workflow.md": page({ name: "lead" }, "Boil.") }));
  expect(found.map(({ path }) => path)).toEqual(["kit/agents/lead/workflow.md"]);
});

test("a text that a tool puts in place from its installation comes along where the repository has it, else its lack is said", () => {
  const made = importOf(
    {
      "tea/SKILL.md": page(
        { name: "tea", description: "x" },
        "@~/.claude/kit/brew/pour.md",
        "@~/.claude/kit/brew/cool.md and again @~/.claude/kit/brew/cool.md",
        "@${CLAUDE_PLUGIN_ROOT}/none.md",
        "Notes go to ~/.claude/notes.md, @~/.claude/kit/brew/ is a folder.",
      ),
      "kit/brew/pour.md": "Pour.\n",
      "other/brew/cool.md": "Cool.\n",
    },
    "tea/SKILL.md",
  );
  expect(made.files.get("steps/workflow.md")).toContain("\n@pkg/shared/kit/brew/pour.md\n");
  expect(made.files.get("shared/kit/brew/pour.md")).toBe("Pour.\n");
  expect(said(made)).toEqual([
    'warning tea/SKILL.md:6 reads "@~/.claude/kit/brew/cool.md", which is not at hand: the package is without it',
    'warning tea/SKILL.md:7 reads "@${CLAUDE_PLUGIN_ROOT}/none.md", which is not at hand: the package is without it',
  ]);
});

const BESIDE = {
  "kit/skills/_shared/leaves/2025/green.md": "Green.\n",
  "kit/skills/_shared/leaves/2025/old/black.csv": "black\n",
  "kit/skills/_shared/other.md": "Other.\n",
  "kit/pots/iron.md": "Iron.\n",
};
const LEAVES = ["kit/skills/_shared/leaves/2025/green.md", "kit/skills/_shared/leaves/2025/old/black.csv"];

test.each([
  [
    "Read ALL files under `${CLAUDE_SKILL_DIR}/../_shared/leaves/2025/`:",
    "Read ALL files under `@pkg/shared/kit/skills/_shared/leaves/2025/`:",
    LEAVES,
  ],
  [
    "Read {skill-root}/../_shared/leaves/2025/** first.",
    "Read @pkg/shared/kit/skills/_shared/leaves/2025/** first.",
    LEAVES,
  ],
  ["* `../_shared/leaves/2025/*.md`", "* `@pkg/shared/kit/skills/_shared/leaves/2025/*.md`", LEAVES],
  ["All of ../../pots/ is read.", "All of @pkg/shared/kit/pots/ is read.", ["kit/pots/iron.md"]],
  ["All of `${CLAUDE_PLUGIN_ROOT}/pots/`", "All of `@pkg/shared/kit/pots/`", ["kit/pots/iron.md"]],
  ["Scripts: `${CLAUDE_PLUGIN_ROOT}/skills/tea/scripts/`", "Scripts: `@pkg/scripts/`", []],
])(
  "a folder outside of the skill's own is taken along, with all that lies in it: %s",
  (line, written, taken) => {
    expect(bodyOf(line, BESIDE)).toBe(written);
    const made = importOf({ ...OWN, ...BESIDE, [TEA]: page({ name: "tea", description: "x" }, line) }, TEA);
    expect([...made.files.keys()].filter((path) => path.startsWith("shared/"))).toEqual(
      taken.map((path) => `shared/${path}`),
    );
    expect(said(made)).toEqual([]);
  },
);

test("folders that hold the skill itself, or other workflows, stay where they are, and so do very large ones", () => {
  const many = Array.from({ length: 301 }, (_, index) => [`kit/pots/p${index}.md`, "Pot.\n"] as const);
  const lines = ["Not `../`.", "Not `../cake/`.", "Not `../../pots/`.", "Not `../gone/`.", "tests/**/*.md"];
  const made = importOf(
    {
      ...OWN,
      ...Object.fromEntries(many),
      "kit/skills/cake/SKILL.md": page({ name: "cake", description: "x" }, "Bake."),
      "kit/skills/tea/tests/one.md": "One.\n",
      [TEA]: page({ name: "tea", description: "x" }, ...lines),
    },
    TEA,
  );
  expect([...made.files.keys()].filter((path) => path.startsWith("shared/"))).toEqual([]);
  expect(made.files.get("steps/workflow.md")).toContain(lines.join("\n"));
  expect(said(made, true)).toEqual([
    'warning kit/skills/tea/SKILL.md:7 names the folder "kit/pots", whose 301 files lie outside of the workflow: the package is without them',
    'note kit/skills/tea/SKILL.md:6 names the folder "kit/skills/cake", in which other workflows begin: it is not taken along',
  ]);
});

test("what lies in two folders that are named, one in the other, counts once", () => {
  const iron = Array.from({ length: 160 }, (_, index) => [`kit/pots/iron/p${index}.md`, "Pot.\n"] as const);
  const lines = ["Read `../../pots/iron/` first.", "Then all of `../../pots/`."];
  const texts = { ...OWN, ...Object.fromEntries(iron), "kit/pots/clay.md": "Clay.\n" };
  const made = importOf({ ...texts, [TEA]: page({ name: "tea", description: "x" }, ...lines) }, TEA);
  expect(said(made, true)).toEqual([]);
  expect(made.files.get("shared/kit/pots/clay.md")).toBe("Clay.\n");
});
