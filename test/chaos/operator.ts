import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type InterlockClient, InterlockError, type RunHandle } from "../../src/client/client.js";
import { workflowIdOf } from "../../src/core/run/run-id.js";
import type { Budget } from "../../src/core/run/budget.js";
import type { Store } from "../../src/store/store.js";
import { limiter } from "../crash/limiter.js";
import type { InstalledVersions, RunOperations } from "./evidence.js";
import { exportExecutions } from "./executions.js";
import type { EndedRun } from "./housekeeper.js";
import { type PlannedRun, folderOf } from "./plan.js";
import { SESSION, outputRootOf } from "./plan-bundle.js";
import type { PlannedBudget } from "./plan-user.js";
import { answerIdOf } from "./plan-visits.js";
import { bundleRootOf } from "./set-up.js";
import { AGAIN_AFTER_MS, type SeenStatus, Steering } from "./steering.js";

/**
 * Starts the runs, answers their questions, steers them as planned and retries what failed, as a person would: again when
 * nobody answers.
 */
export interface Operator {
  /** Carries one run through to its end, or until `until`; gives it when it has completed. */
  carry(run: PlannedRun): Promise<EndedRun | undefined>;
  readonly operations: ReadonlyMap<string, RunOperations>;
  /** What was done to the runs, by kind. */
  readonly figures: ReadonlyMap<string, number>;
  /** How often Temporal could not be reached. */
  readonly unreachable: () => number;
  /** What the runs refused, and how often. */
  readonly refusals: ReadonlyMap<string, number>;
  exportHistories(dir: string): Promise<void>;
}

interface Care {
  readonly runId: string;
  projectId: string;
  status: string;
  readonly failures: string[];
  readonly answers: { readonly answerId: string; readonly nodeId: string; readonly text: string }[];
  readonly executions: Set<string>;
  /** Answers to be sent once more. */
  readonly again: { readonly dueAt: number; readonly send: () => Promise<void> }[];
  pauses: RunOperations["pauses"];
  raises: RunOperations["raises"];
}

/** What a planned user does to runs, as it is counted. */
export const DEEDS_OF_USERS = [
  "runs paused",
  "runs continued as new",
  "budgets raised",
  "runs cancelled",
  "bundle runs",
] as const;

const POLL_MS = 400;
const POLLS_BETWEEN_LOOKS = 8;
const PATIENCE_MS = 20_000;
const MOST_RETRIES = 6;
/** A run that failed by these has met its script's end: trying again would hide it. */
const OF_THE_SCRIPT = new Set(["LLM_HTTP_ERROR", "ENGINE_MAX_TURNS_EXCEEDED"]);
const AT_ONCE = 8;

export interface OperatorOptions {
  readonly client: InterlockClient;
  readonly store: Store;
  readonly projectsDir: string;
  readonly packages: readonly InstalledVersions[];
  readonly until: AbortSignal;
}

