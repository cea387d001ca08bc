import { z } from "zod";
import { parseJsonText } from "../core/json-text.js";
import { RUN_PHASES } from "../core/run/phase.js";
import { sha256Schema } from "../core/sha256.js";
import { excerpt } from "../core/text.js";
import { utf8In } from "../core/written-text.js";

export const PAYLOAD_TYPE = "application/vnd.in-toto+json";
export const STATEMENT_TYPE = "https://in-toto.io/Statement/v1";
/** What is said of a run, in its first version. What is added keeps it; what is taken away or means something else does not. */
export const PREDICATE_TYPE = "urn:interlock:run-attestation:1.0";

const count = z.int().min(0);
const digest = z
  .object({
    sha256: sha256Schema.describe("SHA-256, in small hex digits."),
  })
  .describe("The hash of the content.");
const seq = z.int().min(1).describe("The line of the audit log that says it, from 1.");
const nodeId = z.string().describe("Where the run stood.");

const decision = z.object({
  seq,
  nodeId,
  verdict: z.enum(["accepted", "refused"]).describe("What the guard said."),
  to: z
    .string()
    .optional()
    .describe("Where the change would lead; absent where it leads nowhere, or the log does not tell."),
  code: z.string().optional().describe("Why it was refused."),
});

const runSchema = z.object({
  runId: z.string().describe("The run's id."),
  phase: z.enum(RUN_PHASES).describe("How it stands."),
  createdAt: z.string().describe("When it was started, ISO 8601."),
  workflow: z.string().describe("The workflow of the package."),
  rehearsal: z.boolean().describe("Its model was a script."),
  forkedFrom: z
    .object({
      runId: z.string().describe("The other run's id."),
      visit: count.describe("After how many of its node visits."),
    })
    .optional()
    .describe("The run that it began from."),
});

const packageSchema = z.object({
  id: z.string().describe("The package's id."),
  digest: digest.optional().describe("The hash of its content. Absent for a bundle run."),
});

const graphSchema = z.object({
  entryNodeId: z.string().describe("Where runs begin."),
  nodes: z
    .array(
      z.object({ id: z.string().describe("The node's id."), type: z.string().describe("The node's type.") }),
    )
    .describe("What there is to visit."),
  edges: z
    .array(
      z.object({
        from: z.string().describe("The node it leads out of."),
        to: z.string().describe("The node it leads to."),
      }),
    )
    .describe("The moves that are legal."),
});

const answer = z.object({
  seq,
  at: z.string().describe("When, ISO 8601."),
  nodeId,
  by: z.string().optional().describe("Who, as they say themselves."),
  digest: digest.describe("The hash of the words."),
});

const modelsOfNode = z.object({
  nodeId,
  models: z.array(z.string()).describe("The models that have answered here."),
  turns: count.describe("How often, together."),
});

const auditSchema = z.object({
  lines: count.describe("How many lines it has."),
  sha256: z.string().describe("The hash at the end of its chain."),
  knownToTemporal: z.boolean().describe("Temporal's history knows the log as it is."),
});

const predicateSchema = z.object({
  run: runSchema.describe("The run that is spoken of."),
  interlock: z
    .object({ version: z.string().describe("Its version.") })
    .describe("What has made the statement."),
  package: packageSchema.describe("What was run."),
  graph: graphSchema
    .nullable()
    .describe("The graph that the guard has held the run to; null for a bundle run, which has none."),
  path: z
    .array(z.object({ seq, nodeId }))
    .describe("The nodes where the run stood, in order; of one that it came back to, again."),
  decisions: z.array(decision).describe("Each change of the state document that the guard has decided on."),
  answers: z.array(answer).describe("What people have said, by hash."),
  models: z.array(modelsOfNode).describe("Which models have answered at which node."),
  audit: auditSchema.describe(
    "The end of the chain of the audit log, and whether Temporal's history knows the log as it is.",
  ),
});

const subject = z.object({
  name: z
    .string()
    .min(1)
    .describe("The artifact's path in the project, or the name of a file of the run's own."),
  digest,
  annotations: z
    .object({
      hashed: z
        .literal("when-signed")
        .describe("The audit log has no hash of it: it is that of the file as it lay there then."),
    })
    .optional()
    .describe("Where the hash comes from, where it is not the audit log's."),
});

const statementSchema = z.object({
  _type: z.literal(STATEMENT_TYPE).describe("The version of in-toto's statements."),
  subject: z
    .array(subject)
    .min(1)
    .refine((files) => new Set(files.map(({ name }) => name)).size === files.length, "names a file twice")
    .describe("The files that the statement is about."),
  predicateType: z.literal(PREDICATE_TYPE).describe("The version of what is said of a run."),
  predicate: predicateSchema.describe("What is said."),
});

export type Decision = z.infer<typeof decision>;
export type RunStatement = z.infer<typeof statementSchema>;
export type RunPredicate = z.infer<typeof predicateSchema>;

/** What an envelope holds, parsed. Unknown fields are let through, as in-toto has it. Throws an `Error` that names the field. */
export function parseStatement(payload: Uint8Array): RunStatement {
  const text = utf8In(payload);
  if (text === undefined) throw noStatement([], "is no UTF-8");
  const read = parseJsonText(text, MAX_VALUES);
  if (!read.ok) throw noStatement(read.path, read.message);
  const parsed = statementSchema.safeParse(read.value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw noStatement(issue?.path ?? [], issue?.message ?? "");
}

/** Far more than a run has that keeps to its limits. */
const MAX_VALUES = 10_000_000;

function noStatement(path: readonly PropertyKey[], message: string): Error {
  const place = path.map(String).join(".") || "its root";
  return new Error(`What is signed is no statement about a run: ${excerpt(place)}: ${message}.`);
}

/** The statement as a JSON Schema, by file name. Generated into `schemas/`. */
export function attestationJsonSchemas(): ReadonlyMap<string, object> {
  const { $schema, ...rest } = z.toJSONSchema(statementSchema, { target: "draft-2020-12", io: "input" });
  const title = "What interlock attest signs: an in-toto statement about one run";
  return new Map([["attestation.schema.json", { $schema, $id: PREDICATE_TYPE, title, ...rest }]]);
}
