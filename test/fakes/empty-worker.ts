import { fileURLToPath } from "node:url";
import { DefaultLogger, NativeConnection, Worker, bundleWorkflowCode } from "@temporalio/worker";

/** Takes the workflow tasks of a queue, and can do none: it has none of their workflows. Returns what stops it. */
export async function startEmptyWorker(address: string, taskQueue: string): Promise<() => Promise<void>> {
  const connection = await NativeConnection.connect({ address });
  const workflowsPath = fileURLToPath(new URL("no-workflows.cjs", import.meta.url));
  const worker = await Worker.create({
    connection,
    taskQueue,
    workflowBundle: await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger("ERROR") }),
  });
  const running = worker.run();
  return async () => {
    worker.shutdown();
    await running;
    await connection.close();
  };
}
