import { dirname, join } from "node:path";
import type { ErrorCode } from "../../core/errors.js";
import { isOverPhase } from "../../core/run/phase.js";
import { firstLine } from "../../core/run/listed-texts.js";
import { asksForBudget } from "../../core/run/question.js";
import { modelLabel } from "../../core/run/run-model.js";
import type { LastUserAnswer, ModelState } from "../../core/run/run-state.js";
import { type Usage, costInWords, tokensInWords, workInWords } from "../../core/run/usage.js";
import { shellName } from "../../core/text.js";
import { isRefusedStart } from "../../contract/signed.js";
import { failureWords, workWords } from "../session/work-words.js";
import { print, printLabelled } from "../terminal/output.js";
import type { AskedBelow, RunReport } from "./run-report.js";
import { countedAlike } from "./waiting-words.js";

const SESSION = "{session-folder}";

/** What a waiting run needs. */
export function wayOn(runId: string, question: { readonly code?: string | undefined }): string {
  if (!asksForBudget(question)) return `answer with interlock answer ${shellName(runId)} "…"`;
  return `raise it with interlock budget ${shellName(runId)} --add-turns|--add-tokens|--add-cost <n>`;
}

/** Of these the words are the endpoint's own, who does not know what its address, key or model is called in the settings. */
const ENDPOINT_FAULTS: ReadonlySet<string> = new Set<ErrorCode>([
  "LLM_AUTH_FAILED",
  "LLM_HTTP_ERROR",
  "LLM_BAD_RESPONSE",
]);

/** The report for people; `webUi` says how the Web UI is opened where there is no link. */
export function printReport(report: RunReport, projectRoot: string | undefined, webUi?: string): void {
  printStanding(report);
  printOrigin(report, projectRoot);
  print(`  completed   ${report.stepsCompleted.join(", ") || "none yet"}`);
  if (report.problem !== undefined) print(`  problem     ${report.problem}`);
  printFailure(report);
  printWork(report);
  if (report.lastAnswer !== undefined) printLabelled("  answered    ", answeredWords(report.lastAnswer));
  for (const artifact of report.artifacts)
    print(`  artifact    ${hostPathOf(artifact, report, projectRoot)}`);
  for (const artifact of report.writtenAgain ?? [])
    print(`  written again  ${hostPathOf(artifact, report, projectRoot)}`);
  printUsage(report);
  if (report.model !== undefined) printModel(report.model, isOverPhase(report.phase));
  printPlaces(report, webUi);
  printQuestion(report);
  if (report.paused) print(`  let it go on with interlock resume ${shellName(report.runId)}`);
}

function printStanding({ runId, phase, paused, currentNodeId, sessionFolder, artifacts }: RunReport): void {
  const isEmpty = phase === "completed" && sessionFolder !== null && artifacts.length === 0;
  print(`Run ${runId}: ${phase}${paused ? ", paused" : ""}${isEmpty ? ", nothing saved" : ""}`);
  if (currentNodeId !== "") print(`  node        ${currentNodeId}`);
}

/** With what helps. */
function printFailure({ runId, currentNodeId, failure, problem }: RunReport): void {
  if (failure === undefined) return;
  print(`  failure     ${failure.code}: ${failure.message}`);
  if (ENDPOINT_FAULTS.has(failure.code)) print("  interlock doctor says what to mend of its model");
  const isRefused = currentNodeId === "" && isRefusedStart(failure);
  if (problem === undefined && !isRefused) print(`  go on with interlock retry ${shellName(runId)}`);
}

/** What it waits for: a run below, and what is at work. */
function printWork({ below, work = [] }: RunReport): void {
  if (below !== undefined) {
    print(`  waits for   run ${below.runId} of ${below.workflowRef}`);
    if (below.asks !== undefined) printAskedBelow(below.asks);
  }
  const now = Date.now();
  const inWords = work.map((activity) => {
    const failure = failureWords(activity);
    return [workWords(activity, now), ...(failure === undefined ? [] : [failure])];
  });
  for (const { words, count } of countedAlike(inWords)) {
    const [doing, failure] = words;
    print(`  at work     ${doing}${count === 1 ? "" : ` (${count} times)`}`);
    if (failure !== undefined) print(`  last error  ${failure}`);
  }
}

