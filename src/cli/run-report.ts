import { dirname, join } from "node:path";
import { workflowIdOf } from "../contract/names.js";
import type { RunPhase, RunState, Usage } from "../contract/run.js";
import type { JsonObject } from "../core/json.js";
import type { RunMetadata } from "../store/run-index.js";
import type { Store } from "../store/store.js";
import { print } from "./output.js";

/** What `run --json` and `status --json` print. */
export interface RunReport {
  readonly runId: string;
  readonly workflowId: string;
  readonly phase: RunPhase;
  readonly currentNodeId: string;
  readonly stepsCompleted: readonly string[];
  readonly variables: JsonObject;
  readonly artifacts: readonly string[];
  readonly question?: { readonly nodeId: string; readonly text: string; readonly code?: string | undefined };
  readonly failure?: { readonly code: string; readonly message: string };
  readonly usage: Usage;
  readonly webUrl: string | null;
  readonly stateFile: string | null;
  readonly logFile: string | null;
}

export function reportOf(
  state: RunState,
  places: Pick<RunReport, "webUrl" | "stateFile" | "logFile">,
): RunReport {
  return {
    runId: state.runId,
    workflowId: workflowIdOf(state.runId),
    phase: state.phase,
    currentNodeId: state.currentNodeId,
    stepsCompleted: state.stepsCompleted,
    variables: state.variables,
    artifacts: state.artifacts,
    ...(state.question === undefined ? {} : { question: state.question }),
    ...(state.failure === undefined ? {} : { failure: state.failure }),
    usage: state.usage,
    ...places,
  };
}

/** Where a run's files lie; null where this store does not hold it. */
export async function filesOfRun(store: Store, projectId: string, runId: string) {
  const files = await store.runs.openFiles(projectId, runId);
  if (!files.ok) return { stateFile: null, logFile: null };
  return { stateFile: join(files.value.stateDir, "workflow.md"), logFile: files.value.logFile };
}

/** A run as its files tell it, without Temporal. */
export async function reportFromStore(store: Store, run: RunMetadata): Promise<RunReport | undefined> {
  const files = await store.runs.openFiles(run.projectId, run.runId);
  if (!files.ok) return undefined;
  const document = await files.value.state.read();
  if (!document.ok) return undefined;
  const { frontmatter } = document.value;
  const status = await files.value.status.read();
  const loaded = await store.packages.open(run.packageId);
  const entry = loaded.ok
    ? loaded.value.workflows.find(({ id }) => id === run.workflowRef)?.graph.entryNodeId
    : "";
  return {
    runId: run.runId,
    workflowId: workflowIdOf(run.runId),
    phase: run.phase,
    currentNodeId: frontmatter.currentNodeId.trim() || (entry ?? ""),
    stepsCompleted: frontmatter.stepsCompleted,
    variables: frontmatter.variables,
    artifacts: frontmatter.artifacts,
    ...(status?.question === undefined || run.phase !== "waiting-user" ? {} : { question: status.question }),
    ...(status?.fault === undefined || run.phase !== "failed" ? {} : { failure: status.fault }),
    usage: status?.usage ?? { modelTurns: 0, toolCalls: 0, promptTokens: 0, completionTokens: 0, cost: 0 },
    webUrl: null,
    ...(await filesOfRun(store, run.projectId, run.runId)),
  };
}

/** The page of a run in Temporal's Web UI. It needs the execution's id for every tab but one. */
export function webUrlOf(
  webUi: string | undefined,
  namespace: string,
  runId: string,
  executionRunId: string,
) {
  if (webUi === undefined) return null;
  return `${webUi.replace(/\/$/, "")}/namespaces/${namespace}/workflows/${workflowIdOf(runId)}/${executionRunId}/timeline`;
}

/** The report for people. */
export function printReport(report: RunReport, projectRoot: string | undefined): void {
  print(`Run ${report.runId}: ${report.phase}`);
  print(`  node        ${report.currentNodeId}`);
  print(`  completed   ${report.stepsCompleted.join(", ") || "none yet"}`);
  if (report.failure !== undefined) print(`  failure     ${report.failure.code}: ${report.failure.message}`);
  for (const artifact of report.artifacts) {
    print(`  artifact    ${projectRoot === undefined ? artifact : join(projectRoot, artifact)}`);
  }
  const { usage } = report;
  print(
    `  usage       ${usage.modelTurns} model turns, ${usage.toolCalls} tool calls, ${usage.promptTokens}+${usage.completionTokens} tokens`,
  );
  if (report.stateFile !== null) print(`  state       ${report.stateFile}`);
  if (report.logFile !== null) print(`  audit log   ${join(dirname(report.logFile), "execution.jsonl")}`);
  if (report.webUrl !== null) print(`  web ui      ${report.webUrl}`);
  if (report.question !== undefined) {
    print(`  question    ${report.question.text.split("\n").join("\n              ")}`);
    print(`  answer with interlock answer ${report.runId} "…"`);
  }
}
