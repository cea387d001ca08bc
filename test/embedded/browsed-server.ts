import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, Connection } from "@temporalio/client";
import { acquireEmbeddedServer } from "../../src/embedded/server.js";
import { testCache } from "../setup/run-folder.js";
import { type Listener, listenersOf, processesOfServer } from "./listeners.js";

/** An embedded server of a store of its own, on which one workflow waits for a worker that never comes. */
export async function openBrowsedServer(workflowId: string) {
  const storeDir = await mkdtemp(join(tmpdir(), "interlock-web-"));
  const server = await acquireEmbeddedServer({
    storeDir,
    cacheDir: testCache(),
    pathVariable: process.env["PATH"] ?? "",
    environment: process.env,
    searchAttributes: {},
  });
  const connection = await Connection.connect({ address: server.address });
  const client = new Client({ connection });
  await client.workflow.start("anything", { taskQueue: "nobody", workflowId });
  return {
    server,
    client,
    /** Every TCP port that its processes listen on. */
    listeners: async (): Promise<readonly Listener[]> =>
      listenersOf(await processesOfServer(server.pid, storeDir)),
    async close() {
      await connection.close();
      await server.release();
      await rm(storeDir, { recursive: true, force: true });
    },
  };
}
