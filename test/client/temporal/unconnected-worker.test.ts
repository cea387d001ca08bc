import { NativeConnection, type NativeConnectionOptions } from "@temporalio/worker";
import { expect, test } from "vitest";
import { unexpected } from "../../../src/cli/session/unexpected.js";
import { type GrpcAnswer, answeringTemporal } from "../../fakes/answering-temporal.js";
import { freePort } from "../../fakes/free-port.js";
import { quietRuntime } from "../../fakes/quiet-runtime.js";
import { clientPair, tlsServer } from "../../fakes/tls-server.js";

/** What a command says of a worker that comes to no connection. */
async function saidOf(options: NativeConnectionOptions): Promise<string> {
  quietRuntime();
  const connecting = NativeConnection.connect(options).then(() => "It was connected.");
  return connecting.catch((error: unknown) => unexpected(error));
}

test("a certificate that commands accept and workers do not is named as that, with what mends it", async () => {
  expect(await saidOf(await tlsServer({ by: "itself" }))).toBe(
    "A worker does not accept Temporal's certificate (CaUsedAsEndEntity). It is stricter than a command: one that is its own authority, or has no alternative names, is none for it. Have it renewed, or name its authority in TEMPORAL_TLS_SERVER_CA_CERT_PATH, or the name that it is for in TEMPORAL_TLS_SERVER_NAME: a process reads them when it starts.",
  );
});

test("a worker without a certificate, where Temporal wants one, is told to name one", async () => {
  expect(await saidOf(await tlsServer({ by: "authority" }))).toBe(
    "Temporal does not take a worker's certificate, or wants one (HandshakeFailure). Name one that it takes in TEMPORAL_TLS_CLIENT_CERT_PATH, and its key in TEMPORAL_TLS_CLIENT_KEY_PATH: a process reads them when it starts.",
  );
});

test.each<[Parameters<typeof clientPair>[0], string]>([
  [{ version: 1, curve: "prime256v1" }, "UnsupportedCertVersion"],
  [{ version: 3, curve: "secp521r1" }, "failed to parse private key as RSA, ECDSA, or EdDSA"],
])(
  "a client's certificate that commands can show and workers cannot is not taken for Temporal's: %j",
  async (made, why) => {
    const { address, tls } = await tlsServer({ by: "authority" });
    expect(await saidOf({ address, tls: { ...tls, clientCertPair: await clientPair(made) } })).toBe(
      `A worker cannot show this client's certificate (${why}). It is stricter than a command: it shows certificates of X.509's version 3, with a key of RSA (2048 to 4096 bits), ECDSA (P-256 or P-384) or Ed25519. Name one that it takes in TEMPORAL_TLS_CLIENT_CERT_PATH, and its key in TEMPORAL_TLS_CLIENT_KEY_PATH: a process reads them when it starts.`,
    );
  },
);

test("a worker that is to speak TLS to an IPv6 address says that it wants a name, which commands do not", async () => {
  const { tls } = await tlsServer({ by: "authority" });
  expect(await saidOf({ address: `[::1]:${await freePort()}`, tls })).toBe(
    "A worker speaks TLS to a name or to an IPv4 address alone, and Temporal's is neither (InvalidDnsNameError). Give Temporal's name in TEMPORAL_ADDRESS, or the one that its certificate is for in TEMPORAL_TLS_SERVER_NAME.",
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
