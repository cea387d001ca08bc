import type { WorkflowService } from "@temporalio/client";
import { isNotLetIn } from "./grpc-status.js";

/**
 * What Temporal answers whoever may change nothing in a namespace; undefined where it lets them, or says nothing of it. It is asked for
 * what takes a writer's rights and, of no run, does nothing.
 */
export async function writeRefusal(
  { workflowService }: { readonly workflowService: Pick<WorkflowService, "resetStickyTaskQueue"> },
  namespace: string,
): Promise<Error | undefined> {
  try {
    await workflowService.resetStickyTaskQueue({ namespace });
    return undefined;
  } catch (error) {
    return error instanceof Error && isNotLetIn(error) ? error : undefined;
  }
}
