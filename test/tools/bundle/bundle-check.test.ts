import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { beforeEach, describe, expect, test } from "vitest";
import { checkBundles } from "../../../src/tools/bundle/bundle-check.js";
import { findRoots } from "../../../src/tools/bundle/bundle-discovery.js";
import { loadAgent } from "../../../src/tools/bundle/bundle-agent-file.js";
import { agent } from "../../fakes/package-fixture.js";
import { BundleWorld } from "../../fakes/bundle-world.js";
import { withoutRights } from "../../fakes/unprivileged.js";

let world: BundleWorld;
beforeEach(async () => {
  world = await BundleWorld.open();
});

describe("findRoots", () => {
  test.each([
    ["bmad/desk/workflows/a/workflow.yaml", "bmad/desk", "bmad/core"],
    ["_bmad/desk/workflows/1-x/a/workflow.yaml", "_bmad/desk", "_bmad/core"],
    [".bmad/desk/workflows/a/workflow.yaml", ".bmad/desk", ".bmad/core"],
    ["bmad/custom/bundles/mine/workflows/a/workflow.yaml", "bmad/custom/bundles/mine", "bmad/core"],
    ["src/modules/desk/workflows/a/workflow.yaml", "src/modules/desk", "src/core"],
    ["src/desk/workflows-legacy/a/workflow.yaml", "src/desk", "src/core"],
    ["src/core/workflows/a/workflow.yaml", "src/core", "src/core"],
    ["plain/desk/workflows/workflow-status/init/workflow.yaml", "plain/desk", undefined],
  ])("%s lies in %s", async (file, bundleRoot, core) => {
    world.put(`x/${file}`, "name: a\n");
    if (core !== undefined) world.put(`x/${core}/tasks/workflow.xml`, "");
    expect(await findRoots(world.at(`x/${file}`))).toEqual({
      bundleRoot: world.at(`x/${bundleRoot}`),
      ...(core === undefined ? {} : { coreRoot: world.at(`x/${core}`) }),
    });
  });

  test("without a workflows directory, what holds a config or agents is the root", async () => {
    world.put("y/desk/config.yaml", "");
    world.put("y/desk/flows/a/workflow.yaml", "");
    expect(await findRoots(world.at("y/desk/flows/a/workflow.yaml"))).toEqual({
      bundleRoot: world.at("y/desk"),
    });
  });
});

test.each([
  [
    "workflows/shop/.claude/skills/tea/workflow.yaml",
    "workflows/shop/.claude/skills/tea",
    ".claude/agents/a.md",
  ],
  ["workflows/shop/story/workflow.yaml", "workflows/shop/story", ".git/HEAD"],
  ["workflows/story/workflow.yaml", "workflows/story", "../.git/HEAD"],
])(
  "%s has its root in %s: a directory of that name above the project, or that is one, is none",
  async (file, root, beside) => {
    world.put(`x/${file}`, "name: a\n");
    world.put(`x/workflows/shop/${beside}`, "");
    world.put("x/workflows/shop/.claude/skills/tea/SKILL.md", "");
    expect(await findRoots(world.at(`x/${file}`))).toEqual({ bundleRoot: world.at(`x/${root}`) });
  },
);

describe("checkBundles", () => {
  test("every workflow and agent, with what is missing", async () => {
    rmSync(world.at("room/bmad/desk/workflows/intake/checklist.md"));
    const report = await checkBundles(world.at("room"));
    expect(report).toEqual({
      workflows: [
        {
          path: "bmad/desk/workflows/intake/workflow.yaml",
          name: "intake",
          description: "Takes a reader's request and hands it over so that nobody has to ask again",
          ok: true,
          missing: [expect.stringContaining("validation: {bundle-root}/workflows/intake/checklist.md")],
          errors: [],
        },
        {
          path: "bmad/desk/workflows/reading-list/workflow.yaml",
          name: "reading-list",
          description: "Puts together what to read on a question",
          ok: true,
          missing: [],
          errors: [],
        },
      ],
      agents: [
        {
          path: "bmad/desk/agents/iris.md",
          name: "Iris",
          title: "Librarian at the desk",
          commands: ["*help", "*intake", "*reading-list", "*exit"],
        },
      ],
    });
    expect(JSON.stringify(report)).not.toContain(world.dir);
  });

  test.each([
    ["malformed YAML", "a: [\n", /workflow\.yaml, line \d+, column \d+/],
    ["no instructions", "name: x\n", /instructions/],
    ["instructions that are not there", 'instructions: "gone.md"\n', /gone\.md/],
    ["a list instead of a mapping", "- a\n", /is not a mapping/],
    ["two documents", "a: 1\n---\nb: 2\n", /more than one/],
    ["bytes that are no text", "\0", /UTF-8/],
  ])("%s is an error", async (_name, yaml, expected) => {
    world.put("room/bmad/desk/workflows/intake/workflow.yaml", yaml);
    const [workflow] = (await checkBundles(world.at("room/bmad/desk/workflows/intake"))).workflows;
    expect(workflow).toMatchObject({
      ok: false,
      path: "workflow.yaml",
      errors: [expect.stringMatching(expected)],
    });
  });

  test("hidden directories and node_modules are left out, .bmad is not", async () => {
    for (const name of ["node_modules/a", ".cache/a", ".bmad/desk/workflows/a"])
      world.put(`z/${name}/workflow.yaml`, "instructions: |\n  Do it.\n  Well.\n");
    mkdirSync(world.at("z/workflow.yaml"));
    const report = await checkBundles(world.at("z"));
    expect(report.workflows.map(({ path, ok }) => [path, ok])).toEqual([
      [".bmad/desk/workflows/a/workflow.yaml", true],
    ]);
  });
});

describe("loadAgent", () => {
  test("agents.json of format 1.1, the first or the one named", async () => {
    world.put(
      "a/agents.json",
      JSON.stringify({
        schemaVersion: "1.1",
        agents: [agent("one"), { ...agent("two"), metadata: { name: "Second", title: "T", icon: "i" } }],
      }),
    );
    expect(await loadAgent(world.at("a/agents.json"))).toMatchObject({ ok: true });
    expect(await loadAgent(`${world.at("a/agents.json")}#Second`)).toMatchObject({
      value: { name: "Second" },
    });
    expect(await loadAgent(`${world.at("a/agents.json")}#Third`)).toMatchObject({
      error: { code: "E_AGENT_NOT_FOUND" },
    });
  });

  test.each([
    ["a/x.md", "no agent"],
    ["a/agents.json", "{}"],
    ["a/agents.json", "["],
    ["a/x.agent.yaml", "agent: 1\n"],
    ["a/x.agent.yaml", "agent: [\n"],
  ])("%s holding %j is refused", async (name, text) => {
    world.put(name, text);
    const loaded = await loadAgent(world.at(name));
    expect(loaded.ok).toBe(false);
    expect(JSON.stringify(loaded)).not.toContain(world.dir);
  });

  test("a file in UTF-16 is refused by its encoding", async () => {
    writeFileSync(world.at("x.agent.yaml"), Buffer.from("\uFEFFagent: {}\n", "utf16le"));
    expect(await loadAgent(world.at("x.agent.yaml"))).toMatchObject({
      error: { message: expect.stringContaining("is UTF-16 text") },
    });
  });
});

test("a folder that may not be opened is told of: whether its workflows can be run, nobody knows", async () => {
  chmodSync(world.at("room/bmad/desk/workflows"), 0);
  const report = await withoutRights(world.dir, () => checkBundles(world.at("room/bmad")));
  expect(report).toMatchObject({ workflows: [], unread: ["desk/workflows"] });
});
