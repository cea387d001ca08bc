import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { mcpServersSchema } from "../../src/mcp/server-settings.js";
import { openExternalTools } from "../../src/worker/external-tools.js";
import { temporaryDirectory } from "../fakes/package-fixture.js";

test("a server that names no directory works where no other user of the machine can leave it something to run", async () => {
  const storeDir = await temporaryDirectory();
  const servers = mcpServersSchema.parse({
    s: { command: process.execPath, args: ["-e", 'require("node:fs").writeFileSync("here", "")'] },
  });
  const external = await openExternalTools(storeDir, servers, () => undefined, []);
  onTestFinished(() => external?.close());
  const place = { agentId: "a", allowedServers: ["s"], projectRoot: storeDir };
  await expect(external?.find(place, "mcp.s.look")).rejects.toThrow("s");
  const folder = join(storeDir, "mcp-servers");
  expect(existsSync(join(folder, "here"))).toBe(true);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
});
