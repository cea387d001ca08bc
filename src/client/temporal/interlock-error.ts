import {
  QueryNotRegisteredError,
  QueryRejectedError,
  ServiceError,
  WorkflowFailedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
  isGrpcServiceError,
} from "@temporalio/client";
import { SEALED_FOR, SEALED_WITH } from "../../contract/sealed.js";
import { sealErrorIn } from "../../seal/seal-error.js";
import { ERROR_CODES, type Fault } from "../../core/errors.js";
import { excerpt } from "../../core/text.js";
import { CANCELLED, CONNECTION_CLOSED, NOT_FOUND, statusIn } from "./grpc-status.js";
import { isNoNamespace } from "./temporal-words.js";
import { wordsOf } from "../../core/system-code.js";

/** A request that was refused, or a run that failed: `code` is one of contracts §15. */
export class InterlockError extends Error {
  readonly code: Fault["code"];

  constructor(fault: Fault, cause?: unknown) {
    super(fault.message, { cause });
    this.name = "InterlockError";
    this.code = fault.code;
  }
}

/** The client has thrown it, for this reason. */
export function hasCode(error: unknown, code: Fault["code"]): error is InterlockError {
  return error instanceof InterlockError && error.code === code;
}

/** What a program without types hands in and the client cannot take. */
export function notValid(why: string): InterlockError {
  return new InterlockError({
    code: "E_SCHEMA_VALIDATION",
    message: `The client cannot be asked that: ${why}.`,
  });
}

/** What has fields, as it is. Throws `E_SCHEMA_VALIDATION` for anything else. */
export function fieldsIn<T extends object>(what: string, value: T): T {
  const given: unknown = value;
  if (typeof given === "object" && given !== null) return value;
  throw notValid(`${what} must be an object`);
}

/**
 * What is sent, as JSON; what is undefined is left out. Throws `E_SCHEMA_VALIDATION` for what JSON cannot hold: of a function it would
 * say nothing, and send the rest.
 */
export function jsonOf(what: string, value: object): string {
  try {
    return JSON.stringify(value, (_key, each: unknown) => {
      if (typeof each === "function" || typeof each === "symbol")
        throw new TypeError(`it holds a ${typeof each}`);
      return each;
    });
  } catch (error) {
    throw notValid(`${what} must be plain JSON: ${wordsOf(error)}`);
  }
}

/** More than Temporal takes of an id. */
const MAX_ID_BYTES = 1000;

/**
 * The id of something that is told, as it is. Throws `E_SCHEMA_VALIDATION` for what Temporal would put an id of its own in the place of:
 * told twice, it would be two.
 */
export function idIn(name: string, id: string | undefined): string | undefined {
  const given: unknown = id;
  if (given === undefined) return undefined;
  const isId = typeof given === "string" && given !== "" && given.isWellFormed();
  if (isId && Buffer.byteLength(given) <= MAX_ID_BYTES) return given;
  throw notValid(`${name} must be a text of at most ${MAX_ID_BYTES} bytes that is not empty`);
}

/** As `fieldsIn`, of something that has these fields and no others. */
export function knownFieldsIn<T extends object>(
  what: string,
  value: T,
  known: Readonly<Record<keyof T, true>>,
): T {
  const foreign = Object.keys(fieldsIn(what, value)).find((name) => !Object.hasOwn(known, name));
  if (foreign === undefined) return value;
  throw notValid(`${what} has no field ${excerpt(foreign)}, only ${Object.keys(known).join(", ")}`);
}

/** What Temporal says, as contracts §15 has it; what is no word of Temporal's stays as it is. */
export function toInterlockError(error: unknown, runId: string): unknown {
  const unserved = unservedIn(error);
  if (unserved !== undefined) return unserved;
  if (isNotFound(error) && !isNoNamespace(error)) {
    return new InterlockError(
      { code: "E_RUN_NOT_FOUND", message: `Temporal knows no run ${excerpt(runId)}.` },
      error,
    );
  }
  if (error instanceof WorkflowFailedError || error instanceof WorkflowUpdateFailedError)
    return saidByRun(error);
  if (isHeld(error)) return heldByTemporal(runId, error);
  const untold = error instanceof QueryNotRegisteredError ? untoldWords(error, runId) : undefined;
  const message = untold ?? sealErrorIn(error)?.message;
  return message === undefined
    ? error
    : new InterlockError({ code: "E_PRECONDITION_FAILED", message }, error);
}

