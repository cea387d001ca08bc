import { expect, test } from "vitest";
import * as core from "../../src/core/index.js";
import * as root from "../../src/index.js";
import * as instruments from "../../src/instruments/metrics.js";
import * as worker from "../../src/worker.js";
import type {
  BudgetRaise,
  BundleRunInput,
  EngineLimits,
  ForkRun,
  InterlockClient,
  KnownStore,
  ListedRun,
  Polling,
  Question,
  QuestionEvent,
  QuestionFilter,
  RunFilter,
  RunHandle,
  RunResult,
  RunState,
  RunTimes,
  StartBundleRun,
  StartRun,
} from "../../src/index.js";

test("the values that the package exports", () => {
  const graphState = [
    "ArtifactTypeSchema",
    "EvidenceRefSchema",
    "GRAPH_STATE_SCHEMA_VERSION",
    "GateDecisionSchema",
    "GateTypeSchema",
    "GraphStateSchema",
    "InitialStateParamsSchema",
    "NodeErrorSchema",
    "StateDiffItemSchema",
    "StateDiffSchema",
    "StateRecordSchema",
    "RoutingFlagSchema",
    "StateSnapshotSchema",
    "StateSnapshotStateSchema",
    "cloneState",
    "createInitialState",
    "deserializeState",
    "diffGraphState",
    "isValidGraphState",
    "safeDeserializeState",
    "safeValidateGraphState",
    "serializeState",
    "validateGraphState",
  ];
  expect(Object.keys(root).sort()).toEqual(
    [
      "ANSWER_UPDATE",
      "BUDGET_UPDATE",
      "BUNDLE_RUN_WORKFLOW",
      "BundleRunInputSchema",
      "ERROR_CODES",
      "FINISH_UPDATE",
      "GRAPH_RUN_WORKFLOW",
      "GRAPH_STATE_QUERY",
      "GraphRunInputSchema",
      "InterlockClient",
      "InterlockError",
      "ModelError",
      "PAUSE_UPDATE",
      "RESUME_UPDATE",
      "RUN_STATE_QUERY",
      "RunHandle",
      "RunManager",
      "createChatModel",
      "createToolHost",
      "parseSealKeys",
      "startSigner",
      "exportRun",
      "openStore",
      "runInputJsonSchemas",
      "validateRunInput",
      "validateWorkflowStateUpdate",
      ...graphState,
    ].sort(),
  );
  expect(Object.keys(core).sort()).toEqual(
    ["ERROR_CODES", "validateWorkflowStateUpdate", ...graphState].sort(),
  );
  expect(Object.keys(worker).sort()).toEqual(["ConfigError", "defineTool", "loadConfig", "startWorker"]);
  expect(Object.keys(instruments).sort()).toEqual(["createMetrics", "prometheus"]);
});

/** What a program writes that lists and watches; compiled, not run. */
export async function listing(client: InterlockClient, run: RunHandle): Promise<readonly string[]> {
  const filter: RunFilter = { phases: ["waiting-user"] };
  const runs: readonly ListedRun[] = await client.runs(filter);
  const narrower: QuestionFilter = { package: "create-story" };
  const seen: string[] = runs.map(({ runId }) => runId);
  for await (const event of client.questionEvents(narrower)) seen.push((event satisfies QuestionEvent).kind);
  const stores: readonly KnownStore[] = await client.stores();
  for (const { taskQueue } of stores) {
    const polling: Polling = await client.polling(taskQueue);
    if (polling.polled) seen.push(taskQueue);
  }
  const { startedBy = "" }: RunTimes = await run.times();
  return [...seen, startedBy];
}

/** What a program writes that starts, follows and steers runs with the exported types alone; compiled, not run. */
export async function program(client: root.InterlockClient): Promise<RunResult> {
  const request: StartBundleRun = {
    projectRoot: "/srv/project",
    bundleRoot: "/srv/project/bmad/desk",
    workflowPath: "workflows/intake/workflow.yaml",
  };
  const input: BundleRunInput = { ...request, runId: "4c3a4a4e-7f7b-4a4f-9d5e-0d6f7f1f2a3b" };
  const graph: StartRun = { projectRoot: input.projectRoot, packageId: "p" };
  const fork: ForkRun = { visit: 0 };
  const limits: Partial<EngineLimits> = { maxTurnsPerRun: 10 };
  const raise: BudgetRaise = { add: { turns: 1 } };
  await client.fork((await client.start(graph)).runId, fork);
  const run = await client.startBundle({ ...request, limits });
  await run.raiseBudget(raise);
  const state: RunState = await run.state();
  const question: Question | undefined = state.question;
  if (question === undefined) await run.finish();
  else await run.answer({ nodeId: question.nodeId, text: "Blue." });
  return run.result();
}
