import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import type { JsonValue } from "../../src/core/json.js";
import { mcpTools } from "../../src/mcp/mcp-tools.js";
import { mcpServersSchema } from "../../src/mcp/server-settings.js";
import { eventually } from "../fakes/eventually.js";
import { isAlive } from "../fakes/processes.js";

const SERVER = fileURLToPath(new URL("../../examples/command-server/server.mjs", import.meta.url));

/** The example server with an allow-list, in a project of the test's. */
function open(settings: object) {
  const dir = mkdtempSync(join(tmpdir(), "interlock-commands-"));
  const projectRoot = mkdtempSync(join(dir, "project-"));
  const list = join(dir, "commands.json");
  writeFileSync(list, JSON.stringify(settings));
  const source = mcpTools({
    servers: mcpServersSchema.parse({
      commands: { command: process.execPath, args: [SERVER, list], cwd: "@project" },
    }),
    dir,
    version: "0",
    variable: () => undefined,
    note: () => undefined,
  });
  onTestFinished(async () => {
    await source.close();
    rmSync(dir, { recursive: true });
  });
  async function run(argv: JsonValue, signal = new AbortController().signal) {
    const place = { agentId: "a", allowedServers: ["commands"], projectRoot };
    const [tool] = await source.tools(place);
    if (tool === undefined) throw new Error("The server has no tool.");
    return tool.run({ argv }, { runId: "r", nodeId: "n", agentId: "a", callId: "c", projectRoot, signal });
  }
  return { run, projectRoot, source };
}

/** What the server says that is started with this text as its settings, and is told these lines. */
function started(settings: string, lines = "") {
  const dir = mkdtempSync(join(tmpdir(), "interlock-commands-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const list = join(dir, "commands.json");
  writeFileSync(list, settings);
  const { status, stdout, stderr } = spawnSync(process.execPath, [SERVER, list], {
    input: lines,
    encoding: "utf8",
  });
  return { status, stdout, stderr };
}

const node = (script: string) => ["node", "-e", script];

test("what is on the list is run in the project, without a shell, and its end is told", async () => {
  const say = node(
    "console.log(process.cwd(), process.argv.slice(1).join()); console.error('e'); process.exit(3)",
  );
  const { run, projectRoot } = open({ allow: [{ argv: say, more: true }] });
  expect(await run([...say, "$HOME", "a b", "*;ls", "`id`"])).toEqual({
    content: `exit code 3\n${projectRoot} $HOME,a b,*;ls,\`id\`\ne\n`,
    isError: true,
  });
});

test.each([
  [["ls"]],
  [["npm"]],
  [["npm", "test", "x"]],
  [["npm", "tests"]],
  [["NPM", "test"]],
  [["sh", "-c", "npm test"]],
  [["npm test"]],
  [["", "npm", "test"]],
  [["git", "log", "--output=x"]],
  [["git", "log", "-p"]],
  [["git", "log", "/etc/passwd"]],
  [["git", "log", "a/../../b"]],
  [["git", "log", ".."]],
  [["git", "log", "C:\\x"]],
  [["git", "log", ""]],
  ["npm test"],
  [{ 0: "npm", 1: "test", length: 2 }],
  [[["npm"], "test"]],
  [null],
])("%j is not run", async (argv) => {
  const { run } = open({ allow: [{ argv: ["npm", "test"] }, { argv: ["git", "log"], more: true }] });
  const { content, isError } = await run(argv);
  expect(isError).toBe(true);
  expect(content).toContain("not on the list");
});

test("what takes too long is ended with all that it has started, and so is what nobody waits for any more", async () => {
  const forks = node(
    "const c = require('child_process').spawn('sleep', ['1000']); require('fs').writeFileSync('pid', String(c.pid)); setInterval(() => {}, 1000)",
  );
  for (const how of ["timeout", "cancelled", "server ends"]) {
    const { run, projectRoot, source } = open({
      allow: [{ argv: forks }],
      timeoutSeconds: how === "timeout" ? 5 : 600,
    });
    const given = new AbortController();
    const ran = run(forks, given.signal).catch((error: unknown) => ({ content: String(error) }));
    const pid = () => Number(readFileSync(join(projectRoot, "pid"), { encoding: "utf8", flag: "a+" }));
    await eventually(() => pid() > 0);
    if (how === "cancelled") given.abort(new Error("given up"));
    if (how === "server ends") await source.close();
    await eventually(() => !isAlive(pid()));
    expect((await ran).content).toMatch(/ended after|given|has ended/);
  }
});

test("of a long output the end is kept, and what each command is run in stands before it", async () => {
  const long = node("console.log('x'.repeat(1000000) + 'end')");
  const { run } = open({ allow: [{ argv: long }], within: ["env", "IN=1"] });
  const { content } = await run(long);
  expect(content).toMatch(/^exit code 0\n\[the beginning is left out\]\nx+end\n$/);
  expect(content.length).toBeLessThan(41_000);
});

const ALLOW = '"allow": [{ "argv": ["ls"] }]';

test.each([
  ["{", "cannot be read"],
  ["null", "must hold an object"],
  ["[]", "must hold an object"],
  ['{ "allow": [{ "argv": ["ls"], "more": "false" }] }', "more true or false"],
  ['{ "allow": [{ "argv": ["ls"], "moar": true }] }', "must be a list of { argv, more }"],
  ['{ "allow": [{ "argv": [] }] }', "must be a list of { argv, more }"],
  [`{ ${ALLOW}, "within": "docker" }`, "within must be a list of words"],
  [`{ ${ALLOW}, "witin": ["docker"] }`, 'There is no setting "witin"'],
  [`{ ${ALLOW}, "timeoutSeconds": "soon" }`, "timeoutSeconds must be a whole number"],
  [`{ ${ALLOW}, "timeoutSeconds": 1e9 }`, "timeoutSeconds must be a whole number"],
])("settings that mean nothing start no server, and one line says why: %s", (settings, why) => {
  const { status, stderr } = started(settings);
  expect([status, stderr.trim().split("\n")]).toEqual([2, [expect.stringContaining(why)]]);
});

test("a line that is no message ends nothing", () => {
  const { status, stdout } = started(
    `{ ${ALLOW} }`,
    'hello\n[]\nnull\n{"id":2,"method":"ping","params":null}\n',
  );
  expect([status, stdout]).toEqual([0, '{"jsonrpc":"2.0","id":2,"result":{}}\n']);
});
