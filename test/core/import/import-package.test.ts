import { describe, expect, test } from "vitest";
import { findEntries } from "../../../src/core/import/ways/entries.js";
import { withoutSkips } from "../../../src/core/import/ways/source-edge.js";
import { isStepFile } from "../../../src/core/import/source/step-files.js";
import { checkGraphFile, checkManifest, checkAgentsFile } from "../../../src/core/package/check-package.js";
import { type Texts, importOf, page, said, treeOf } from "./step-files.js";

const TEA: Texts = {
  "_bmad/core/config.yaml":
    "user_name: Ada\noutput_folder: '{project-root}/out'\ncommunication_language: German\n",
  "_bmad/leaf/config.yaml":
    "planning_artifacts: '{project-root}/out/plans/'\nsecret_path: '../../etc'\nteapots: 3\nunset: '{whatever}'\nabsolute_folder: /etc\n",
  "_bmad/core/tasks/taste.xml": "<task/>",
  "_bmad/leaf/data/kinds.csv": "kind\n",
  "_bmad/leaf/skills/tea/SKILL.md": page(
    { name: "Tea: report", description: "Writes a report.", type: "skill" },
    "Follow the instructions in ./workflow.md.",
  ),
  "_bmad/leaf/skills/tea/workflow.md": page(
    {
      main_config: "{project-root}/_bmad/leaf/config.yaml",
      outputFile: "{planning_artifacts}/tea-{{date}}.md",
      type: "x",
    },
    "# Tea",
    "**Goal:** A report on tea.",
    "**Your Role:** You are a taster.",
    "Read fully and follow: `./steps/step-01-pot.md`",
  ),
  "_bmad/leaf/skills/tea/steps/step-01-pot.md": [
    "# Step 1: `Pot`",
    "Greet {user_name} in {communication_language}, {{user_name}}; {{teapots}} pots, {unknown}.",
    "Copy the template from `../templates/tea.md` to `{outputFile}`, see [it](../templates/tea.md).",
    "Load ../../../data/kinds.csv and {project-root}/_bmad/core/tasks/taste.xml, all of `../templates/`.",
    "In `{skill-root}/`, `{installed_path}/x/*.md`, `../steps/../`, `../../../../elsewhere/bmad-taste/`, `../../../data/` and `../../../gone/`.",
    "Look in {planning_artifacts}/** and {project-root}/docs/*.md for `tea.md` and tea.md.",
    "Run: `python3 {project-root}/_bmad/scripts/x.py`, then `git diff`; search the web; ask a subagent.",
    "Invoke the `bmad-taste` skill, or skill:bmad-none.",
    "- IF C: append to {outputFile}, then read fully and follow: ./step-02-end.md",
  ].join("\r\n"),
  "_bmad/leaf/skills/tea/steps/step-02-end.md": page(
    {
      workflow_path: "{project-root}/_bmad/leaf/skills/tea",
      title: "mine",
      outputs: "none",
      many: 'x\'\nlist2: ["../templates/tea.md", 1, {a: "{user_name}"}, null]\nlast: \'',
      list: "../templates/tea.md",
      outputFile: "{output_folder}/../tea.md",
    },
    "# Step 2",
    "As established in the previous conversation: {outputFile}.",
  ),
  "_bmad/leaf/skills/tea/templates/tea.md": "# {{title}} {user_name}\n",
  "_bmad/leaf/skills/tea/bmad.json": "{}",
  "_bmad/leaf/skills/tea/.hidden/note.md": "n\n",
  "_bmad/core/skills/bmad-taste/SKILL.md": page({ name: "bmad-taste" }, "Taste it."),
  "elsewhere/bmad-taste/SKILL.md": page({ name: "bmad-taste" }, "Not this one."),
};
const PATH = "_bmad/leaf/skills/tea/SKILL.md";
const made = importOf(TEA, PATH);
const file = (path: string): string => made.files.get(path) ?? "";

