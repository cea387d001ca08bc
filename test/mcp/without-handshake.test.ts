import { describe, expect, test } from "vitest";
import { eventually } from "../fakes/eventually.js";
import { type Manner, open, serverOf } from "../fakes/mcp-http.js";

describe("a server without a handshake, as since the protocol's version of 2026-07-28,", () => {
  const refusing =
    (code: number, error: object): Manner =>
    ({ method, id }, response) => {
      if (method !== "initialize") return false;
      response.writeHead(code, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id, error }));
      return true;
    };
  const unknown = { code: -32601, message: "The handshake was removed." };

  test.each<[string, Manner]>([
    ["as a method that there is not", refusing(200, unknown)],
    ["so, with a status", refusing(404, unknown)],
    ["as a version", refusing(400, { code: -32022, message: "No.", data: { supported: ["2026-07-28"] } })],
  ])("is asked without: it refuses it %s", async (_, manner) => {
    const { url, asked } = await serverOf(manner);
    const { call } = open(url);
    expect(await Promise.all([call(), call()])).toMatchObject([{ content: "done" }, { content: "done" }]);
    const methods = asked.map(({ method }) => method);
    expect(methods.filter((method) => method === "initialize")).toHaveLength(1);
    expect(methods.slice(1)).not.toContain("notifications/initialized");
    expect(asked.slice(1).every(({ version }) => version === "2026-07-28")).toBe(true);
  });

  const answering =
    (method: string, result: object): Manner =>
    (question, response) => {
      if (question.method !== method) return refusing(200, unknown)(question, response);
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id: question.id, result }));
      return true;
    };
  const tool = { name: "act", inputSchema: { type: "object" } };
  const content = [{ type: "text", text: "done" }];

  test.each<[string, object]>([
    ["tools/list", { tools: [tool] }],
    ["tools/list", { tools: [tool], resultType: "complete", ttlMs: -1, cacheScope: "shared" }],
    [
      "tools/list",
      { tools: [{ ...tool, inputSchema: {}, annotations: { readOnlyHint: "yes" } }, { name: 5 }] },
    ],
    ["tools/list", { tools: [tool], protocolVersion: "2026-07-28" }],
    ["tools/call", { content }],
    ["tools/call", { content, protocolVersion: "2026-07-28" }],
    ["tools/call", { content: "done", resultType: "complete", isError: "false" }],
  ])(
    "and leaves out what that version wants in its %s, or says it otherwise, is taken as any other: %j",
    async (method, result) => {
      const { url } = await serverOf(answering(method, result));
      expect(await open(url).call()).toEqual({ content: "done", isError: false });
    },
  );

  test("and has no list of tools says what is wrong", async () => {
    const { url } = await serverOf(answering("tools/list", { tools: "act" }));
    await expect(open(url).call()).rejects.toThrow(
      /does not speak the protocol as it is known here: .*tools/,
    );
  });

  test("and is none of that version either says what it has said", async () => {
    const { url, asked } = await serverOf(({ id }, response) => {
      response.writeHead(404, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id, error: unknown }));
      return true;
    });
    await expect(open(url).call()).rejects.toThrow(
      "The MCP server s answers with HTTP status 404: The handshake was removed.",
    );
    expect(asked.map(({ method }) => method)).toEqual(["initialize", "tools/list"]);
  });

  test("and knows of no tools either, as what speaks JSON-RPC and is no such server, is none without tools", async () => {
    const { url } = await serverOf(({ id }, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(
        JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message: "No such method." } }),
      );
      return true;
    });
    await expect(open(url).call()).rejects.toThrow(
      "The MCP server s does not speak the protocol as it is known here: No such method.",
    );
  });

  test.each([
    [false, ["us"]],
    [true, [undefined]],
  ])(
    "hears in headers what its tools' schemas name so, as it did not with a handshake: %s",
    async (has, heard) => {
      const regions: unknown[] = [];
      const region = { type: "string", "x-mcp-header": "Region" };
      const lists = answering("tools/list", {
        tools: [{ ...tool, inputSchema: { properties: { region } } }],
      });
      const { url } = await serverOf((question, response) => {
        const { method } = question;
        if (method === "tools/call") regions.push(response.req.headers["mcp-param-region"]);
        return (method !== "initialize" || !has) && lists(question, response);
      });
      await open(url).call(undefined, { region: "us" });
      expect(regions).toEqual(heard);
    },
  );

  test("hears that a call is called off by the end of its connection", async () => {
    let isLeft = false;
    const { url, asked } = await serverOf(({ method, ...question }, response) => {
      if (method !== "tools/call") return refusing(200, unknown)({ method, ...question }, response);
      response.once("close", () => (isLeft = true));
      return true;
    });
    const { call } = open(url);
    const off = new AbortController();
    const called = call(off.signal);
    await eventually(() => asked.some(({ method }) => method === "tools/call"));
    off.abort();
    await expect(called).rejects.toBeDefined();
    await eventually(() => isLeft && asked.length > 3);
    expect(isLeft).toBe(true);
    expect(asked.map(({ method }) => method).slice(2)).toEqual(["tools/call", "server/discover"]); // it is alive
  });
});
