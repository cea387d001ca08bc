import { expect, onTestFinished, test, vi } from "vitest";
import { connectNatively } from "../../src/worker/native-connection.js";
import { quietRuntime } from "../fakes/quiet-runtime.js";
import { tlsServer } from "../fakes/tls-server.js";

test("on a system without authorities, as a slim image is, a worker goes by those of Node, as commands do", async () => {
  quietRuntime();
  for (const variable of ["SSL_CERT_FILE", "SSL_CERT_DIR"]) vi.stubEnv(variable, "/there/is/none");
  onTestFinished(() => void vi.unstubAllEnvs());
  const { address } = await tlsServer({ by: "authority" });
  const connecting = connectNatively({ address, tls: true });
  await expect(connecting).rejects.toThrow("UnknownIssuer"); // that of its own is none of theirs
});
