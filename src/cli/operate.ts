import type { BudgetRaise } from "../contract/run.js";
import { InterlockError, type RunHandle } from "../client.js";
import { followedRun } from "./go-on.js";
import { amount, wholeNumber } from "./numbers.js";
import {
  CommandError,
  EXIT,
  type ExitCode,
  UsageError,
  noWorkerHint,
  print,
  printJson,
  printNote,
} from "./output.js";
import { type RunSession, unlessInterrupted, withRun } from "./run-session.js";
import { followAndReport } from "./start-run.js";

interface JsonOption {
  readonly json?: boolean;
}

/** `interlock pause`: the run stops before its next model turn. */
export function pauseCommand(runId: string, options: JsonOption): Promise<ExitCode> {
  return tell(runId, options, "Paused. Let it go on with: interlock resume", async (run) => {
    await run.pause();
    return { paused: true };
  });
}

/** `interlock resume`: a paused run goes on. */
export function resumeCommand(runId: string, options: JsonOption): Promise<ExitCode> {
  return tellAndFollow(runId, options, "Resumed.", async (run) => {
    await run.resume();
    return { paused: false };
  });
}

/** `interlock finish`: ends a bundle run as completed, and waits until it is; a running model call is let end. */
export function finishCommand(runId: string, options: JsonOption): Promise<ExitCode> {
  return tell(runId, options, "Ended as completed.", async (run) => {
    await run.finish();
    if ((await outcomeOf(run)) !== "completed") {
      throw new CommandError(`Run ${runId} has failed instead of ending.`);
    }
    return { finished: true };
  });
}

/** `interlock cancel`: stops the run, and waits until it has. */
export function cancelCommand(runId: string, options: JsonOption): Promise<ExitCode> {
  return tell(runId, options, "Cancelled. It can be retried with: interlock retry", async (run) => {
    await run.cancel();
    return { outcome: await outcomeOf(run) };
  });
}

/** A run may end by itself before it hears of its cancellation. */
async function outcomeOf(run: RunHandle): Promise<"completed" | "failed" | "cancelled"> {
  try {
    await run.result();
    return "completed";
  } catch (error) {
    if (!(error instanceof InterlockError)) throw error;
    return error.code === "ENGINE_ABORTED" ? "cancelled" : "failed";
  }
}

export interface BudgetOptions extends JsonOption {
  readonly addTurns?: string;
  readonly addTokens?: string;
  readonly addCost?: string;
  readonly scope?: string;
}

/** `interlock budget`: adds to a budget; a run that waits for it goes on. */
export function budgetCommand(runId: string, options: BudgetOptions): Promise<ExitCode> {
  const raise = raiseOf(options);
  return tellAndFollow(runId, options, "The budget is raised.", async (run) => ({
    budget: await run.raiseBudget(raise),
  }));
}

function raiseOf({ addTurns, addTokens, addCost, scope }: BudgetOptions): BudgetRaise {
  if (scope !== undefined && scope !== "run" && scope !== "node") {
    throw new UsageError("--scope is run or node.");
  }
  const add = {
    ...(addTurns === undefined ? {} : { turns: wholeNumber("--add-turns", addTurns) }),
    ...(addTokens === undefined ? {} : { tokens: wholeNumber("--add-tokens", addTokens) }),
    ...(addCost === undefined ? {} : { cost: amount("--add-cost", addCost) }),
  };
  if (Object.keys(add).length === 0) {
    throw new UsageError("Say what to add: --add-turns, --add-tokens or --add-cost.");
  }
  return scope === undefined ? { add } : { scope, add };
}

/** Tells a run something, with a worker of the command's own where the embedded server has none. */
function tell(
  runId: string,
  { json = false }: JsonOption,
  sentence: string,
  action: (run: RunHandle) => Promise<object>,
): Promise<ExitCode> {
  return withRun(runId, async (place) => {
    const result = await told(place, action);
    if (json) printJson({ runId, ...result });
    else print(sentence);
    return EXIT.done;
  });
}

/** As `tell`; where there is no other worker the run would not go on, so that the command follows it. */
function tellAndFollow(
  runId: string,
  { json = false }: JsonOption,
  sentence: string,
  action: (run: RunHandle) => Promise<object>,
): Promise<ExitCode> {
  return withRun(runId, async (place) => {
    const { session, store, run, signal } = place;
    const hadWorker = await session.hasWorker();
    const result = await told(place, action);
    if (!session.embedded || hadWorker) {
      if (json) printJson({ runId, ...result });
      else print(sentence);
      return EXIT.done;
    }
    printNote(`${sentence} No other worker is there: following the run with a worker of this command's own.`);
    const choice = { json, waitForAnswers: process.stdin.isTTY };
    return followAndReport(session, store, run, await followedRun(store, run), choice, signal);
  });
}

async function told(place: RunSession, action: (run: RunHandle) => Promise<object>): Promise<object> {
  const { session, run } = place;
  const status = await run.executionStatus(); // before a worker is started for a run that is not there
  if (status === "RUNNING" && !(await session.hasWorker())) {
    if (session.embedded) await session.startWorker();
    else printNote(noWorkerHint(false, session.client.taskQueue));
  }
  return unlessInterrupted(place, "Stopped waiting. The run may hear of it later.", action(run));
}
