import { expect, onTestFinished, test, vi } from "vitest";
import { codecServerCommand } from "../../../src/cli/commands/codec-server.js";
import { UsageError } from "../../../src/cli/terminal/output.js";

test.each([
  "http://127.0.0.1:8233,http://localhost:8233",
  "http://localhost:8233 http://x",
  "localhost:8233",
  "http://",
])("an origin is one address: %j is refused, before anything else is looked at", async (origin) => {
  const refused = codecServerCommand({ origin: [origin] });
  await expect(refused).rejects.toThrow(UsageError);
  await expect(refused).rejects.toThrow(`--origin: "${origin}" is no address`);
});

test.each(["", "::1", "localhost", "127.0.0.1:80"])(
  "it listens nowhere that what it prints does not lead to: --host %j is refused",
  async (host) => {
    vi.stubEnv("INTERLOCK_SEAL_KEYS", `k1:${Buffer.alloc(32).toString("base64")}`);
    onTestFinished(() => void vi.unstubAllEnvs());
    await expect(codecServerCommand({ host })).rejects.toThrow("--host takes an IPv4 address");
  },
);
