import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { pipeline } from "node:stream";
import { createServer } from "node:tls";
import { promisify } from "node:util";
import { listen } from "./listen.js";
import { temporaryDirectory } from "./package-fixture.js";

const run = promisify(execFile);
const ownKey = ["req", "-x509", "-newkey", "rsa:2048", "-noenc"];
const LOCALHOST = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];

interface Served {
  /** Whose certificate it has: an authority's, or one that is its own. */
  readonly by: "authority" | "itself";
  /** Where it leads, whoever comes; absent: it takes nobody without a certificate, and leads nowhere. */
  readonly to?: string;
}

/** A server with TLS, and what a worker needs that trusts it. */
export async function tlsServer({ by, to }: Served) {
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
    rejectUnauthorized: to === undefined,
    maxVersion: "TLSv1.2", // with a later one the refusal comes behind the handshake, and is not always seen
    ALPNProtocols: ["h2"],
  });
  server.on("tlsClientError", () => undefined);
  server.on("secureConnection", (socket) => {
    if (to === undefined) return;
    const [host, port] = to.split(":");
    const onward = connect(Number(port), host ?? "");
    pipeline(socket, onward, socket, () => undefined);
  });
  return { address: `localhost:${await listen(server)}`, tls: { serverRootCACertificate: ca } };
}

interface Made {
  readonly version: 1 | 3;
  readonly curve: string;
  readonly isExpired?: boolean;
}

/** A client's certificate, as `openssl x509 -req` makes one of version 1, and of version 3 if it is told to. */
export async function clientPair({ version, curve, isExpired = false }: Made) {
  const dir = await temporaryDirectory();
  const openssl = (...args: string[]) => run("openssl", args, { cwd: dir });
  const key = ["-newkey", "ec", "-pkeyopt", `ec_paramgen_curve:${curve}`, "-noenc", "-keyout", "own.key"];
  await openssl("req", ...key, "-subj", "/CN=client", "-out", "own.csr");
  await writeFile(join(dir, "own.ext"), "basicConstraints=CA:FALSE\n");
  const extended = version === 3 ? ["-extfile", "own.ext"] : [];
  const days = ["-days", isExpired ? "-1" : "2"];
  await openssl(
    "x509",
    "-req",
    "-in",
    "own.csr",
    "-signkey",
    "own.key",
    ...extended,
    ...days,
    "-out",
    "own.pem",
  );
  return { crt: readFileSync(join(dir, "own.pem")), key: readFileSync(join(dir, "own.key")) };
}
