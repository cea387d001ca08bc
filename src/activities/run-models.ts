import { hostname } from "node:os";
import { ApplicationFailure } from "@temporalio/activity";
import type { OpenRunInput } from "../contract/activities.js";
import { KEY_MISSING_FAILURE, MODEL_MISSING_FAILURE } from "../contract/names.js";
import { canonicalJson } from "../core/canonical-json.js";
import type { Budget } from "../core/run/budget.js";
import { type ModelRef, type RunModels, modelsOf } from "../core/run/run-model.js";
import { listSome } from "../core/text.js";
import type { ModelCatalog } from "../model/model-catalog.js";
import type { RunMetadata } from "../store/runs/run-metadata.js";
import type { Store } from "../store/store.js";
import { toApplicationFailure } from "./failures.js";

/** What the models of a run are chosen from. */
export interface ModelChoiceDeps {
  readonly store: Store;
  /** Absent where nothing is chosen: each turn then asks the worker's own. */
  readonly models?: ModelCatalog;
}

/** The worker cannot do it: the workflow leaves it to another one, whatever that takes. */
export function modelMissing(missing: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(left(missing), MODEL_MISSING_FAILURE);
}

/** An endpoint wants a key, and this worker has none: another one may have it, or none. */
export function keyMissing(missing: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(left(missing), KEY_MISSING_FAILURE);
}

function left(missing: string): string {
  return `The worker ${process.pid}@${hostname()} leaves this to another one: ${missing}.`;
}

/**
 * Which models a run uses from its beginning to its end, those of these agents among them: what it has kept, what the run above it uses,
 * what it is started with, or this worker's default. Undefined for a rehearsal. Throws for the workflow where this worker lacks one, and for the
 * operator where a cost budget meets a model without a price.
 */
export async function chooseModels(
  { store, models: catalog }: ModelChoiceDeps,
  { input, execution }: OpenRunInput,
  agentIds: readonly string[],
  known: RunMetadata | undefined,
): Promise<RunModels | undefined> {
  if (catalog === undefined || input.rehearsal !== undefined) return undefined;
  const kept = await keptModels(store, input, known);
  // A run that goes on as new is asked nothing: it was begun so, or by an earlier version. A completed one that is restored takes no turn.
  if (execution?.continued === true || known?.phase === "completed") return kept;
  const above = known === undefined && "parent" in input ? input.parent?.runId : undefined;
  const models = kept ?? catalog.choose(input.model, agentIds, await modelsIn(store, input, above));
  if ("missing" in models) throw modelMissing(models.missing);
  for (const agentId of agentIds) {
    const [first] = modelsOf(models, agentId);
    const reached = first && catalog.reachRef(first, agentId);
    if (reached !== undefined && "missing" in reached) throw modelMissing(reached.missing);
  }
  refuseUnpriced(catalog, models, input.budget);
  return models;
}

/** Those of the run, or of the one that it is forked from: unless another model is wanted now than was then. */
async function keptModels(
  store: Store,
  input: OpenRunInput["input"],
  known: RunMetadata | undefined,
): Promise<RunModels | undefined> {
  if (known !== undefined) {
    return keptBy(store, known, input);
  }
  const fork = "fork" in input ? input.fork : undefined;
  return modelsIn(store, input, fork?.runId);
}

/** Those of another run, unless it was started with another model than this one. */
async function modelsIn(
  store: Store,
  input: OpenRunInput["input"],
  runId: string | undefined,
): Promise<RunModels | undefined> {
  if (runId === undefined) return undefined;
  const found = await store.runs.findRun(runId);
  return found.ok ? keptBy(store, found.value, input) : undefined;
}

/** The models that a run has kept, where the model that it was started with is the one that is wanted now. */
async function keptBy(
  store: Store,
  { projectId, runId }: RunMetadata,
  { model = {} }: OpenRunInput["input"],
): Promise<RunModels | undefined> {
  const files = await store.runs.openFiles(projectId, runId);
  const kept = files.ok ? await files.value.request.read() : undefined;
  return canonicalJson(kept?.input["model"] ?? {}) === canonicalJson(model) ? kept?.models : undefined;
}

/** Before anything is made: a turn of a model without a price could not be counted. */
function refuseUnpriced(catalog: ModelCatalog, models: RunModels, budget: Budget = {}): void {
  if (budget.run?.cost === undefined && budget.node?.cost === undefined) return;
  const all: readonly ModelRef[] = [models.chain, ...(models.agents ?? []).map(({ chain }) => chain)].flat();
  const unpriced = all.filter((ref) => catalog.priceOf(ref) === undefined);
  const names = [...new Set(unpriced.map(({ name, model }) => name ?? model))];
  if (names.length === 0) return;
  throw toApplicationFailure({ code: "E_PRECONDITION_FAILED", message: unpricedSentence(names) });
}

/** What is said of models without a price in a run with a cost budget. */
export function unpricedSentence(names: readonly string[]): string {
  const [what, them] =
    names.length === 1 ? [`the model ${names[0]} has`, "it"] : [`the models ${listSome(names)} have`, "them"];
  return `The run has a cost budget, but ${what} no price. Name ${them} under "prices" in the settings file; a worker that runs reads it when it is started again.`;
}
