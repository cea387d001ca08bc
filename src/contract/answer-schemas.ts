import { z } from "zod";
import { jsonIn } from "../core/json.js";
import { type Result, fail, ok } from "../core/errors.js";
import { type JsonBounds, boundsProblem } from "../core/json-bounds.js";
import { RUN_PHASES } from "../core/run/phase.js";
import { runEventSchema } from "../core/run/run-event.js";
import { runModelsSchema } from "../core/run/run-model.js";
import { isRunId } from "../core/run/run-id.js";
import { usageSchema } from "./carried.js";
import type { JsonAnswers } from "./read-answers.js";
import { NOT_UNDERSTOOD } from "./reads.js";

/*
 * What a store elsewhere answers, parsed once: whoever polls a queue may answer for it, and it may be a worker of another version. What it says
 * beside this is let through.
 */

const text = z.string();
const texts = z.array(text);
const count = z.int().min(0);
const json = z.record(text, z.unknown());
const bounded = z.looseObject({ text, bytes: count, isCut: z.boolean() });
/** It becomes a part of a file's name. */
const runId = text.refine(isRunId);

const storedRun = z.looseObject({
  runId,
  workflowId: text.optional(),
  projectId: text,
  packageId: text,
  workflowRef: text,
  activeAgentId: text,
  phase: z.enum(RUN_PHASES),
  createdAt: text,
  lastUpdatedAt: text,
  parentRunId: text.optional(),
  forkedFrom: z.looseObject({ runId: text, visit: count }).optional(),
  bundle: json.optional(),
});
const storedPackage = z.looseObject({ packageId: text, name: text, version: text });
const workflow = z.looseObject({ id: text, isEntry: z.boolean() });
const agent = z.looseObject({ id: text, name: text, title: text });
const graph = z.looseObject({
  entryNodeId: text,
  nodes: z.array(z.looseObject({ id: text, type: text })),
  edges: z.array(z.looseObject({ from: text, to: text })),
});
const below = z.looseObject({ runId: text, workflowRef: text });
const moves = z.array(z.looseObject({ from: text, to: text, count }));

/** Kinds of events that a later version knows are let through. */
const event = z.union([
  runEventSchema,
  z.looseObject({
    kind: text.refine((kind) => !runEventSchema.options.some(({ shape }) => shape.kind.value === kind)),
    seq: count,
    ts: text,
  }),
]);
const call = z.looseObject({ id: text, name: text, summary: text, outcome: text.optional() });
const entry = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("begin"), visit: count }),
  z.looseObject({ type: z.literal("fold"), visit: count, turn: count, calls: count }),
  z.looseObject({ type: z.literal("user"), id: text, nodeId: text, text, by: text.optional() }),
  z.looseObject({ type: z.literal("correction"), visit: count, turn: count, text }),
  z.looseObject({
    type: z.literal("assistant"),
    visit: count,
    turn: count,
    text,
    model: text,
    calls: z.array(call),
    reasoning: text.optional(),
  }),
]);

const runFacts = z.looseObject({
  metadata: storedRun,
  projectRoot: text.nullable(),
  status: json.nullable(),
  standing: z.looseObject({
    currentNodeId: text,
    stepsCompleted: texts,
    variables: json,
    artifacts: texts,
    problem: text.optional(),
  }),
  writtenAgain: texts.optional(),
  usage: usageSchema.optional(),
  usageByNode: z.array(z.looseObject({ nodeId: text, usage: usageSchema })).optional(),
  model: runModelsSchema.optional(),
  places: z.looseObject({
    stateFile: text.nullable(),
    logFile: text.nullable(),
    sessionFolder: text.nullable(),
  }),
});

const course = z.looseObject({
  visits: z.array(
    z.looseObject({ visit: count, nodeId: text, next: text, endedAt: text, below: below.optional() }),
  ),
  visitCount: count,
  next: text,
  moves,
  refused: moves,
  entered: z.array(z.looseObject({ nodeId: text, count })),
  filesRead: z.array(z.looseObject({ path: text, reads: count, firstAt: text })),
});

const differences = z.array(z.looseObject({ path: text }));

