import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { sha256 } from "../../src/store/disk/sha256.js";
import { type Script, call, patch } from "../fakes/scripted-model.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { nodeOf, straightOn } from "../fakes/walk.js";
import { type Bench, openBench } from "./harness.js";
import { jsonOf, shellOf, strangerShell } from "./shell.js";

const OUT = "artifacts/out.md";
const lines = (word: string) => `one\ntwo\nthree\nfour\n${word}\n`;
const write = (path: string, content: string) => call("fs_write", { path: `@project/${path}`, content });

/** `ask` writes a file after a refused jump; `middle` writes it again, the second run of it with another word. */
function twice(): Script {
  let middles = 0;
  return (request) => {
    const straight = straightOn(request);
    const calls = "calls" in straight ? (straight.calls ?? []) : [];
    const said = request.messages.filter(({ role }) => role === "tool").length;
    if (nodeOf(request) === "ask" && said === 0) {
      return { calls: [patch({ stepsCompleted: { append: ["ask"] }, currentNodeId: { set: "finish" } })] };
    }
    if (nodeOf(request) === "ask" && said === 1) return { calls: [write(OUT, lines("first")), ...calls] };
    if (nodeOf(request) !== "middle" || said > 0) return straight;
    middles += 1;
    const word = middles === 1 ? "second" : "another";
    return { calls: [write(OUT, lines(word)), write("artifacts/logo.bin", `\0${word}`), ...calls] };
  };
}

async function runAndFork(bench: Bench) {
  const run = await bench.start(twoNodePackage());
  await run.result();
  const elsewhere = join(dirname(bench.projectRoot), "elsewhere");
  await mkdir(join(elsewhere, "artifacts"), { recursive: true });
  await writeFile(join(elsewhere, "README.md"), "");
  const fork = await bench.client.fork(run.runId, { fromNode: "middle", projectRoot: elsewhere });
  await fork.result();
  return { run, fork };
}

describe("interlock compare", () => {
  test("sets a run and its fork beside each other, with the lines in which their artifacts differ", async () => {
    const bench = await openBench(twice());
    const { run, fork } = await runAndFork(bench);
    const outcome = await shellOf(bench).run(["compare", run.runId, fork.runId, "--json"]);
    expect(outcome.code).toBe(0);
    const { runs, artifacts } = jsonOf(outcome) as {
      runs: Record<string, unknown>[];
      artifacts: Record<string, unknown>[];
    };
    expect(runs).toMatchObject([
      {
        runId: run.runId,
        phase: "completed",
        path: ["ask", "middle", "finish"],
        refusals: [{ nodeId: "ask", tool: "fs.apply_patch", code: "E_INVALID_TRANSITION" }],
        usage: { modelTurns: 4, promptTokens: 400, completionTokens: 40 },
      },
      {
        runId: fork.runId,
        forkedFrom: { runId: run.runId, visit: 1 },
        path: ["middle", "finish"],
        refusals: [],
        usage: { modelTurns: 2 },
      },
    ]);
    const of = (path: string) => artifacts.find((each) => each["path"] === path);
    expect(of(OUT)).toEqual({
      path: OUT,
      same: false,
      sha256: [sha256(lines("second")), sha256(lines("another"))],
      difference: ["@@ -2,4 +2,4 @@", " two", " three", " four", "-second", "+another"],
    });
  });

  test(
    "prints two columns and marks what differs; the same is said from a machine without the store",
    { tags: "slow" },
    async () => {
      const bench = await openBench(twice());
      const { run, fork } = await runAndFork(bench);
      const command = ["compare", run.runId, fork.runId];
      const { code, stdout } = await shellOf(bench).run(command);
      expect(code).toBe(0);
      expect(stdout).toMatch(/^\* {2}path +ask *$/m);
      expect(stdout).toMatch(/^ +middle +middle$/m);
      expect(stdout).toMatch(/^\* {2}refused +E_INVALID_TRANSITION fs\.apply_patch at ask$/m);
      expect(stdout).toMatch(/^ +phase +completed +completed$/m);
      expect(stdout).toContain(`\n--- ${OUT} ${sha256(lines("second")).slice(0, 12)}\n`);
      expect(stdout).toContain("\n-second\n+another\n");
      const there = await (await strangerShell(bench, bench.store.taskQueue)).run(command);
      expect(there.stderr).toBe("");
      expect(there.stdout).toBe(stdout);
    },
  );

  test("tells of each run in one project what that run has written, whatever lies there now", async () => {
    const bench = await openBench(twice());
    const run = await bench.start(twoNodePackage());
    await run.result();
    const fork = await bench.client.fork(run.runId, { fromNode: "middle" });
    await fork.result();
    const { stdout } = await shellOf(bench).run(["compare", run.runId, fork.runId]);
    expect(stdout).toContain("\n-second\n+another\n");
  });

  test("shows nothing of a run and itself, and refuses a run that is not there", async () => {
    const bench = await openBench(twice());
    const run = await bench.start(twoNodePackage());
    await run.result();
    const same = await shellOf(bench).run(["compare", run.runId, run.runId]);
    expect(same.stdout).not.toMatch(/^\*|^---/m);
    const none = "00000000-0000-4000-8000-000000000000";
    const refused = await shellOf(bench).run(["compare", run.runId, none]);
    expect([refused.code, refused.stdout]).toEqual([2, ""]);
    expect(refused.stderr).toContain(none);
  });
});
