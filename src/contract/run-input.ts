import { z } from "zod";
import { defined } from "../core/defined.js";
import { MAX_SUBWORKFLOW_DEPTH } from "../core/package/engine-nodes.js";
import { budgetProblem } from "../core/run/budget.js";
import { MAX_USER_INPUT_BYTES } from "../core/run/limits.js";
import { type ErrorCode, type Failed, type Result, fail, ok } from "../core/errors.js";
import { openingState } from "../core/graph-state/initial-state.js";
import { StateSnapshotStateSchema } from "../core/graph-state/schemas.js";
import { type JsonBounds, boundsProblem } from "../core/json-bounds.js";
import { type SchemaError, schemaErrors } from "../core/schema-errors.js";
import { utf8Length } from "../core/text.js";
import { MAX_MODELS_IN_CHAIN } from "../core/run/limits.js";
import { isRunId } from "../core/run/run-id.js";
import { STEP_SIZES } from "../core/step-size.js";
import { carriedSchema } from "./carried.js";
import { signatureSchema } from "./signed.js";
import type { BUNDLE_RUN_WORKFLOW, GRAPH_RUN_WORKFLOW, RunWorkflow } from "./names.js";
import type { BundleRunInput, GraphRunInput } from "./run.js";
import { jsonBytes } from "../core/json.js";

/**
 * What starts a run (contracts §14), as it is parsed at the workflow's door and before it is sent. Unknown fields are refused:
 * a misspelt limit would otherwise be none.
 */

const MAX_PATH_CHARS = 4_096;
const MAX_INPUT_NAME_CHARS = 300;
const MAX_LIMIT = 1_000_000;

/** What a run is started with stands in its history (contracts §14): room for the user's words and for little else. */
const MAX_REQUEST_BYTES = 160 * 1024;
const REQUEST_BOUNDS: JsonBounds = { maxDepth: 100, maxValues: 20_000 };
/** What the run carries itself holds a state document's variables, which may be nested as deep as they may be. */
export const CARRIED_BOUNDS: JsonBounds = { maxDepth: 250, maxValues: 1_000_000 };

const path = z
  .string()
  .max(MAX_PATH_CHARS)
  .regex(/^(?:\/|[A-Za-z]:[\\/]|\\\\)[^\0]*$/, "must be an absolute path on the worker's machine");
const name = z.string().min(1).max(MAX_INPUT_NAME_CHARS);
const runId = z.string().refine(isRunId, "must be a UUID in lower case, or be left out");
const limit = z.int().min(1).max(MAX_LIMIT);
/** What a budget limits, or is raised by. */
export const amountsSchema = z.strictObject({
  turns: z.number().exactOptional(),
  tokens: z.number().exactOptional(),
  cost: z.number().exactOptional(),
});
/** The budget of a run that is started, and of each visit of a node. */
export const askedBudgetSchema = z.strictObject({
  run: amountsSchema.exactOptional(),
  node: amountsSchema.exactOptional(),
});

