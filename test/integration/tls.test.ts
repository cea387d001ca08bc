// @module-tag slow
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { type AddressInfo, connect } from "node:net";
import { join } from "node:path";
import { pipeline } from "node:stream";
import { createServer } from "node:tls";
import { promisify } from "node:util";
import { beforeAll, describe, expect, inject, onTestFinished, test } from "vitest";
import type { Finding } from "../../src/doctor/finding.js";
import { eventually } from "../fakes/eventually.js";
import { freePort } from "../fakes/free-port.js";
import { MAIN, type Shell, jsonOf, newShell } from "./shell.js";

const run = promisify(execFile);

/** An authority, and certificates by it for `temporal` and a client; by another authority one for a stranger. */
async function makeCertificates(dir: string): Promise<void> {
  const openssl = (...args: string[]) => run("openssl", args, { cwd: dir });
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc"];
  for (const authority of ["ca", "other"]) {
    const files = ["-keyout", `${authority}.key`, "-out", `${authority}.pem`];
    await openssl("req", "-x509", ...key, ...files, "-subj", `/CN=${authority}`, "-days", "2");
  }
  for (const [name, authority] of [
    ["temporal", "ca"],
    ["client", "ca"],
    ["stranger", "other"],
  ] as const) {
    await writeFile(join(dir, `${name}.ext`), `subjectAltName=DNS:${name}\n`);
    await openssl("req", ...key, "-keyout", `${name}.key`, "-out", `${name}.csr`, "-subj", `/CN=${name}`);
    const by = ["-CA", `${authority}.pem`, "-CAkey", `${authority}.key`, "-CAcreateserial"];
    const files = ["-in", `${name}.csr`, "-out", `${name}.pem`, "-extfile", `${name}.ext`];
    await openssl("x509", "-req", ...by, ...files, "-days", "2");
  }
}

/** The suite's server behind TLS that takes clients with a certificate of the authority only. */
async function serveTls(dir: string): Promise<{ readonly address: string; close(): void }> {
  const [host = "", port = ""] = inject("temporalAddress").split(":");
  const read = (name: string) => readFile(join(dir, name));
  const [cert, key, ca] = await Promise.all(["temporal.pem", "temporal.key", "ca.pem"].map(read));
  const options = { cert, key, ca, requestCert: true, rejectUnauthorized: true, ALPNProtocols: ["h2"] };
  const server = createServer(options, (client) => {
    const temporal = connect(Number(port), host);
    pipeline(client, temporal, client, () => undefined);
  });
  server.on("tlsClientError", () => undefined);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port: own } = server.address() as AddressInfo; // it listens on a port
  return { address: `127.0.0.1:${own}`, close: () => void server.close() };
}

describe("a Temporal behind mutual TLS", () => {
  let shell: Shell;
  let address: string;
  const certificate = (name: string): Record<string, string> => ({
    TEMPORAL_ADDRESS: address,
    TEMPORAL_TLS_SERVER_CA_CERT_PATH: join(shell.dir, "ca.pem"),
    TEMPORAL_TLS_CLIENT_CERT_PATH: join(shell.dir, `${name}.pem`),
    TEMPORAL_TLS_CLIENT_KEY_PATH: join(shell.dir, `${name}.key`),
    TEMPORAL_TLS_SERVER_NAME: "temporal",
  });

  beforeAll(async () => {
    shell = await newShell();
    await makeCertificates(shell.dir);
    const served = await serveTls(shell.dir);
    address = served.address;
    return () => served.close();
  });

  test("takes commands and workers with the authority's certificate", async () => {
    const health = await freePort();
    const own = shell.with({ ...certificate("client"), INTERLOCK_TASK_QUEUE: `tls-${health}` });
    const worker = spawn(process.execPath, [MAIN, "worker", "--health", String(health)], {
      env: own.environment,
      stdio: "ignore",
    });
    const ended = once(worker, "exit");
    onTestFinished(async () => {
      worker.kill("SIGTERM");
      await ended;
    });
    const ready = () => fetch(`http://127.0.0.1:${health}/readyz`).catch(() => undefined);
    await eventually(async () => (await ready())?.status === 200);
    expect(await own.run(["runs", "--json"])).toMatchObject({ code: 0 });
  });

  test("takes nobody with another authority's, with none, or without TLS, and it is said where", async () => {
    const strangers = [
      certificate("stranger"),
      { TEMPORAL_ADDRESS: address, TEMPORAL_TLS: "true" },
      { TEMPORAL_ADDRESS: address },
    ];
    const outcomes = await Promise.all(strangers.map((variables) => shell.with(variables).run(["worker"])));
    const silent = `No Temporal answers at ${address}`; // who refuses a certificate says nothing that is seen in time
    const words = [silent, `The certificate of ${address} is not accepted`, silent];
    for (const [nth, { code, stderr }] of outcomes.entries()) {
      expect(code).toBe(1);
      expect(stderr).toContain(words[nth]);
    }
  });

  test("with a certificate of an authority that nobody here knows: interlock doctor says what mends it", async () => {
    const own = shell.with({ TEMPORAL_ADDRESS: address, TEMPORAL_TLS: "true" });
    const outcome = await own.runAlone(["doctor", "--no-models", "--json"]);
    expect(outcome.stderr).toBe(""); // Node warns of a server that is named by its IP address
    const findings = jsonOf(outcome) as readonly Finding[];
    const finding = findings.find(({ name }) => name === "temporal");
    expect(finding).toMatchObject({
      status: "failed",
      remedy: expect.stringContaining("TEMPORAL_TLS_SERVER_CA_CERT_PATH") as string,
    });
  });
});