/** A connection of ours that was closed meanwhile; an update that has no answer, for which Temporal's client has a class of its own. */
function unservedIn(error: unknown): ServiceError | undefined {
  const isOfUpdate = error instanceof WorkflowUpdateRPCTimeoutOrCancelledError;
  if (!isOfUpdate && !(error instanceof ServiceError)) return undefined;
  const { cause } = error;
  if (!(cause instanceof Error)) return undefined;
  const status = statusIn(cause);
  if (status?.code === CANCELLED && status.details === CONNECTION_CLOSED)
    return new ServiceError(CONNECTION_CLOSED, { cause });
  return isOfUpdate ? new ServiceError("Failed to update Workflow", { cause }) : undefined;
}

/** What a run has failed with, or refused an update with. */
function saidByRun(error: WorkflowFailedError | WorkflowUpdateFailedError): InterlockError {
  const cause: unknown = error.cause;
  const type = typeof cause === "object" && cause !== null && "type" in cause ? cause.type : undefined;
  const code = ERROR_CODES.find((known) => known === type) ?? "ENGINE_ABORTED";
  const message = cause instanceof Error ? cause.message : error.message;
  return new InterlockError({ code, message }, error);
}

/** Of a workflow that is paused, Temporal asks nothing and tells it nothing. */
function isHeld(error: unknown): boolean {
  if (error instanceof QueryRejectedError) return true; // by no condition of ours
  return isSaid(error, "Workflow is paused");
}

/** Why a run neither says where it stands nor hears anything, though its workers are there. */
export function heldByTemporal(runId: string, cause?: unknown): InterlockError {
  const message = `Run ${runId} is paused in Temporal itself, and neither answers nor hears anything. Let it go on there, with temporal workflow unpause or in its Web UI. Nothing is lost.`;
  return new InterlockError({ code: "E_PRECONDITION_FAILED", message }, cause);
}

/** What Temporal's SDK says where a run was asked of a worker whose code does not decide as its history says. */
const DEPARTURE = /\[TMPRL1100\]|nondeterminism/i;

/** What Temporal shows in the place of words that are sealed. Of a query that has failed its client hands over nothing else. */
const SEALED_WORDS = "Encoded failure";

/** Why the worker that was asked cannot say where a run stands; undefined where that is not known. */
function untoldWords({ message }: QueryNotRegisteredError, runId: string): string | undefined {
  if (message === SEALED_WORDS) {
    return `The worker that was asked cannot tell where run ${runId} stands, and has sealed why. Either it lacks a key that has sealed the history (interlock doctor, with its settings, names it), or a worker of another version of Interlock has decided what it does not know. Give all workers of the queue the same keys and the newest version, then ask again. Nothing is lost.`;
  }
  if ([SEALED_WITH, SEALED_FOR].some((words) => message.includes(`${words} `))) {
    return `The worker that was asked cannot open the history of run ${runId}. It says: "${message}" Give all workers of the queue the key, then ask again. Nothing is lost.`;
  }
  if (!DEPARTURE.test(message)) return undefined;
  return `The worker that was asked cannot tell where run ${runId} stands: a worker of another version of Interlock has decided what it does not know, most likely a newer one. Update all workers of the queue, then ask again. Nothing is lost.`;
}

/** A run cannot say where it stands: Temporal holds it, or the worker that was asked does not follow its history or cannot open it. */
export function isUnfollowed(error: unknown): error is InterlockError {
  if (!(error instanceof InterlockError)) return false;
  return error.cause instanceof QueryNotRegisteredError || error.cause instanceof QueryRejectedError;
}

/** Temporal knows nothing of what was asked for, or it has ended. */
export function isNotFound(error: unknown): boolean {
  if (error instanceof WorkflowNotFoundError) return true;
  const code: number | undefined = isGrpcServiceError(error) ? error.code : undefined;
  return code === NOT_FOUND;
}

/** Whoever started the run gave it a delay, which is not over. */
export function isNotBegun(error: unknown): boolean {
  return isSaid(error, "Workflow task is not scheduled yet");
}

/** Temporal takes no update and asks no query while a workflow task is being tried again and again. */
export function isBetweenWorkers(error: unknown): boolean {
  return isSaid(error, "Workflow Task in failed state");
}

/** The worker that was told has not brought its task to an end: its code, or what it was to tell Temporal, does not fit. */
export function isTaskFailed(error: unknown): boolean {
  return isSaid(error, "unexpected workflow task failure");
}

/**
 * Temporal takes no update while a task that would end the run, or let it continue as new, is tried again. Its client has asked for a
 * minute by then.
 */
export function isClosing(error: unknown): boolean {
  return isSaid(error, "workflow is closing");
}

function isSaid(error: unknown, words: string): boolean {
  return statusIn(error)?.details.includes(words) === true;
}
