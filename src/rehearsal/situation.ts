import type { JsonObject } from "../core/json.js";
import type { ToolName } from "../core/tools/tool-specs.js";
import type { Memory } from "./memory.js";
import type { Shells } from "./shells.js";
import { oneLine } from "./step-declaration.js";
import { type Exchange, type Visit, isAct } from "./visit.js";
import type { ScriptedCall, Turn } from "./wire.js";

/** Everything a decision is made from. */
export interface Situation {
  readonly shells: Shells;
  readonly visit: Visit;
  readonly tools: ReadonlyMap<ToolName, string>;
  readonly memory: Memory;
}

/** What the rehearsal answers, and what it remembers afterwards. */
export interface Decision {
  readonly turn: Turn;
  readonly memory: Memory;
}

/** Every text begins so: whoever sees it sees that no model wrote it. */
const PREFIX = "[rehearsal]";

/** How often a node's refused calls are corrected before the user is asked. */
const MAX_CORRECTIONS = 2;

export function say(memory: Memory, text: string, calls: readonly ScriptedCall[] = []): Decision {
  return { turn: { content: `${PREFIX} ${text}`, calls }, memory };
}

export function call(situation: Situation, tool: ToolName, values: JsonObject): ScriptedCall[] {
  const name = situation.tools.get(tool);
  return name === undefined ? [] : [{ name, arguments: values }];
}

/** Ends the node's turns with a question that says what went wrong and what an answer will do. */
export function ask(situation: Situation, problem: string, then: string): Decision {
  const { nodeId } = situation.shells.brief;
  return say(situation.memory, `I cannot go on at node ${nodeId}: ${problem} Answer me, and ${then}.`);
}

/** How a refusal is told: the tool, the path, the code and what the runtime said. */
export function describeRefusal(exchange: Exchange): string {
  if (exchange.outcome.ok) return "";
  const { code, message } = exchange.outcome;
  return `${exchange.tool} ${exchange.path} was refused (${code}: ${oneLine(message, 300)}).`;
}

/** True for a call that failed and that the user has not been asked about yet. */
export function isOpenFailure(visit: Visit, exchange: Exchange | undefined): exchange is Exchange {
  return exchange !== undefined && !exchange.outcome.ok && exchange.index >= visit.answeredAt;
}

/** True when this node's corrections are used up: each answer with a refused act is one failed attempt. */
export function correctionsUsedUp(visit: Visit): boolean {
  const failures = visit.exchanges.filter((exchange) => isAct(exchange) && isOpenFailure(visit, exchange));
  return new Set(failures.map((exchange) => exchange.turn)).size > MAX_CORRECTIONS;
}

export function codeOf(exchange: Exchange | undefined): string | undefined {
  return exchange === undefined || exchange.outcome.ok ? undefined : exchange.outcome.code;
}
