import { randomUUID } from "node:crypto";
import { Client, Connection } from "@temporalio/client";
import { GRAPH_RUN_WORKFLOW } from "../src/contract/names.js";
import { RUN_MEMO } from "../src/contract/run-memo.js";

const AT_A_TIME = 40;

/** Workflows with the attributes and memos of runs, which no worker works on. Every third waits for somebody. */
export async function plantRuns(address: string, count: number): Promise<void> {
  const connection = await Connection.connect({ address });
  const client = new Client({ connection });
  let next = 0;
  const start = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) {
      const runId = randomUUID();
      const phase = index % 3 === 0 ? "waiting-user" : "running";
      const since = new Date().toISOString();
      const question = "Which order do the shelves have?";
      await client.workflow.start(GRAPH_RUN_WORKFLOW, {
        workflowId: `run-${runId}`,
        taskQueue: "nobody",
        args: [],
        searchAttributes: {
          RunPhase: [phase],
          RunPackage: ["create-story-1.0.0"],
          RunProject: ["shop-0123456789ab"],
        },
        memo: {
          [RUN_MEMO]: {
            runId,
            phase,
            package: "create-story-1.0.0",
            project: "shop",
            node: "ask",
            question,
            since,
          },
        },
      });
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, start));
  await connection.close();
}

/** Ends a run at once, whatever it is at. */
export async function endRun(address: string, runId: string): Promise<void> {
  const connection = await Connection.connect({ address });
  await new Client({ connection }).workflow.getHandle(`run-${runId}`).terminate("the measurement is over");
  await connection.close();
}
