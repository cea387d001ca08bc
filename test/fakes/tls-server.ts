import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createServer } from "node:tls";
import { promisify } from "node:util";
import { listen } from "./listen.js";
import { temporaryDirectory } from "./package-fixture.js";

const run = promisify(execFile);
const ownKey = ["req", "-x509", "-newkey", "rsa:2048", "-noenc"];
const LOCALHOST = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];

/** A server with a certificate of an authority, or with one that is its own; `options` are for the worker that trusts it. */
export async function tlsServer({ by }: { readonly by: "authority" | "itself" }) {
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

/** A client's certificate, as `openssl x509 -req` or `openssl req -x509` makes one. */
export async function clientPair({ version, curve }: { readonly version: 1 | 3; readonly curve: string }) {
  const dir = await temporaryDirectory();
  const openssl = (...args: string[]) => run("openssl", args, { cwd: dir });
  const key = ["-newkey", "ec", "-pkeyopt", `ec_paramgen_curve:${curve}`, "-noenc", "-keyout", "own.key"];
  const named = ["-subj", "/CN=client"];
  if (version === 3) await openssl("req", "-x509", ...key, ...named, "-out", "own.pem");
  else {
    await openssl("req", ...key, ...named, "-out", "own.csr");
    await openssl("x509", "-req", "-in", "own.csr", "-signkey", "own.key", "-out", "own.pem");
  }
  return { crt: readFileSync(join(dir, "own.pem")), key: readFileSync(join(dir, "own.key")) };
}
