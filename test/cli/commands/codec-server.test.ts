import { expect, test } from "vitest";
import { codecServerCommand } from "../../../src/cli/commands/codec-server.js";
import { UsageError } from "../../../src/cli/output.js";

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
