import type { JsonObject } from "../../core/json.js";
import { parseLine } from "../disk/append-log.js";
import { readOwnText } from "../disk/own-file.js";

/** What an audit log says of a run as a whole: enough to go on from where it stopped. */
export interface AuditTotals {
  readonly usage: {
    readonly modelTurns: number;
    readonly toolCalls: number;
    readonly promptTokens: number;
    readonly completionTokens: number;
    readonly cost: number;
  };
  /** The newest node visit with a model turn, and its newest turn; both count from 1. */
  readonly visit: number;
  readonly turn: number;
  readonly phaseChanges: number;
}

/** Adds up the events of `execution.jsonl`. */
export async function auditTotals(path: string): Promise<AuditTotals> {
  const usage = { modelTurns: 0, toolCalls: 0, promptTokens: 0, completionTokens: 0, cost: 0 };
  let visit = 0;
  let turn = 0;
  let phaseChanges = 0;
  for (const line of (await readOwnText(path)).split("\n")) {
    const event = parseLine(Buffer.from(line));
    if (event === undefined) continue;
    if (event["kind"] === "tool.exec") usage.toolCalls += 1;
    if (event["kind"] === "run.phase") phaseChanges = Math.max(phaseChanges, count(event, "id"));
    if (event["kind"] !== "model.turn") continue;
    usage.modelTurns += 1;
    usage.promptTokens += count(event, "promptTokens");
    usage.completionTokens += count(event, "completionTokens");
    usage.cost += count(event, "cost");
    const [inVisit = 0, inTurn = 0] = textOf(event["id"]).split(".").map(Number);
    if (inVisit > visit) turn = 0;
    visit = Math.max(visit, inVisit);
    if (inVisit === visit) turn = Math.max(turn, inTurn);
  }
  return { usage, visit, turn, phaseChanges };
}

function textOf(value: JsonObject[string] | undefined): string {
  return typeof value === "string" ? value : "";
}

function count(event: JsonObject, key: string): number {
  const value = Number(event[key] ?? 0);
  return Number.isFinite(value) ? value : 0;
}