export function openOperator({ client, store, projectsDir, packages, until }: OperatorOptions): Operator {
  const cares = new Map<string, Care>();
  const figures = new Map<string, number>();
  const refusals = new Map<string, number>();
  let unreachable = 0;
  const count = (what: (typeof DEEDS_OF_USERS)[number], times = 1) =>
    figures.set(what, (figures.get(what) ?? 0) + times);
  const noteRefusal = (sentence: string) => refusals.set(sentence, (refusals.get(sentence) ?? 0) + 1);

  /** Nothing comes back from a server that was killed: then it is asked again. */
  async function ask<T>(action: () => Promise<T>): Promise<T | undefined> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error("no answer")), PATIENCE_MS);
    });
    try {
      return await Promise.race([action(), late]);
    } catch (error) {
      if (error instanceof InterlockError) throw error;
      unreachable += 1;
      await pause(POLL_MS);
      return undefined;
    } finally {
      clearTimeout(timer);
    }
  }

  function startOnce(run: PlannedRun): Promise<RunHandle> {
    const { runId, kind, agentId, workflow, input, steps, user } = run;
    const projectRoot = join(projectsDir, run.project);
    const common = {
      runId,
      projectRoot,
      input,
      steps,
      storeId: store.storeId,
      limits: { maxModelAttempts: 50 },
      ...(user.budget === undefined ? {} : { budget: limitsOf(user.budget) }),
    };
    if (kind === "graph") {
      const packageId = packages.find((item) => item.workflow === workflow)?.own ?? "";
      return client.start({ ...common, packageId, activeAgentId: agentId });
    }
    return client.startBundle({
      ...common,
      bundleRoot: bundleRootOf(projectsDir),
      workflowPath: workflow,
      outputRoot: join(projectRoot, outputRootOf(folderOf(run))),
      sessionId: SESSION,
    });
  }

  async function start(run: PlannedRun, care: Care): Promise<void> {
    while (!until.aborted) {
      const handle = await ask(() =>
        startOnce(run).catch((error: unknown) => {
          // The start was heard, its answer was not, and the run has ended since.
          if (error instanceof Error && error.name === "WorkflowExecutionAlreadyStartedError")
            return undefined;
          throw error;
        }),
      );
      const known =
        handle?.firstExecutionRunId ??
        (await ask(() => client.handle(run.runId).executionRunId()).catch(() => undefined));
      if (known === undefined) continue;
      care.executions.add(known);
      return;
    }
  }

  async function answer(handle: RunHandle, care: Care, status: SeenStatus): Promise<void> {
    const { question, change } = status;
    if (status.phase !== "waiting-user" || question === undefined || question.code === "BUDGET_EXCEEDED") {
      return;
    }
    const isPlanned = question.text.startsWith("Question ");
    const answerId = isPlanned ? answerIdOf(question.text) : `unplanned-${change}`;
    const text = isPlanned ? `${answerId.replace("a", "A")}.` : "Go on.";
    if (!care.answers.some((known) => known.answerId === answerId)) {
      care.answers.push({ answerId, nodeId: question.nodeId, text });
    }
    const send = async () => {
      const sent = { nodeId: question.nodeId, text, answerId };
      await ask(() => handle.answer(sent)).catch(() => undefined); // refused: it has been answered
    };
    await send();
    care.again.push({ dueAt: Date.now() + AGAIN_AFTER_MS, send });
  }

  /** As somebody would who got no answer. A retry asks what was not written down again: then it is no longer sent. */
  async function answerAgain(care: Care): Promise<void> {
    if (care.failures.length > 0) care.again.length = 0;
    const [first] = care.again;
    if (first === undefined || first.dueAt > Date.now()) return;
    care.again.shift();
    await first.send();
  }

  /** False when there is nothing more to do for it. */
  async function look(handle: RunHandle, care: Care, steering: Steering): Promise<boolean> {
    const found = await ask(() => client.temporal.workflow.getHandle(workflowIdOf(care.runId)).describe());
    if (found === undefined) return true;
    care.status = found.status.name;
    care.executions.add(found.runId);
    if (care.status === "COMPLETED") return false;
    const wasCancelled = care.status === "CANCELLED";
    if (care.status !== "FAILED" && !wasCancelled) return true;
    const code = await ask(() =>
      handle.result().then(
        () => "",
        (error: unknown) =>
          error instanceof InterlockError ? `${error.code}: ${error.message}` : String(error),
      ),
    );
    if (code === undefined) return true;
    if (care.failures.at(-1) !== `${found.runId} ${code}`) {
      care.failures.push(`${found.runId} ${code}`);
      if (wasCancelled) count("runs cancelled");
    }
    steering.noteEnd(wasCancelled);
    if (OF_THE_SCRIPT.has(code.split(":")[0] ?? "") || care.failures.length > MOST_RETRIES) return false;
    await pause(POLL_MS);
    await ask(() => client.retry(care.runId)).catch(() => undefined);
    return true;
  }

  return {
    operations: cares,
    figures,
    refusals,
    unreachable: () => unreachable,
    async carry(run) {
      const care: Care = {
        runId: run.runId,
        projectId: "",
        status: "NOT STARTED",
        failures: [],
        answers: [],
        executions: new Set(),
        again: [],
        pauses: [],
        raises: [],
      };
      cares.set(run.runId, care);
      await start(run, care);
      const handle = client.handle(run.runId);
      const steering = new Steering(run.user, handle, ask, noteRefusal);
      [care.pauses, care.raises] = [steering.pauses, steering.raises];
      for (let poll = 1; !until.aborted; poll += 1) {
        await pause(POLL_MS);
        if (care.projectId === "" && poll % 3 === 0) {
          const found = await store.runs.findRun(run.runId).catch(() => undefined);
          if (found?.ok === true) care.projectId = found.value.projectId;
        }
        const runDir = join(store.dir, "projects", care.projectId, "runs", run.runId);
        const status = care.projectId === "" ? NOTHING_SEEN : readStatus(runDir);
        await steering.steer(status);
        await answer(handle, care, status);
        await answerAgain(care);
        const hasEnded = ["completed", "failed"].includes(readStatus(runDir).phase);
        if ((hasEnded || poll % POLLS_BETWEEN_LOOKS === 0) && !(await look(handle, care, steering))) break;
      }
      // A quick run may have ended before it was looked for in the store.
      const found = await store.runs.findRun(run.runId).catch(() => undefined);
      if (found?.ok === true) care.projectId = found.value.projectId;
      count("runs paused", care.pauses.length);
      count("budgets raised", care.raises.filter(({ isAccepted }) => isAccepted).length);
      if (run.kind === "bundle") count("bundle runs");
      return care.status === "COMPLETED" ? care : undefined;
    },
    async exportHistories(dir) {
      const inTurn = limiter(AT_ONCE);
      const all = [...cares.values()].map(({ runId, executions }) =>
        inTurn(async () =>
          count("runs continued as new", await exportExecutions(client.temporal, runId, executions, dir)),
        ),
      );
      await Promise.all(all);
    },
  };
}

const NOTHING_SEEN: SeenStatus = { phase: "", change: 0 };

function limitsOf({ run, node }: PlannedBudget): Budget {
  return { ...(run === undefined ? {} : { run }), ...(node === undefined ? {} : { node }) };
}

function readStatus(runDir: string): SeenStatus {
  const path = join(runDir, "status.json");
  if (!existsSync(path)) return NOTHING_SEEN;
  return JSON.parse(readFileSync(path, "utf8")) as SeenStatus; // the store writes it
}
