import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { sha256 } from "../../src/store/disk/sha256.js";
import type { PackageTest } from "../../src/core/package/package-test.js";
import { FAKE_MCP_SERVER, agentsWith } from "../fakes/mcp-world.js";
import { firstWay, nestedPackage } from "../fakes/nested-package.js";
import { eventually } from "../fakes/eventually.js";
import { type ChatRequestBody, type Script, call, patch } from "../fakes/scripted-model.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { nodeOf, step, straightOn, wordsIn } from "../fakes/walk.js";
import { type Bench, askedRun, openBench, temporaryDirectory, until, writeTree } from "./harness.js";
import { Shell, jsonOf, shellOf } from "./shell.js";

const results = ({ messages }: ChatRequestBody) =>
  messages.flatMap(({ role, content }) =>
    role === "tool" ? [JSON.parse(content ?? "{}") as { sha256?: string }] : [],
  );

/** Reads, is refused, asks, and writes with the hashes that it was told. */
const careful: Script = (request) => {
  const told = results(request);
  const asked = request.messages.some(
    ({ role, content }) => role === "assistant" && content === "Which colour?",
  );
  if (nodeOf(request) !== "ask") return straightOn(request);
  if (told.length === 0) {
    return {
      content: "I look first.",
      calls: [
        call("fs_read", { path: "@state/workflow.md" }),
        call("fs_read", { path: "@project/wish.md" }),
        call("fs_read", { path: "@project/none.md" }),
        { name: "fs_read", arguments: "{ no JSON" },
      ],
    };
  }
  if (!asked) return { content: "Which colour?" };
  const [state, wish] = told;
  return {
    calls: [
      patch({ currentNodeId: { set: "finish" } }, { ifMatchSha256: state?.sha256 }),
      patch({ variables: { set: { a: 1 } } }, { ifMatchSha256: state?.sha256 }),
      call("fs_write", { path: "@project/wish.md", content: "Blue.\n", ifMatchSha256: wish?.sha256 }),
      call("fs_write", { path: "@project/artifacts/out.md", content: "# Blue\n\nIt is: blue\n" }),
      step("ask", "middle"),
    ],
  };
};

async function benchWithPackage(script: Script): Promise<{ readonly bench: Bench; readonly shell: Shell }> {
  const bench = await openBench(script);
  await writeFile(join(bench.projectRoot, "wish.md"), "Paint it.\n");
  const shell = shellOf(bench);
  await writeTree(join(shell.dir, "package"), twoNodePackage());
  return { bench, shell };
}

/** Records a run as a test of the package beside the shell. */
function record(shell: Shell, runId: string, ...more: string[]) {
  return shell.run(["package", "test", "package", "--record", runId, ...more]);
}

