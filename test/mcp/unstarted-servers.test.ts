import { chmod, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { Connection } from "../../src/mcp/connection.js";
import type { StdioServer } from "../../src/mcp/server-settings.js";
import { FAKE_MCP_SERVER } from "../fakes/mcp-world.js";
import { temporaryDirectory } from "../fakes/package-fixture.js";

/** What the system says when it is to start a server: as it says it, and not as an error of ours. */

let dir: string;
let projectRoot: string;
beforeEach(async () => {
  [dir, projectRoot] = [await temporaryDirectory(), await temporaryDirectory()];
});

const LONG = "x".repeat(200_000); // more than Linux takes of one text

async function whyNot(server: Partial<StdioServer>): Promise<string> {
  const notes: string[] = [];
  const connection = new Connection({
    name: "desk",
    server: {
      command: process.execPath,
      args: [FAKE_MCP_SERVER],
      env: {},
      envVariables: [],
      ...server,
    } as StdioServer,
    version: "1",
    dir,
    projectRoot,
    variable: (name) => process.env[name],
    note: (sentence) => notes.push(sentence),
  });
  const thrown: unknown = await connection.tools().catch((error: unknown) => error);
  await connection.close();
  const { message } = thrown as Error;
  expect(notes).toEqual([expect.stringContaining(message)]);
  return message;
}

describe("a server that the system does not start says why", () => {
  test("a project that is gone, and nothing of where it was", async () => {
    await rm(projectRoot, { recursive: true });
    expect(await whyNot({ cwd: "@project" })).toBe(
      "The MCP server desk cannot be started: the project's directory is none that it can work in.",
    );
  });

  test("a directory of the worker's own that is gone", async () => {
    await rm(dir, { recursive: true });
    expect(await whyNot({})).toContain(`cannot be started: ${dir} is no directory that it can work in.`);
  });

  test.runIf(process.platform === "linux")("variables and arguments that are too long", async () => {
    for (const long of [{ env: { ISSUES: LONG } }, { args: [FAKE_MCP_SERVER, LONG] }])
      expect(await whyNot(long)).toContain(
        "cannot be started: its arguments and variables are longer than the system takes (E2BIG)",
      );
  });

  test("and one that was started and has ended says that", async () => {
    const command = join(dir, "no-program");
    await writeFile(command, "#!/nowhere/interpreter\n");
    await chmod(command, 0o755);
    expect(await whyNot({ command })).toBe("The MCP server desk ended before it had begun.");
  });
});
