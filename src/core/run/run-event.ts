import { z } from "zod";
import type { JsonObject } from "../json.js";
import { publishedSchema } from "../published-schema.js";
import { RUN_PHASES } from "./phase.js";

/** The version of the events below. What is added keeps it; what is taken away or means something else does not. */
export const EVENT_SCHEMA_VERSION = "1.0";

const count = z.int().min(0);
/** What every event has. */
const common = {
  schemaVersion: z.literal(EVENT_SCHEMA_VERSION),
  /** Its line in the audit log, from 1: it grows from event to event, by more than one where a line is no event. */
  seq: z.int().min(1),
  runId: z.string(),
  /** When it was written down, UTC, ISO 8601. */
  ts: z.string(),
};

const modelTurn = z.object({
  ...common,
  kind: z.literal("model.turn"),
  nodeId: z.string(),
  agentId: z.string(),
  /** Which visit of a node, and which turn in it, both from 1; turn 0 is what was read before the first. */
  visit: count,
  turn: count,
  /** What its endpoint calls the model. */
  model: z.string(),
  /** Whose the answer is, where the run knows its models. */
  answeredBy: z.object({ name: z.string().optional(), model: z.string() }).optional(),
  finishReason: z.string().optional(),
  /** How many tool calls it asks for. */
  calls: count,
  promptTokens: z.number(),
  cachedPromptTokens: z.number().optional(),
  completionTokens: z.number(),
  /** In the currency of the configured prices. */
  cost: z.number(),
  /** The provider has counted nothing: tokens and cost are estimates. */
  estimated: z.boolean().optional(),
  /** How long it took, without the attempts before it. */
  durationMs: z.number(),
});

const toolExec = z.object({
  ...common,
  kind: z.literal("tool.exec"),
  nodeId: z.string(),
  agentId: z.string(),
  toolCallId: z.string(),
  toolName: z.string(),
  /** What it was called with and what came of it; contents as size, hash and a short preview. */
  input: z.unknown(),
  output: z.unknown(),
  durationMs: z.number(),
});

const runPhase = z.object({
  ...common,
  kind: z.literal("run.phase"),
  nodeId: z.string(),
  phase: z.enum(RUN_PHASES),
  /** Which change of the run's phase it is, from 1. */
  change: count,
  paused: z.boolean().optional(),
  budget: z.unknown().optional(),
  /** Why the run has failed. */
  code: z.string().optional(),
  message: z.string().optional(),
});

const userInput = z.object({
  ...common,
  kind: z.literal("user.input"),
  nodeId: z.string(),
  id: z.string(),
  /** The words, as size, hash and a short preview. */
  input: z.unknown(),
  /** Who has said it, where the run knows. */
  by: z.string().optional(),
});

const runEventSchema = z.discriminatedUnion("kind", [modelTurn, toolExec, runPhase, userInput]);

/** One thing that has happened in a run, once: a line of its audit log (contracts §11). */
export type RunEvent = z.infer<typeof runEventSchema>;

/** A line of the audit log as an event; undefined for one that tells of the log itself, or that is none. */
export function toRunEvent(line: JsonObject, seq: number, runId: string): RunEvent | undefined {
  const { id } = line;
  const [visit, turn] = typeof id === "string" ? id.split(".").map(Number) : [];
  const numbered =
    line["kind"] === "model.turn"
      ? { promptTokens: 0, completionTokens: 0, cost: 0, ...line, visit, turn }
      : line["kind"] === "run.phase"
        ? { ...line, change: Number(id) }
        : line;
  const event = { ...numbered, schemaVersion: EVENT_SCHEMA_VERSION, seq, runId };
  return runEventSchema.safeParse(event).data;
}

/** The events as a JSON Schema, by file name. Generated into `schemas/`. */
export function eventJsonSchemas(): ReadonlyMap<string, object> {
  const title = "An event of a run, as interlock watch --events prints it, one on a line";
  const id = `events:${EVENT_SCHEMA_VERSION}`;
  return new Map([publishedSchema(runEventSchema, { name: "events", id, title })]);
}
