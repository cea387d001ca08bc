import type { BudgetRaise } from "../contract/run.js";
import { InterlockError, type RunHandle } from "../client.js";
import { interruption, openEnvironment } from "./environment.js";
import { amount, wholeNumber } from "./numbers.js";
import { CommandError, EXIT, type ExitCode, UsageError, print, printJson } from "./output.js";
import { installRuntime, openTemporalSession } from "./temporal-session.js";

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
  return tell(runId, options, "Resumed.", async (run) => {
    await run.resume();
    return { paused: false };
  });
}

/** `interlock finish`: ends a bundle run as completed, and waits until it is; a running model call is let end. */
export function finishCommand(runId: string, options: JsonOption): Promise<ExitCode> {
  return tell(runId, options, "Ended as completed.", async (run, signal) => {
    await run.finish();
    const outcome = await untilOver(run, signal, "Stopped waiting. The run ends when its model call does.");
    if (outcome !== "completed") throw new CommandError(`Run ${runId} has failed instead of ending.`);
    return { finished: true };
  });
}

/** `interlock cancel`: stops the run, and waits until it has. */
export function cancelCommand(runId: string, options: JsonOption): Promise<ExitCode> {
  return tell(runId, options, "Cancelled. It can be retried with: interlock retry", async (run, signal) => {
    const status = await run.executionStatus();
    if (status !== "RUNNING") {
      throw new CommandError(`Run ${runId} is over: it is ${status.toLowerCase()}.`);
    }
    await run.cancel();
    return { outcome: await untilOver(run, signal, "Stopped waiting. The run will stop.") };
  });
}

/** Waits for a run's end. Throws `CommandError` with the sentence when the user has seen enough. */
async function untilOver(
  run: RunHandle,
  signal: AbortSignal,
  sentence: string,
): Promise<"completed" | "cancelled"> {
  const ended = run.result().then(
    () => "completed" as const,
    (error: unknown) => {
      if (error instanceof InterlockError) return "cancelled" as const;
      throw error;
    },
  );
  const stopped = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(new CommandError(sentence)), { once: true });
  });
  return Promise.race([ended, stopped]);
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
  return tell(runId, options, "The budget is raised.", async (run) => ({
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
async function tell(
  runId: string,
  { json = false }: JsonOption,
  sentence: string,
  action: (run: RunHandle, signal: AbortSignal) => Promise<object>,
): Promise<ExitCode> {
  const { config, store } = await openEnvironment();
  const signal = interruption();
  installRuntime("ERROR");
  const session = await openTemporalSession(config, store);
  try {
    const run = session.client.handle(runId);
    await run.executionStatus(); // before a worker is started for a run that is not there
    if (session.embedded && !(await session.client.hasWorker())) await session.startWorker();
    const result = await action(run, signal);
    if (json) printJson({ runId, ...result });
    else print(sentence);
    return EXIT.done;
  } catch (error) {
    if (!(error instanceof InterlockError)) throw error;
    throw new CommandError(`${error.code}: ${error.message}`, { cause: error });
  } finally {
    await session.close();
  }
}
