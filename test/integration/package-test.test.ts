import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { sha256 } from "../../src/store/disk/sha256.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { writeTree } from "./harness.js";
import { type Outcome, ROOT, type Shell, jsonOf, newShell } from "./shell.js";

/** A model's patch of the state document. */
const move = (done: string, next?: string) => ({
  tool: "fs.apply_patch",
  arguments: {
    path: "@state/workflow.md",
    patch: {
      operation: "updateFrontmatter",
      update: { stepsCompleted: { append: [done] }, ...(next ? { currentNodeId: { set: next } } : {}) },
    },
  },
});
const write = (content: string) => ({
  tool: "fs.write",
  arguments: { path: "@project/artifacts/out.md", content },
});
const middleAndFinish = {
  middle: [{ calls: [move("middle", "finish")] }],
  finish: [{ calls: [move("finish")] }],
};

/** Longer than ten runs take, one after the other, where others work as well. */
const TEN_RUNS_MS = 280_000;

/** A test as a file: JSON is YAML. */
const file = (value: object) => JSON.stringify(value, undefined, 1);

interface Result {
  readonly name: string;
  readonly ok: boolean;
  readonly problems: readonly string[];
  readonly outcome: { readonly path: readonly string[]; readonly phase: string };
}

async function packageWith(tests: Record<string, string>): Promise<Shell> {
  const shell = await newShell();
  shell.environment["TMPDIR"] = shell.dir;
  const files = Object.entries(tests).map(([name, text]) => [`tests/${name}`, text]);
  await writeTree(join(shell.dir, "package"), twoNodePackage(Object.fromEntries(files)));
  return shell;
}

