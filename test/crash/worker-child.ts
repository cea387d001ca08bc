import { DefaultLogger, Runtime } from "@temporalio/worker";
import { loadConfig } from "../../src/config.js";
import { startWorker } from "../../src/worker.js";

/** A worker in a process of its own, configured by its environment. It ends with its parent. */
process.once("disconnect", () => process.exit(0));
Runtime.install({ logger: new DefaultLogger("ERROR"), shutdownSignals: [] });
const config = loadConfig();
const connection = config.temporal?.connectionOptions ?? {};
await startWorker(config, { connection, namespace: "default" });
process.send?.("polling");
