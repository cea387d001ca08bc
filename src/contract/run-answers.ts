import { z } from "zod";
import { type Result, fail, ok } from "../core/errors.js";
import { boundsProblem } from "../core/json-bounds.js";
import type { Budget } from "../core/run/budget.js";
import type { RunResult } from "../core/run/run-result.js";
import { RUN_PHASES } from "../core/run/phase.js";
import { answeredBySchema, runModelsSchema } from "../core/run/run-model.js";
import type { RunState } from "../core/run/run-state.js";
import type { AnswerTaken } from "./run.js";
import { CARRIED_BOUNDS } from "./run-input.js";
import {
  auditSchema,
  budgetSchema,
  progressSchema,
  questionSchema,
  usageSchema,
  takenAnswerSchema,
} from "./carried.js";

/*
 * What a run says, parsed once: whoever reaches Temporal can have a workflow of a run's type, and a worker that says of it what
 * they like. What a later version says beside this is let through.
 */

const texts = z.array(z.string());
const count = z.int().min(0);

const runStateSchema = z.looseObject({
  runId: z.string(),
  projectId: z.string(),
  packageId: z.string(),
  workflowRef: z.string(),
  phase: z.enum(RUN_PHASES),
  currentNodeId: z.string(),
  stepsCompleted: texts,
  allowedNext: z.array(z.looseObject({ to: z.string(), label: z.string() })),
  variables: z.record(z.string(), z.unknown()),
  artifacts: texts,
  earlierArtifacts: count.optional(),
  question: questionSchema.optional(),
  failure: z.looseObject({ code: z.string(), message: z.string() }).optional(),
  paused: z.boolean(),
  budget: budgetSchema,
  usage: usageSchema,
  below: z.looseObject({ runId: z.string(), workflowRef: z.string() }).optional(),
  parentRunId: z.string().optional(),
  model: runModelsSchema
    .and(z.looseObject({ answeredBy: answeredBySchema.optional(), missing: z.string().optional() }))
    .optional(),
  visit: count,
  turn: count,
  lastAnswer: takenAnswerSchema.optional(),
  progress: progressSchema,
  audit: auditSchema,
});

const runResultSchema = z.looseObject({
  runId: z.string(),
  phase: z.literal("completed"),
  currentNodeId: z.string(),
  stepsCompleted: texts,
  artifacts: texts,
  earlierArtifacts: count.optional(),
  usage: usageSchema,
});

/** Of a worker of an earlier version it has `accepted` alone. */
const answerTakenSchema = z.looseObject({ nodeId: z.string().optional(), begins: z.string().optional() });

/** Faults of all: `E_PRECONDITION_FAILED`. */
export function parseRunState(answer: unknown): Result<RunState> {
  return parsed<RunState>(runStateSchema, answer);
}

export function parseRunResult(answer: unknown): Result<RunResult> {
  return parsed<RunResult>(runResultSchema, answer);
}

export function parseAnswerTaken(answer: unknown): Result<AnswerTaken> {
  return parsed<AnswerTaken>(answerTakenSchema, answer);
}

export function parseBudget(answer: unknown): Result<Budget> {
  return parsed<Budget>(budgetSchema, answer);
}

function parsed<T>(schema: z.ZodType, answer: unknown): Result<T> {
  const isRead = boundsProblem(answer, CARRIED_BOUNDS) === undefined && schema.safeParse(answer).success;
  if (isRead) return ok(answer as T); // the schema has said so
  return fail(
    "E_PRECONDITION_FAILED",
    "The run's worker says what no run says: it is no worker of Interlock, or one of another version.",
  );
}