const schemas: Readonly<Record<keyof JsonAnswers, z.ZodType>> = {
  "read.store": z.looseObject({ storeId: text, taskQueue: text }),
  "read.runs": z.looseObject({ runs: z.array(storedRun), damaged: texts }),
  "read.run": runFacts,
  "read.request": z.looseObject({
    request: z.looseObject({ kind: text, input: json }).nullable(),
    place: text,
  }),
  "read.graph": z.looseObject({ graph: graph.nullable(), projectRoot: text }),
  "read.state": z.looseObject({
    isBundle: z.boolean(),
    held: z.looseObject({ state: json, initial: json }).optional(),
    snapshots: z.array(z.looseObject({ visit: count, nodeId: text, timestamp: text, state: json })),
  }),
  "read.visits": z.looseObject({
    visits: z.array(z.looseObject({ name: text, nodeId: text.nullable(), bytes: count })),
  }),
  "read.conversation": z.looseObject({
    entries: z.array(entry),
    total: count,
    more: z.array(z.array(entry)).optional(),
  }),
  "read.results": z.looseObject({ results: z.array(z.looseObject({ id: text, result: z.unknown() })) }),
  "read.events": z.looseObject({
    runId,
    phase: z.enum(RUN_PHASES),
    createdAt: text,
    events: z.array(event),
    next: z.looseObject({ offset: count, lines: count }),
    more: z.boolean(),
  }),
  "read.live": z.looseObject({ answer: json.nullable() }),
  "read.artifacts": z.looseObject({
    artifacts: z.array(
      z.looseObject({
        path: text,
        bytes: count.nullable(),
        sha256: text.nullable(),
        nodeId: text.nullable(),
        problem: text.optional(),
      }),
    ),
  }),
  "read.files": z.looseObject({
    files: z.array(z.looseObject({ name: text, bytes: count, modifiedAt: z.iso.datetime() })),
  }),
  "read.fork": z.looseObject({
    runId,
    visit: count,
    nodeId: text,
    projectRoot: text,
    isElsewhere: z.boolean(),
    files: z.array(z.looseObject({ path: text, sha256: text, status: text })),
  }),
  "read.packages": z.looseObject({ packages: z.array(storedPackage) }),
  "read.package": storedPackage.extend({
    sha256: text.optional(),
    description: text,
    workflows: z.array(workflow.extend({ nodes: texts })),
    agents: z.array(agent),
  }),
  "read.projects": z.looseObject({
    roots: z.array(z.looseObject({ path: text, access: text, registeredAt: text, state: text })),
    configured: texts,
  }),
  "read.course": course,
  "read.call": z.looseObject({ name: text, arguments: bounded, result: bounded.nullable() }),
  "read.writes": z.looseObject({
    writes: z.array(z.looseObject({ callId: text, path: text, sha256: text, isKept: z.boolean() })),
  }),
  "read.content": z.looseObject({ text: bounded.nullable() }),
  "read.document": z.looseObject({
    visit: count.nullable(),
    nodeId: text,
    text: bounded,
    variables: json,
  }),
  "read.change": z.looseObject({
    change: z
      .looseObject({
        fromVisit: count,
        toVisit: count.nullable(),
        added: differences,
        changed: differences,
        removed: differences,
        isCut: z.boolean(),
      })
      .nullable(),
  }),
  "read.workflows": storedPackage.extend({
    description: text,
    workflows: z.array(workflow.extend({ graph })),
    agents: z.array(agent.extend({ icon: text, role: bounded })),
    findings: z.array(z.looseObject({ severity: text, file: text, path: text, message: text })),
  }),
  "package.upload": z.looseObject({ received: count }),
  "package.install": storedPackage.extend({ findings: z.array(json) }),
  "package.remove": z.looseObject({ packageId: text }),
};

/** Far more than a store hands out. */
const BOUNDS: JsonBounds = { maxDepth: 1_000, maxValues: 10_000_000 };

/** The answer to a question of that name. Fault: `E_INTERNAL`. */
export function parseJsonAnswer<N extends keyof JsonAnswers>(
  name: N,
  bytes: Uint8Array,
): Result<JsonAnswers[N]> {
  const answer = jsonIn(new TextDecoder().decode(bytes));
  if (boundsProblem(answer, BOUNDS) === undefined && schemas[name].safeParse(answer).success)
    return ok(answer as JsonAnswers[N]); // by the schema of that name
  return fail("E_INTERNAL", NOT_UNDERSTOOD);
}
