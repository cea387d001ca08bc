import { expect, test } from "vitest";
import { checkMcpServers } from "../../src/doctor/check-mcp-servers.js";
import { mcpServersSchema } from "../../src/mcp/server-settings.js";

async function found(server: object, variables: Readonly<Record<string, string>> = {}) {
  const servers = mcpServersSchema.parse({ s: server });
  const pathVariable = "/usr/bin:/bin";
  const [finding] = await checkMcpServers(servers, {
    storeDir: "/none",
    variable: (name) => variables[name],
    pathVariable,
  });
  return `${finding?.status}: ${finding?.found}`;
}

test.each<[object, string]>([
  [{ command: process.execPath }, `ok: ${process.execPath} can be started`],
  [{ command: "sh" }, "ok: sh can be started"],
  [{ command: "no-such-server" }, "failed: no program no-such-server is on the PATH"],
  [{ command: "sh", env: { PATH: "/none" } }, "failed: no program sh is on the PATH"],
  [
    { command: "sh -c ls" },
    "failed: no program sh -c ls is on the PATH: no shell reads it, so what follows the program's name belongs in args",
  ],
  [
    { command: "~/bin/server" },
    "failed: ~/bin/server is no program that can be started: no shell reads it, so ~ and $ stand for nothing",
  ],
  [{ command: "/usr/bin" }, "failed: /usr/bin is no program that can be started"],
  [{ command: "./sh", cwd: "/bin" }, "ok: ./sh can be started"],
  [{ command: "sh", cwd: "/none/such" }, "failed: its cwd /none/such is no directory that it can work in"],
  [{ command: "sh", cwd: "/bin/sh" }, "failed: its cwd /bin/sh is no directory that it can work in"],
  [{ command: "./sh", cwd: "/" }, "failed: ./sh is no program that can be started"],
  [{ command: "bin/server", cwd: "@project" }, "ok: bin/server can be started"],
  [{ command: "sh", envVariables: ["SET", "UNSET"] }, "warning: sh can be started; not set: UNSET"],
  [
    { url: "http://127.0.0.1:6667/mcp" },
    "failed: its URL names port 6667, which other protocols have and HTTP requests are barred from: choose another port",
  ],
  [{ url: "https://tickets.example/mcp" }, "ok: https://tickets.example/mcp"],
  [{ url: "https://tickets.example/mcp", bearerVariable: "SET" }, "ok: https://tickets.example/mcp"],
  [
    { url: "https://tickets.example/mcp", bearerVariable: "UNSET" },
    "failed: wants a token, and the variable UNSET is not set",
  ],
  [
    { url: "https://tickets.example/mcp", headerVariables: { "X-Api-Key": "SET", "X-App": "UNSET" } },
    "failed: wants a token, and the variable UNSET is not set",
  ],
  [
    { url: "https://tickets.example/mcp", bearerVariable: "BROKEN" },
    "failed: wants a token, and the variable BROKEN holds characters that no header can carry, such as a line break or a typographic quote",
  ],
  [{ url: "https://tickets.example/mcp", bearerVariable: "LINE" }, "ok: https://tickets.example/mcp"],
])("%j", async (server, expected) => {
  expect(await found(server, { SET: "secret", BROKEN: "sec\nret", LINE: "secret\n" })).toBe(expected);
});
