import { expect, test } from "vitest";
import { findEntries } from "../../../src/core/import/ways/entries.js";
import { type Texts, importOf, page, said, treeOf } from "./step-files.js";

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