describe("interlock package test --record", () => {
  test(
    "makes a test of a run, which passes when it is run without the model and the project",
    { tags: "slow" },
    async () => {
      const { bench, shell } = await benchWithPackage(careful);
      const run = await bench.start(twoNodePackage(), { input: "Paint it.", activeAgentId: "closer" });
      const { question } = await until(run, "waiting-user");
      await run.answer({ nodeId: question?.nodeId ?? "", text: "Blue,\nplease." });
      await run.result();
      const asked = bench.model.requests.length;
      const recorded = await record(shell, run.runId, "--as", "painted");
      expect([recorded.code, recorded.stderr]).toEqual([0, ""]);
      expect(recorded.stdout).toContain(
        "These files of the project are in it, as the run read them: wish.md.",
      );
      const text = await readFile(join(shell.dir, "package/tests/painted.yaml"), "utf8");
      expect(parse(text)).toMatchObject({
        name: "painted",
        agent: "closer",
        input: "Paint it.",
        files: { "wish.md": "Paint it.\n" },
        replies: ["Blue,\nplease."],
        expect: {
          phase: "completed",
          path: ["ask", "middle", "finish"],
          refusals: ["TOOL_ARGS_INVALID_JSON", "E_INVALID_TRANSITION"],
          artifacts: [
            { path: "artifacts/out.md", sha256: sha256("# Blue\n\nIt is: blue\n") },
            { path: "wish.md", sha256: sha256("Blue.\n") },
          ],
        },
      });
      expect(text).toContain("{{sha256 @state/workflow.md}}");
      const replayed = await shell.run(["package", "test", "package", "--json"]);
      expect(jsonOf(replayed)).toMatchObject({ ok: true, tests: [{ name: "painted", problems: [] }] });
      expect(bench.model.requests).toHaveLength(asked);
      const again = await record(shell, run.runId, "--as", "painted");
      expect([again.code, again.stderr]).toEqual([
        1,
        expect.stringContaining("choose another name with --as"),
      ]);
      expect(await readFile(join(shell.dir, "package/tests/painted.yaml"), "utf8")).toBe(text);
    },
  );

  test(
    "takes a run that waits, by the beginning of its id, and calls the test by it",
    { tags: "slow" },
    async () => {
      const { bench, shell } = await benchWithPackage(careful);
      const run = await askedRun(bench);
      const short = run.runId.slice(0, 8);
      const recorded = await record(shell, short, "--json");
      expect(jsonOf(recorded)).toEqual({
        ok: true,
        name: `run-${short}`,
        file: `tests/run-${short}.yaml`,
        files: ["wish.md"],
      });
      const replayed = await shell.run(["package", "test", "package"]);
      expect(replayed.stdout).toBe(`ok      run-${short}  ask\n1 passed.\n`);
    },
  );

  test(
    "takes along what was answered and replied in the runs of subworkflows, also at nodes of one name",
    { tags: "slow" },
    async () => {
      const files = nestedPackage({
        main: {
          nodes: { draft: {}, parts: { type: "subworkflow", workflow: "part" }, done: { type: "end" } },
        },
        part: { nodes: { look: {}, draft: {}, done: { type: "end" } } },
      });
      const bench = await openBench((request) => {
        if (nodeOf(request) !== "look" || wordsIn(request).includes("Blue.")) return firstWay(request);
        return results(request).length === 0
          ? { calls: [call("fs_read", { path: "@project/wish.md" })] }
          : { content: "Which colour?" };
      });
      await writeFile(join(bench.projectRoot, "wish.md"), "Paint it.\n");
      const shell = shellOf(bench);
      await writeTree(join(shell.dir, "package"), files);
      const run = await bench.start(files, { workflowRef: "main", input: "Paint it." });
      const part = async () =>
        (await bench.store.runs.listAllRuns()).find(({ workflowRef }) => workflowRef === "part");
      await eventually(async () => (await part())?.phase === "waiting-user");
      await bench.client.handle((await part())?.runId ?? "").answer({ nodeId: "look", text: "Blue." });
      await run.result();
      const recorded = await record(shell, run.runId, "--as", "whole");
      expect([recorded.code, recorded.stderr]).toEqual([0, ""]);
      const place = join(shell.dir, "package/tests/whole.yaml");
      const text = await readFile(place, "utf8");
      expect(parse(text)).toMatchObject({
        files: { "wish.md": "Paint it.\n" },
        replies: ["Blue."],
        expect: { path: ["draft", "parts", "done"] },
      });
      // What a run below asks is waited for like a question of the run's own.
      const { name, arguments: moveOn } = step("draft", "parts");
      const answers = [{ calls: [{ tool: name, arguments: moveOn }] }, { text: "Which colour?" }];
      const waits = { workflow: "main", answers, expect: { phase: "waiting-user", questions: ["colour"] } };
      await writeFile(join(shell.dir, "package/tests/waits.yaml"), JSON.stringify(waits));
      const replayed = await shell.run(["package", "test", "package", "--json"]);
      expect(jsonOf(replayed)).toMatchObject({ ok: true, tests: [{ name: "waits" }, { name: "whole" }] });
    },
  );

  test(
    "writes what external tools have answered: the test passes without their server",
    { tags: "slow" },
    async () => {
      const dir = await temporaryDirectory();
      const settings = join(dir, "settings.json");
      const server = { command: process.execPath, args: [FAKE_MCP_SERVER, "plain", join(dir, "log")] };
      await writeFile(settings, JSON.stringify({ mcpServers: { s: { ...server, timeoutSeconds: 2 } } }));
      const calls = [
        call("mcp_s_act", {}),
        call("mcp.s.act", { how: "long" }),
        call("mcp_s_act", { how: "fail" }),
        call("mcp_s_act", { how: "hang" }),
        call("mcp_s_act", [1]),
        call("mcp_s_none", {}),
      ];
      const bench = await openBench(
        (request) =>
          nodeOf(request) === "ask" && results(request).length === 0 ? { calls } : straightOn(request),
        { INTERLOCK_SETTINGS: settings },
      );
      const files = twoNodePackage({ "agents.json": agentsWith({ author: ["s"] }) });
      const run = await bench.start(files);
      await run.result();
      const { INTERLOCK_SETTINGS: _, ...without } = shellOf(bench).environment;
      const shell = new Shell(dir, without);
      await writeTree(join(dir, "package"), files);
      const recorded = await record(shell, run.runId, "--as", "acts");
      expect([recorded.code, recorded.stderr]).toEqual([0, ""]);
      const { tools, expect: expected } = parse(
        await readFile(join(dir, "package/tests/acts.yaml"), "utf8"),
      ) as PackageTest;
      expect(Object.keys(tools ?? {})).toEqual(["mcp.s.act"]);
      expect(tools?.["mcp.s.act"]).toMatchObject([
        { arguments: {}, result: "act {}" },
        { arguments: { how: "long" }, result: expect.stringMatching(/^é+$/) as string },
        { arguments: { how: "fail" }, error: expect.stringMatching(/^no .*way/) as string },
        { arguments: { how: "hang" }, error: expect.stringContaining("is not known") as string },
      ]);
      expect(expected.refusals).toEqual(["TOOL_ARGS_INVALID", "TOOL_NOT_AVAILABLE"]);
      const replayed = await shell.run(["package", "test", "package", "--json"]);
      expect(jsonOf(replayed)).toMatchObject({ ok: true, tests: [{ name: "acts", problems: [] }] });
    },
  );

  test(
    "refuses a fork, a bundle run, a run of another package, and a name that is no file's",
    { tags: "slow" },
    async () => {
      const { bench, shell } = await benchWithPackage((request) =>
        nodeOf(request) === "" ? { content: "Which way?" } : straightOn(request),
      );
      const run = await bench.start(twoNodePackage());
      await run.result();
      const fork = await bench.client.fork(run.runId, { fromNode: "middle" });
      await fork.result();
      const bundle = await bench.startBundle();
      await until(bundle, "waiting-user");
      expect((await record(shell, fork.runId)).stderr).toContain(`Record ${run.runId} in its place.`);
      expect((await record(shell, bundle.runId)).stderr).toContain("it is a bundle run");
      expect((await record(shell, run.runId, "--as", "../out")).stderr).toContain("it names a file");
      const both = await record(shell, run.runId, "--models", "a");
      expect([both.code, both.stderr]).toEqual([
        2,
        expect.stringContaining("leave out --test, --models and --max-cost"),
      ]);
      const manifest = JSON.parse(twoNodePackage()["bmad.json"] ?? "") as object;
      await mkdir(join(shell.dir, "other"));
      await writeTree(join(shell.dir, "other"), {
        ...twoNodePackage(),
        "bmad.json": JSON.stringify({ ...manifest, name: "other" }),
      });
      const other = await shell.run(["package", "test", "other", "--record", run.runId]);
      expect([other.code, other.stderr]).toEqual([
        1,
        expect.stringContaining('it is one of the package "two-nodes", not of "other"'),
      ]);
    },
  );
});