describe("interlock package test", () => {
  let shell: Shell;
  let outcome: Outcome;
  const resultOf = (name: string): Result => {
    const { tests } = jsonOf(outcome) as { tests: Result[] };
    const found = tests.find((each) => each.name === name);
    if (found === undefined) throw new Error(`There is no test ${name}: ${outcome.stdout}`);
    return found;
  };

  beforeAll(async () => {
    const asks = { ask: [{ text: "Which colour?" }, { calls: [write("blue\n"), move("ask", "middle")] }] };
    shell = await packageWith({
      "asked.yaml": file({
        answers: { ...asks, ...middleAndFinish },
        input: "Paint it.",
        replies: ["Blue."],
        expect: {
          path: ["ask", "middle", "finish"],
          refusals: [],
          questions: ["colour"],
          artifacts: [
            { path: "artifacts/out.md", contains: "blue", matches: "^b.ue$", sha256: sha256("blue\n") },
          ],
        },
      }),
      "asked-and-left.yaml": file({
        answers: { ask: asks.ask.slice(0, 1) },
        expect: { phase: "waiting-user", path: ["ask"] },
      }),
      "refused.yaml": `
name: a jump is refused
# In sequence, as a run asks for them.
answers:
  - calls:
      - tool: fs.apply_patch
        arguments:
          path: "@state/workflow.md"
          patch: { operation: updateFrontmatter, update: { currentNodeId: { set: finish } } }
      - tool: fs.read
        arguments: '{ "path": '
  - calls: [${JSON.stringify(move("ask", "middle"))}]
  - calls: [${JSON.stringify(move("middle", "finish"))}]
  - calls: [${JSON.stringify(move("finish"))}]
expect:
  refusals: [E_INVALID_TRANSITION, TOOL_ARGS_INVALID_JSON]
`,
      "rehearsed.yaml": file({
        files: { "artifacts/out.md": "It was there." },
        expect: {
          path: ["ask", "middle", "finish"],
        },
      }),
      "version.yaml": file({
        answers: {
          ask: [
            { calls: [{ tool: "fs_read", arguments: { path: "@state/workflow.md" } }] },
            {
              calls: [
                {
                  tool: "fs.apply_patch",
                  arguments: {
                    path: "@state/workflow.md",
                    patch: {
                      operation: "updateFrontmatter",
                      update: { variables: { set: { a: 1 } } },
                      ifMatchSha256: "{{sha256 @state/workflow.md}}",
                    },
                  },
                },
                move("ask", "middle"),
              ],
            },
          ],
          ...middleAndFinish,
        },
        expect: { refusals: [] },
      }),
      "project.yaml": file({
        project: "shop",
        answers: {
          ask: [
            { calls: [{ tool: "fs.read", arguments: { path: "@project/docs/request.md" } }] },
            { calls: [{ tool: "fs.read", arguments: { path: "@project/none.md" } }, move("ask", "middle")] },
          ],
          ...middleAndFinish,
        },
        expect: { refusals: [] },
      }),
      "shop/docs/request.md": "Paint it.\n",
      "other-path.yaml": file({
        answers: { ask: [{ calls: [write("red\n"), move("ask", "middle")] }], ...middleAndFinish },
        expect: {
          path: ["ask", "finish"],
          refusals: ["E_INVALID_TRANSITION"],
          artifacts: [
            { path: "artifacts/out.md", contains: ["red", "blue"], matches: "^b", sha256: sha256("blue\n") },
            { path: "artifacts/none.md" },
          ],
        },
      }),
      "too-few.yaml": file({ answers: { ask: [{ calls: [move("ask", "middle")] }] } }),
      "too-many.yaml": file({
        answers: { ...middleAndFinish, ask: [{ calls: [move("ask", "middle")] }], other: [{}] },
      }),
      "no-such-workflow.yaml": file({ workflow: "none" }),
    });
    outcome = await shell.run(["package", "test", "package", "--json"], "", TEN_RUNS_MS);
  });

  test.each(["asked", "asked-and-left", "a jump is refused", "rehearsed", "version", "project"])(
    "passes what comes as expected: %s",
    (name) => {
      expect(resultOf(name)).toMatchObject({ ok: true, problems: [] });
    },
  );

  test("fails what comes otherwise, and says what was expected and what came", () => {
    expect(outcome.code).toBe(1);
    expect(resultOf("other-path").problems).toEqual([
      "path: expected ask → finish, came ask → middle → finish",
      "refusals: expected E_INVALID_TRANSITION, came none",
      `artifacts/out.md: expected SHA-256 ${sha256("blue\n")}, came ${sha256("red\n")}`,
      'artifacts/out.md: expected "blue" in it, came a text that begins "red"',
      'artifacts/out.md: expected a match of /^b/, came a text that begins "red"',
      "artifacts: expected artifacts/none.md, came artifacts/out.md",
    ]);
  });

  test("fails where answers are missing, where some are left, and where nothing can be started", () => {
    expect(resultOf("too-few").problems[0]).toMatch(
      /^phase: expected completed, came failed \(LLM_HTTP_ERROR: .*no answer left for the node "middle"/,
    );
    expect(resultOf("too-many").problems).toEqual([
      'answers: the last 1 for the node "other" was not asked for',
    ]);
    expect(resultOf("no-such-workflow").problems[0]).toContain("E_WORKFLOW_NOT_FOUND");
  });

  test("leaves nothing behind, and no store is made", async () => {
    expect((await readdir(shell.dir)).toSorted()).toEqual(["package", "project"]);
  });

  test("runs the one that is named, and prints a line for it", { tags: "slow" }, async () => {
    const one = await shell.run(["package", "test", "package", "--test", "asked"]);
    expect(one.stdout).toBe("ok      asked  ask → middle → finish\n1 passed.\n");
    expect(one.code).toBe(0);
    const none = await shell.run(["package", "test", "package", "--test", "nobody"]);
    expect([none.code, none.stderr]).toEqual([
      1,
      expect.stringContaining("There are: asked-and-left, asked, "),
    ]);
  });
});

describe("tools of MCP servers and tools in code", () => {
  const find = (id: number) => ({ tool: "mcp.tickets.find", arguments: { id, brief: true } });
  const onwards = { calls: [move("ask", "middle")] };
  const finish = [{ calls: [move("finish")] }];
  const asked = (...calls: object[]) => ({ ask: [{ calls }, onwards], ...middleAndFinish });

  test(
    "answer as a test says, with the agent's policy; a call without an answer fails the test and says so",
    { tags: "slow" },
    async () => {
      const shell = await packageWith({
        "answered.yaml": file({
          tools: {
            "mcp.tickets.find": [
              { arguments: { id: 7 }, result: { title: "Tea" } },
              { arguments: { id: 8 }, error: "There is no ticket 8." },
            ],
            "house.bell": [{ result: "Rung." }, { result: "Rung again." }],
          },
          answers: {
            ask: [
              { calls: [find(7), find(8), find(7)] },
              { calls: [1, 2, 3].map(() => ({ tool: "house.bell" })) },
              onwards,
            ],
            middle: [{ calls: [move("middle", "finish")] }],
            finish,
          },
          expect: { path: ["ask", "middle", "finish"], refusals: [] },
        }),
        "unknown.yaml": file({
          tools: { "mcp.tickets.find": [{ arguments: { id: 7 }, result: "Tea" }] },
          answers: asked(find(9), { tool: "mcp.tickets.close" }),
        }),
        "not-allowed.yaml": file({
          tools: { "mcp.vault.open": [{ result: "Open." }] },
          answers: asked({ tool: "mcp.vault.open" }),
        }),
        "refused.yaml": file({
          answers: asked({ tool: "mcp.vault.open" }),
          expect: { refusals: ["TOOL_NOT_AVAILABLE"] },
        }),
      });
      const { "agents.json": agents = "" } = twoNodePackage();
      const { agents: listed, ...rest } = JSON.parse(agents) as { agents: object[] };
      const tools = { mcp: { enabled: true, allowedServers: ["tickets"] } };
      const allowed = JSON.stringify({ ...rest, agents: listed.map((agent) => ({ ...agent, tools })) });
      await writeTree(join(shell.dir, "package"), { "agents.json": allowed });
      const outcome = await shell.run(["package", "test", "package", "--json"], "", TEN_RUNS_MS);
      const { tests } = jsonOf(outcome) as { tests: Result[] };
      const problems = Object.fromEntries(tests.map((each) => [each.name, each.problems]));
      expect(problems).toEqual({
        answered: [],
        unknown: [
          'tools: mcp.tickets.find was called with {"brief":true,"id":9}, and no answer under tools fits: add one',
          "tools: mcp.tickets.close was called at ask, and the test has no answers of it: add them under tools",
        ],
        "not-allowed": [
          'tools: mcp.vault.open was called at ask, and the agent there may not use the server: name "vault" in its tools.mcp.allowedServers',
        ],
        refused: [],
      });
      expect(outcome.code).toBe(1);
    },
  );
});

describe("the tests of a package", () => {
  test("that are none are named with file, line and remedy, and nothing is run", async () => {
    const shell = await packageWith({
      "shape.yaml":
        "answers:\n  ask:\n    - calls:\n        - arguments: {}\nexpect:\n  phase: done\nmore: 1\n",
      "syntax.yaml": "answers: [\n",
      "same-a.yaml": "name: same",
      "same-b.yml": "name: same",
      "pattern.yaml": "expect: { artifacts: [{ path: a, matches: '(' }] }",
      "places.yaml": "project: none\nfiles:\n  ../out: a\n  docs/: a\n",
      "shop/docs/wish.md": "Paint it.\n",
      "both.yaml": "project: shop\nfiles:\n  docs: a\n",
      "tools.yaml": "tools:\n  fs.read: [{ result: a }]\n  a b: [{ result: a }]\n",
      "tool-answers.yaml": "tools:\n  mcp.a.b:\n    - arguments: {}\n",
    });
    const { code, stdout } = await shell.run(["package", "test", "package"]);
    expect(code).toBe(1);
    expect(stdout.split("\n").map((line) => line.replace(/^error {2}/, ""))).toEqual([
      'tests/both.yaml:2  $.files  the name "docs" is a file and a folder at once: rename one',
      expect.stringMatching(
        /^tests\/pattern\.yaml:1 {2}\$\.expect\.artifacts\[0\]\.matches {2}is no regular/,
      ),
      "tests/places.yaml:1  $.project  there is no folder tests/none with files in it: make it, or name another",
      expect.stringMatching(/^tests\/places\.yaml:2 {2}\$\.files {2}the name "\.\.\/out"/),
      'tests/places.yaml:2  $.files  the name "docs/" is no file\'s',
      'tests/same-b.yml  $.name  there is another test "same": call one otherwise',
      "tests/shape.yaml:4  $.answers.ask[0].calls[0].tool  is missing: add it as text",
      'tests/shape.yaml:6  $.expect.phase  must be one of idle, running, waiting-user, completed, failed, not "done"',
      "tests/shape.yaml:7  $.more  is no key of this format: remove or rename it",
      expect.stringMatching(/^tests\/syntax\.yaml:2 {2}\$ {2}YAML, line 2/),
      'tests/tool-answers.yaml:3  $.tools["mcp.a.b"][0]  must have one of result, error and wrongArguments',
      expect.stringMatching(/^tests\/tools\.yaml:1 {2}\$\.tools {2}"fs\.read" is the engine's own/),
      expect.stringMatching(/^tests\/tools\.yaml:1 {2}\$\.tools {2}"a b" is no name of a tool/),
      "Nothing was run: mend the errors first.",
      "",
    ]);
  });

  test("are missing: the command fails and says how to make one; check and pack take a package with tests", async () => {
    const shell = await packageWith({ "shop/notes.md": "No test." });
    const { code, stderr } = await shell.run(["package", "test", "package"]);
    expect([code, stderr]).toEqual([1, expect.stringContaining("Write tests/<name>.yaml")]);
    const check = await shell.run(["package", "check", "package"]);
    expect(check).toMatchObject({ code: 0, stdout: expect.stringContaining("(0 warnings)") as string });
    expect((await shell.run(["package", "pack", "package"])).code).toBe(0);
  });
});

test.each(["create-story", "qa-gate"])("the tests of examples/%s pass", { tags: "slow" }, async (example) => {
  const shell = await newShell();
  const { code, stdout } = await shell.run(["package", "test", join(ROOT, "examples", example, "package")]);
  expect([code, stdout]).toEqual([0, expect.stringMatching(/\n1 passed\.\n$/)]);
});

test(
  "what package new makes has a test that passes, with a gate and a branch as well",
  { tags: "slow" },
  async () => {
    const shell = await newShell();
    expect((await shell.run(["package", "new", "tea", "--branch", "brief,thorough", "--gate"])).code).toBe(0);
    const { code, stdout } = await shell.run(["package", "test", "tea"]);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/\n1 passed\.\n$/)]);
  },
);
