import type { ChatRequestBody, ScriptedAnswer } from "../fakes/scripted-model.js";
import { type ChaosPlan, FAR_AGENT, type PlannedRun } from "./plan.js";
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

/** Why a call may fail that should succeed: the machine, not the script. Tools of bundle runs say it in words only. */
const OF_THE_MACHINE: ReadonlySet<string> = new Set(["E_WRITE_LIMIT", "E_INTERNAL", "refused"]);
/** The same of tools from outside, whose server may be out of reach. */
const OF_THE_OUTSIDE: ReadonlySet<string> = new Set(["TOOL_FAILED", "TOOL_NOT_AVAILABLE"]);

/** What the model of the agent with a short context holds. */
export const SHORT_CONTEXT_TOKENS = 17_000;
/** A longer request is beyond it, however one counts. */
const MAX_CHARS_OF_SHORT_CONTEXT = 75_000;

export function locate(plan: ChaosPlan, request: ChatRequestBody): Position | Deviation {
  const { messages } = request;
  const directive = messages.find(({ content }) => content?.startsWith("RUN_DIRECTIVE"))?.content ?? "";
  const field = (name: string) => new RegExp(`^- ${name}: (.*)$`, "m").exec(directive)?.[1] ?? "";
  if (field("runType") === "bmad-bundle") {
    const workflow = field("workflow").replace("{bundle-root}/", "");
    const run = plan.runs.find((item) => item.kind === "bundle" && item.workflow === workflow);
    const [visit] = run?.visits ?? [];
    if (run === undefined || visit === undefined)
      return { run, deviation: `No run is planned of ${workflow}.` };
    return findTurn(run, visit, 1, messages);
  }
  const [workflow, agentId] = [field("workflow"), field("effectiveAgentId")];
  const run = plan.runs.find((item) => item.workflow === workflow && item.agentId === agentId);
  if (run === undefined) return { run, deviation: `No run is planned of ${workflow} with ${agentId}.` };
  if (agentId === FAR_AGENT && JSON.stringify(request).length > MAX_CHARS_OF_SHORT_CONTEXT) {
    return { run, deviation: "A request is longer than the context of its model." };
  }
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
      const outcome = outcomeOf(parsed(results.get(calls[index]?.id ?? "")));
      if (outcome === call.expect || outcome === call.orElse) continue;
      if (!isOfTheMachine(outcome, call)) {
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
  const answer = "calls" in planned ? { calls: pending.map(named) } : { content: wordsOf(planned) };
  return { run, visit: number, turn: turn + 1, repeats, answer };

  function named(call: PlannedCall) {
    const id = repeats === 0 ? call.id : `${call.id}.${repeats}`;
    // Whoever is called outside notes this: each call can be told from every other one.
    const args = isOutside(call) ? { arguments: { id: tokenOf(run, id) } } : {};
    return { ...call, ...args, id };
  }
}

function wordsOf(turn: Exclude<PlannedTurn, { readonly calls: unknown }>): string {
  return "says" in turn ? turn.says : turn.question;
}

export function isOutside({ name }: { readonly name: string }): boolean {
  return name.startsWith("mcp_");
}

/** What a call outside is known by there. */
export function tokenOf({ runId }: Pick<PlannedRun, "runId">, callId: string): string {
  return `${runId}/${callId}`;
}

function isOfTheMachine(outcome: string, call: PlannedCall): boolean {
  return OF_THE_MACHINE.has(outcome) || (isOutside(call) && OF_THE_OUTSIDE.has(outcome));
}

/** `ok` or a code; of a tool of a bundle run, which gives none, `ok` or `refused`. */
export function outcomeOf(result: unknown): string {
  if (result === undefined) return "no result";
  const { ok, success, error } = result as { ok?: boolean; success?: boolean; error?: { code?: string } };
  if (success !== undefined) return success ? "ok" : "refused";
  return ok === true ? "ok" : (error?.code ?? "no code");
}

function parsed(content: string | undefined): unknown {
  return content === undefined ? undefined : JSON.parse(content);
}
