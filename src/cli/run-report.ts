import { dirname, join } from "node:path";
import { workflowIdOf } from "../contract/names.js";
import type { Budget, RunPhase, RunState, Usage } from "../contract/run.js";
import type { JsonObject } from "../core/json.js";
import type { RunMetadata } from "../store/run-index.js";
import { readManifest } from "../store/bundle-session.js";
import type { RunFiles } from "../store/run-files.js";
import type { Store } from "../store/store.js";
import { BUNDLE_NODE } from "../tools/bundle-sessions.js";
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
  /** Somebody has paused the run: it goes on after `interlock resume`. */
  readonly paused: boolean;
  /** Of a run that has one. */
  readonly budget?: Budget;
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
    paused: state.paused,
    ...(state.budget.run === undefined && state.budget.node === undefined ? {} : { budget: state.budget }),
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
  const place = await placeOf(store, run, files.value);
  if (place === undefined) return undefined;
  const status = await files.value.status.read();
  const isOver = run.phase === "completed" || run.phase === "failed";
  return {
    runId: run.runId,
    workflowId: workflowIdOf(run.runId),
    phase: run.phase,
    ...place,
    ...(status?.question === undefined || run.phase !== "waiting-user" ? {} : { question: status.question }),
    ...(status?.fault === undefined || run.phase !== "failed" ? {} : { failure: status.fault }),
    paused: status?.paused === true && !isOver,
    ...(status?.budget === undefined ? {} : { budget: status.budget as Budget }), // written from one
    usage: status?.usage ?? { modelTurns: 0, toolCalls: 0, promptTokens: 0, completionTokens: 0, cost: 0 },
    webUrl: null,
    ...(await filesOfRun(store, run.projectId, run.runId)),
  };
}

/** What a run has come to: the state document says it and, of a bundle run, the manifest of its session. */
async function placeOf(
  store: Store,
  run: RunMetadata,
  files: RunFiles,
): Promise<Pick<RunReport, "currentNodeId" | "stepsCompleted" | "variables" | "artifacts"> | undefined> {
  if (run.bundle !== undefined) {
    const manifest = await readManifest(run.bundle);
    const saved = manifest.ok ? manifest.value.files.map(({ path }) => `{session-folder}/${path}`) : [];
    const stepsCompleted = run.phase === "completed" ? [BUNDLE_NODE] : [];
    return { currentNodeId: BUNDLE_NODE, stepsCompleted, variables: {}, artifacts: saved };
  }
  const document = await files.state.read();
  if (!document.ok) return undefined;
  const { currentNodeId, stepsCompleted, variables, artifacts } = document.value.frontmatter;
  const loaded = await store.packages.open(run.packageId);
  const workflow = loaded.ok ? loaded.value.workflows.find(({ id }) => id === run.workflowRef) : undefined;
  const node = currentNodeId.trim() || (workflow?.graph.entryNodeId ?? "");
  return { currentNodeId: node, stepsCompleted, variables, artifacts };
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

/** What a waiting run needs. */
export function wayOn(runId: string, question: { readonly code?: string | undefined }): string {
  if (question.code !== "BUDGET_EXCEEDED") return `answer with interlock answer ${runId} "…"`;
  return `raise it with interlock budget ${runId} --add-turns|--add-tokens|--add-cost <n>`;
}

/** The report for people. */
export function printReport(report: RunReport, projectRoot: string | undefined): void {
  print(`Run ${report.runId}: ${report.phase}${report.paused ? ", paused" : ""}`);
  print(`  node        ${report.currentNodeId}`);
  print(`  completed   ${report.stepsCompleted.join(", ") || "none yet"}`);
  if (report.failure !== undefined) print(`  failure     ${report.failure.code}: ${report.failure.message}`);
  for (const artifact of report.artifacts) {
    print(`  artifact    ${projectRoot === undefined ? artifact : join(projectRoot, artifact)}`);
  }
  const { usage } = report;
  const cost = usage.cost > 0 ? `, cost ${usage.cost.toFixed(4)}` : "";
  print(
    `  usage       ${usage.modelTurns} model turns, ${usage.toolCalls} tool calls, ${usage.promptTokens}+${usage.completionTokens} tokens${cost}`,
  );
  if (report.stateFile !== null) print(`  state       ${report.stateFile}`);
  if (report.logFile !== null) print(`  audit log   ${join(dirname(report.logFile), "execution.jsonl")}`);
  if (report.webUrl !== null) print(`  web ui      ${report.webUrl}`);
  if (report.question !== undefined) {
    print(`  question    ${report.question.text.split("\n").join("\n              ")}`);
    print(`  ${wayOn(report.runId, report.question)}`);
  }
  if (report.paused) print(`  let it go on with interlock resume ${report.runId}`);
}
