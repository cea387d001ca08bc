import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { InterlockError } from "../../src/client/client.js";
import { diffGraphState } from "../../src/core/graph-state/diff.js";
import { validateGraphState } from "../../src/core/graph-state/validate.js";
import { type ScriptedAnswer, type ScriptedCall, call, patch } from "../fakes/scripted-model.js";
import { gatePackage } from "../fakes/gate-package.js";
import { type Bench, openBench, until } from "./harness.js";

const move = (from: string, to: string): ScriptedCall =>
  patch({ stepsCompleted: { append: [from] }, currentNodeId: { set: to } });
const gate = (decision: string): ScriptedCall =>
  call("state_record", { gateDecisions: { qaGate: decision } });
const end: ScriptedAnswer = { calls: [patch({ stepsCompleted: { append: ["finish"] } })] };

const STORY = { storyId: "wrkf-1010", evaluateConditions: true } as const;

async function snapshotsOf(bench: Bench, runId: string) {
  const found = await bench.store.runs.findRun(runId);
  if (!found.ok) throw new Error(found.error.message);
  const files = await bench.store.runs.openFiles(found.value.projectId, runId);
  if (!files.ok) throw new Error(files.error.message);
  return { files: files.value, snapshots: await files.value.graphState.snapshots() };
}

