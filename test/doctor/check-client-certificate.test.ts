import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { checkClientCertificate } from "../../src/doctor/check-client-certificate.js";
import { temporaryDirectory } from "../fakes/package-fixture.js";

const DAY_MS = 86_400_000;

async function certificateInDays() {
  const dir = await temporaryDirectory();
  const [keyFile, certificateFile] = [join(dir, "client.key"), join(dir, "client.pem")];
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc", "-keyout", keyFile];
  const args = ["req", "-x509", ...key, "-out", certificateFile, "-subj", "/CN=client", "-days", "100"];
  await promisify(execFile)("openssl", args);
  const clientCertPair = { crt: await readFile(certificateFile), key: await readFile(keyFile) };
  return (days: number) => checkClientCertificate({ clientCertPair }, Date.now() + days * DAY_MS);
}

test("a client's certificate that has expired is named, since the server says nothing of it; one that soon does is warned of", async () => {
  const inDays = await certificateInDays();
  expect(inDays(101)).toEqual([
    {
      name: "client certificate",
      status: "failed",
      found: expect.stringMatching(/^has expired: .* GMT$/) as string,
      remedy: expect.stringContaining("Have it renewed") as string,
    },
  ]);
  const found = expect.stringMatching(/^expires in 2 days: /) as string;
  expect(inDays(98)).toMatchObject([{ status: "warning", found }]);
  expect(inDays(80)).toMatchObject([{ status: "ok" }]);
});

test("one that does not count yet is named: clocks differ, or it was made for later", async () => {
  const inDays = await certificateInDays();
  const found = expect.stringMatching(/^counts from .* GMT on$/) as string;
  expect(inDays(-1)).toMatchObject([{ status: "failed", found }]);
});

test("where none is shown, nothing is said of one", () => {
  expect([
    checkClientCertificate(true),
    checkClientCertificate(undefined),
    checkClientCertificate({}),
  ]).toEqual([[], [], []]);
});
