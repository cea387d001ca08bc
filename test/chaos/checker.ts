import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Budget } from "../../src/core/run/budget.js";
import { namesIn } from "../fakes/run-world.js";
import { checkDocument, checkFiles, checkLeftovers } from "./check-files.js";
import { checkHistories } from "./check-history.js";
import { checkNotices, checkOutside } from "./check-outside.js";
import { checkRecords, jsonLines } from "./check-records.js";
import { checkRequests } from "./check-requests.js";
import { checkSession } from "./check-session.js";
import { checkBudget, checkSteering } from "./check-user.js";
import { type Evidence, type ModelRequest, type RunOperations, readHistories } from "./evidence.js";
import { type Finding, compareLists, lost, unknown } from "./finding.js";
import { type PlannedRun, folderOf } from "./plan.js";

export type Verdict = "ok" | Finding["kind"];

export interface RunVerdict {
  readonly runId: string;
  readonly verdict: Verdict;
  readonly findings: readonly Finding[];
}

/** Judges each run by what is on disk. It needs no process that took part, and asks nobody. */
export async function checkRuns(evidence: Evidence): Promise<readonly RunVerdict[]> {
  const requests = new Map<string, ModelRequest[]>();
  for (const request of evidence.requests) {
    const known = requests.get(request.runId);
    if (known === undefined) requests.set(request.runId, [request]);
    else known.push(request);
  }
  const verdicts: RunVerdict[] = [];
  for (const run of evidence.plan.runs) {
    const operations = evidence.operations.find(({ runId }) => runId === run.runId);
    const findings = await checkRun(evidence, run, operations, requests.get(run.runId) ?? []).catch(
      (error: unknown) => [unknown(`It cannot be checked: ${String(error)}`)],
    );
    verdicts.push({ runId: run.runId, verdict: verdictOf(findings), findings });
  }
  return verdicts;
}

function verdictOf(findings: readonly Finding[]): Verdict {
  const kinds = new Set(findings.map(({ kind }) => kind));
  return (["lost", "doubled", "unknown"] as const).find((kind) => kinds.has(kind)) ?? "ok";
}

async function checkRun(
  evidence: Evidence,
  run: PlannedRun,
  operations: RunOperations | undefined,
  requests: readonly ModelRequest[],
): Promise<readonly Finding[]> {
  if (operations === undefined || operations.projectId === "")
    return [unknown("It was never seen in the store.")];
  const isPruned = evidence.pruned.includes(run.runId);
  const projectDir = isPruned
    ? join(evidence.keptDir, run.runId)
    : join(evidence.storeDir, "projects", operations.projectId);
  const runDir = join(projectDir, "runs", run.runId);
  if (!existsSync(runDir)) return [lost("its directory is not in the store.")];
  const history = checkHistories(await readHistories(evidence.historiesDir, run.runId));
  if (!history.isCompleted) {
    const why = operations.failures.map((code) => ` It failed: ${code}`).join("");
    return [
      unknown(`Temporal says ${operations.status}.${why}`),
      ...history.findings,
      ...checkRequests(requests, new Set(), evidence.workers),
      ...checkSteering(run, operations, requests),
    ];
  }
  const records = await checkRecords(runDir, run, operations, history);
  const projectRoot = join(evidence.projectsDir, run.project);
  return [
    ...history.findings,
    ...records.findings,
    ...(run.kind === "bundle"
      ? await checkSession(projectRoot, run)
      : await checkDocument(runDir, run, records.isUndisturbed)),
    ...checkOutside(operations, records.said, records.outcomes, evidence.ledger),
    ...checkNotices(run, records.events, evidence.notices),
    ...(await checkFiles(runDir, projectRoot, run)),
    ...(await checkBookkeeping(projectDir, runDir, run, operations, { ...records, ...history })),
    ...checkSteering(run, operations, requests),
    ...checkLeftovers(await namesIn(runDir), "its directory"),
    ...checkLeftovers(await namesOfRun(projectRoot, run), "its project"),
    // A run that was retried begins its visit again, and asks again.
    ...checkRequests(
      requests,
      new Set(operations.failures.length === 0 ? records.actedOn : []),
      evidence.workers,
    ),
  ];
}

/** The names below those directories of the project that are the run's own, and of the files beside them. */
async function namesOfRun(projectRoot: string, run: PlannedRun): Promise<readonly string[]> {
  const names = await namesIn(projectRoot);
  const others = /^(artifacts|notes)\/run-\d+\//;
  return names.filter((name) => !others.test(name) || name.split("/")[1] === folderOf(run));
}

/** The index of runs, the status and the node boundaries. */
async function checkBookkeeping(
  projectDir: string,
  runDir: string,
  run: PlannedRun,
  operations: RunOperations,
  known: { readonly turns: number; readonly calls: number; readonly raiseIds: readonly string[] },
): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  const index = (await jsonLines(join(projectDir, "runs.jsonl"))).filter(({ runId }) => runId === run.runId);
  // Where runs were pruned beside it the index was made anew: then its entry says how it stood at that time.
  const entries = index.flatMap(({ createdAt }) => (createdAt === undefined ? [] : ["its entry"]));
  findings.push(...compareLists("the index of runs", entries, ["its entry"]));
  const ends = index.length === 0 ? [] : [String(index.at(-1)?.["phase"])];
  findings.push(...compareLists("the end in the index of runs", ends, ["completed"]));
  const status = JSON.parse(await readFile(join(runDir, "status.json"), "utf8")) as {
    phase: string;
    usage: { modelTurns: number; toolCalls: number };
    budget?: Budget;
  };
  findings.push(...checkBudget(run, operations, known.raiseIds, status));
  if (status.phase !== "completed") findings.push(lost(`its status says ${status.phase}.`));
  const boundaries = (await jsonLines(join(runDir, "boundaries.jsonl"))).map(({ visit }) => String(visit));
  findings.push(...compareLists("node boundaries", boundaries, visitsOf(run, operations, boundaries)));
  const { turns, calls } = known;
  const { modelTurns, toolCalls } = status.usage;
  if (operations.failures.length === 0 && (modelTurns !== turns || toolCalls !== calls)) {
    const sentence = `its usage says ${modelTurns} turns and ${toolCalls} calls, its conversations ${turns} and ${calls}.`;
    findings.push({ kind: modelTurns > turns || toolCalls > calls ? "doubled" : "lost", sentence });
  }
  return findings;
}

/** The boundaries that there should be: of a bundle run, which has no nodes, none. */
function visitsOf(
  run: PlannedRun,
  { failures }: RunOperations,
  boundaries: readonly string[],
): readonly string[] {
  if (run.kind === "bundle") return [];
  if (failures.length > 0) return [...new Set(boundaries)];
  return Array.from({ length: run.visits.length + 1 }, (_, visit) => String(visit));
}
