import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:tls";
import { join } from "node:path";
import { promisify } from "node:util";
import { NativeConnection, type NativeConnectionOptions } from "@temporalio/worker";
import { expect, test } from "vitest";
import { unexpected } from "../../../src/cli/session/unexpected.js";
import { type GrpcAnswer, answeringTemporal } from "../../fakes/answering-temporal.js";
import { freePort } from "../../fakes/free-port.js";
import { listen } from "../../fakes/listen.js";
import { temporaryDirectory } from "../../fakes/package-fixture.js";
import { quietRuntime } from "../../fakes/quiet-runtime.js";

/** What a command says of a worker that comes to no connection. */
async function saidOf(options: NativeConnectionOptions): Promise<string> {
  quietRuntime();
  const connecting = NativeConnection.connect(options).then(() => "It was connected.");
  return connecting.catch((error: unknown) => unexpected(error));
}

const run = promisify(execFile);
const ownKey = ["req", "-x509", "-newkey", "rsa:2048", "-noenc"];
const LOCALHOST = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];

/** A server with a certificate of an authority, or with one that is its own; `options` are for the worker that trusts it. */
async function tlsServer({ by }: { readonly by: "authority" | "itself" }) {
  const dir = await temporaryDirectory();
  const openssl = (...args: string[]) => run("openssl", args, { cwd: dir });
  const read = (name: string) => readFileSync(join(dir, name));
  if (by === "authority") {
    await openssl(...ownKey, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=ca");
    const leaf = ["-CA", "ca.pem", "-CAkey", "ca.key", "-addext", "basicConstraints=CA:FALSE"];
    await openssl(...ownKey, ...LOCALHOST, ...leaf, "-keyout", "own.key", "-out", "own.pem");
  } else await openssl(...ownKey, ...LOCALHOST, "-keyout", "own.key", "-out", "own.pem");
  const ca = read(by === "authority" ? "ca.pem" : "own.pem");
  const server = createServer({
    key: read("own.key"),
    cert: read("own.pem"),
    ca,
    requestCert: true,
    maxVersion: "TLSv1.2", // with a later one the refusal comes behind the handshake, and is not always seen
    ALPNProtocols: ["h2"],
  });
  server.on("tlsClientError", () => undefined);
  return { address: `localhost:${await listen(server)}`, tls: { serverRootCACertificate: ca } };
}

test("a certificate that commands accept and workers do not is named as that, with what mends it", async () => {
  expect(await saidOf(await tlsServer({ by: "itself" }))).toBe(
    "A worker does not accept Temporal's certificate (CaUsedAsEndEntity). It is stricter than a command: one that is its own authority, or has no alternative names, is none for it. Have it renewed, or name its authority in TEMPORAL_TLS_SERVER_CA_CERT_PATH, or the name that it is for in TEMPORAL_TLS_SERVER_NAME.",
  );
});

test("a worker without a certificate, where Temporal wants one, is told to name one", async () => {
  expect(await saidOf(await tlsServer({ by: "authority" }))).toBe(
    "Temporal does not take a worker's certificate, or wants one (HandshakeFailure). Name one that it takes in TEMPORAL_TLS_CLIENT_CERT_PATH, and its key in TEMPORAL_TLS_CLIENT_KEY_PATH.",
  );
});

const BARRED =
  "TEMPORAL_API_KEY, or a client certificate, says who asks. It may be out of date, or lack rights: to list runs and see where they stand takes a reader's in the namespace, all else a writer's. See: interlock doctor";

test.each<[GrpcAnswer, string]>([
  [
    { code: 7, details: "Request unauthorized." },
    `Temporal does not let this in (Request unauthorized). ${BARRED}`,
  ],
  [
    { code: 16, details: "" },
    `Temporal does not let this in (The request does not have valid authentication credentials). ${BARRED}`,
  ],
  [
    { code: 8, details: "namespace rate limit exceeded" },
    "Temporal does not answer a worker (namespace rate limit exceeded). See: interlock doctor",
  ],
])("a worker that Temporal does not answer as it connects says why: %j", async (answer, words) => {
  expect(await saidOf({ address: await answeringTemporal({ GetSystemInfo: answer }) })).toBe(words);
});

test("a worker whose address refuses says that, and not what its core makes of it", async () => {
  expect(await saidOf({ address: `127.0.0.1:${await freePort()}` })).toBe(
    "Temporal does not answer a worker (Connection refused). See: interlock doctor",
  );
});
