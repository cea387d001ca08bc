import { z } from "zod";
import { askedBudgetSchema, amountsSchema } from "../../contract/run-input.js";
import { type JsonBounds, boundsProblem } from "../../core/json-bounds.js";
import { MAX_MODELS_IN_CHAIN, MAX_USER_INPUT_BYTES } from "../../core/run/limits.js";
import { RUN_PHASES } from "../../core/run/phase.js";
import { isRunId } from "../../core/run/run-id.js";
import { schemaErrors } from "../../core/schema-errors.js";
import { sha256Schema } from "../../core/sha256.js";
import { MAX_ENTRIES_PAGE, MAX_RUNS_PAGE, type RouteName, type RouteRequest } from "../api.js";
import { PageRefusal } from "./faults.js";

/** What the page is asked, parsed once. What is a start or an update is checked again by the client, as every one is. */

const word = z.string().min(1).max(1_000);
const path = z.string().min(1).max(4_096);
const words = z.string().max(MAX_USER_INPUT_BYTES);
const run = { run: word };
const newRunId = z.string().refine(isRunId, "must be a UUID in lower case");

/** A whole number, as a query spells it. */
function whole(min: number, max: number) {
  return z
    .string()
    .regex(/^-?\d{1,9}$/, "must be a whole number")
    .transform(Number)
    .pipe(z.int().min(min).max(max));
}
const visit = whole(0, 999_999_999);
const lines = whole(0, 999_999_999);

const narrowing = { package: word.exactOptional(), project: word.exactOptional() };
const phases = z
  .string()
  .regex(
    new RegExp(`^(?:${RUN_PHASES.join("|")})(?:,(?:${RUN_PHASES.join("|")})){0,${RUN_PHASES.length - 1}}$`),
    "must be phases of runs, separated by commas",
  );
const model = z.strictObject({
  name: word.exactOptional(),
  model: word.exactOptional(),
  baseUrl: z.string().max(2_000).exactOptional(),
  fallbacks: z
    .array(word)
    .max(MAX_MODELS_IN_CHAIN - 1)
    .exactOptional(),
});
const store = { taskQueue: word };

const REQUESTS: { readonly [N in RouteName]: z.ZodType<RouteRequest<N>> } = {
  session: z.strictObject({}),
  runs: z.strictObject({
    ...narrowing,
    phase: phases.exactOptional(),
    since: z.iso.datetime().exactOptional(),
    before: z.iso.datetime().exactOptional(),
    limit: whole(1, MAX_RUNS_PAGE).exactOptional(),
  }),
  questions: z.strictObject(narrowing),
  run: z.strictObject(run),
  standing: z.strictObject(run),
  graph: z.strictObject(run),
  bundle: z.strictObject(run),
  events: z.strictObject({
    ...run,
    seq: lines.exactOptional(),
    tail: whole(1, 1_000).exactOptional(),
    offset: lines.exactOptional(),
    lines: lines.exactOptional(),
  }),
  conversation: z.strictObject({
    ...run,
    name: word,
    from: whole(-999_999_999, 999_999_999).exactOptional(),
    limit: whole(1, MAX_ENTRIES_PAGE).exactOptional(),
    reasoning: z
      .enum(["true", "false"])
      .transform((text) => text === "true")
      .exactOptional(),
  }),
  call: z.strictObject({ ...run, name: word, id: word }),
  writes: z.strictObject(run),
  content: z.strictObject({ ...run, sha256: sha256Schema }),
  artifact: z.strictObject({ ...run, path }),
  document: z.strictObject({ ...run, visit: visit.exactOptional() }),
  graphState: z.strictObject({ ...run, visit: visit.exactOptional() }),
  forkPoint: z.strictObject({ ...run, visit }),
  stores: z.strictObject({}),
  packages: z.strictObject(store),
  package: z.strictObject({ ...store, packageId: word }),
  answer: z.strictObject({
    ...run,
    nodeId: z.string().min(1).max(2_000),
    question: z.string().regex(/^\d{1,9}\.\d{1,9}$/, "must be a question's visit and turn, as in 2.1"),
    text: words.refine((text) => text.trim() !== "", "must not be empty"),
  }),
  retry: z.strictObject({ ...run, model: model.exactOptional() }),
  pause: z.strictObject(run),
  resume: z.strictObject(run),
  cancel: z.strictObject(run),
  finish: z.strictObject(run),
  raise: z.strictObject({
    ...run,
    scope: z.enum(["run", "node"]).exactOptional(),
    add: amountsSchema,
    raiseId: newRunId,
  }),
  fork: z.strictObject({
    ...run,
    visit: z.int().min(0),
    newRunId,
    set: z.record(z.string().max(300), z.json()).exactOptional(),
    model: model.exactOptional(),
    allowMissing: z.boolean().exactOptional(),
  }),
  start: z.strictObject({
    ...store,
    newRunId,
    packageId: word,
    workflowRef: word.exactOptional(),
    agentId: word.exactOptional(),
    projectRoot: path,
    input: words.exactOptional(),
    autopilot: z.boolean().exactOptional(),
    evaluateConditions: z.boolean().exactOptional(),
    storyId: word.exactOptional(),
    budget: askedBudgetSchema.exactOptional(),
    model: model.exactOptional(),
    rehearse: z.strictObject({ branches: z.boolean() }).exactOptional(),
  }),
};

/** What the stream of a run is asked. */
const liveSchema = z.strictObject({ ...run, seq: lines.exactOptional() });

/** As of what a run is started with: a schema that follows what is nested without end overflows the stack. */
const BOUNDS: JsonBounds = { maxDepth: 100, maxValues: 20_000 };

/** Throws a `PageRefusal` that names the field. */
export function parseRequest<N extends RouteName>(name: N, asked: unknown): RouteRequest<N> {
  return parsed(REQUESTS[name], asked);
}

export function parseLive(asked: unknown): z.infer<typeof liveSchema> {
  return parsed(liveSchema, asked);
}

function parsed<T>(schema: z.ZodType<T>, asked: unknown): T {
  const unbounded = boundsProblem(asked, BOUNDS);
  if (unbounded !== undefined) throw notValid([unbounded]);
  const result = schema.safeParse(asked);
  if (result.success) return result.data;
  throw notValid(result.error.issues);
}

function notValid(issues: Parameters<typeof schemaErrors>[0]): PageRefusal {
  const [first] = schemaErrors(issues);
  const place = first?.path || "the request";
  return new PageRefusal(400, "E_SCHEMA_VALIDATION", `${place}: ${first?.message ?? "is not valid"}.`);
}

/** A query as a record. Throws a `PageRefusal` for a name that is there twice. */
export function queryOf(query: URLSearchParams): Record<string, string> {
  const entries = [...query];
  if (new Set(entries.map(([name]) => name)).size !== entries.length) {
    throw new PageRefusal(400, "E_SCHEMA_VALIDATION", "The query names something twice.");
  }
  return Object.fromEntries(entries);
}
