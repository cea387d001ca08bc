import { workflowOfKind } from "../contract/names.js";
import type { StoreReader } from "../contract/reads.js";
import { type Sign, startStatement } from "../contract/signed.js";
import { workflowIdOf } from "../core/run/run-id.js";
import { excerpt } from "../core/text.js";
import { sealErrorIn } from "../seal/seal-error.js";
import type { SealKeys } from "../seal/seal-keys.js";
import { InterlockError } from "./temporal/interlock-error.js";
import type { RunHandle, RunReference } from "./run-handle.js";
import type { RunRequest } from "./runs/run-start.js";

/*
 * What a run was begun with, for whoever lets it go on or forks it. Whoever reaches Temporal can start a workflow in the place of a run that is
 * over: who can sign would sign for them what they have written there.
 */

/** As the run's store says it; undefined where it does not know the run. Rejects where nobody who has the store answers. */
async function requestInStore(reader: StoreReader, runId: string): Promise<RunRequest | undefined> {
  const known = await reader.ask("read.request", { run: runId });
  if (known.ok) return (known.value.request as unknown as RunRequest | null) ?? undefined; // as `run.open` was given it
  if (known.error.code === "E_RUN_NOT_FOUND") return undefined;
  throw new InterlockError(known.error);
}

/** As `requestInStore`, where the store is at hand: elsewhere nobody is asked before it is known whether something is to be signed. */
export async function requestAtHand(reader: StoreReader, runId: string): Promise<RunRequest | undefined> {
  return reader.isAtHand ? requestInStore(reader, runId) : undefined;
}

/**
 * What a store says of a sealed run is started by nobody without keys: it would stand in the history in plain. Who has keys to read with
 * alone has decided that. Throws `E_PRECONDITION_FAILED`.
 */
export function refuseInPlain({ input: { runId }, sealed }: RunRequest, keys: SealKeys | undefined): void {
  if (sealed !== true || keys !== undefined) return;
  const message = `Run ${runId} is sealed, and there is no key here: what it was started with would stand in its history in plain. Name the file with the keys in INTERLOCK_SEAL_KEYS_FILE (docs/sealed-histories.md).`;
  throw new InterlockError({ code: "E_PRECONDITION_FAILED", message });
}

interface BegunWith {
  readonly request: RunRequest;
  /** The run's store says so. */
  readonly isInStore: boolean;
}

/**
 * As its store has said it (`source`), or as Temporal says it, where nothing is to be signed or it was signed, else as the run's store does. Throws
 * `E_PRECONDITION_FAILED`: also for who lacks the key that it is sealed with, before anything of it is started in plain.
 */
export async function begunWith(
  handle: RunHandle,
  sign: Sign | undefined,
  source?: RunRequest,
): Promise<BegunWith> {
  const request = await handle.startedWith().catch((error: unknown) => {
    if (source === undefined || sealErrorIn(error) !== undefined) throw error;
    return source;
  });
  if (source !== undefined) return { request: source, isInStore: true };
  if (sign === undefined) return { request, isInStore: false };
  const { firstExecutionRunId } = await handle.address();
  if (await isSigned(sign, request, firstExecutionRunId)) return { request, isInStore: false };
  const { runId } = request.input;
  const known = await requestInStore(await handle.reader(), runId);
  if (known !== undefined) return { request: known, isInStore: true };
  const message = `Run ${runId} was started by nobody who can sign, and its store does not know it: what it was started with is not signed now. Start a run anew.`;
  throw new InterlockError({ code: "E_PRECONDITION_FAILED", message });
}

/** The same statement with the same nonce has the same signature. */
async function isSigned(
  sign: Sign,
  { kind, input, ...named }: RunRequest,
  executionId = input.runId,
): Promise<boolean> {
  const { signature = "" } = input;
  const [, nonce] = /^v1\.([0-9a-f]{32})\./.exec(signature) ?? [];
  if (nonce === undefined) return false;
  const workflow = workflowOfKind(kind);
  const { workflowId = workflowIdOf(input.runId) } = named;
  return (await sign(startStatement({ workflow, workflowId, input, executionId }), nonce)) === signature;
}

/** A run that cannot go on: under its workflow id another one was started since. */
export function succeeded({ runId, workflowId }: Pick<RunReference, "runId" | "workflowId">): InterlockError {
  const message = `Run ${runId} cannot go on: its workflow id "${excerpt(workflowId)}" is that of another run by now. Start it anew.`;
  return new InterlockError({ code: "E_PRECONDITION_FAILED", message });
}
