import type {
  ModelTurnInput,
  ModelTurnResult,
  PlannedCall,
  ToolCallInput,
  ToolCallOutcome,
} from "../contract/activities.js";
import { defined } from "../core/defined.js";
import { QUICK_TURN_MS } from "../core/step-size.js";

/**
 * Runs the first calls of an answer along with it, as the workflow would: those that it has nothing to decide about but what the
 * tools decide as well. The rest is left to it: what is no tool of files, what comes after a change of the state document, what does
 * not work, and what would make a turn take longer than a moment.
 */
export async function runPlainCalls(
  input: ModelTurnInput,
  answer: ModelTurnResult,
  run: (call: ToolCallInput) => Promise<ToolCallOutcome>,
): Promise<ModelTurnResult> {
  const { runs } = input;
  if (runs === undefined || answer.cutOff || answer.refusal !== undefined) return answer;
  const outcomes: ToolCallOutcome[] = [];
  let { stateSha256 } = runs;
  const startedAt = performance.now();
  for (const call of answer.calls) {
    if (!isPlain(call) || performance.now() - startedAt > QUICK_TURN_MS) break;
    const { run: ref, conversation, nodeId, agentId, conditions } = input;
    // A call that has failed may have changed what conditions of edges see: the workflow knows.
    if (call.change !== undefined && conditions !== undefined && outcomes.some(({ ok }) => !ok)) break;
    const asked = { run: ref, conversation, callId: call.id, nodeId, agentId, stateSha256, now: runs.now };
    const outcome = await run({ ...asked, ...defined({ conditions }) }).catch(() => undefined);
    if (outcome === undefined) break;
    outcomes.push(outcome);
    stateSha256 = outcome.state?.sha256 ?? stateSha256;
    if (call.change !== undefined || outcome.stateConflict === true) break;
  }
  return outcomes.length === 0 ? answer : { ...answer, ran: { now: runs.now, outcomes } };
}

function isPlain({ tool, fault, external, record }: PlannedCall): boolean {
  return tool !== undefined && fault === undefined && external === undefined && record === undefined;
}
