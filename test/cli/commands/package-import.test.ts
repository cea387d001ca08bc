import { execFileSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { main } from "../../../src/cli/program.js";
import { commandOutput } from "../../fakes/command-output.js";
import { withoutRights } from "../../fakes/unprivileged.js";

const output = commandOutput();
let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "interlock-import-"));
  vi.stubEnv("INTERLOCK_STORE", join(dir, "store"));
  return () => vi.unstubAllEnvs();
});

function put(path: string, text: string | Uint8Array): void {
  mkdirSync(dirname(join(dir, path)), { recursive: true });
  writeFileSync(join(dir, path), text);
}

function putTea(at: string, name = "tea"): void {
  put(`${at}/SKILL.md`, `---\nname: ${name}\n---\nRead fully and follow: \`./steps/step-01-pot.md\`\n`);
  put(`${at}/steps/step-01-pot.md`, "# Pot\n\n- IF C: load ./step-02-end.md\n");
  put(`${at}/steps/step-02-end.md`, "# End\n");
}

const run = (...args: readonly string[]) =>
  main(["package", "import", ...args.map((arg) => arg.replace(/^~/, dir))]);

describe("interlock package import", () => {
  test("makes a package that is checked, and tells of it", async () => {
    putTea("kit/skills/tea");
    put("kit/_bmad/core/config.yaml", "user_name: Ada\n");
    expect(await run("~/kit/skills/tea", "--out", "~/made")).toBe(0);
    expect(output.text).toContain("tea  skills/tea/SKILL.md  2 nodes, 1 edge, 1 end\n");
    expect(output.text).toContain("Walk it without a model: interlock run ");
    expect(readdirSync(join(dir, "made")).sort()).toEqual([
      "agents.json",
      "bmad.json",
      "steps",
      "workflow.graph.json",
      "workflow.md",
    ]);
    expect(readdirSync(dir).filter((name) => name.includes("making"))).toEqual([]);
    expect(await main(["package", "check", join(dir, "made")])).toBe(0);
  });

  test("installs it with --install, and tells programs all there is", async () => {
    putTea("tea");
    put("tea/steps/step-05-lost.md", "# Lost\n");
    expect(await run("~/tea/SKILL.md", "--out", "~/made", "--install", "--json")).toBe(0);
    const report = JSON.parse(output.text) as { packages: { packageId: string }[] };
    expect(report).toMatchObject({
      ok: true,
      packages: [
        {
          ok: true,
          name: "tea",
          source: "SKILL.md",
          form: "steps",
          out: join(dir, "made"),
          packageId: expect.stringMatching(/^tea-1\.0\.0-[0-9a-f]{16}$/),
          edges: [
            {
              from: "step-01-pot",
              to: "step-02-end",
              label: "C",
              conditionText: "- IF C: load ./step-02-end.md",
              isDefault: true,
            },
          ],
          findings: [{ severity: "warning", file: "steps/step-05-lost.md", line: 0 }],
          check: [],
          needs: [],
          wholeRunConversation: false,
        },
      ],
    });
    output.text = "";
    expect(await main(["package", "list", "--json"])).toBe(0);
    expect(JSON.parse(output.text)).toMatchObject([{ packageId: report.packages[0]?.packageId }]);
  });

  test("replaces nothing, and leaves nothing where the source has errors", async () => {
    putTea("tea");
    put("made/mine.txt", "mine");
    expect(await run("~/tea", "--out", "~/made")).toBe(1);
    expect(output.text).toContain("is there already: name another directory, or remove it");
    expect(readdirSync(join(dir, "made"))).toEqual(["mine.txt"]);
    for (let count = 0; count < 2_100; count += 1) put(`tea/data/${count}.md`, "x");
    expect(await run("~/tea", "--out", "~/other")).toBe(1);
    expect(output.text).toContain("error    .  holds more than 2000 files");
    expect(readdirSync(dir)).not.toContain("other");
  });

  test("takes along what is text in a workflow's folder, whatever its name ends with", async () => {
    putTea("tea");
    put("tea/assets/cup.cs.template", "class Cup {}\n");
    put("tea/scripts/brew", "#!/bin/sh\n");
    put("tea/assets/cup.png", Uint8Array.of(0x89, 0x50, 0xff));
    put("tea/assets/pot.bin", "a\0b");
    expect(await run("~/tea", "--out", "~/made")).toBe(0);
    expect(readFileSync(join(dir, "made/assets/cup.cs.template"), "utf8")).toBe("class Cup {}\n");
    expect(readdirSync(join(dir, "made/scripts"))).toEqual(["brew"]);
    expect(readdirSync(join(dir, "made/assets"))).toEqual(["cup.cs.template"]);
    expect(output.text).toContain("the package is without assets/cup.png, assets/pot.bin: of a kind");
  });

  test("takes neither keys along nor a folder of data: what is no text of a workflow's leaves room for what is", async () => {
    putTea("tea");
    put("tea/server.key", "-----BEGIN PRIVATE KEY-----\n");
    for (let nth = 10; nth < 20; nth += 1) put(`tea/data/${nth}.log`, "x".repeat(1024 * 1024));
    put("tea/references/cups.md", "Cups.\n");
    expect(await run("~/tea", "--out", "~/made")).toBe(0);
    expect(readdirSync(join(dir, "made"))).not.toContain("server.key");
    expect(readdirSync(join(dir, "made/references"))).toEqual(["cups.md"]);
    expect(output.text).toContain("the package is without server.key, data/18.log, data/19.log: of a kind");
  });

  test("asks which one where there are several, or takes all", async () => {
    putTea("kit/a", "one");
    putTea("kit/b", "one");
    put("kit/c/SKILL.md", "---\nname: two\n---\nTaste it.\n");
    expect(await run("~/kit")).toBe(2);
    expect(output.text).toContain(
      "There are 3 workflows. Choose one with --workflow, or import them with --all: a/SKILL.md, b/SKILL.md, c/SKILL.md",
    );
    expect(await run("~/kit", "--workflow", "one")).toBe(2);
    expect(output.text).toContain('Several workflows are called "one"');
    expect(await run("~/kit", "--workflow", "three")).toBe(2);
    expect(output.text).toContain('There is no workflow "three" to import (there are: one, one, two).');
    expect(await run("~/kit", "--workflow", "b/SKILL.md", "--out", "~/b")).toBe(0);
    expect(await run("~/kit", "--workflow", "x", "--all")).toBe(2);
    expect(await run("~/kit", "--all", "--out", "~/all")).toBe(0);
    expect(output.text).toContain("3 of 3 workflows were imported into ");
    expect(readdirSync(join(dir, "all"))).toEqual(["one", "one-2", "two"]);
  });

  test("makes no package of a package: what was imported is not found again", async () => {
    putTea("kit/tea");
    expect(await run("~/kit", "--all", "--out", "~/kit/imported")).toBe(0);
    output.text = "";
    expect(await main(["bundle", "list", join(dir, "kit"), "--json"])).toBe(1);
    expect(JSON.parse(output.text)).toMatchObject({
      others: [{ path: "tea/SKILL.md" }],
      packages: ["imported/tea"],
      agents: [],
    });
    output.text = "";
    expect(await run("~/kit", "--all", "--out", "~/kit/again")).toBe(0);
    expect(output.text).toContain("1 of 1 workflow was imported into ");
    expect(await run("~/kit/imported/tea")).toBe(1);
    expect(output.text).toContain('imported/tea" is a package already. It runs: interlock run ');
    output.text = "";
    expect(await main(["bundle", "list", join(dir, "kit", "imported")])).toBe(1);
    expect(output.text).toBe(
      `package   tea\n    to run it: interlock run ${join(dir, "kit/imported/tea")}\n0 workflows, 0 agents. 1 package.\n` +
        "There are packages here, and no bundle. They run: interlock run <package>\n",
    );
  });

  test("says what there is instead where nothing can be imported", async () => {
    put("old/workflow.yaml", "name: x\ninstructions: ./instructions.md\n");
    expect(await run("~/old")).toBe(1);
    expect(output.text).toContain(
      "BMAD's run as they are: interlock bundle run <workflow.yaml>. Which these are: ",
    );
    put("none/readme.md", "x\n");
    expect(await run("~/none")).toBe(1);
    expect(output.text).toContain("No workflow begins in ");
    put("lower/skill.md", "Do it.\n");
    expect(await run("~/lower")).toBe(1);
    expect(output.text).toContain("skill.md is like one: its name has to be spelled so");
    put("small/tea/skill.md", "---\nname: tea\ndescription: x\n---\nPour.\n");
    expect(await run("~/small/tea/skill.md", "--out", "~/small-tea")).toBe(0);
    expect(await run("~/small/tea/SKILL.md", "--out", "~/small-too")).toBe(0); // as `bundle list` has it
    put("latin/workflow.md", "x");
    writeFileSync(join(dir, "latin/workflow.md"), Buffer.from([0x23, 0x20, 0xff]));
    expect(await run("~/latin")).toBe(1);
    expect(output.text).toContain("workflow.md is like one");
    put("real/SKILL.md", "Do it.\n");
    mkdirSync(join(dir, "linked/.claude/skills"), { recursive: true });
    symlinkSync("../../../real", join(dir, "linked/.claude/skills/tea"));
    expect(await run("~/linked")).toBe(1);
    expect(output.text).toContain('".claude/skills/tea" is a link, and links are not followed: name it, or');
    put("men/agent-x/SKILL.md", "Your persona, a menu.\n1\n2\n3\n4\n5\n6\n");
    expect(await run("~/men")).toBe(1);
    expect(output.text).toContain("There are only agents in ");
    expect(await run("~/gone")).toBe(2);
    expect(await run("/dev/null")).toBe(2);
  });

  test.each([
    ["v4/.bmad-core/agents/dev.md", "v4", "This is BMAD of version 4 or 5"],
    ["v5/agent-teams/team.yaml", "v5", "This is BMAD of version 4 or 5"],
    ["packs/expansion-packs/tea/config.yaml", "packs", "This is BMAD of version 4 or 5"],
    ["pack/tea/agent-teams/team.yaml", "pack", '"tea" is BMAD of version 4 or 5'],
    ["kit/.openhands/microagents/pot.md", "kit", 'There are prompts in ".openhands/microagents". To import'],
    ["kit/.junie/guidelines.md", "kit", 'There are prompts in ".junie/guidelines.md". To import one'],
    ["kit/.github/copilot-instructions.md", "kit", 'prompts in ".github/copilot-instructions.md". To import'],
    ["zed/.rules", "zed", 'There are prompts in ".rules". To import one'],
    ["kilo/.kilocodemodes", "kilo", 'There are prompts in ".kilocodemodes". To import one'],
    ["kit/.kiro/hooks/pot.kiro.hook", "kit/.kiro/hooks", 'may be prompts: "pot.kiro.hook". To import one'],
    [
      "kit/.claude/commands/plan.md",
      "kit",
      'There are prompts in ".claude/commands". To import one, copy it into',
    ],
    ["gem/.gemini/commands/plan.toml", "gem", "(of TOML, YAML or JSON the text of its prompt)"],
    [
      "kit/.claude/commands/plan.md",
      "kit/.claude/commands",
      "These are prompts. To import one, copy it into",
    ],
    ["kit/.cursor/rules/tea/pot.mdc", "kit/.cursor/rules/tea", "These are prompts. To import one"],
    ["kit/.windsurf/workflows/plan.md", "kit/.windsurf", 'There are prompts in "workflows". To import one'],
    ["kit/.kiro/steering/product.md", "kit", 'There are prompts in ".kiro/steering". To import one'],
    ["codex/AGENTS.md", "codex", 'There are prompts in "AGENTS.md". To import one'],
    ["crew/config/tasks.yaml", "crew", "Flows of other tools are not imported"],
    ["kit/.factory/droids/pot.md", "kit", 'There are prompts in ".factory/droids". To import one'],
    ["kit/.amazonq/prompts/pot.md", "kit/.amazonq", 'There are prompts in "prompts". To import one'],
    ["kit/.clinerules/commands/pot.md", "kit/.clinerules", "These are prompts. To import one"],
    ["kit/brew/plan-tea.md", "kit/brew", 'There are texts that may be prompts: "plan-tea.md". To import one'],
    ["kit/rules/tea.mdc", "kit", 'There are texts that may be prompts: "rules/tea.mdc". To import one'],
    [
      "kit/agents/a.agent.md",
      "kit",
      'There are texts that may be prompts: "agents/a.agent.md". To import one',
    ],
  ])(
    "%s is no workflow: what it is, and what to do, is said by every command",
    async (file, folder, words) => {
      put(file, "Do it.\n");
      expect(await run(`~/${folder}`)).toBe(1);
      expect(await main(["bundle", "list", join(dir, folder)])).toBe(1);
      expect(await main(["bundle", "check", join(dir, folder)])).toBe(1);
      expect(output.text.split(words)).toHaveLength(4);
    },
  );

  test.each([
    ["n8n/tea.json", '{ "name": "x", "nodes": [], "connections": {} }'],
    ["flowise/tea.json", '{\n  "nodes": [{ "id": 1 }],\n  "edges": []\n}'],
    ["dify/tea.yml", "kind: app\nworkflow:\n  graph:\n    edges: []\n    nodes: []\n"],
    ["archon/tea.yaml", "name: tea\nnodes:\n  - id: pot\n    prompt: Boil.\n"],
    ["goose/tea.yaml", "version: 1.0.0\ntitle: Tea\nprompt: Boil.\n"],
    ["crew/src/tea/tasks.yaml", "boil:\n  description: Boil.\n  expected_output: water\n"],
  ])(
    "%s is a flow of another tool by what it says: which is said of its folder and of the file",
    async (file, text) => {
      put(file, text);
      put("n8n/CLAUDE.md", "About this.\n");
      const [folder = "", ...rest] = file.split("/");
      expect(await run(`~/${folder}`)).toBe(1);
      expect(output.text).toContain(`There is "${rest.join("/")}". Flows of other tools are not imported`);
      output.text = "";
      expect(await run(`~/${file}`)).toBe(1);
      expect(output.text).toContain("was found. Flows of other tools");
    },
  );

  test("modes of a coding tool in one file are prompts, and what tells of a project is none, whatever its head says", async () => {
    put("modes/tea.yaml", "customModes:\n  - slug: tea\n    roleDefinition: You brew.\n");
    put("modes/tea.json", '{ "customModes": [{ "slug": "tea" }] }');
    put("modes/TEA-V5.md", "About tea.\n");
    put("modes/hooks/README.md", "---\ndescription: A hook\n---\nAbout a hook.\n");
    expect(await run("~/modes")).toBe(1);
    expect(output.text).toContain('texts that may be prompts: "tea.json", "tea.yaml". To import one');
  });

  test("what is called as a workflow is and counts as something else is said to, and not to be misspelled", async () => {
    put("kit/templates/workflow.md", "Brew it.\n");
    put("kit/commands/workflow.md", "Brew it.\n");
    expect(await run("~/kit")).toBe(1);
    expect(output.text).toContain(
      ": commands/workflow.md, templates/workflow.md counts as a template, material or a tool's prompt, by where",
    );
    expect(output.text).not.toContain("spelled");
    output.text = "";
    put("drawer/templates/workflow.md", "Brew it.\n");
    expect(await run("~/drawer")).toBe(1);
    expect(output.text).toContain(
      "its head says. To import it, copy it into a folder of its own under the name",
    );
  });

  test("a workflow.yaml without instructions is no workflow of BMAD's: which an import and a list say, with what to do", async () => {
    const steps = "steps:\n  - id: pot\n    command: tea.boil\n  - id: ask\n    type: gate\n";
    put("spec/tea/workflow.yml", `schema_version: "1.0"\nworkflow:\n  id: tea\n${steps}`);
    const words = "names instructions, as BMAD's do. Flows of other tools are not imported: write what";
    expect(await run("~/spec")).toBe(1);
    expect(await main(["bundle", "list", join(dir, "spec")])).toBe(1);
    expect(await main(["bundle", "check", join(dir, "spec")])).toBe(1);
    expect(output.text.split(words)).toHaveLength(4);
    output.text = "";
    put("spec/cup/workflow.yaml", "name: cup\ninstructions: '{installed_path}/instructions.md'\n");
    expect(await run("~/spec")).toBe(1);
    expect(output.text).toContain("BMAD's run as they are: interlock bundle run <workflow.yaml>");
  });

  test("all folders of prompts are named, and files about a project, its settings and what runs on a server are none", async () => {
    for (const file of [".claude/commands/a.md", ".gemini/commands/a.toml", "commands/a.md"])
      put(`kit/${file}`, "x\n");
    expect(await run("~/kit")).toBe(1);
    expect(output.text).toContain(
      'There are prompts in ".claude/commands", ".gemini/commands", "commands". To',
    );
    output.text = "";
    for (const file of [
      "README.md",
      "CODE_OF_CONDUCT.md",
      "changelog.md",
      ".github/workflows/ci.yaml",
      "docs/pot.md",
    ])
      put(`plain/${file}`, "x\n");
    expect(await run("~/plain")).toBe(1);
    expect(output.text.trimEnd().endsWith("workflow-….md was found.")).toBe(true);
    output.text = "";
    put("opencode.json", '{ "agent": {} }');
    expect(await run("~/opencode.json")).toBe(1);
    expect(output.text).toContain("was found. If it holds a prompt, put that alone into a SKILL.md");
  });

  test("steps without a document, and those of a workflow beside them, are said to be so", async () => {
    for (const name of ["01-pot.md", "02-cup.md"]) put(`loom/phases/${name}`, "Do it.\n");
    for (const command of ["package import", "bundle list", "bundle check"])
      expect(await main([...command.split(" "), join(dir, "loom")])).toBe(1);
    expect(output.text.split('There are numbered files in "phases": give the document')).toHaveLength(4);
    putTea("kit/tea", "tea");
    for (const part of ["steps", "steps/step-01-pot.md"]) {
      put("kit/tea/steps/step-01-pot.md", "# Pot\n");
      output.text = "";
      expect(await run(`~/kit/tea/${part}`)).toBe(1);
      expect(output.text).toContain('SKILL.md": name that one.');
    }
  });

  test.each([
    ["<agent name='Bob'><persona/></agent>", "bundle run <workflow.yaml> --agent <this file>"],
    [
      "LOAD {project-root}/_bmad/core/tasks/workflow.xml with {project-root}/_bmad/bmm/workflows/4-x/story/workflow.yaml",
      "interlock bundle run _bmad/bmm/workflows/4-x/story/workflow.yaml",
    ],
    [
      "LOAD the FULL {project-root}/_bmad/bmm/workflows/prd/workflow-create-prd.md, READ it",
      "interlock package import _bmad/bmm/workflows/prd/workflow-create-prd.md",
    ],
    [
      "LOAD {project-root}/_bmad/bmm/agents/sm.md",
      "bundle run <workflow.yaml> --agent _bmad/bmm/agents/sm.md",
    ],
    ["LOAD {project-root}/a;id>b;/workflow.yaml", "interlock bundle run 'a;id>b;/workflow.yaml'"],
  ])(
    "an agent, and a command of an editor that loads one or a workflow, is said to be so: %s",
    async (text, remedy) => {
      put("kit/.claude/commands/story.md", `${text}\n`);
      expect(await run("~/kit/.claude/commands/story.md")).toBe(1);
      expect(output.text.trimEnd().endsWith(remedy)).toBe(true);
    },
  );

  test("a file that begins none, an archive and an address are said to be so, with what to do", async () => {
    put("plan.md", "Do it.\n");
    expect(await run("~/plan.md")).toBe(1);
    expect(output.text).toContain("copy it into a folder of its own under the name SKILL.md");
    put("kit.zip", "PK");
    expect(await run("~/kit.zip")).toBe(1);
    expect(output.text).toContain("unpack it, and name the directory");
    output.text = "";
    put("tea.bmad", "PK");
    expect(await run("~/tea.bmad")).toBe(1);
    expect(output.text).toMatch(/tea\.bmad" is a package already\. It runs: interlock run \S+tea\.bmad\n$/);
    expect(await main(["package", "import", "https://git.example/tea/kit.git"])).toBe(2);
    expect(output.text).toContain("clone it first, and name its directory");
    mkdirSync(join(dir, "plan"));
    renameSync(join(dir, "plan.md"), join(dir, "plan", "SKILL.md"));
    expect(await run("~/plan", "--out", "~/made")).toBe(0);
  });
});

test("skills are found in hidden folders that are named after them or hold them", async () => {
  for (const [index, folder] of [".skills", ".tool/skills", ".cache"].entries())
    putTea(`kit/${folder}/tea`, `tea${index}`);
  expect(await run("~/kit", "--all", "--out", "~/made", "--json")).toBe(0);
  const { packages } = JSON.parse(output.text) as { packages: { name: string }[] };
  expect(packages.map(({ name }) => name)).toEqual(["tea0", "tea1"]);
});

test("the skills beside one in a folder of skills are at hand, without an installation or a repository around", async () => {
  put("kit/.claude/skills/tea/SKILL.md", "---\nname: tea\n---\nInvoke the `taste` skill.\n");
  put("kit/.claude/skills/taste/SKILL.md", "---\nname: taste\n---\nTaste it.\n");
  expect(await run("~/kit/.claude/skills/tea", "--out", "~/made")).toBe(0);
  expect(output.text).toContain("taken along: taste");
});

test("a skill that says no name is called as its folder, wherever that lies", async () => {
  put("tea-shop/SKILL.md", "# Tea\n\nBrew it.\n");
  expect(await run("~/tea-shop", "--out", "~/made")).toBe(0);
  expect(output.text).toContain("tea-shop  SKILL.md  1 node");
  expect(readFileSync(join(dir, "made/bmad.json"), "utf8")).toContain('"tea-shop"');
});

test("what is read is bounded, and nothing leads out of it: links, other encodings, hidden and huge files", async () => {
  putTea("kit/tea");
  put("secret.md", "a secret\n");
  symlinkSync(join(dir, "secret.md"), join(dir, "kit/tea/link.md"));
  symlinkSync(dir, join(dir, "kit/tea/folder"));
  put("kit/tea/latin.md", Uint8Array.of(0x23, 0xe9));
  put("kit/tea/huge.md", "x".repeat(1024 * 1024 + 1));
  put("kit/tea/.git/config.md", "x");
  put("kit/tea/node_modules/x/SKILL.md", "x");
  put("kit/tea/image.png", Uint8Array.of(0x89, 0x50));
  expect(await run("~/kit/tea", "--out", "~/made")).toBe(0);
  const files = readdirSync(join(dir, "made"), { recursive: true }).map(String).sort();
  expect(files).toEqual([
    "agents.json",
    "bmad.json",
    "steps",
    "steps/step-01-pot.md",
    "steps/step-02-end.md",
    "workflow.graph.json",
    "workflow.md",
  ]);
  expect(readFileSync(join(dir, "made/workflow.md"), "utf8")).toContain("`@pkg/steps/step-01-pot.md`");
});

test("finds skills in hidden folders of a folder of skills", async () => {
  putTea("kit/skills/.curated/tea");
  putTea("kit/.opencode/skill/mate", "mate");
  expect(await run("~/kit", "--all", "--out", "~/made")).toBe(0);
  expect(readdirSync(join(dir, "made")).sort()).toEqual(["mate", "tea"]);
});

test("a hidden folder of a workflow comes along where a text names a page in it, and no other one", async () => {
  put("kit/skills/tea/SKILL.md", "---\nname: tea\n---\n1. Refer to `.lines/.index.md`.\n2. Make `.venv/`.\n");
  put("kit/skills/tea/.lines/.index.md", "Brew: `.cups/one.md`, or `../.pots/two.md`.\n");
  put("kit/skills/tea/.lines/.cups/one.md", "One.\n");
  put("kit/skills/tea/.pots/two.md", "Two.\n");
  put("kit/skills/tea/.venv/lib/read.md", "A library.\n");
  put("kit/skills/tea/.ssh/known.md", "A host, see `.ssh/known.md`.\n");
  expect(await run("~/kit", "--out", "~/made")).toBe(0);
  const files = readdirSync(join(dir, "made"), { recursive: true }).map(String);
  expect(files.filter((file) => /^(?:\.?lines|\.?pots|\.?venv|\.?ssh).*\.md$/.test(file)).sort()).toEqual([
    "lines/cups/one.md",
    "lines/index.md",
    "pots/two.md",
  ]);
  expect(readFileSync(join(dir, "made/steps/workflow.md"), "utf8")).toContain(
    "Refer to `@pkg/lines/index.md`.",
  );
});

test("what a repository's own document names in a hidden folder is its tools'", async () => {
  put("kit/SKILL.md", "---\nname: tea\n---\nRead `.github/tea.md`.\n");
  put("kit/.github/tea.md", "Of the project.\n");
  put("kit/.git/HEAD", "x");
  expect(await run("~/kit", "--out", "~/made")).toBe(0);
  expect(readdirSync(join(dir, "made"))).not.toContain("github");
});

test("names a skill that cannot be read, and does not end well without it", async () => {
  putTea("kit/skills/tea");
  put("kit/skills/the/SKILL.md", Uint8Array.of(0x23, 0x20, 0x54, 0x68, 0xe9, 0x0a));
  expect(await run("~/kit", "--all", "--out", "~/made")).toBe(1);
  expect(output.text).toContain(
    "error    skills/the/SKILL.md  was not read: it is no UTF-8 text of at most 1 MiB, or its permissions",
  );
  expect(await main(["bundle", "check", join(dir, "kit")])).toBe(1);
  expect(output.text).toContain("unread    skills/the/SKILL.md  was not read: it is no UTF-8");
});

test("names what --all leaves: a persona, a workflow.yaml, and a pipe in the place of a skill", async () => {
  putTea("kit/skills/tea");
  put("kit/agents/host-agent/SKILL.md", "---\nname: host\n---\nAdopt the persona of a host.\n");
  put("kit/old/workflow.yaml", "name: old\n");
  expect(await run("~/kit", "--all", "--out", "~/made")).toBe(0);
  expect(output.text).toContain(
    "left     agents/host-agent/SKILL.md  a persona, which has no workflow of its own",
  );
  expect(output.text).toContain(
    "left     old/workflow.yaml  a workflow.yaml is not imported: interlock bundle run",
  );
  mkdirSync(join(dir, "kit/skills/pipe"));
  execFileSync("sh", ["-c", 'mkfifo "$0"', join(dir, "kit/skills/pipe/SKILL.md")]);
  expect(await run("~/kit", "--all", "--out", "~/again", "--json")).toBe(1);
  expect(output.text).toContain("skills/pipe/SKILL.md");
  expect(output.text).toContain("notImported");
});

test("what may not be opened is told as that: a step, and a folder", async () => {
  putTea("tea");
  put("tea/data/pots.csv", "iron\n");
  chmodSync(join(dir, "tea/steps/step-02-end.md"), 0);
  chmodSync(join(dir, "tea/data"), 0);
  await withoutRights(dir, () => run("~/tea", "--out", "~/made"));
  expect(output.text).toContain("warning  data  cannot be opened: check its permissions\n");
  expect(output.text).toContain("warning  steps/step-02-end.md  cannot be opened: check its permissions\n");
  expect(output.text).toContain('names "steps/step-02-end.md", which was not read');
});

test("what begins in a folder that may not be opened is not passed over without a word", async () => {
  putTea("kit/tea");
  put("kit/closed/workflow.md", "# Closed\n");
  chmodSync(join(dir, "kit/closed"), 0);
  expect(await withoutRights(dir, () => run("~/kit", "--all", "--out", "~/made"))).toBe(1);
  expect(output.text).toContain("error    closed  was not read");
  chmodSync(join(dir, "kit"), 0);
  expect(await withoutRights(dir, () => run("~/kit", "--all", "--out", "~/again"))).toBe(1);
  expect(output.text).toContain(`${join(dir, "kit")} is not open to this user`);
});
