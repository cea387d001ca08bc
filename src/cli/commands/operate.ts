import { randomUUID } from "node:crypto";
import type { BudgetRaise } from "../../contract/run.js";
import { InterlockError, type RunHandle } from "../../client/client.js";
import { hasCode } from "../../client/temporal/interlock-error.js";
import { runsBelow } from "../../client/runs-below.js";
import { asksForBudget } from "../../core/run/question.js";
import type { RunBelowState } from "../../core/run/run-state.js";
import { shellName } from "../../core/text.js";
import { limitsOf } from "../options/budget-options.js";
import { CommandError, type ExitCode, UsageError } from "../terminal/output.js";
import { wayOn } from "../report/print-report.js";
import { type AskedBelow, askedBelow } from "../report/run-report.js";
import { tell, tellAndFollow } from "../start/tell.js";
import type { JsonChoice } from "../options/common-options.js";

/** `interlock pause`: the run stops before its next model turn. */
export function pauseCommand(runId: string, options: JsonChoice): Promise<ExitCode> {
  return tell(runId, options, async (run) => {
    const below = await run.pause();
    const sentence = `Paused${withThem(below)}. Let it go on with: interlock resume ${shellName(run.runId)}`;
    return { sentence, result: { paused: true, ...namedBelow(below) } };
  });
}

/** `interlock resume`: a paused run goes on. */
export function resumeCommand(runId: string, options: JsonChoice): Promise<ExitCode> {
  return tellAndFollow(runId, options, async (run) => {
    const below = await run.resume();
    const result = { paused: false, ...namedBelow(below) };
    return { sentence: `Resumed${withThem(below)}.`, result, staysPaused: false };
  });
}

/** The runs below that were told the same. */
function withThem(below: readonly RunBelowState[]): string {
  const runs = below.map(({ runId, workflowRef }) => `run ${runId} of ${workflowRef}`);
  return runs.length === 0 ? "" : `, and with it ${runs.join(" and ")} below it`;
}

function namedBelow(below: readonly RunBelowState[]): object {
  return below.length === 0 ? {} : { below };
}

/** `interlock finish`: ends a bundle run as completed, and waits until it is; a running model call is let end. */
export function finishCommand(runId: string, options: JsonChoice): Promise<ExitCode> {
  const finish = onceOnly();
  return tell(runId, options, async (run) => {
    await finish(() => run.finish());
    if ((await outcomeOf(run)) !== "completed") {
      throw new CommandError(`Run ${runId} has failed instead of ending.`);
    }
    return { sentence: "Ended as completed.", result: { finished: true } };
  });
}

/** `interlock cancel`: stops the run, and waits until it has. */
export function cancelCommand(runId: string, options: JsonChoice): Promise<ExitCode> {
  const cancel = onceOnly();
  return tell(runId, options, async (run) => {
    await cancel(() => run.cancel());
    const outcome = await outcomeOf(run);
    return { sentence: cancelledWords(run.runId, outcome), result: { outcome } };
  });
}

/** What ends a run, told once: where Temporal was away meanwhile, the run may have heard of it and be over when it is told again. */
function onceOnly(): (end: () => Promise<void>) => Promise<void> {
  let wasTold = false;
  return async (end) => {
    try {
      await end();
    } catch (error) {
      const isOver = hasCode(error, "E_PRECONDITION_FAILED");
      if (!wasTold || !isOver) throw error;
    } finally {
      wasTold = true;
    }
  };
}

type Outcome = "completed" | "failed" | "cancelled";

function cancelledWords(runId: string, outcome: Outcome): string {
  if (outcome === "completed") return "The run has completed by itself.";
  const what = outcome === "cancelled" ? "Cancelled." : "The run has failed by itself.";
  return `${what} It can be retried with: interlock retry ${shellName(runId)}`;
}

/** A run may end by itself before it hears of its cancellation. */
async function outcomeOf(run: RunHandle): Promise<Outcome> {
  try {
    await run.resultUnlessAway();
    return "completed";
  } catch (error) {
    if (!(error instanceof InterlockError)) throw error;
    return error.code === "ENGINE_ABORTED" ? "cancelled" : "failed";
  }
}

interface BudgetOptions extends JsonChoice {
  readonly addTurns?: string;
  readonly addTokens?: string;
  readonly addCost?: string;
  readonly scope?: string;
}

/** `interlock budget`: adds to a budget; a run that waits for it goes on. */
export function budgetCommand(runId: string, options: BudgetOptions): Promise<ExitCode> {
  const raise = { ...raiseOf(options), raiseId: randomUUID() }; // the same one, however often it is told
  return tellAndFollow(runId, options, async (run, state) => {
    const budget = await run.raiseBudget(raise);
    const asks = askedBelow(await runsBelow(run, state));
    const result = { budget, ...(asks === undefined ? {} : { below: { asks } }) };
    return { sentence: `The budget is raised.${stillUsedUp(asks)}`, result, staysPaused: state.paused };
  });
}

/** A run below has a budget of its own, which is what was left when it began. */
function stillUsedUp(asks: AskedBelow | undefined): string {
  if (asks === undefined || !asksForBudget(asks)) return "";
  return ` Run ${asks.runId} of ${asks.workflowRef}, below it, waits for its own: ${wayOn(asks.runId, asks)}`;
}

function raiseOf({ addTurns, addTokens, addCost, scope }: BudgetOptions): BudgetRaise {
  if (scope !== undefined && scope !== "run" && scope !== "node") {
    throw new UsageError("--scope is run or node.");
  }
  const add = limitsOf("--add", addTurns, addTokens, addCost);
  if (Object.keys(add).length === 0) {
    throw new UsageError("Say what to add: --add-turns, --add-tokens or --add-cost.");
  }
  return scope === undefined ? { add } : { scope, add };
}
