import { randomUUID } from "node:crypto";
import { Client } from "@temporalio/client";
import { expect, inject, onTestFinished, test } from "vitest";
import { connect } from "../../src/client/temporal/connect.js";
import { freePort } from "../fakes/free-port.js";
import { openGateway } from "../fakes/gateway.js";

test("an address that refuses is asked again for a moment, or as long as the caller says, and then named with the reason", async () => {
  const port = await freePort();
  const address = `127.0.0.1:${port}`;
  await expect(connect({ address })).rejects.toThrow(`connect ECONNREFUSED ${address}`);
  const connecting = connect({ address, connectTimeout: "1 minute" });
  const gateway = await openGateway(inject("temporalAddress"), port);
  onTestFinished(() => gateway.close());
  const connection = await connecting;
  await expect(connection.workflowService.getSystemInfo({})).resolves.toBeDefined();
  await connection.close();
});

test("a connection that is closed while its requests are tried again lets them end", async () => {
  const gateway = await openGateway(inject("temporalAddress"));
  const connection = await connect({ address: gateway.address });
  // The server goes away: what is asked is tried again and again.
  gateway.close();
  const asked = connection.workflowService.getSystemInfo({}).catch((error: unknown) => error);
  await new Promise((resolve) => setImmediate(resolve));
  await connection.close();
  expect(String(await asked)).toContain("The connection has been closed");
});

test("what is asked of a connection that has been closed says so", async () => {
  const connection = await connect({ address: inject("temporalAddress") });
  await connection.close();
  const asked = await connection.workflowService.getSystemInfo({}).catch((error: unknown) => error);
  expect(String(asked)).toContain("The connection has been closed");
});

test("a connection that is closed while an answer is waited for ends the waiting", async () => {
  const connection = await connect({ address: inject("temporalAddress") });
  const client = new Client({ connection });
  const options = { taskQueue: "nobody", workflowId: `closing-${randomUUID()}`, args: [] };
  const { workflowId } = await client.workflow.start("nothing", options);
  const asked = client.workflow.getHandle(workflowId).result();
  await new Promise((resolve) => setImmediate(resolve));
  await connection.close();
  // By itself Temporal answers after twenty seconds.
  await expect(asked).rejects.toMatchObject({ cause: { details: "The connection has been closed." } });
}, 10_000);