describe("an imported package", () => {
  test("has what the format asks for", () => {
    expect(checkManifest(file("bmad.json")).findings).toEqual([]);
    expect(checkAgentsFile("agents.json", file("agents.json")).findings).toEqual([]);
    expect(checkGraphFile("g", file("workflow.graph.json"), new Set(["facilitator"])).findings).toEqual([]);
    expect(JSON.parse(file("bmad.json"))).toMatchObject({
      name: "tea-report",
      description: "Writes a report.",
      runtime: { wholeRunConversation: true },
    });
    expect(JSON.parse(file("agents.json"))).toMatchObject({
      agents: [{ persona: { role: "You are a taster.", identity: "A report on tea." } }],
    });
    expect([...made.files.keys()].sort()).toEqual([
      "SKILL.md",
      "agents.json",
      "bmad.json",
      "hidden/note.md",
      "shared/_bmad/core/tasks/taste.xml",
      "shared/_bmad/leaf/data/kinds.csv",
      "skills/bmad-taste/SKILL.md",
      "source/bmad.json",
      "steps/step-01-pot.md",
      "steps/step-02-end.md",
      "templates/tea.md",
      "workflow.graph.json",
      "workflow.md",
    ]);
  });

  test("keeps a step's lines, with paths on mounts and the config filled in", () => {
    expect(file("steps/step-01-pot.md").split("\n")).toEqual([
      "---",
      'schemaVersion: "1.1"',
      'nodeId: "step-01-pot"',
      'type: "step"',
      'title: "Step 1: Pot"',
      'outputs: ["out/plans/tea-{{date}}.md"]',
      'outputFile: "@project/out/plans/tea-{{date}}.md"',
      "---",
      "# Step 1: `Pot`",
      "Greet Ada in German, Ada; 3 pots, {unknown}.",
      "Copy the template from `@pkg/templates/tea.md` to `{outputFile}`, see [it](@pkg/templates/tea.md).",
      "Load @pkg/shared/_bmad/leaf/data/kinds.csv and @pkg/shared/_bmad/core/tasks/taste.xml, all of `@pkg/templates/`.",
      "In `@pkg/`, `@pkg/x/*.md`, `@pkg/`, `../../../../elsewhere/bmad-taste/`, `@pkg/shared/_bmad/leaf/data/` and `../../../gone/`.",
      "Look in @project/out/plans/** and @project/docs/*.md for `tea.md` and tea.md.",
      "Run: `python3 @project/_bmad/scripts/x.py`, then `git diff`; search the web; ask a subagent.",
      "Invoke the `bmad-taste` skill, or skill:bmad-none.",
      "- IF C: append to {outputFile}, then read fully and follow: @pkg/steps/step-02-end.md",
    ]);
    expect(file("steps/step-02-end.md").split("\n")).toEqual([
      "---",
      'schemaVersion: "1.1"',
      'nodeId: "step-02-end"',
      'type: "end"',
      'title: "Step 2"',
      'outputs: ["tea.md"]',
      'workflow_path: "@pkg"',
      'source_title: "mine"',
      'source_outputs: "none"',
      'many: "x"',
      'list2: ["@pkg/templates/tea.md",1,{"a":"Ada"},null]',
      'last: ""',
      'list: "@pkg/templates/tea.md"',
      'outputFile: "@project/tea.md"',
      "---",
      "# Step 2",
      "As established in the previous conversation: {outputFile}.",
      "",
    ]);
    expect(file("templates/tea.md")).toBe("# {{title}} {user_name}\n");
    expect(file("workflow.md")).toContain("Read fully and follow: `@pkg/steps/step-01-pot.md`");
  });

  test("is told of with what it needs, what it calls and where its config comes from", () => {
    expect(made.needs.map(({ name, places }) => [name, places])).toEqual([
      ["shell", ["_bmad/leaf/skills/tea/steps/step-01-pot.md:7"]],
      ["git", ["_bmad/leaf/skills/tea/steps/step-01-pot.md:7"]],
      ["web", ["_bmad/leaf/skills/tea/steps/step-01-pot.md:7"]],
      ["subagents", ["_bmad/leaf/skills/tea/steps/step-01-pot.md:7"]],
    ]);
    expect(made.calls).toEqual([
      { name: "bmad-taste", folder: "_bmad/core/skills/bmad-taste" },
      { name: "bmad-none" },
    ]);
    expect(made.configFiles).toEqual(["_bmad/core/config.yaml", "_bmad/leaf/config.yaml"]);
    expect(said(made, true)).toEqual([
      'note _bmad/leaf/skills/tea/steps/step-01-pot.md:5 names the folder "elsewhere/bmad-taste", in which other workflows begin: it is not taken along',
      'note _bmad/leaf/skills/tea/steps/step-01-pot.md:8 calls the skill "bmad-none", which is not at hand: the model is told to do without',
      "note _bmad/leaf/skills/tea/steps/step-02-end.md:12 relies on what was said before: runs keep the whole conversation",
    ]);
  });

  test("of instructions in one file is one node", () => {
    const one = importOf({
      "SKILL.md": page({ name: "!" }, "Taste it, with `references/how.md`.", "No headings."),
      "references/how.md": "x",
    });
    expect(one.nodes).toEqual([
      { id: "SKILL", type: "end", file: "steps/workflow.md", title: "SKILL", outputs: [] },
    ]);
    expect(one.name).toBe("workflow");
    expect(one.files.get("steps/workflow.md")).toContain("with `@pkg/references/how.md`.");
    expect(one.wholeRunConversation).toBe(false);
  });

  test("is filled from the prompts of a module where nothing is installed", () => {
    const source = {
      "src/core-skills/module.yaml":
        "code: core\nuser_name:\n  prompt: Who?\n  default: You\n  result: '{value}'\noutput_folder:\n  prompt: Where?\n  default: _out\n  result: '{project-root}/{value}'\nheader: x\n",
      "src/leaf-skills/module.yaml":
        "code: leaf\ncount: 4\nplanning_artifacts:\n  prompt: Where?\n  default: '{output_folder}/plans'\n  result: '{project-root}/{value}'\nleaf_folder:\n  prompt: x\n  default: leaves\nodd: [1]\n",
      "src/leaf-skills/tea/SKILL.md": page(
        { name: "tea" },
        "{user_name}: `{planning_artifacts}/x.md` {leaf_folder} {count} {project_knowledge}",
      ),
    };
    const { files } = importOf(source);
    expect(files.get("steps/workflow.md")).toContain(
      "You: `@project/_out/plans/x.md` @project/leaves {count} @project/docs",
    );
    const broken = importOf({ ...source, "src/core-skills/module.yaml": "a: [" });
    expect(broken.files.get("steps/workflow.md")).toContain("{user_name}: `@project/artifacts");
  });
});

