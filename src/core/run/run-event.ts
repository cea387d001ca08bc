import { z } from "zod";
import type { JsonObject } from "../json.js";
import { publishedSchema } from "../published-schema.js";
import { RUN_PHASES } from "./phase.js";

/** The version of the events below. What is added keeps it; what is taken away or means something else does not. */
export const EVENT_SCHEMA_VERSION = "1.0";

const count = z.int().min(0);
/** What every event has. */
const common = {
  schemaVersion: z.literal(EVENT_SCHEMA_VERSION).describe("The version of the events."),
  seq: z
    .int()
    .min(1)
    .describe(
      "Its line in the audit log, from 1: it grows from event to event, by more than one where a line is no event.",
    ),
  runId: z.string().describe("The run it happened in."),
  ts: z.string().describe("When it was written down, UTC, ISO 8601."),
};
const nodeId = z.string().describe("The node it happened at.");
const agentId = z.string().describe("The agent that was at work.");

const modelTurn = z.object({
  ...common,
  kind: z.literal("model.turn").describe("A model has answered."),
  nodeId,
  agentId,
  visit: count.describe("Which visit of a node, from 1."),
  turn: count.describe("Which turn in the visit, from 1; 0 is what was read before the first."),
  model: z.string().describe("What its endpoint calls the model."),
  answeredBy: z
    .object({
      name: z.string().optional().describe("The model's name in the settings."),
      model: z.string().describe("What the run calls the model."),
    })
    .optional()
    .describe("Whose the answer is, where the run knows its models."),
  finishReason: z.string().optional().describe("Why the model stopped, as its endpoint says it."),
  calls: count.describe("How many tool calls it asks for."),
  promptTokens: z.number().describe("Tokens that were read."),
  cachedPromptTokens: z.number().optional().describe("Those of them that came out of the endpoint's cache."),
  completionTokens: z.number().describe("Tokens that were written."),
  cost: z.number().describe("In the currency of the configured prices."),
  estimated: z
    .boolean()
    .optional()
    .describe("The provider has counted nothing: tokens and cost are estimates."),
  durationMs: z.number().describe("How long it took, without the attempts before it."),
});

const toolExec = z.object({
  ...common,
  kind: z.literal("tool.exec").describe("A tool was called."),
  nodeId,
  agentId,
  toolCallId: z.string().describe("The call's id."),
  toolName: z.string().describe("The tool's name."),
  input: z.unknown().describe("What it was called with; contents as size, hash and a short preview."),
  output: z.unknown().describe("What came of it; contents as size, hash and a short preview."),
  durationMs: z.number().describe("How long it took."),
});

const runPhase = z.object({
  ...common,
  kind: z.literal("run.phase").describe("The run's phase has changed."),
  nodeId,
  phase: z.enum(RUN_PHASES).describe("The phase since then."),
  change: count.describe("Which change of the run's phase it is, from 1."),
  paused: z.boolean().optional().describe("The run is paused."),
  budget: z.unknown().optional().describe("The run's budget, where it was changed."),
  code: z.string().optional().describe("Why the run has failed: an error code."),
  message: z.string().optional().describe("Why the run has failed: a sentence."),
  promptTokens: z
    .number()
    .optional()
    .describe("At its end: tokens that were read for answers that were none."),
  cachedPromptTokens: z.number().optional().describe("Those of them that came out of a cache."),
  completionTokens: z.number().optional().describe("At its end: tokens of answers that were none."),
  cost: z.number().optional().describe("What these cost, in the currency of the configured prices."),
  estimated: z.boolean().optional().describe("Some of these numbers are estimates."),
});

const userInput = z.object({
  ...common,
  kind: z.literal("user.input").describe("A user has said something."),
  nodeId,
  id: z.string().describe("The id of what was said."),
  input: z.unknown().describe("The words, as size, hash and a short preview."),
  by: z.string().optional().describe("Who has said it, where the run knows."),
});

const nodePass = z.object({
  ...common,
  kind: z.literal("node.pass").describe("The engine has gone through a node by itself, without a model."),
  nodeId,
  visit: count.describe("Which visit of a node, from 1."),
  next: z.string().describe("The node it has gone on to."),
  childRunId: z.string().optional().describe("Of a subworkflow: the run that has done its work."),
  workflow: z.string().optional().describe("Of a subworkflow: the workflow that was run."),
  modelTurns: count.optional().describe("Of a subworkflow: the model turns of that run."),
  toolCalls: count.optional().describe("Of a subworkflow: the tool calls of that run."),
  promptTokens: z.number().optional().describe("Of a subworkflow: tokens that were read."),
  cachedPromptTokens: z.number().optional().describe("Those of them that came out of a cache."),
  completionTokens: z.number().optional().describe("Of a subworkflow: tokens that were written."),
  cost: z.number().optional().describe("Of a subworkflow: in the currency of the configured prices."),
  estimated: z.boolean().optional().describe("Some of these numbers are estimates."),
});

export const runEventSchema = z.discriminatedUnion("kind", [
  modelTurn,
  toolExec,
  runPhase,
  userInput,
  nodePass,
]);

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
