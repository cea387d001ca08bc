import { z } from "zod";
import type { JsonObject } from "../core/json.js";
import { runIdIn } from "../core/run/run-id.js";
import type { RunWorkflow } from "./names.js";

/**
 * What is signed where a store takes signed starts only (contracts §14): starts, and what a run is told. Nothing here is
 * cryptography; the store's secret signs a statement's canonical text.
 */

/** How many hexadecimal digits a signature's parts have: what makes it the only one of its kind, and its HMAC. */
export const signatureSchema = z
  .string()
  .regex(/^v1\.[0-9a-f]{32}\.[0-9a-f]{64}$/, "must be a signature that Interlock has made");

/** What the refusal of a start that is not signed, or wrongly, begins with. */
export const SIGNED_ONLY = "This store takes signed starts only";

/** Whether a run that has not been opened is one that a retry would refuse: it is signed by nobody who did not sign its start. */
export function isRefusedStart({ message }: { readonly message: string }): boolean {
  return message.startsWith(SIGNED_ONLY);
}

/** A start of one run, by one workflow. It is good for one execution. */
export interface StartStatement {
  readonly kind: "start";
  readonly workflow: RunWorkflow;
  readonly workflowId: string;
  /** Where neither the workflow id nor Temporal says it. */
  readonly runId?: string;
  /** The input, but for signature and run id. */
  readonly content: JsonObject;
}

/** What one execution of one workflow is told, once. */
export interface UpdateStatement {
  readonly kind: "update";
  readonly update: string;
  readonly workflowId: string;
  /** Temporal's id of the execution that is told: one that continues as new or is retried is another. */
  readonly executionId: string;
  readonly updateId: string;
  /** Of an answer: the visit and the turn of its question. */
  readonly question?: string;
  /** The argument, but for its signature. */
  readonly content: JsonObject;
}

/** What a store is asked for by somebody who has nothing but Temporal, for a while. */
export interface ReadStatement {
  readonly kind: "read";
  /** The activity. */
  readonly read: string;
  /** ISO time: it is not answered later. */
  readonly until: string;
  /** Question and page. */
  readonly content: JsonObject;
}

export type Statement = StartStatement | UpdateStatement | ReadStatement;

/**
 * Signs for a store, each time by another nonce; by the nonce of a signature what it has signed gets the same one again. Rejects where
 * its secret cannot be read.
 */
export type Sign = (statement: Statement, nonce?: string) => Promise<string>;

interface StartOf {
  readonly workflow: RunWorkflow;
  readonly workflowId: string;
  readonly input: object;
  /** The first of Temporal's run ids, where it is known: a run of that id is that workflow's. */
  readonly executionId?: string;
}

/** What is signed of a start. That a run id which follows from the workflow is named, or not, makes no difference. */
export function startStatement({ workflow, workflowId, input, executionId }: StartOf): StartStatement {
  const { signature: _, carried: _carried, runId, ...content } = input as JsonObject; // plain data
  const follows = runId === undefined || runId === runIdIn(workflowId) || runId === executionId;
  return {
    kind: "start",
    workflow,
    workflowId,
    ...(follows || typeof runId !== "string" ? {} : { runId }),
    content,
  };
}

/** What is signed of a question to a store. */
export function readStatement(
  read: string,
  until: string,
  { question, page }: { readonly question: JsonObject; readonly page?: object },
): ReadStatement {
  const content = { question, ...(page === undefined ? {} : { page: page as JsonObject }) }; // plain data
  return { kind: "read", read, until, content };
}

/** What is signed of an update. */
export function updateStatement(
  told: Omit<UpdateStatement, "kind" | "content">,
  argument: object = {},
): UpdateStatement {
  const { signature: _, ...content } = argument as JsonObject; // plain data
  return { kind: "update", ...told, content };
}