describe("the entries of a tree", () => {
  test("are all found, each with its form, and no template, part or pointed-at file", () => {
    const tree = treeOf({
      "a/workflow.yaml": "name: 'yaml one'\n",
      "b/workflow.yml": "x: 1\n",
      "c/workflow-create.yaml": "x: 1\n",
      "d/SKILL.md": page({ name: "pointer" }, "Follow ./workflow.md."),
      "d/workflow.md": "Load ./steps/step-01.md\n",
      "d/steps/step-01.md": "# 1\n",
      "d/workflow-part.md": page({ name: "part" }, "x"),
      "e/workflow-one.md": page({ name: "one" }, "In folder `./one-steps/`."),
      "e/one-steps/go.md": "# Go\n",
      "e/workflow-guide.md": "A guide.\n",
      "e/workflow-plan.md": page({ name: "plan" }, "x"),
      "f/templates/workflow.md": "x\n",
      "g/bmad-agent-x/SKILL.md": page(
        { name: "x" },
        "Your persona, and a menu:",
        "1",
        "2",
        "3",
        "4",
        "5",
        "6",
      ),
      "my-agent-skills/bmad/agents/y/SKILL.md": page({ name: "y" }, "Take on the persona of a brewer."),
      "my-agent-skills/skills/qa/SKILL.md": page(
        { name: "qa" },
        "## Step 4: Compose the `qa` persona overlay",
      ),
      "h/references/SKILL.md": "x\n",
      "core/tasks/workflow.md": "The engine.",
      "core/tasks/bmad-help/SKILL.md": page({ name: "help" }, "Help."),
      "i/SKILL.md": page({ description: "d" }, "Load references/a.md"),
      "i/references/a.md": page({ nextStepFile: "./b.md" }, "A"),
      "i/examples/one/SKILL.md": page({ name: "part" }, "A part of i."),
      "examples/tea/SKILL.md": page({ name: "tea" }, "Make tea."),
      "examples/tea/templates/pot/SKILL.md": page({ name: "pot" }, "A part of tea."),
      "j/templates/SKILL.md": page({ name: "templates" }, "Find a template."),
      "j/agent-notes/SKILL.md": page({ name: "notes" }, "Design a persona, not a menu."),
      "agent-kit/skills/k/SKILL.md": page({ name: "k" }, "This matters if the agent needs a persona."),
    });
    expect(findEntries(tree).map(({ path, name, form, document }) => [path, name, form, document])).toEqual([
      ["a/workflow.yaml", "yaml one", "yaml", "a/workflow.yaml"],
      ["agent-kit/skills/k/SKILL.md", "k", "instructions", "agent-kit/skills/k/SKILL.md"],
      ["b/workflow.yml", "b", "yaml", "b/workflow.yml"],
      ["core/tasks/bmad-help/SKILL.md", "help", "instructions", "core/tasks/bmad-help/SKILL.md"],
      ["d/SKILL.md", "pointer", "steps", "d/workflow.md"],
      ["e/workflow-one.md", "one", "steps", "e/workflow-one.md"],
      ["examples/tea/SKILL.md", "tea", "instructions", "examples/tea/SKILL.md"],
      ["g/bmad-agent-x/SKILL.md", "x", "agent", "g/bmad-agent-x/SKILL.md"],
      ["i/SKILL.md", "i", "steps", "i/SKILL.md"],
      ["j/agent-notes/SKILL.md", "notes", "instructions", "j/agent-notes/SKILL.md"],
      ["j/templates/SKILL.md", "templates", "instructions", "j/templates/SKILL.md"],
      ["my-agent-skills/bmad/agents/y/SKILL.md", "y", "agent", "my-agent-skills/bmad/agents/y/SKILL.md"],
      ["my-agent-skills/skills/qa/SKILL.md", "qa", "instructions", "my-agent-skills/skills/qa/SKILL.md"],
    ]);
  });
});

