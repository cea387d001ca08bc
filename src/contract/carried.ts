import { z } from "zod";
import { answeredBySchema, runModelsSchema } from "../core/run/run-model.js";
import { RUN_PHASES } from "../core/run/phase.js";
import { GraphStateSchema } from "../core/graph-state/schemas.js";

/**
 * What a run carries from one execution to the next, as it is parsed before it is used. What an earlier version did not carry
 * may be absent, what it carried beside this is let through: a run under way survives a new version of its worker.
 */

const count = z.int().min(0);
export const usageSchema = z.looseObject({
  modelTurns: count,
  toolCalls: count,
  promptTokens: z.number().min(0),
  cachedPromptTokens: z.number().min(0).optional(),
  estimated: z.boolean().optional(),
  completionTokens: z.number().min(0),
  cost: z.number().min(0),
});
const limitsSchema = z.looseObject({
  turns: z.number().optional(),
  tokens: z.number().optional(),
  cost: z.number().optional(),
});

/** What was answered: at which node, how it begins, and by whom, where the run knows. */
export const takenAnswerSchema = z.looseObject({
  nodeId: z.string(),
  begins: z.string().optional(),
  by: z.string().optional(),
});
export const budgetSchema = z.looseObject({ run: limitsSchema.optional(), node: limitsSchema.optional() });
export const progressSchema = z.array(z.looseObject({ seq: count, nodeId: z.string(), text: z.string() }));
export const questionSchema = z.looseObject({
  nodeId: z.string(),
  text: z.string(),
  code: z.string().optional(),
  reached: z
    .looseObject({
      scope: z.enum(["run", "node"]),
      unit: z.enum(["turns", "tokens", "cost"]),
      limit: z.number(),
    })
    .optional(),
});
export const auditSchema = z.looseObject({ lines: count, sha256: z.string() });

const frontmatter = z.looseObject({
  schemaVersion: z.string(),
  workflowType: z.string(),
  currentNodeId: z.string(),
  stepsCompleted: z.array(z.string()),
  variables: z.record(z.string(), z.json()),
  decisionLog: z.array(z.looseObject({ from: z.string(), to: z.string(), label: z.string() })),
  artifacts: z.array(z.string()),
});

export const carriedSchema = z.looseObject({
  phase: z.enum(RUN_PHASES),
  frontmatter,
  stateSha256: z.string(),
  visit: count,
  turn: count,
  visiting: z
    .looseObject({
      nodeId: z.string(),
      intent: z.enum(["start", "continue", "resume"]),
      resumes: z.string().optional(),
      correction: z.string().optional(),
      nudges: z.int().min(0).optional(),
      model: z.int().min(0).optional(),
      missing: z.looseObject({ times: z.int().min(0), why: z.string() }).optional(),
    })
    .optional(),
  usage: usageSchema,
  turnsBelow: count.optional(),
  visitUsage: usageSchema,
  budget: budgetSchema,
  paused: z.boolean(),
  ended: z.boolean(),
  loop: z.looseObject({
    key: z.string(),
    failures: count,
    repeated: z.looseObject({ key: z.string(), times: count }).optional(),
  }),
  progress: progressSchema,
  audit: auditSchema,
  phaseChanges: count,
  models: runModelsSchema.optional(),
  isLeft: z.boolean().optional(),
  isSlow: z.boolean().optional(),
  answeredBy: answeredBySchema.optional(),
  executionId: z.string().optional(),
  taken: z
    .array(
      z.looseObject({
        id: z.string(),
        answer: takenAnswerSchema.optional(),
      }),
    )
    .optional(),
  raises: z.array(z.string()).optional(),
  awaits: z.string().optional(),
  question: questionSchema.optional(),
  story: z
    .looseObject({
      state: GraphStateSchema,
      change: count,
      unmetPreconditions: count,
      visited: z.array(z.int()),
    })
    .optional(),
});
