import { z } from "zod";
import { RUN_PHASES } from "../core/run/phase.js";

export const PAYLOAD_TYPE = "application/vnd.in-toto+json";
export const STATEMENT_TYPE = "https://in-toto.io/Statement/v1";
/** What is said of a run, in its first version. What is added keeps it; what is taken away or means something else does not. */
export const PREDICATE_TYPE = "urn:interlock:run-attestation:1.0";

const count = z.int().min(0);
const digest = z.object({ sha256: z.string().regex(/^[0-9a-f]{64}$/) });
/** The line of the audit log that says it, from 1. */
const seq = z.int().min(1);

const decision = z.object({
  seq,
  /** Where the run stood. */
  nodeId: z.string(),
  verdict: z.enum(["accepted", "refused"]),
  /** Where the change would lead; absent where it leads nowhere, or the log does not tell. */
  to: z.string().optional(),
  /** Why it was refused. */
  code: z.string().optional(),
});

const predicateSchema = z.object({
  run: z.object({
    runId: z.string(),
    phase: z.enum(RUN_PHASES),
    createdAt: z.string(),
    workflow: z.string(),
    /** Its model was a script. */
    rehearsal: z.boolean(),
    forkedFrom: z.object({ runId: z.string(), visit: count }).optional(),
  }),
  /** What has made the statement. */
  interlock: z.object({ version: z.string() }),
  package: z.object({ id: z.string(), digest: digest.optional() }),
  /** The graph that the guard has held the run to; null for a bundle run, which has none. */
  graph: z
    .object({
      entryNodeId: z.string(),
      nodes: z.array(z.object({ id: z.string(), type: z.string() })),
      edges: z.array(z.object({ from: z.string(), to: z.string() })),
    })
    .nullable(),
  /** The nodes where the run stood, in order; of one that it came back to, again. */
  path: z.array(z.object({ seq, nodeId: z.string() })),
  /** Each change of the state document that the guard has decided on. */
  decisions: z.array(decision),
  /** What people have said, by hash. `by` is who, as they say themselves. */
  answers: z.array(z.object({ seq, at: z.string(), nodeId: z.string(), by: z.string().optional(), digest })),
  /** Which models have answered at which node. */
  models: z.array(z.object({ nodeId: z.string(), models: z.array(z.string()), turns: count })),
  /** The end of the chain of the audit log, and whether Temporal's history knows the log as it is. */
  audit: z.object({ lines: count, sha256: z.string(), knownToTemporal: z.boolean() }),
});

const statementSchema = z.object({
  _type: z.literal(STATEMENT_TYPE),
  subject: z.array(z.object({ name: z.string().min(1), digest })).min(1),
  predicateType: z.literal(PREDICATE_TYPE),
  predicate: predicateSchema,
});

export type Decision = z.infer<typeof decision>;
export type RunStatement = z.infer<typeof statementSchema>;
export type RunPredicate = z.infer<typeof predicateSchema>;

/** What an envelope holds, parsed. Unknown fields are let through, as in-toto has it. Throws an `Error` that names the field. */
export function parseStatement(payload: Uint8Array): RunStatement {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(payload));
  } catch {
    throw new Error("What is signed is not JSON.");
  }
  const parsed = statementSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Error(
    `What is signed is no statement about a run: ${issue?.path.map(String).join(".")}: ${issue?.message}.`,
  );
}

/** The statement as a JSON Schema, by file name. Generated into `schemas/`. */
export function attestationJsonSchemas(): ReadonlyMap<string, object> {
  const { $schema, ...rest } = z.toJSONSchema(statementSchema, { target: "draft-2020-12", io: "input" });
  const title = "What interlock attest signs: an in-toto statement about one run";
  return new Map([["attestation.schema.json", { $schema, $id: PREDICATE_TYPE, title, ...rest }]]);
}