describe("a run that carries a story", () => {
  test("a QA gate that says FAIL stops the graph; once it says PASS the end is reached", async () => {
    const bench = await openBench([
      {
        calls: [
          call("fs_write", { path: "@project/artifacts/story.md", content: "A story.\n" }),
          move("build", "qa"),
        ],
      },
      { calls: [gate("FAIL"), move("qa", "finish")] },
      { calls: [move("qa", "finish")] },
      { calls: [move("qa", "build")] },
      { calls: [move("build", "qa")] },
      {
        calls: [
          call("state_record", {
            gateDecisions: { qaGate: "PASS" },
            evidenceRefs: [{ type: "test", path: "artifacts/story.md", timestamp: "2026-01-02T03:04:05Z" }],
          }),
          move("qa", "finish"),
        ],
      },
      end,
    ]);
    const run = await bench.start(gatePackage(), STORY);
    const result = await run.result();
    expect(result).toMatchObject({ currentNodeId: "finish", stepsCompleted: ["build", "qa", "finish"] });

    const refusals = bench.model.requests.flatMap(({ messages }) =>
      messages.filter(({ role, content }) => role === "tool" && content?.includes("E_INVALID_TRANSITION")),
    );
    expect(JSON.parse(refusals[0]?.content ?? "")).toMatchObject({
      error: {
        details: {
          from: "qa",
          to: "finish",
          allowedNext: [
            { to: "finish", satisfied: false },
            { to: "build", satisfied: true },
          ],
        },
      },
    });

    const state = await run.graphState();
    expect(state).toMatchObject({
      storyId: "wrkf-1010",
      epicPrefix: "wrkf",
      artifactPaths: { storyDoc: "artifacts/story.md" },
      gateDecisions: { qaGate: "PASS" },
      routingFlags: { complete: true },
    });
    expect(validateGraphState(state).stateHistory.map(({ state: { routingFlags } }) => routingFlags)).toEqual(
      [
        { proceed: true },
        { proceed: true },
        { proceed: true, retry: true },
        { proceed: true, retry: true },
        { complete: true },
      ],
    );
    expect(state?.errors.map(({ nodeId, code, recoverable }) => [nodeId, code, recoverable])).toEqual([
      ["qa", "E_INVALID_TRANSITION", true],
      ["qa", "E_INVALID_TRANSITION", true],
    ]);

    const { snapshots } = await snapshotsOf(bench, run.runId);
    expect(snapshots.map(({ visit, nodeId }) => [visit, nodeId])).toEqual([
      [1, "build"],
      [2, "qa"],
      [3, "build"],
      [4, "qa"],
      [5, "finish"],
    ]);
    expect(snapshots.map(({ state: { gateDecisions } }) => gateDecisions.qaGate)).toEqual([
      undefined,
      "FAIL",
      "FAIL",
      "PASS",
      "PASS",
    ]);
    const [, , third, fourth] = snapshots;
    if (third === undefined || fourth === undefined) throw new Error("Snapshots are missing.");
    expect(diffGraphState(third.state, fourth.state)).toEqual({
      hasChanges: true,
      totalDiffs: 2,
      changed: [
        {
          path: "evidenceRefs",
          oldValue: [],
          newValue: [{ type: "test", path: "artifacts/story.md", timestamp: "2026-01-02T03:04:05Z" }],
        },
        { path: "gateDecisions.qaGate", oldValue: "FAIL", newValue: "PASS" },
      ],
      added: [],
      removed: [],
    });
  });

  test("a precondition that fails twice blocks the visit, until the run moves on", async () => {
    const bench = await openBench([
      { calls: [move("build", "qa")] },
      { calls: [gate("FAIL"), move("qa", "finish")] },
      { calls: [move("qa", "finish")] },
      { content: "What now?" },
      { calls: [gate("WAIVED"), move("qa", "finish")] },
      end,
    ]);
    const run = await bench.start(gatePackage(), STORY);
    await until(run, "waiting-user");
    expect((await run.graphState())?.routingFlags).toEqual({ blocked: true, escalate: true });
    await run.answer({ nodeId: "qa", text: "Waive it." });
    await run.result();
    expect((await run.graphState())?.stateHistory.at(1)?.state.routingFlags).toEqual({
      escalate: true,
      proceed: true,
    });
  });

  test("a waived gate opens the way as well", async () => {
    const bench = await openBench([
      { calls: [move("build", "qa")] },
      { calls: [gate("WAIVED"), move("qa", "finish")] },
      end,
    ]);
    const run = await bench.start(gatePackage(), STORY);
    await run.result();
    expect((await run.graphState())?.stateHistory.at(1)?.state.routingFlags).toEqual({ proceed: true });
  });

  test("what does not fit is refused with paths, and nothing changes", async () => {
    const bench = await openBench([
      {
        calls: [call("state_record", { gateDecisions: { qaGate: "MAYBE" }, artifactPaths: { novel: "x" } })],
      },
      { calls: [call("state_record", {})] },
      { calls: [call("state_record", { routingFlags: { complete: true, retry: true } })] },
      { content: "What now?" },
      { calls: [move("build", "qa")] },
      { calls: [gate("PASS"), move("qa", "finish")] },
      end,
    ]);
    const run = await bench.start(gatePackage(), STORY);
    await until(run, "waiting-user");
    const { files } = await snapshotsOf(bench, run.runId);
    expect(await files.graphState.current()).toMatchObject({
      change: 0,
      state: { gateDecisions: {}, artifactPaths: {} },
    });
    const results = bench.model.requests
      .at(3)
      ?.messages.filter(({ role }) => role === "tool")
      .map(
        ({ content }) =>
          JSON.parse(content ?? "") as { error: { code: string; details: { errors: object[] } } },
      );
    expect(results?.map(({ error }) => error.code)).toEqual(Array(3).fill("E_SCHEMA_VALIDATION"));
    expect(results?.[0]?.error.details.errors).toEqual([
      expect.objectContaining({ path: "gateDecisions.qaGate" }),
      expect.objectContaining({ path: "artifactPaths", message: expect.stringContaining("novel") as string }),
    ]);
    expect(results?.[2]?.error.details.errors).toEqual([
      expect.objectContaining({ path: "routingFlags.retry" }),
    ]);
    await run.answer({ nodeId: "build", text: "Go on." });
    await run.result();
    const first = (await run.graphState())?.stateHistory[0];
    expect(first?.state.routingFlags).toEqual({ escalate: true, proceed: true });
  });

  test("a model that fails for good is an error that cannot be recovered from", async () => {
    const bench = await openBench([{ calls: [move("build", "qa")] }, { status: 401 }]);
    const run = await bench.start(gatePackage(), STORY);
    await expect(run.result()).rejects.toMatchObject({ code: "LLM_AUTH_FAILED" });
    const { files, snapshots } = await snapshotsOf(bench, run.runId);
    expect(snapshots).toHaveLength(1);
    expect((await files.graphState.current())?.state.errors).toEqual([
      expect.objectContaining({ nodeId: "qa", code: "LLM_AUTH_FAILED", recoverable: false }),
    ]);
  });

  test("a state that cannot be kept fails the run, and the failure is recorded where people look", async () => {
    const bench = await openBench([{ content: "May I?" }, { calls: [move("build", "qa")] }]);
    const run = await bench.start(gatePackage(), STORY);
    await until(run, "waiting-user");
    const { files } = await snapshotsOf(bench, run.runId);
    await writeFile(join(dirname(files.stateDir), "graph-state.json"), "{");
    await run.answer({ nodeId: "build", text: "Yes." });
    await expect(run.result()).rejects.toMatchObject({
      code: "E_INTERNAL",
      message: expect.stringContaining("graph-state.json is damaged") as string,
    });
    expect(await files.status.read()).toMatchObject({ phase: "failed" });
    expect(await run.graphState()).toMatchObject({
      errors: [{ nodeId: "qa", code: "E_INTERNAL", recoverable: false }],
    });
  });

  test("without a story there is neither the tool nor a state", async () => {
    const bench = await openBench([
      { calls: [call("state_record", { gateDecisions: { qaGate: "PASS" } })] },
      { calls: [move("build", "qa")] },
      { calls: [move("qa", "build")] },
      { content: "Stuck." },
    ]);
    const run = await bench.start(gatePackage(), { evaluateConditions: true });
    await until(run, "waiting-user");
    expect(await run.graphState()).toBeNull();
    expect(bench.model.requests[0]?.tools?.map(({ function: { name } }) => name)).not.toContain(
      "state_record",
    );
    expect(bench.model.requests[1]?.messages.at(-1)?.content).toContain("TOOL_NOT_AVAILABLE");
  });

  test("a story that no state could carry is refused before anything is started", async () => {
    const bench = await openBench([]);
    await expect(bench.start(gatePackage(), { storyId: "1010" })).rejects.toThrow(InterlockError);
    await expect(
      bench.start(gatePackage(), { storyId: "wrkf-1", epicPrefix: "other" }),
    ).rejects.toMatchObject({
      code: "E_SCHEMA_VALIDATION",
    });
  });
});
