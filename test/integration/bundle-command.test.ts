import { access, cp, readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { call } from "../fakes/scripted-model.js";
import { type Bench, openBench, readSession } from "./harness.js";
import { ROOT, type Shell, newShell, shellOf, withModel } from "./shell.js";

const WORKFLOW = "room/bmad/desk/workflows/intake/workflow.yaml";
const AGENT = "room/bmad/desk/agents/iris.md";
const RUN = ["bundle", "run", WORKFLOW, "--project", "project"];
const REHEARSE = [...RUN, "--rehearse"];
const SAVED = { calls: [call("save_output", { file_path: "request.md", content: "x" })] };
const DONE = { content: "WORKFLOW COMPLETE" };

interface Report {
  readonly runId: string;
  readonly phase: string;
  readonly artifacts: readonly string[];
  readonly sessionFolder: string;
  readonly stateFile: string | null;
  readonly logFile: string;
  readonly question?: { readonly text: string };
  readonly failure?: { readonly code: string; readonly message: string };
}

/** A shell whose directory holds the example bundle: one in which nothing runs, or that of a bench. */
async function roomShell(bench?: Bench): Promise<Shell> {
  const shell = bench === undefined ? await newShell() : shellOf(bench);
  await cp(join(ROOT, "examples/reading-room"), join(shell.dir, "room"), { recursive: true });
  return shell;
}

function reportIn(stdout: string): Report {
  return JSON.parse(stdout) as Report;
}

describe("interlock bundle run --rehearse", () => {
  test(
    "finds the roots, completes, and says where the session and its files lie",
    { tags: "slow" },
    async () => {
      const shell = await roomShell();
      const ended = await shell.run([...REHEARSE, "--agent", AGENT, "--input", "*intake", "--json"]);
      expect(ended.code).toBe(0);
      const report = reportIn(ended.stdout);
      expect(report).toMatchObject({ phase: "completed", stateFile: null });
      expect(report.sessionFolder).toBe(join(shell.dir, "project/artifacts", report.runId));
      const { files, manifest } = await readSession(report.sessionFolder);
      expect(report.artifacts).toEqual(Object.keys(files).map((path) => `{session-folder}/${path}`));
      expect(report.artifacts).toHaveLength(1);
      expect(manifest).toMatchObject({ status: "complete", agent: "Iris" });
      await access(report.logFile);

      const status = await shell.run(["status", report.runId, "--json"]);
      const { turn: _, visit: _visit, ...shown } = { turn: 0, visit: 0, ...report }; // what only the workflow knows
      expect(reportIn(status.stdout)).toMatchObject({ ...shown, webUrl: null });
      expect(JSON.parse(status.stdout)).toMatchObject({ startedAt: expect.any(String) as string });
      const read = await shell.run(["status", report.runId]);
      const [path = ""] = Object.keys(files);
      expect(read.stdout).toContain(`  artifact    ${join(report.sessionFolder, path)}\n`);
      expect(read.stdout).toContain(`  session     ${report.sessionFolder}\n`);
      expect(read.stdout).not.toContain("workflow.md");
      expect(read.stdout).not.toContain("{session-folder}");
      const runs = await shell.run(["runs"]);
      expect(runs.stdout).toMatch(
        new RegExp(`^${report.runId}  bundle:desk intake  project  completed `, "m"),
      );
      const state = await shell.run(["state", report.runId]);
      expect(state).toMatchObject({ code: 2, stdout: "" });
      expect(state.stderr).toContain("is a bundle run: only graph runs have a graph state");
      const audit = await shell.run(["audit", "verify", report.runId, "--json"]);
      expect(JSON.parse(audit.stdout)).toMatchObject({ ok: true, checkedAgainstTemporal: true });
    },
  );

  test("--output and --session name the folder; the same name again is refused before anything is started", async () => {
    const bench = await openBench([]);
    const shell = await roomShell(bench);
    const named = [...REHEARSE, "--output", "out", "--session", "monday", "--json"];
    const ended = await shell.run(named);
    expect(reportIn(ended.stdout)).toMatchObject({ sessionFolder: join(shell.dir, "out/monday") });
    expect(await readdir(join(shell.dir, "project"))).toEqual([]);
    const again = await shell.run(named);
    expect(again.code).toBe(2);
    expect(reportIn(again.stdout)).toMatchObject({ ok: false });
    expect(again.stderr).toContain('The session "monday" is taken.');
    expect(await bench.store.runs.listAllRuns()).toHaveLength(1);
  });

  test("a session id that is no folder's name is refused before anything is started: a retry would have the same", async () => {
    const bench = await openBench([]);
    const shell = await roomShell(bench);
    for (const session of ["../monday", "on monday", "monday.", ""]) {
      const refused = await shell.run([...REHEARSE, "--session", session, "--json"]);
      expect(refused.code).toBe(2);
      expect(reportIn(refused.stdout)).toMatchObject({ ok: false });
    }
    const refused = await shell.run([...REHEARSE, "--session", "monday."]);
    expect(refused.stderr).toContain("A session id names a folder");
    expect(refused.stderr).toContain("not ending with a dot");
    expect(await bench.store.runs.listAllRuns()).toEqual([]);
  });

  test("a workflow that cannot be loaded fails with its code, and is listed as failed", async () => {
    const shell = await roomShell(await openBench([]));
    const broken = "room/bmad/desk/workflows/broken/workflow.yaml";
    await cp(join(shell.dir, "room/README.md"), join(shell.dir, broken));
    const ended = await shell.run(["bundle", "run", broken, "--project", "project", "--rehearse", "--json"]);
    expect(ended.code).toBe(1);
    const report = reportIn(ended.stdout);
    expect(report.failure).toMatchObject({ code: "E_SCHEMA_VALIDATION" });
    expect(report.failure?.message).toMatch(
      /^\{bundle-root\}\/workflows\/broken\/workflow\.yaml, line \d+, column \d+/,
    );
    const status = await shell.run(["status", report.runId, "--json"]);
    expect(reportIn(status.stdout)).toMatchObject({
      phase: "failed",
      failure: report.failure,
      artifacts: [],
    });
  });
});

test(
  "wrong usage ends with exit code 2 and names what is wrong, before anything is started",
  { tags: "slow" },
  async () => {
    const shell = await roomShell();
    const cases: readonly (readonly [readonly string[], string])[] = [
      [["bundle", "run", "none.yaml", "--project", "project", "--rehearse"], '"none.yaml" is no file.'],
      [["bundle", "run", "room", "--project", "project", "--rehearse"], '"room" is no file.'],
      [
        ["bundle", "run", "room/bmad/desk/agents/iris.md", "--project", "project", "--rehearse"],
        "becomes a package first: interlock package import room/bmad/desk/agents/iris.md",
      ],
      [
        ["bundle", "run", WORKFLOW, "--project", "none", "--rehearse"],
        '"none" is no directory, and the store at hand has no project of that name.',
      ],
      [[...REHEARSE, "--bundle", "none"], '"none" is no directory.'],
      [[...REHEARSE, "--core", "none"], '"none" is no directory.'],
      [[...REHEARSE, "--bundle", "room/bmad/core"], "Name its root with --bundle."],
      [[...REHEARSE, "--agent", "none.md"], "E_AGENT_NOT_FOUND"],
      [RUN, "Set INTERLOCK_MODEL and OPENAI_API_KEY"],
      [["bundle", "run", WORKFLOW, "--rehearse"], "--project"],
    ];
    for (const [args, sentence] of cases) {
      const outcome = await shell.run(args);
      expect({ args, ...outcome }).toMatchObject({ code: 2, stdout: "" });
      expect(outcome.stderr).toContain(sentence);
    }
    expect(JSON.parse((await shell.run(["runs", "--json"])).stdout)).toEqual([]);
  },
);

describe("a bundle run that asks", () => {
  test("ends the command with exit code 3; answer goes on from there", { tags: "slow" }, async () => {
    const shell = await roomShell();
    await withModel([{ content: "What for?" }, SAVED, DONE], async (_model, variables) => {
      const configured = shell.with(variables);
      const waiting = await configured.run([...RUN, "--no-wait-for-answers", "--json"]);
      expect(waiting).toMatchObject({ code: 3 });
      const { runId } = reportIn(waiting.stdout);
      const status = await configured.run(["status", runId]);
      expect(status.stdout).toContain("question    What for?");
      expect(status.stdout).toContain(`interlock finish ${runId}`);
      const answered = await configured.run(["answer", runId, "For school.", "--json"]);
      expect(answered.code).toBe(0);
      expect(reportIn(answered.stdout)).toMatchObject({
        phase: "completed",
        artifacts: ["{session-folder}/request.md"],
        sessionFolder: join(shell.dir, "project/artifacts", runId),
      });
    });
  });

  test("finish ends it as completed, with what it has saved", { tags: "slow" }, async () => {
    const shell = await roomShell(await openBench([SAVED, { content: "What for?" }]));
    const { runId } = reportIn((await shell.run([...RUN, "--json"])).stdout);
    const finished = await shell.run(["finish", runId, "--json"]);
    expect(finished).toMatchObject({ code: 0 });
    expect(JSON.parse(finished.stdout)).toEqual({ runId, finished: true });
    const report = reportIn((await shell.run(["status", runId, "--json"])).stdout);
    expect(report).toMatchObject({ phase: "completed", artifacts: ["{session-folder}/request.md"] });
    expect((await readSession(report.sessionFolder)).manifest).toMatchObject({ status: "complete" });
    const fork = await shell.run(["fork", runId, "--at-visit", "0"]);
    expect(fork.stderr).toContain("only graph runs can be forked");
  });

  test("a failed one goes on with retry", { tags: "slow" }, async () => {
    const shell = await roomShell(await openBench([SAVED, { status: 401 }, DONE]));
    const failed = await shell.run([...RUN, "--json"]);
    expect(failed.code).toBe(1);
    const { runId } = reportIn(failed.stdout);
    const retried = await shell.run(["retry", runId, "--json"]);
    expect(retried).toMatchObject({ code: 0 });
    expect(reportIn(retried.stdout)).toMatchObject({
      phase: "completed",
      artifacts: ["{session-folder}/request.md"],
    });
  });
});
