import { type JsonObject, textOf } from "../../core/json.js";
import { NO_USAGE, type Usage, addUsage } from "../../core/run/usage.js";

/** What an audit log says of a run as a whole: enough to go on from where it stopped. */
export interface AuditTotals {
  readonly usage: Usage;
  /** How many of its model turns were those of runs below it; absent for none. */
  readonly turnsBelow?: number;
  /** The newest node visit with a model turn or without a model, and its newest turn; both count from 1, 0 for none. */
  readonly visit: number;
  readonly turn: number;
  readonly phaseChanges: number;
  /** What each node has used, in the order in which they were visited first. */
  readonly byNode: readonly NodeUsage[];
}

export interface NodeUsage {
  readonly nodeId: string;
  readonly usage: Usage;
}

/** Adds up the events of `execution.jsonl`, one after the other. */
export class AuditSum {
  private usage: Usage = NO_USAGE;
  private readonly nodes = new Map<string, Usage>();
  private visit = 0;
  private turn = 0;
  private phaseChanges = 0;
  private turnsBelow = 0;

  /** Of the event, only what {@link summedFields} leaves of it counts. */
  add(event: JsonObject): void {
    if (event["kind"] === "tool.exec") this.use(event, { toolCalls: 1 });
    if (event["kind"] === "run.phase") {
      this.phaseChanges = Math.max(this.phaseChanges, count(event, "id"));
      const lost = tokensOf(event); // of answers that were none
      if ((lost.promptTokens ?? 0) + (lost.completionTokens ?? 0) > 0) this.use(event, lost);
    }
    if (event["kind"] === "node.pass") this.pass(event);
    if (event["kind"] !== "model.turn") return;
    this.use(event, { modelTurns: 1, ...tokensOf(event) });
    const [inVisit = 0, inTurn = 0] = textOf(event["id"]).split(".").map(Number);
    if (inVisit > this.visit) this.turn = 0;
    this.visit = Math.max(this.visit, inVisit);
    if (inVisit === this.visit) this.turn = Math.max(this.turn, inTurn);
  }

  /** A visit without a model. What the run below it has used counts as well. */
  private pass(event: JsonObject): void {
    this.use(event, {
      modelTurns: count(event, "modelTurns"),
      toolCalls: count(event, "toolCalls"),
      ...tokensOf(event),
    });
    this.turnsBelow += count(event, "modelTurns");
    const visit = count(event, "visit");
    if (visit <= this.visit) return;
    this.visit = visit;
    this.turn = 0;
  }

  private use(event: JsonObject, used: Partial<Usage>): void {
    this.usage = addUsage(this.usage, used);
    const nodeId = textOf(event["nodeId"]);
    if (nodeId !== "") this.nodes.set(nodeId, addUsage(this.nodes.get(nodeId) ?? NO_USAGE, used));
  }

  get totals(): AuditTotals {
    const { usage, visit, turn, phaseChanges, turnsBelow } = this;
    const byNode = [...this.nodes].map(([nodeId, used]) => ({ nodeId, usage: used }));
    return { usage, ...(turnsBelow === 0 ? {} : { turnsBelow }), visit, turn, phaseChanges, byNode };
  }
}

/** What the sum depends on, and by which an event is known again. */
export function summedFields(event: JsonObject): JsonObject {
  return Object.fromEntries(SUMMED.flatMap((key) => (key in event ? [[key, event[key] ?? null]] : [])));
}

const SUMMED = [
  "kind",
  "id",
  "toolCallId",
  "nodeId",
  "visit",
  "modelTurns",
  "toolCalls",
  "promptTokens",
  "cachedPromptTokens",
  "completionTokens",
  "cost",
  "estimated",
] as const;

function tokensOf(event: JsonObject): Partial<Usage> {
  return {
    promptTokens: count(event, "promptTokens"),
    cachedPromptTokens: count(event, "cachedPromptTokens"),
    completionTokens: count(event, "completionTokens"),
    cost: count(event, "cost"),
    estimated: event["estimated"] === true,
  };
}

function count(event: JsonObject, key: string): number {
  const value = Number(event[key] ?? 0);
  return Number.isFinite(value) ? value : 0;
}
