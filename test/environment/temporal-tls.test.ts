import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";
import { readTemporal } from "../../src/environment/temporal.js";

describe("certificates that commands could use and workers could not", () => {
  let dir: string;
  let certificate: string;
  let key: string;

  /** What connections are given of files with this in them. */
  async function given(written: {
    readonly certificate: string;
    readonly key: string;
    readonly ca?: string;
  }) {
    const files = ["cert", "key", "ca"].map((name) => join(dir, `${name}.pem`));
    const [certFile = "", keyFile = "", caFile = ""] = files;
    await writeFile(certFile, written.certificate);
    await writeFile(keyFile, written.key);
    await writeFile(caFile, written.ca ?? written.certificate);
    const { connection } = readTemporal({
      TEMPORAL_ADDRESS: "a:1",
      TEMPORAL_CONFIG_FILE: join(dir, "none.toml"),
      TEMPORAL_TLS_SERVER_CA_CERT_PATH: caFile,
      TEMPORAL_TLS_CLIENT_CERT_PATH: certFile,
      TEMPORAL_TLS_CLIENT_KEY_PATH: keyFile,
    });
    const tls = connection?.connectionOptions.tls;
    if (typeof tls !== "object" || tls === null) throw new Error("no TLS");
    const { serverRootCACertificate: ca, clientCertPair: pair } = tls;
    return [ca, pair?.crt, pair?.key].map((bytes) => Buffer.from(bytes ?? []).toString("utf8"));
  }

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "interlock-test-"));
    const [keyFile, certificateFile] = [join(dir, "made.key"), join(dir, "made.pem")];
    const made = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc", "-keyout", keyFile];
    const args = ["req", "-x509", ...made, "-out", certificateFile, "-subj", "/CN=client"];
    await promisify(execFile)("openssl", args);
    [certificate, key] = await Promise.all([readFile(certificateFile, "utf8"), readFile(keyFile, "utf8")]);
    return () => rm(dir, { recursive: true });
  });

  test.each<readonly [string, (pem: string) => string]>([
    ["a byte-order mark", (pem) => `\uFEFF${pem}`],
    ["Windows' line ends", (pem) => pem.replaceAll("\n", "\r\n")],
    ["words around it", (pem) => `Issuer: CN=client\n${pem}\nthat was it`],
    ["a label of long ago", (pem) => pem.replaceAll(" CERTIFICATE", " X509 CERTIFICATE")],
    ["a label of OpenSSL's own", (pem) => pem.replaceAll(" CERTIFICATE", " TRUSTED CERTIFICATE")],
  ])("are handed on as both read them: with %s", async (_, written) => {
    const handed = await given({ certificate: written(certificate), key: written(key) });
    expect(handed).toEqual([certificate, certificate, key]);
  });

  test("keep the order of a chain, and what else is in their file stays there", async () => {
    const all = `${certificate}${key}\uFEFF${certificate}`;
    expect(await given({ certificate: all, key: all, ca: all })).toEqual([
      certificate + certificate,
      certificate + certificate,
      key,
    ]);
  });

  test("are not passed over where one of several authorities cannot be read", async () => {
    const broken = certificate.replace(/\n(?=M)/, "\n!");
    const read = given({ certificate, key, ca: certificate + broken });
    await expect(read).rejects.toThrow(/^What TEMPORAL_TLS_SERVER_CA_CERT_PATH, .* cannot be used: /);
  });
});
