import type { Client } from "@temporalio/client";
import type { PayloadReader } from "./payloads.js";

/** What of Temporal a listing needs. */
export type Lister = Pick<Client, "workflowService"> & PayloadReader;

/** An execution as Temporal's service lists it. */
export type RawExecution = Awaited<
  ReturnType<Client["workflowService"]["listWorkflowExecutions"]>
>["executions"][number];

/**
 * The executions that a query finds, newest first. The SDK's own listing ends at the first memo that it cannot read, and anybody may
 * start a workflow with such a one. Throws what Temporal says of a query that it does not take.
 */
export async function* listExecutions(
  { workflowService, options: { namespace } }: Lister,
  query: string,
  pageSize: number,
): AsyncGenerator<RawExecution> {
  let nextPageToken: Uint8Array = new Uint8Array();
  do {
    const page = await workflowService.listWorkflowExecutions({ namespace, query, pageSize, nextPageToken });
    yield* page.executions;
    ({ nextPageToken } = page);
  } while (nextPageToken.length > 0);
}
