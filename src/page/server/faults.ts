import { WorkflowNotFoundError } from "@temporalio/client";
import { InterlockError } from "../../client/client.js";
import { ReadRefused } from "../../contract/reads.js";
import type { Fault, Result } from "../../core/errors.js";
import { excerpt } from "../../core/text.js";
import { INVALID_ARGUMENT, statusIn } from "../../client/temporal/grpc-status.js";
import { temporalWords, unreadyWords } from "../../client/temporal/temporal-words.js";

/** What a request is refused with: its status, and a code of contracts §15 or one of the page's own. */
export class PageRefusal extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.status = status;
    this.code = code;
  }
}

/** A request by another method than its address takes. */
export class WrongMethod extends PageRefusal {
  /** As in `Allow`: what it takes. */
  readonly allowed: string;

  constructor(wanted: string, allowed = wanted) {
    super(405, "REFUSED", `Use ${wanted}.`);
    this.allowed = allowed;
  }
}

const NOT_FOUND: readonly string[] = ["E_RUN_NOT_FOUND", "E_PACKAGE_NOT_FOUND", "ENOENT"];
const OF_THE_REQUEST: readonly string[] = ["E_SCHEMA_VALIDATION", "E_WRITE_LIMIT", "TOOL_ARGS_INVALID"];

/** What a store has answered. Throws its fault. */
export function answered<T>(result: Result<T>): T {
  if (result.ok) return result.value;
  throw ofFault(result.error);
}

function ofFault({ code, message, details }: Fault, cause?: unknown): PageRefusal {
  if (details?.["nobodyAnswers"] === true) return new PageRefusal(503, "NO_WORKER", message, cause);
  if (details?.["prunedAt"] !== undefined) return new PageRefusal(410, "RUN_PRUNED", message, cause);
  const status = NOT_FOUND.includes(code)
    ? 404
    : OF_THE_REQUEST.includes(code)
      ? 400
      : code === "E_INTERNAL"
        ? 500
        : 409;
  return new PageRefusal(status, code, message, cause);
}

/** What went wrong as the page is told of it. `then` is what becomes of it where Temporal does not answer. */
export function toRefusal(error: unknown, then = ASKED_AGAIN): PageRefusal {
  if (error instanceof PageRefusal) return error;
  if (error instanceof WorkflowNotFoundError) return notInTemporal("Temporal knows the run no more.", error);
  if (error instanceof InterlockError) {
    const { code, message } = error;
    return code === "E_RUN_NOT_FOUND" ? notInTemporal(message, error) : ofFault({ code, message }, error);
  }
  if (error instanceof ReadRefused) return ofFault(error.fault, error);
  const status = statusIn(error);
  if (status?.code === INVALID_ARGUMENT) {
    return new PageRefusal(400, "E_SCHEMA_VALIDATION", excerpt(status.details, 300));
  }
  if (temporalWords(error) !== undefined) return noTemporal(error, then);
  return new PageRefusal(
    500,
    "E_INTERNAL",
    "The page's server has failed at this. Its output says more.",
    error,
  );
}

/** Temporal answers, and nobody who has the run's store. */
export function noWorker(startWorker: string, cause: unknown): PageRefusal {
  return new PageRefusal(503, "NO_WORKER", `${NO_WORKER} ${THERE} ${startWorker}`, cause);
}

/** The same where the run was told something: Temporal may hand it on later, and nobody can take it back. */
export function noWorkerYet(startWorker: string, cause: unknown): PageRefusal {
  const words = "What you have sent may still be taken once one is there.";
  return new PageRefusal(503, "NO_WORKER", `${NO_WORKER} ${words} ${THERE} ${startWorker}`, cause);
}

const NO_WORKER = "No worker of the run's store answers.";
const THERE = "On the store's machine:";

/** Not a run that its store has nothing of: of that one its store has told. */
function notInTemporal(sentence: string, cause: unknown): PageRefusal {
  const why =
    "A run that was there has been deleted, or has ended longer ago than Temporal keeps runs. What its store still has, interlock runs lists there.";
  return new PageRefusal(404, "NOT_IN_TEMPORAL", `${sentence} ${why}`, cause);
}

const ASKED_AGAIN = "It is asked again.";
/** Nobody sends again what somebody has sent; it has an id, so that it happens once. */
export const NOT_TOLD_AGAIN = "What you have sent may not have been taken: send it again once it does.";

export function noTemporal(cause: unknown, then = ASKED_AGAIN): PageRefusal {
  const message = unreadyWords(cause) ?? `Temporal does not answer. ${then}`;
  return new PageRefusal(503, "NO_TEMPORAL", message, cause);
}