function printUsage({ usage, usageByNode = [] }: RunReport): void {
  print(`  usage       ${usageInWords(usage)}`);
  if (usageByNode.length < 2) return;
  for (const { nodeId, usage: ofNode } of usageByNode) print(`    ${nodeId}: ${usageInWords(ofNode)}`);
}

function printPlaces(
  { sessionFolder, stateFile, logFile, webUrl }: RunReport,
  webUi: string | undefined,
): void {
  if (sessionFolder !== null) print(`  session     ${sessionFolder}`);
  if (stateFile !== null) print(`  state       ${stateFile}`);
  if (logFile !== null) print(`  audit log   ${join(dirname(logFile), "execution.jsonl")}`);
  const web = webUrl ?? webUi;
  if (web !== undefined) print(`  web ui      ${web}`);
}

/** With what it waits for. */
function printQuestion({ runId, question, visit, turn = 0, sessionFolder }: RunReport): void {
  if (question === undefined) return;
  printLabelled("  question    ", question.text);
  if (visit !== undefined) print(`  asked       at ${question.nodeId}, visit ${visit}, turn ${turn}`);
  print(`  ${wayOn(runId, question)}`);
  if (sessionFolder !== null) print(`  or end it with interlock finish ${shellName(runId)}`);
}

function printAskedBelow(asks: AskedBelow): void {
  printLabelled("  question    ", asks.text);
  print(`  asked       at ${asks.nodeId} of run ${asks.runId} of ${asks.workflowRef}`);
  print(`  ${wayOn(asks.runId, asks)}`);
}

function answeredWords({ nodeId, by, begins = "" }: LastUserAnswer): string {
  const who = by === undefined ? "" : ` by ${by}`;
  return `at ${nodeId}${who}${begins === "" ? "" : `: ${firstLine(begins)}`}`;
}

/** Which package on which project, who began it and when. */
function printOrigin(report: RunReport, projectRoot: string | undefined): void {
  const { packageId, workflowRef, projectId, startedAt, startedBy, since, endedAt } = report;
  if (packageId !== "") print(`  package     ${packageId}`);
  if (workflowRef !== "") print(`  workflow    ${workflowRef}`);
  if (report.parentRunId !== undefined) print(`  part of     run ${report.parentRunId}`);
  if (projectId !== "") print(`  project     ${projectRoot ?? projectId}`);
  const by = startedBy === undefined ? "" : ` by ${startedBy}`;
  if (startedAt !== undefined) print(`  started     ${startedAt}${by}`);
  if (endedAt !== undefined) print(`  ended       ${endedAt}`);
  else if (since !== undefined) print(`  since       ${since}`);
}

function usageInWords(usage: Usage): string {
  return `${workInWords(usage)}, ${tokensInWords(usage)}${costInWords(usage)}`;
}

function printModel(
  { chain: [first, ...fallbacks], answeredBy, missing }: ModelState,
  isOver: boolean,
): void {
  const after = fallbacks.length === 0 ? "" : `, else ${fallbacks.map(modelLabel).join(", ")}`;
  if (first !== undefined) print(`  model       ${modelLabel(first)}${after}`);
  if (answeredBy !== undefined && (fallbacks.length > 0 || first === undefined)) {
    print(`  answered by ${modelLabel(answeredBy)}`);
  }
  if (missing !== undefined && !isOver) print(`  waits       ${missing}`);
}

function hostPathOf(artifact: string, { sessionFolder }: RunReport, projectRoot: string | undefined): string {
  if (sessionFolder !== null && artifact.startsWith(`${SESSION}/`)) {
    return join(sessionFolder, artifact.slice(SESSION.length));
  }
  return projectRoot === undefined ? artifact : join(projectRoot, artifact);
}