const MAX_URL_CHARS = 2_000;
/** It chooses among endpoints that a worker has: it holds no login, no key in a query, and no spelling that needs one to guess. */
const endpoint = z
  .string()
  .max(MAX_URL_CHARS)
  .regex(/^https?:\/\/[!-~]+$/, "must be an http or https URL, in printable ASCII")
  .regex(
    /^[^?#\\]*$/,
    "must have no query, no fragment and no backslash: a worker's settings may have a query",
  )
  .regex(/^https?:\/\/[^/@]+(?:\/|$)/, "must have a host, and no user name and no password");
const model = z
  .strictObject({
    name: name.exactOptional(),
    model: name.exactOptional(),
    baseUrl: endpoint.exactOptional(),
    fallbacks: z
      .array(name)
      .max(MAX_MODELS_IN_CHAIN - 1)
      .exactOptional(),
  })
  .refine((wanted) => Object.keys(wanted).length > 0, "must name a model, a base URL or fallbacks");

const runFields = {
  runId: runId.exactOptional(),
  projectRoot: path,
  input: z.string().exactOptional(),
  autopilot: z.boolean().exactOptional(),
  storeId: name.exactOptional(),
  limits: z
    .strictObject({
      maxTurnsPerNode: limit.exactOptional(),
      maxTurnsPerRun: limit.exactOptional(),
      maxModelAttempts: limit.exactOptional(),
      maxAttemptsBeforeFallback: limit.exactOptional(),
    })
    .exactOptional(),
  budget: askedBudgetSchema.exactOptional(),
  rehearsal: z
    .strictObject({ branches: z.boolean().exactOptional(), forbiddenJump: z.boolean().exactOptional() })
    .exactOptional(),
  model: model.exactOptional(),
  steps: z.enum(STEP_SIZES).exactOptional(),
  searchAttributes: z.boolean().exactOptional(),
  resume: z.boolean().exactOptional(),
  signature: signatureSchema.exactOptional(),
};

const variables = z.record(z.string().max(MAX_INPUT_NAME_CHARS), z.json());

const graphFields = {
  ...runFields,
  packageId: name,
  workflowRef: z.string().max(MAX_INPUT_NAME_CHARS).exactOptional(),
  activeAgentId: name.exactOptional(),
  wholeRunConversation: z.boolean().exactOptional(),
  evaluateConditions: z.boolean().exactOptional(),
  storyId: z.string().max(MAX_INPUT_NAME_CHARS).exactOptional(),
  epicPrefix: z.string().max(MAX_INPUT_NAME_CHARS).exactOptional(),
  fork: z
    .strictObject({
      runId,
      fromNode: z.string().max(MAX_INPUT_NAME_CHARS).exactOptional(),
      visit: z.int().min(0).exactOptional(),
      set: variables.exactOptional(),
      allowMissing: z.boolean().exactOptional(),
    })
    .exactOptional(),
  parent: z
    .strictObject({
      runId,
      depth: z.int().min(1).max(MAX_SUBWORKFLOW_DEPTH),
      variables: variables.exactOptional(),
      graphState: StateSnapshotStateSchema.exactOptional(),
      returns: z.array(z.string().max(MAX_INPUT_NAME_CHARS)).exactOptional(),
    })
    .exactOptional(),
};

const bundleFields = {
  ...runFields,
  bundleRoot: path,
  coreRoot: path.exactOptional(),
  workflowPath: z.string().min(1).max(MAX_PATH_CHARS),
  agentFile: path.exactOptional(),
  yolo: z.boolean().exactOptional(),
  outputRoot: path.exactOptional(),
  sessionId: name.exactOptional(),
};

/** What starts a graph run. What no schema says (sizes, stories, budgets) is checked by {@link validateRunInput}. */
export const GraphRunInputSchema = z.strictObject(graphFields);
/** What starts a bundle run. What no schema says is checked by {@link validateRunInput}. */
export const BundleRunInputSchema = z.strictObject(bundleFields);

const UNKNOWING = {
  path: ["carried"],
  error: "is what the run carries over: only one that resumes does without it",
};

/** As the run goes on: with all that it knows, or, after a reset, with what is on disk. A field of an earlier version is no reason to end it. */
const continuedSchemas = {
  graphRun: z
    .looseObject({ ...graphFields, carried: carriedSchema.optional() })
    .refine(knowsItself, UNKNOWING),
  bundleRun: z
    .looseObject({ ...bundleFields, carried: carriedSchema.optional() })
    .refine(knowsItself, UNKNOWING),
};
const startSchemas = { graphRun: GraphRunInputSchema, bundleRun: BundleRunInputSchema };

function knowsItself({
  carried,
  resume,
}: {
  readonly carried?: unknown;
  readonly resume?: boolean;
}): boolean {
  return carried !== undefined || resume === true;
}

/** What each workflow type is started with. */
export interface RunInputs {
  readonly [GRAPH_RUN_WORKFLOW]: GraphRunInput;
  readonly [BUNDLE_RUN_WORKFLOW]: BundleRunInput;
}

/**
 * Checks what a run is to be started with, as its workflow does. Never throws. Faults: `E_SCHEMA_VALIDATION` with
 * `details.errors[]`, each with its path, and `E_SANDBOX_VIOLATION` with the same where all that is wrong is a path that is not
 * absolute or too long; `E_WRITE_LIMIT` for more than a history may hold, `E_PRECONDITION_FAILED` for first
 * words that are too long.
 */
export function validateRunInput<W extends RunWorkflow>(workflow: W, input: unknown): Result<RunInputs[W]> {
  if (!Object.hasOwn(startSchemas, workflow)) {
    return notValid([{ path: "workflow", message: `must be ${Object.keys(startSchemas).join(" or ")}` }]);
  }
  const bounds = boundsProblem(input, REQUEST_BOUNDS);
  if (bounds !== undefined) return notValid(schemaErrors([bounds]));
  if (isObject(input) && Object.hasOwn(input, "carried")) return notValid([CARRIED_BY_NOBODY]);
  const parsed = startSchemas[workflow].safeParse(input);
  if (!parsed.success) {
    const { issues } = parsed.error;
    return notValid(schemaErrors(issues), issues.every(isOfRoot) ? "E_SANDBOX_VIOLATION" : undefined);
  }
  const { input: words, budget } = parsed.data;
  if (words !== undefined && utf8Length(words) > MAX_USER_INPUT_BYTES) {
    const message = `The first input has at most ${MAX_USER_INPUT_BYTES} bytes. Put longer texts into a project file.`;
    return fail("E_PRECONDITION_FAILED", message);
  }
  const problem = budget && budgetProblem(budget);
  if (problem !== undefined) return notValid([{ path: "budget", message: problem }]);
  const story = "packageId" in parsed.data ? graphStateFault(parsed.data) : undefined;
  if (story !== undefined) return { ok: false, error: story };
  const { budget: _, ...counted } = parsed.data;
  const bytes = jsonBytes(counted);
  if (bytes > MAX_REQUEST_BYTES) {
    const message = `What a run is started with has at most ${MAX_REQUEST_BYTES} bytes, not ${bytes}. Put long values into a project file.`;
    return fail("E_WRITE_LIMIT", message);
  }
  return ok(input as RunInputs[W]); // the schema has said so
}

/** What a run hands to itself when it continues as new. Fault: `E_SCHEMA_VALIDATION`. */
export function validateContinuedInput<W extends RunWorkflow>(
  workflow: W,
  input: unknown,
): Result<RunInputs[W]> {
  const bounds = boundsProblem(input, CARRIED_BOUNDS);
  if (bounds !== undefined) return notValid(schemaErrors([bounds]));
  const parsed = continuedSchemas[workflow].safeParse(input);
  if (!parsed.success) return notValid(schemaErrors(parsed.error.issues));
  return ok(input as RunInputs[W]); // the schema has said so; what an earlier version has carried beside it stays
}

function graphStateFault({
  storyId,
  epicPrefix,
  parent,
}: Pick<GraphRunInput, "storyId" | "epicPrefix" | "parent">) {
  const opening = openingState(defined({ storyId, epicPrefix, graphState: parent?.graphState }));
  return opening.ok ? undefined : opening.error;
}

/** A directory or file that is named, but by no absolute path: it is none that a run may open. */
function isOfRoot({ code, path: place }: z.core.$ZodIssue): boolean {
  return (
    (code === "invalid_format" || code === "too_big") && place.length === 1 && ROOTS.has(String(place[0]))
  );
}

const ROOTS: ReadonlySet<string> = new Set([
  "projectRoot",
  "bundleRoot",
  "coreRoot",
  "agentFile",
  "outputRoot",
]);

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

const CARRIED_BY_NOBODY: SchemaError = {
  path: "carried",
  message: "is set by the run itself when it continues as new: leave it out",
};

const MAX_SAID = 3;

function notValid(errors: readonly SchemaError[], code: ErrorCode = "E_SCHEMA_VALIDATION"): Failed {
  const said = errors.slice(0, MAX_SAID).map(({ path: place, message }) => `${place || "input"}: ${message}`);
  const more = errors.length > MAX_SAID ? `; and ${errors.length - MAX_SAID} more` : "";
  const sentence = `What the run is started with is not valid. ${said.join("; ")}${more}. Correct it and start the run again.`;
  return fail(code, sentence, { errors });
}

/** What runs are started with as JSON Schemas, by workflow type. */
export function runInputJsonSchemas(): Readonly<Record<RunWorkflow, object>> {
  return {
    graphRun: jsonSchema("graphRun", GraphRunInputSchema),
    bundleRun: jsonSchema("bundleRun", BundleRunInputSchema),
  };
}

function jsonSchema(workflow: RunWorkflow, schema: z.ZodType): object {
  const { $schema, ...rest } = z.toJSONSchema(schema, { target: "draft-2020-12", io: "input" });
  const title = `What the workflow ${workflow} is started with`;
  return { $schema, $id: `urn:interlock:input:${workflow}`, title, ...rest };
}
