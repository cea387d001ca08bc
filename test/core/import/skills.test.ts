import { expect, test } from "vitest";
import { importOf, page, said } from "./step-files.js";

/* What a skill calls and needs beyond its own text. */

const TASTE = { "taste/SKILL.md": page({ name: "taste", description: "x" }, "Sip.") };
const tea = (...lines: readonly string[]) => ({
  "tea/SKILL.md": page({ name: "tea", description: "x" }, "# Tea", "", ...lines),
});

test.each([
  "Invoke the `taste` skill with the cup.",
  "Then use the skill **taste**.",
  "Load the skill `kitchen:taste` first.",
  "**Required sub-skill:** use kitchen:taste",
  'Then Skill("taste").',
  'Skill(skill="kitchen:taste", args="hot")',
  'Skill({ skill: "taste" })',
])("another skill that is called is taken along: %s", (line) => {
  const made = importOf({ ...tea(line), ...TASTE }, "tea/SKILL.md");
  expect(made.calls).toEqual([{ name: "taste", folder: "taste" }]);
  expect([...made.files.keys()]).toContain("skills/taste/SKILL.md");
});

test("a skill that is called and not at hand is told of, one that is not called is not", () => {
  const made = importOf({
    ...tea(
      "Invoke the `smell` skill.",
      "Do not use the `burn` skill.",
      "Resume by Skill('boil').",
      "This skill has note:worthy parts.",
    ),
  });
  expect(said(made, true)).toEqual([
    'note tea/SKILL.md:7 calls the skill "smell", which is not at hand: the model is told to do without',
  ]);
});

test("a skill that names itself calls none, wherever it lies", () => {
  const made = importOf({
    "SKILL.md": page({ name: "Tea" }, "Use the `tea` skill with care: invoke the skill `smell`."),
  });
  expect(made.calls).toEqual([{ name: "smell" }]);
});

test("what the references of a skill without steps ask for is what it needs", () => {
  const made = importOf({
    ...tea("Read `references/brew.md` before you begin."),
    "tea/references/brew.md": "Run `git status` first.\n",
  });
  expect(made.needs.map(({ name, places }) => [name, places])).toEqual([
    ["git", ["tea/references/brew.md:1"]],
  ]);
});

test("a model is told where the paths of references and called skills lead, and what their names in braces stand for", () => {
  const made = importOf(
    {
      ...tea("Read `references/brew.md`. Invoke the `taste` skill."),
      "config.yaml": "planning_artifacts: '{project-root}/plans'\nuser_name: Kim\npot: big\n",
      "tea/references/brew.md":
        "For {user_name}: `{planning_artifacts}/tea.md`, as `serve.md` has it, {{pot}}, {leaf}.\n",
      "tea/references/serve.md": "Serve.\n",
      "tea/scripts/brew.py": 'print(f"{pot}")\n',
      "taste/SKILL.md": "Read `{skill-root}/sip.md` and `{project-root}/x.md`.\n",
    },
    "tea/SKILL.md",
  );
  const agents = made.files.get("agents.json") ?? "";
  expect(agents).toContain(
    "a path without a mount begins in the file's own folder or in @pkg, and in those of a skill in @pkg/skills/<its name>.",
  );
  expect(agents).toContain(
    "In those files {planning_artifacts} is @project/plans, {project-root} is @project, {skill-root} is @pkg, or the folder of the skill, {user_name} is Kim.",
  );
  expect(importOf(tea("Sip."), "tea/SKILL.md").files.get("agents.json")).not.toContain("other files of @pkg");
});

test("the text of a skill without steps is in its package once, where its node has it", () => {
  const { files } = importOf(tea("Pour slowly."));
  const holding = [...files].filter(([, text]) => text.includes("Pour slowly.")).map(([path]) => path);
  expect(holding).toEqual(["steps/workflow.md"]);
  expect(files.get("workflow.md")).toContain("own document is the step file of its node");
  expect(files.get("agents.json")).toContain("The step file of the one node is the workflow's own document");
});

test("a pattern of names is no skill that is called", () => {
  const one = importOf({
    "tea/SKILL.md": page(
      { name: "tea", description: "x" },
      "A `bmad-agent-*` skill loads a persona, as `bmad-{name}` does; `bmad-brew` brews.",
    ),
  });
  expect(said(one, true)).toEqual([
    'note tea/SKILL.md:5 calls the skill "bmad-brew", which is not at hand: the model is told to do without',
  ]);
});
