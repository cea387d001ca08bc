import { join } from "node:path";
import { beforeEach, expect, test, vi } from "vitest";
import { main } from "../../../src/cli/program.js";
import { BundleWorld } from "../../fakes/bundle-world.js";

let world: BundleWorld;
let output: string;
beforeEach(async () => {
  world = await BundleWorld.open();
  output = "";
  const spies = [process.stdout, process.stderr].map((stream) =>
    vi.spyOn(stream, "write").mockImplementation((text) => {
      output += String(text);
      return true;
    }),
  );
  return () => {
    for (const spy of spies) spy.mockRestore();
  };
});

test("bundle check --json has exactly the shape that programs rely on", async () => {
  expect(await main(["bundle", "check", world.at("room"), "--json"])).toBe(0);
  const report = JSON.parse(output) as { workflows: object[]; agents: object[] };
  expect(Object.keys(report)).toEqual(["workflows", "agents"]);
  expect(report.workflows.map((item) => Object.keys(item))).toEqual(
    Array.from({ length: 2 }, () => ["path", "name", "description", "ok", "missing", "errors"]),
  );
  expect(report.agents.map((item) => Object.keys(item))).toEqual([["path", "name", "title", "commands"]]);
});

test("bundle check ends with 1 when a workflow cannot be run, bundle list does not", async () => {
  world.put("room/bmad/desk/workflows/broken/workflow.yaml", "name: [\n");
  expect(await main(["bundle", "check", world.at("room")])).toBe(1);
  expect(output).toMatch(/error {4}bmad\/desk\/workflows\/broken\/workflow\.yaml .*line 2/);
  output = "";
  expect(await main(["bundle", "list", world.at("room")])).toBe(0);
  expect(output).toContain("(cannot be run)");
  expect(output).toContain("3 workflows, 1 agent.");
});

test("an agent of a module's source with malformed YAML is named, and bundle check ends with 1", async () => {
  world.put("room/bmad/desk/agents/ed.agent.yaml", "agent:\n  metadata: {name: Ed\n");
  world.put("room/bmad/desk/agents/other.agent.yaml", "kind: of something else\n");
  expect(await main(["bundle", "check", world.at("room")])).toBe(1);
  expect(output).toMatch(/^error {4}bmad\/desk\/agents\/ed\.agent\.yaml {2}ed\.agent\.yaml, line \d/m);
  expect(output).not.toContain("other.agent.yaml");
  output = "";
  expect(await main(["bundle", "list", world.at("room")])).toBe(0);
  expect(output).toMatch(/^agent {5}bmad\/desk\/agents\/ed\.agent\.yaml {2}\(cannot be read\)/m);
});

test.each(["nowhere", "room/README.md"])("%s is no directory: wrong usage", async (name) => {
  expect(await main(["bundle", "check", world.at(name)])).toBe(2);
});

test("a directory of other forms is listed with what to do, and ends with 1: none of it runs as it is", async () => {
  world.put(
    "kit/skills/tea/SKILL.md",
    "---\nname: tea\n---\nRead fully and follow: `./steps/step-01-pot.md`\n",
  );
  world.put("kit/skills/tea/steps/step-01-pot.md", "# Pot\n");
  world.put("kit/.claude/skills/taste/SKILL.md", "---\nname: taste\ndescription: Tastes.\n---\nTaste it.\n");
  world.put(
    "kit/bmad-agent-iris/SKILL.md",
    "---\nname: iris\n---\nYour persona, with a menu.\n1\n2\n3\n4\n5\n6\n",
  );
  for (const command of ["list", "check"]) {
    output = "";
    expect(await main(["bundle", command, world.at("kit")])).toBe(1);
    expect(output).toContain("steps     skills/tea/SKILL.md  tea\n");
    const tea = join(world.at("kit"), "skills/tea/SKILL.md");
    expect(output).toContain(`to run it: interlock package import ${tea}\n`);
    expect(output).toContain("skill     .claude/skills/taste/SKILL.md  taste  Tastes.\n");
    expect(output).toContain("persona   bmad-agent-iris/SKILL.md  iris\n");
    expect(output).toContain(
      "None of these runs as it is. Import them first, 2 can be: interlock package import <path>\n",
    );
  }
  output = "";
  expect(await main(["bundle", "check", world.at("kit"), "--json"])).toBe(1);
  expect(JSON.parse(output)).toMatchObject({
    workflows: [],
    others: [
      { path: ".claude/skills/taste/SKILL.md", form: "instructions" },
      { path: "bmad-agent-iris/SKILL.md", form: "agent" },
      {
        path: "skills/tea/SKILL.md",
        form: "steps",
        remedy: `interlock package import ${join(world.at("kit"), "skills/tea/SKILL.md")}`,
      },
    ],
    reason: expect.stringContaining("None of these runs as it is."),
  });
});

test("what is to be typed leads there from where the command was typed", async () => {
  world.put("kit/tea/SKILL.md", "---\nname: tea\n---\nBrew it.\n");
  vi.spyOn(process, "cwd").mockReturnValue(world.at("."));
  expect(await main(["package", "import", "kit/tea", "--out", "kit/made"])).toBe(0);
  output = "";
  expect(await main(["bundle", "list", "kit"])).toBe(1);
  expect(output).toContain("to run it: interlock package import kit/tea/SKILL.md\n");
  expect(output).toContain("to run it: interlock run kit/made\n");
});

test("packages that lie beside what is to be imported are not said to run only then", async () => {
  world.put("kit/tea/SKILL.md", "---\nname: tea\n---\nBrew it.\n");
  expect(await main(["package", "import", world.at("kit/tea"), "--out", world.at("kit/made")])).toBe(0);
  output = "";
  expect(await main(["bundle", "list", world.at("kit")])).toBe(1);
  expect(output).toContain(
    "The packages run as they are, and there is no bundle. Import the others first, 1 can be",
  );
});

test("an empty directory is never fine", async () => {
  world.put("empty/notes.md", "x");
  expect(await main(["bundle", "list", world.at("empty")])).toBe(1);
  expect(output).toContain("There is no workflow here");
  output = "";
  expect(await main(["bundle", "check", world.at("empty"), "--json"])).toBe(1);
  expect(JSON.parse(output)).toMatchObject({ reason: expect.stringContaining("There is no workflow here") });
});

test("a workflow.yaml that only describes the SKILL.md beside it is no broken workflow", async () => {
  const tags = "# metadata\ntags: [tea]\nmode: complex\n";
  world.put("room/bmad/desk/workflows/tea/workflow.yaml", tags);
  world.put("room/bmad/desk/workflows/tea/SKILL.md", "---\nname: tea\n---\nBrew it.\n");
  expect(await main(["bundle", "check", world.at("room")])).toBe(0);
  expect(output).not.toContain("tea/workflow.yaml");
  expect(output).toContain("bmad/desk/workflows/tea/SKILL.md");
  world.put("room/bmad/desk/workflows/alone/workflow.yaml", tags);
  expect(await main(["bundle", "check", world.at("room")])).toBe(1);
  expect(output).toMatch(
    /error {4}bmad\/desk\/workflows\/alone\/workflow\.yaml {2}instructions: the workflow names none/,
  );
});
