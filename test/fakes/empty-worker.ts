import { fileURLToPath } from "node:url";
import { DefaultLogger, NativeConnection, Worker, bundleWorkflowCode } from "@temporalio/worker";

/** Takes the workflow tasks of a queue, and can do none: it has none of their workflows. Returns what stops it. */
export function startEmptyWorker(address: string, taskQueue: string): Promise<() => Promise<void>> {
  return startWorkerOf("no-workflows.cjs", address, taskQueue);
}

/** Runs workflows of a run's type that are none of Interlock's (`lying-workflows.cjs`). Returns what stops it. */
export function startLyingWorker(address: string, taskQueue: string): Promise<() => Promise<void>> {
  return startWorkerOf("lying-workflows.cjs", address, taskQueue);
}

async function startWorkerOf(
  workflows: string,
  address: string,
  taskQueue: string,
): Promise<() => Promise<void>> {
  const connection = await NativeConnection.connect({ address });
  const workflowsPath = fileURLToPath(new URL(workflows, import.meta.url));
  const worker = await Worker.create({
    connection,
    taskQueue,
    workflowBundle: await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger("ERROR") }),
  });
  const running = worker.run();
  const stop = async (): Promise<void> => {
    worker.shutdown();
    await running;
    await connection.close();
  };
  let stopped: Promise<void> | undefined;
  return () => (stopped ??= stop());
}
