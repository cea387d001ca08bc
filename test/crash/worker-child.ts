import { DefaultLogger, Runtime } from "@temporalio/worker";
import { loadConfig } from "../../src/config.js";
import { startWorker } from "../../src/worker.js";

/** A worker in a process of its own, configured by its environment. It ends with its parent, or in order when told to. */
async function main(): Promise<void> {
  process.once("disconnect", () => process.exit(0));
  Runtime.install({ logger: new DefaultLogger("ERROR"), shutdownSignals: [] });
  const config = loadConfig();
  const connection = config.temporal?.connectionOptions ?? {};
  const worker = await startWorker(config, { connection, namespace: "default" });
  process.once("message", () => void worker.shutdown().then(() => process.exit(0)));
  process.send?.("polling");
}

void main();
