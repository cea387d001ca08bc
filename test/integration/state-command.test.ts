import { readFile, readdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { type ScriptedCall, call, patch } from "../fakes/scripted-model.js";
import { gatePackage } from "../fakes/gate-package.js";
import { openBench, writeTree } from "./harness.js";
import { ROOT, type Shell, newShell, shellOf, withModel } from "./shell.js";

const move = (from: string, to: string): ScriptedCall =>
  patch({ stepsCompleted: { append: [from] }, currentNodeId: { set: to } });
const write = (file: string, content: string): ScriptedCall =>
  call("fs_write", { path: `@project/artifacts/${file}`, content });
const gate = (decision: string): ScriptedCall =>
  call("state_record", { gateDecisions: { qaGate: decision } });

const QA_GATE = join(ROOT, "examples/qa-gate/package");

interface Report {
  readonly runId: string;
  readonly phase: string;
  readonly stepsCompleted: readonly string[];
  readonly artifacts: readonly string[];
  readonly stateFile: string;
}

interface Shown {
  readonly visit: number | null;
  readonly nodeId: string | null;
  readonly state: Record<string, unknown>;
}

describe("the example with a QA gate, which fails once and passes on retry", () => {
  let shell: Shell;
  let report: Report;

  beforeAll(async () => {
    shell = await newShell();
    const script = [
      { calls: [write("page.md", "First.\n"), move("build", "qa")] },
      { calls: [write("qa-report.md", "Line 2 is missing.\n"), gate("FAIL"), move("qa", "done")] },
      { calls: [move("qa", "fix")] },
      { calls: [write("page.md", "Second.\n"), move("fix", "qa")] },
      { calls: [write("qa-report.md", "All there.\n"), gate("PASS"), move("qa", "done")] },
      { calls: [write("handover.md", "Done.\n"), patch({ stepsCompleted: { append: ["done"] } })] },
    ];
    const outcome = await withModel(script, (_model, variables) =>
      shell
        .with(variables)
        .run(["run", QA_GATE, "--project", "project", "--story", "wrkf-1010", "--conditions", "--json"]),
    );
    report = JSON.parse(outcome.stdout) as Report;
  });

  const state = (...options: string[]) => shell.run(["state", report.runId, ...options]);
  const shown = async (...options: string[]) =>
    JSON.parse((await state(...options, "--json")).stdout) as Shown;

  test("reaches its end the second time", () => {
    expect(report).toMatchObject({ phase: "completed", stepsCompleted: ["build", "qa", "fix", "done"] });
  });

  test("state shows what the run ended with, without a server", async () => {
    expect(await shown()).toMatchObject({
      runId: report.runId,
      visit: 5,
      nodeId: "done",
      state: {
        storyId: "wrkf-1010",
        artifactPaths: { storyDoc: "artifacts/page.md", qaGate: "artifacts/qa-report.md" },
        routingFlags: { complete: true },
        gateDecisions: { qaGate: "PASS" },
        errors: [{ nodeId: "qa", code: "E_INVALID_TRANSITION", recoverable: true }],
      },
    });
    const { code, stdout } = await state();
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Graph state after visit 5 \(done\)\n\{\n/u);
    expect(stdout).not.toContain("stateHistory");
  });

  test("--at shows it as it was after a visit, and at the beginning", async () => {
    expect(await shown("--at", "2")).toMatchObject({
      visit: 2,
      nodeId: "qa",
      state: { gateDecisions: { qaGate: "FAIL" }, routingFlags: { proceed: true } },
    });
    expect(await shown("--at", "0")).toMatchObject({
      visit: 0,
      nodeId: null,
      timestamp: null,
      state: { storyId: "wrkf-1010", gateDecisions: {}, errors: [] },
    });
    expect((await state("--at", "0")).stdout).toMatch(/^Graph state at the beginning\n/u);
  });

  test(
    "--diff shows exactly what a node changed, from the earlier visit to the later",
    { tags: "slow" },
    async () => {
      const lines = [
        "From the state after visit 3 (fix) to the one after visit 4 (qa):",
        "  + routingFlags.retry: true",
        '  ~ gateDecisions.qaGate: "FAIL" → "PASS"',
        "",
      ];
      expect((await state("--at", "3", "--diff", "4")).stdout).toBe(lines.join("\n"));
      expect((await state("--at", "4", "--diff", "3")).stdout).toBe(lines.join("\n"));
      expect(JSON.parse((await state("--at", "4", "--diff", "3", "--json")).stdout)).toEqual({
        runId: report.runId,
        from: { visit: 3, nodeId: "fix" },
        to: { visit: 4, nodeId: "qa" },
        hasChanges: true,
        totalDiffs: 2,
        added: [{ path: "routingFlags.retry", newValue: true }],
        changed: [{ path: "gateDecisions.qaGate", oldValue: "FAIL", newValue: "PASS" }],
        removed: [],
      });
      expect((await state("--at", "4", "--diff", "5")).stdout).toContain("  - routingFlags.proceed: true\n");
      expect((await state("--diff", "5")).stdout).toContain("  no difference\n");
    },
  );

  test(
    "a visit that is not there is wrong usage, and so is what is no number",
    { tags: "slow" },
    async () => {
      expect(await state("--at", "6")).toEqual({
        code: 2,
        stdout: "",
        stderr: "There is no snapshot 6: this run has 0 to 5.\n",
      });
      for (const number of ["-1", "two", "1.5", ""]) {
        expect((await state(`--at=${number}`)).code).toBe(2);
        expect((await state("--diff", number)).code).toBe(2);
      }
      expect((await state("--diff", "x")).stderr).toContain("--diff takes the number of a node visit");
      const unknown = await shell.run(["state", "8e9cbd35-52a4-4f2f-9ef9-1a3d7aa59b4d"]);
      expect(unknown.code).toBe(2);
      expect(unknown.stderr).toContain("See: interlock runs");
    },
  );

  test("a damaged file is said, with the file's name", async () => {
    const file = join(dirname(dirname(report.stateFile)), "graph-state.json");
    const text = await readFile(file, "utf8");
    await writeFile(file, text.slice(0, -20));
    const outcome = await state();
    await writeFile(file, text);
    expect(outcome.code).toBe(1);
    expect(outcome.stderr).toContain("graph-state.json is damaged. Restore it from a backup");
  });
});

test(
  "a run that fails inside a visit shows what has changed since the last one ended",
  { tags: "slow" },
  async () => {
    const script = [
      { calls: [write("page.md", "First.\n"), move("build", "qa")] },
      {
        calls: [gate("FAIL"), call("state_record", { artifactPaths: { evidence: "a\u009b2J\u2028b.log" } })],
      },
      { status: 401 },
    ];
    const shell = shellOf(await openBench(script));
    const outcome = await shell.run([
      "run",
      QA_GATE,
      "--project",
      "project",
      "--story",
      "wrkf-1010",
      "--conditions",
      "--json",
    ]);
    expect(outcome.code).toBe(1);
    const { runId } = JSON.parse(outcome.stdout) as Report;
    const state = async (...options: string[]) => (await shell.run(["state", runId, ...options])).stdout;
    expect(JSON.parse(await state("--json"))).toMatchObject({
      visit: null,
      nodeId: null,
      state: {
        gateDecisions: { qaGate: "FAIL" },
        routingFlags: {},
        errors: [{ nodeId: "qa", code: "LLM_AUTH_FAILED", recoverable: false }],
      },
    });
    expect(await state()).toMatch(/^Graph state now, in a visit that has not ended\n/u);
    expect(await state()).toContain('"evidence": "a\\u009b2J\\u2028b.log"');
    const diff = await state("--diff", "1");
    expect(diff).toMatch(
      /^From the state after visit 1 \(build\) to the one now, in a visit that has not ended:\n/u,
    );
    expect(diff).toContain('  + gateDecisions.qaGate: "FAIL"\n');
    expect(diff).toContain('  + artifactPaths.evidence: "a\\u009b2J\\u2028b.log"\n');
    expect(diff).toContain("  - routingFlags.proceed: true\n");
  },
);

describe("rehearsals of packages with gates", () => {
  const rehearse = async (shell: Shell, dir: string, ...options: string[]) => {
    const outcome = await shell.run([
      "run",
      dir,
      "--project",
      "project",
      "--rehearse",
      "--story",
      "wrkf-1",
      "--json",
      ...options,
    ]);
    return JSON.parse(outcome.stdout) as Report;
  };

  test("the example passes its check and completes", async () => {
    const shell = shellOf(await openBench([]));
    expect(await shell.run(["package", "check", QA_GATE])).toMatchObject({
      code: 0,
      stdout: "The package is valid (0 warnings).\n",
    });
    const report = await rehearse(shell, QA_GATE, "--conditions");
    expect(report).toMatchObject({ phase: "completed", stepsCompleted: ["build", "qa", "done"] });
    expect((await readdir(join(shell.dir, "project/artifacts"))).sort()).toEqual([
      "handover.md",
      "page.md",
      "qa-report.md",
    ]);
    const outcome = await shell.run(["state", report.runId, "--json"]);
    expect((JSON.parse(outcome.stdout) as Shown).state).toMatchObject({
      gateDecisions: { qaGate: "PASS" },
      routingFlags: { complete: true },
      errors: [],
    });
  });

  test(
    "another one completes although its default edge leads back, and every branch is walked",
    { tags: "slow" },
    async () => {
      const shell = shellOf(await openBench([]));
      await writeTree(join(shell.dir, "package"), gatePackage());
      for (const options of [["--conditions"], ["--conditions", "--branches"], []]) {
        expect(await rehearse(shell, "package", ...options)).toMatchObject({ phase: "completed" });
        await rm(join(shell.dir, "project/artifacts"), { recursive: true, force: true });
      }
    },
  );

  test("a run without a story has no graph state, and a story that cannot be is refused before the start", async () => {
    const bench = await openBench([]);
    const shell = shellOf(bench);
    await writeTree(join(shell.dir, "package"), gatePackage());
    const run = (...options: string[]) =>
      shell.run(["run", "package", "--project", "project", "--rehearse", "--json", ...options]);
    const report = JSON.parse((await run()).stdout) as Report;
    expect(await shell.run(["state", report.runId])).toMatchObject({
      code: 2,
      stderr: `Run ${report.runId} carries no story: start it with --story to give it a graph state.\n`,
    });
    const refused = await run("--story", "1010");
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain("A story is named like wrkf-1010.");
    expect(await bench.store.runs.listAllRuns()).toHaveLength(1);
  });
});
