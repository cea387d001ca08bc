import { expect, test } from "vitest";
import { checkWorkerConnection } from "../../src/doctor/check-worker-connection.js";
import { tlsServer } from "../fakes/tls-server.js";

test("a certificate that only workers do not accept is found before one is started", async () => {
  expect(await checkWorkerConnection(await tlsServer({ by: "itself" }), 60_000)).toEqual({
    name: "a worker's TLS",
    status: "failed",
    found: expect.stringMatching(
      /^A worker does not accept Temporal's certificate \(CaUsedAsEndEntity\)/,
    ) as string,
    remedy: expect.stringMatching(/^Have it renewed, or name its authority/) as string,
  });
});
