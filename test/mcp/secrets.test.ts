import { describe, expect, test } from "vitest";
import { secretsOf, withoutSecrets } from "../../src/mcp/secrets.js";
import { mcpServersSchema } from "../../src/mcp/server-settings.js";

const SECRET = "Zq7-correct-horse";

/** What a model reads of a server that says what it was given. */
function shown(server: object, said: string, variables: Readonly<Record<string, string>> = {}): string {
  const { s } = mcpServersSchema.parse({ s: server });
  if (s === undefined) throw new Error("No server.");
  return withoutSecrets(
    said,
    secretsOf(s, (name) => variables[name]),
  );
}

describe("a secret that an MCP server is given is not read again in what it says", () => {
  test.each([
    ["in its URL's query", { url: `https://mcp.example/mcp?team=tea&teaApiKey=${SECRET}` }],
    ["as an argument's value", { command: "tea", args: ["--api-key", SECRET] }],
    ["within an argument", { command: "tea", args: [`--token=${SECRET}`] }],
    [
      "in a header that a bridge sends",
      { command: "x", args: ["--header", `Authorization: Bearer ${SECRET}`] },
    ],
    ["in a URL that a bridge opens", { command: "x", args: [`https://mcp.example/sse?key=${SECRET}`] }],
    [
      "as a password of a database",
      { command: "x", env: { DATABASE_URL: `postgres://tea:${SECRET}@db/tea` } },
    ],
    ["in a variable of the worker", { command: "x", envVariables: ["PG_URL"] }],
    ["in an address behind an option", { command: "x", args: [`--dsn=postgres://tea:${SECRET}@db/tea`] }],
    ["in a variable that a container is given", { command: "x", args: ["run", `--env=API_KEY=${SECRET}`] }],
    ["in a header behind an option", { command: "x", args: [`--header=Authorization: Bearer ${SECRET}`] }],
    [
      "in the words of a connection",
      { command: "x", env: { MSSQL: `Server=db;User Id=sa;Password=${SECRET};Encrypt=true` } },
    ],
  ])("%s", (_, server) => {
    const variables = { PG_URL: `postgres://tea:${SECRET}@db/tea` };
    expect(shown(server, `bad key ${SECRET} of tea`, variables)).toBe("bad key <secret> of tea");
  });

  test("also a short token with a line break behind it, which is not sent", () => {
    const server = { url: "https://mcp.example/mcp", bearerVariable: "T" };
    expect(shown(server, "no: abcd-1234", { T: "abcd-1234\n" })).toBe("no: <secret>");
  });

  test("what it is told in other headers, with its scheme and without", () => {
    const server = {
      url: "https://mcp.example/mcp",
      headerVariables: { Authorization: "B", "X-Api-Key": "K" },
    };
    // Too short to be known by its end.
    const told = { B: " Token tea-5678", K: "abcd-1234" };
    expect(shown(server, "no: Token tea-5678, tea-5678, abcd-1234", told)).toMatch(
      /^no: <secret>, ?<secret>, <secret>$/,
    );
  });

  test("what is no secret stays, and what cannot be an address is none", () => {
    const server = {
      command: "npx",
      args: ["-y", "mcp-server-tea", "--port=8080", "--region", "darjeeling", "http://%"],
    };
    expect(shown(server, "mcp-server-tea in darjeeling on 8080, http://%")).toContain(
      "in darjeeling on 8080",
    );
  });

  test.each([
    ["the project of a program that wants no token", ["--no-auth", "darjeeling-blend"], "darjeeling-blend"],
    ["an option behind one that stands alone", ["--use-token", "--verbose-output"], "--verbose-output"],
    ["the place of a key", ["--credentials", "@project/keys/tea.json"], "@project/keys/oolong.ts"],
    ["a path of one", ["--token-file", "/srv/tea/pot"], "/srv/tea/pot"],
    ["a way to count", ["--tokenizer=cl100k_base"], "cl100k_base"],
  ])("%s is none", (_, args, said) => {
    expect(shown({ command: "x", args }, said)).toBe(said);
  });
});
