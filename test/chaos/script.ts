import type { ChatRequestBody, ScriptedAnswer } from "../fakes/scripted-model.js";
import type { ChaosPlan, PlannedRun } from "./plan.js";
import type { PlannedCall, PlannedTurn, PlannedVisit } from "./plan-visits.js";

/** Where in the plan a request stands, as its messages say; the same request always stands at the same place. */
export interface Position {
  readonly run: PlannedRun;
  /** Both count from 1. */
  readonly visit: number;
  readonly turn: number;
  /** How often calls of this turn have failed for a reason of the machine. */
  readonly repeats: number;
  readonly answer: ScriptedAnswer;
}

/** A request that the plan has no answer to: something was lost or doubled on the way to it. */
export interface Deviation {
  readonly run: PlannedRun | undefined;
  readonly deviation: string;
}

/** Why a call may fail that should succeed: the machine, not the script. */
const OF_THE_MACHINE: ReadonlySet<string> = new Set(["E_WRITE_LIMIT", "E_INTERNAL"]);

export function locate(plan: ChaosPlan, { messages }: ChatRequestBody): Position | Deviation {
  const directive = messages.find(({ content }) => content?.startsWith("RUN_DIRECTIVE"))?.content ?? "";
  const field = (name: string) => new RegExp(`^- ${name}: (.*)$`, "m").exec(directive)?.[1] ?? "";
  const [workflow, agentId] = [field("workflow"), field("effectiveAgentId")];
  const run = plan.runs.find((item) => item.workflow === workflow && item.agentId === agentId);
  if (run === undefined) return { run, deviation: `No run is planned of ${workflow} with ${agentId}.` };
  const ended = (JSON.parse(field("variables") || "{}") as { visit?: number }).visit ?? 0;
  const visit = run.visits[ended];
  if (visit === undefined)
    return { run, deviation: `A turn was asked for after visit ${ended}, the last one.` };
  if (visit.nodeId !== field("currentNodeId")) {
    return { run, deviation: `Visit ${ended + 1} is of ${field("currentNodeId")}, not of ${visit.nodeId}.` };
  }
  return findTurn(run, visit, ended + 1, messages);
}

/** Follows the conversation of a visit through its turns. */
function findTurn(
  run: PlannedRun,
  visit: PlannedVisit,
  number: number,
  messages: ChatRequestBody["messages"],
): Position | Deviation {
  const results = new Map(
    messages.flatMap((item) =>
      item.role === "tool" ? [[item.tool_call_id ?? "", item.content ?? ""] as const] : [],
    ),
  );
  const words = messages.filter(({ role }) => role === "user").map(({ content }) => content ?? "");
  const isAnswered = (turn: PlannedTurn | undefined) =>
    turn !== undefined && "answer" in turn && words.some((text) => text.includes(turn.answer));
  let turn = 0;
  let repeats = 0;
  let pending: readonly PlannedCall[] = [];
  const enter = (index: number) => {
    turn = index;
    while (isAnswered(visit.turns[turn])) turn += 1;
    const planned = visit.turns[turn];
    pending = planned !== undefined && "calls" in planned ? planned.calls : [];
    repeats = 0;
  };
  enter(0);
  for (const { tool_calls: calls } of messages) {
    if (calls === undefined || calls.length === 0) continue;
    const missing: PlannedCall[] = [];
    for (const [index, call] of pending.entries()) {
      const outcome = outcomeOf(results.get(calls[index]?.id ?? ""));
      if (outcome === call.expect) continue;
      if (!OF_THE_MACHINE.has(outcome)) {
        return { run, deviation: `${call.id} in visit ${number} came to ${outcome}, not ${call.expect}.` };
      }
      missing.push(call);
    }
    pending = missing;
    repeats += 1;
    if (pending.length === 0) enter(turn + 1);
  }
  const planned = visit.turns[turn];
  if (planned === undefined) return { run, deviation: `Visit ${number} goes on after its last turn.` };
  const answer = "question" in planned ? { content: planned.question } : { calls: pending.map(named) };
  return { run, visit: number, turn: turn + 1, repeats, answer };

  function named(call: PlannedCall) {
    return { ...call, id: repeats === 0 ? call.id : `${call.id}.${repeats}` };
  }
}

/** `ok` or a code. */
function outcomeOf(content: string | undefined): string {
  if (content === undefined) return "no result";
  const result = JSON.parse(content) as { ok?: boolean; error?: { code?: string } };
  return result.ok === true ? "ok" : (result.error?.code ?? "no code");
}
