import type { OpenRunInput, VerifyInput } from "../contract/activities.js";
import { SIGNED_ONLY, startStatement } from "../contract/signed.js";
import { workflowOfKind } from "../contract/names.js";
import { type Fault, fail } from "../core/errors.js";
import type { StartSignatures } from "../store/start-signatures.js";
import type { Store } from "../store/store.js";
import { toApplicationFailure, unwrap } from "./failures.js";
import type { Asked } from "./run-scope.js";

/** Whether runs have to be signed is the worker's to say: there are signatures only where they have to. */
export interface SigningDeps {
  readonly store: Store;
  readonly signatures?: StartSignatures;
}

/**
 * Whether the run is a signed one; false on a worker that takes all starts. Refuses, for good, what is not signed with the
 * store's secret, or was signed for something else. Nothing has been read or touched before, but what was started so far. What
 * a signed run hands to itself when it continues as new has no signature: the run's folder says that it is one.
 */
export async function admitStart(
  { store, signatures }: SigningDeps,
  request: OpenRunInput,
): Promise<boolean> {
  if (signatures === undefined) return false;
  const { kind, input, execution } = request;
  if (execution?.workflowId === undefined) throw unsigned();
  // A reset execution is given what the one before was: that is Temporal's, as cancelling is.
  const { id, resetOf: executionId = id, workflowId } = execution;
  if (execution.continued === true) {
    if (await isSigned(store, input.runId)) return true;
    throw unsigned();
  }
  const workflow = workflowOfKind(kind);
  const statement = startStatement({ workflow, workflowId, input, executionId });
  if (await signatures.admits(statement, input.signature, executionId)) return true;
  throw input.signature === undefined ? unsigned() : wronglySigned();
}

/** Whether a run was begun, or has gone on last, with a signature. */
async function isSigned(store: Store, runId: string): Promise<boolean> {
  const known = await store.runs.findPlaced(runId);
  if (known === undefined) return false;
  const { request } = unwrap(await store.runs.openFiles(known.projectId, runId));
  return (await request.read())?.signed === true;
}

/**
 * Refuses to go on with a run that was begun without a signature, by a worker that took all starts then: it fails, and a signed
 * retry lets it go on. That it fails is written down.
 */
export function refuseUnsigned({ signatures }: SigningDeps, { run, phase }: Asked): void {
  if (signatures === undefined || run === undefined || run.signed === true || phase === "failed") return;
  const sentence = `Run ${run.runId} was started without a signature, and this worker takes signed starts only. Let it go on where the store is, with: interlock retry ${run.runId}`;
  throw toApplicationFailure(fail("E_PRECONDITION_FAILED", sentence).error);
}

/** On a worker that takes all starts, whatever is told is valid. */
export async function verifyUpdate({ signatures }: SigningDeps, { statement, signature }: VerifyInput) {
  return { valid: signatures === undefined || (await signatures.verifies({ ...statement }, signature)) };
}

function unsigned() {
  return toApplicationFailure(refusal("is not signed"));
}

function wronglySigned() {
  return toApplicationFailure(
    refusal(
      "is not signed for this workflow id with this input by the store's secret of now, or its signature has started a run before",
    ),
  );
}

function refusal(what: string): Fault {
  const sentence = `${SIGNED_ONLY}, and this one ${what}. Start runs with interlock run where the store is, or send what interlock run --print-input prints.`;
  return fail("E_PRECONDITION_FAILED", sentence).error;
}