test("skills in a folder docs are found below the SKILL.md of a collection, and examples of one skill are not", () => {
  const skill = (name: string) => page({ name, description: "x" }, "Brew.");
  const below = { "SKILL.md": skill("all"), "product/docs/tea/SKILL.md": skill("tea") };
  const found = (texts: Texts) => findEntries(treeOf(texts)).map(({ name }) => name);
  expect(found({ ...below, "product/mate/SKILL.md": skill("mate"), "cups/SKILL.md": skill("cups") })).toEqual(
    ["all", "cups", "tea", "mate"],
  );
  expect(found(below)).toEqual(["all"]);
});

describe("a hostile source", () => {
  const hostile = (body: string, more: Texts = {}) =>
    importOf({
      "workflow.md": `Load ./steps/step-01-a.md\n${body}`,
      "steps/step-01-a.md": "# A, the final step\n",
      ...more,
    });

  test("names no place outside: paths that climb stay as they are, and are said", () => {
    const one = hostile(
      "Load ../../../etc/passwd.md and `..\\\\x.md`, /etc/passwd.md, ~/x.md, C:/x.md, https://x/y.md\n",
    );
    expect(one.files.get("workflow.md")).toContain("Load ../../../etc/passwd.md and");
    expect(said(one)).toEqual([
      'warning workflow.md:2 "../../../etc/passwd.md" leaves the directory that is imported: it was left as it is',
      'warning workflow.md:2 "..\\\\x.md" leaves the directory that is imported: it was left as it is',
    ]);
  });

  test("gives no two files one place, and leaves out names that cannot stand in a package", () => {
    const one = hostile("", {
      "a/X.md": "1",
      "a/x.md": "2",
      "A/x.md": "3",
      "b\u202e.md": "4",
      "c/.git/x.md": "5",
    });
    expect([...one.files.keys()].filter((path) => /x\.md$/i.test(path)).sort()).toEqual([
      "A/x.md",
      "source/a/X.md",
    ]);
    expect(said(one)).toEqual([
      String.raw`warning a/x.md:0 was left out: its name cannot stand in a package`,
      String.raw`warning b\u202e.md:0 was left out: its name cannot stand in a package`,
      "warning c/.git/x.md:0 was left out: its name cannot stand in a package",
    ]);
  });

  test("is walked once: long lines, deep variables, thousands of names and front matter without end", () => {
    const long = `${"load ./steps/".repeat(50_000)}x.md`;
    const one = hostile(
      [
        long,
        "./x.md ".repeat(500),
        `\`${"{a}".repeat(3_000)}\``,
        "[C".repeat(9_000),
        "not ".repeat(2_000),
      ].join("\n"),
      {
        "steps/step-02-b.md": `---\n${"a: &a [*a]\n".repeat(50)}---\n# B\n`,
        "steps/step-03-c.md": `---\nkey: ${"x".repeat(70_000)}\nother: 'y'\n${"z".repeat(5_000)}: 1\n---\n# C\n`,
        "steps/step-04-d.md": `---\n${"k: v\n".repeat(500)}# never closed\n`,
      },
    );
    expect(one.files.size).toBeGreaterThan(5);
    expect(one.files.get("workflow.md")).toContain(long);
  });

  test("costs what its size is: a long line of steps, front matter of blank lines, ways from all to all", () => {
    const line = `${"./steps/step-01-a.md ".repeat(190)}${"a".repeat(3_000_000)}`;
    const steps = { "steps/step-01-a.md": "# A\n", "steps/step-02-b.md": "# B\n" };
    expect(importOf({ "workflow.md": `# Tea\n${line}\n`, ...steps }).files.size).toBeGreaterThan(0);
    const tree = treeOf({ "data/blank.md": `---${"\n".repeat(4_990)}` });
    expect(Array.from({ length: 20_000 }, () => isStepFile(tree, "data/blank.md"))).not.toContain(true);
    const all = Array.from({ length: 200 }, (_, index) => `steps/step-${index}-a.md`);
    const way = (from: string, to: string) => ({ from, to, label: "next", isDefault: false });
    const ways = all.flatMap((from) => all.map((to) => way(from, to)));
    const named = ["first", "later"].flatMap((name) => all.map((_, index) => `steps/${name}-${index}.md`));
    const starts = named.flatMap((to) => [way("workflow.md", to), way(to, "steps/step-0-a.md")]);
    const edges = [...starts, ...ways];
    expect(withoutSkips(edges, "workflow.md", (path) => path.includes("first"))).toEqual(edges);
  });

  test("has a bounded report, and no more files than a package", () => {
    const lines = Array.from({ length: 400 }, (_, index) => `Load ./gone-${index}.md`).join("\n");
    const one = hostile(lines);
    expect(one.findings).toHaveLength(201);
    expect(one.findings.at(-1)?.message).toBe("and 200 more findings");
    const many = Object.fromEntries(Array.from({ length: 2_100 }, (_, index) => [`data/${index}.md`, "x"]));
    const full = hostile("", many);
    expect(said(full)).toEqual([
      "error .:0 holds more than 2000 files and 33554432 characters: import the folder of one workflow alone",
    ]);
    expect(full.files.size).toBe(0);
  });

  test("defines no variable by itself, and fills none with what leads elsewhere", () => {
    const one = importOf({
      "workflow.md": page(
        { a: "{b}/x.md", b: "{a}/y.md", constructor: "z" },
        "Load ./steps/step-01-a.md",
        "{a} {__proto__} {constructor} {b}/q.md {{one}",
      ),
      "steps/step-01-a.md": "# A, the final step\n",
      "config.yaml": "out_folder: '{project-root}/../..'\nup_path: '~/x'\nword: \"two\\nlines\"\n",
    });
    expect(one.files.get("workflow.md")).toContain("{a} {__proto__} {constructor} {b}/q.md {{one}");
  });
});
