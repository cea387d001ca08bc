// The health check of the worker's container: does a worker of this host poll the store's task queue? Exit code 0
// when one does; otherwise 1, with a sentence on standard error that `docker inspect` shows.
import { hostname } from "node:os";
import { InterlockClient } from "../dist/client/client.js";
import { loadConfig } from "../dist/config.js";
import { openStore } from "../dist/store/store.js";

/** A poll lasts a minute at most before the next one is sent. */
const SILENCE_MS = 150_000;

/** A worker's identity is <process id>@<host name>/<where that id is known>. */
function hostOf(identity) {
  return identity.replace(/^\d+@/, "").replace(/\/\w+$/, "");
}

const { storeDir, taskQueue: defaultQueue, temporal } = loadConfig();
if (temporal === undefined) throw new Error("No Temporal is configured. Set TEMPORAL_ADDRESS.");
const { taskQueue } = await openStore(storeDir, defaultQueue);
const namespace = temporal.namespace ?? "default";
const client = await InterlockClient.connect({
  connection: temporal.connectionOptions,
  namespace,
  taskQueue,
});
try {
  // Who polls for workflow tasks: that is what no type means.
  const queue = { namespace, taskQueue: { name: taskQueue } };
  const { pollers } = await client.temporal.workflowService.describeTaskQueue(queue);
  const own = pollers.filter(({ identity }) => hostOf(identity ?? "") === hostname());
  const lastSeenMs = own.map(({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) * 1_000);
  if (Math.max(0, ...lastSeenMs) < Date.now() - SILENCE_MS) {
    throw new Error(`No worker of ${hostname()} polls the task queue "${taskQueue}".`);
  }
} finally {
  await client.close();
}
