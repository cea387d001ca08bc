import { z } from "zod";
import type { JsonObject } from "../json.js";
import { schemaVersionSchema } from "../package/schemas.js";
import { type Result, fail, ok } from "../errors.js";
import { type SchemaError, schemaErrors } from "../schema-errors.js";

/** The frontmatter of `workflow.md`, which is also the schema of a run's state document (contracts §2, §5). */
export const frontmatterSchema = z.looseObject({
  schemaVersion: schemaVersionSchema,
  workflowType: z.string().min(1).describe("What the workflow is called where runs are listed."),
  currentNodeId: z.string().describe('The node under way; "" before the first.'),
  stepsCompleted: z.array(z.string()).describe("The nodes that are done, in order."),
  runId: z.string().optional().describe("The run's id; the runtime sets it."),
  project_name: z.string().optional().describe("The project's name, for templates."),
  user_name: z.string().optional().describe("The user's name, for templates."),
  date: z.string().optional().describe("A date, for templates."),
  updatedAt: z.iso
    .datetime({ offset: true })
    .optional()
    .describe("When it was last written; the runtime sets it."),
  variables: z
    .record(z.string(), z.json())
    .optional()
    .describe("What steps set and conditions are evaluated over. Here: the values a run begins with."),
  decisionLog: z
    .array(
      z.strictObject({
        from: z.string().describe("The node that was left."),
        to: z.string().describe("The node that was chosen."),
        label: z.string().describe("The label of the edge."),
        reason: z.string().optional().describe("Why it was chosen."),
        decidedAt: z.string().optional().describe("When it was chosen."),
      }),
    )
    .optional()
    .describe("Which edges were taken, and why."),
  artifacts: z.array(z.string()).optional().describe("The files that the run has written."),
});

/** A normalised, valid frontmatter. */
export interface Frontmatter extends JsonObject {
  readonly schemaVersion: string;
  readonly workflowType: string;
  readonly currentNodeId: string;
  readonly stepsCompleted: readonly string[];
  readonly variables: JsonObject;
  readonly decisionLog: readonly Decision[];
  readonly artifacts: readonly string[];
}

export interface Decision extends JsonObject {
  readonly from: string;
  readonly to: string;
  readonly label: string;
}

/**
 * Fills in what may be missing (contracts §2): empty lists, empty variables, an empty current node, and an
 * unquoted `1.1` as text. Key order is kept; added keys come last. `null` is a value, not a missing one.
 */
export function normalizeFrontmatter(raw: JsonObject): JsonObject {
  const next: Record<string, JsonObject[string]> = { ...raw };
  const defaults = { stepsCompleted: [], decisionLog: [], artifacts: [], variables: {}, currentNodeId: "" };
  for (const [key, value] of Object.entries(defaults)) if (!Object.hasOwn(next, key)) next[key] = value;
  if (next["schemaVersion"] === 1.1) next["schemaVersion"] = "1.1";
  return next;
}

/**
 * Normalises and validates a frontmatter.
 * Fault: `E_SCHEMA_VALIDATION` with `details.errors[]` of `{ path, message }`.
 */
export function parseFrontmatter(raw: JsonObject): Result<Frontmatter> {
  const normalized = normalizeFrontmatter(raw);
  const errors = frontmatterErrors(normalized);
  if (errors.length > 0) {
    const first = errors[0];
    return fail(
      "E_SCHEMA_VALIDATION",
      `The state document's frontmatter is not valid: ${first?.path || "(root)"}: ${first?.message}`,
      { errors },
    );
  }
  return ok(normalized as Frontmatter); // the schema has said so
}

function frontmatterErrors(value: JsonObject): readonly SchemaError[] {
  const parsed = frontmatterSchema.safeParse(value);
  return parsed.success ? [] : schemaErrors(parsed.error.issues);
}
