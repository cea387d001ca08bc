import { randomUUID } from "node:crypto";
import { z } from "zod";
import { type Failed, type Result, fail, ok } from "../../core/errors.js";
import type { JsonObject } from "../../core/json.js";
import { isRunId } from "../../core/run/run-id.js";
import { schemaErrors } from "../../core/schema-errors.js";

/** What a new run is made from (contracts §4). */
export interface CreateRunRequest {
  readonly projectRoot: string;
  readonly packageId: string;
  readonly workflowRef?: string;
  readonly activeAgentId: string;
  /** A UUID in lower case; made when absent. The same id again is the same run. */
  readonly runId?: string;
  /** The Temporal workflow that the run belongs to; absent means `run-<runId>`. */
  readonly workflowId?: string;
  /** The run that it is a subworkflow's run of. */
  readonly parentRunId?: string;
  /** What the variables of the document are at its beginning, where it begins as the package has it. */
  readonly variables?: JsonObject;
  /** The run begins with another run's document, and with some variables set. */
  readonly begin?: RunBeginning;
}

/** A state document of the same workflow, as it stood, and what is changed in it. */
export interface RunBeginning {
  readonly from: { readonly runId: string; readonly visit: number };
  readonly document: Uint8Array;
  readonly variables: JsonObject;
}

/** What a program without types may leave out or take for another. */
const named = z.object({
  projectRoot: z.string(),
  packageId: z.string(),
  activeAgentId: z.string(),
  workflowRef: z.string().optional(),
});

/** What keeps a run from being made of this. Fault: `E_SCHEMA_VALIDATION`. */
export function problemOf(request: CreateRunRequest): Failed | undefined {
  const [first] = schemaErrors(named.safeParse(request).error?.issues ?? []);
  if (first === undefined) return undefined;
  const place = first.path || "the request";
  return fail(
    "E_SCHEMA_VALIDATION",
    `What the run is created with is not valid. ${place}: ${first.message}.`,
  );
}

/** The id that is asked for, or a new one. Fault: `E_RUN_NOT_FOUND`. */
export function idOf({ runId = randomUUID() }: Pick<CreateRunRequest, "runId">): Result<string> {
  return isRunId(runId) ? ok(runId) : fail("E_RUN_NOT_FOUND", "A run id is a UUID in lower case.");
}
