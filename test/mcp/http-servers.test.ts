import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { expect, onTestFinished, test, vi } from "vitest";
import { delayUntilNextStream } from "../../src/mcp/http-way.js";
import { Interrupted, NotReached, Reopenable } from "../../src/tools/external/tool-source.js";
import { eventually } from "../fakes/eventually.js";
import { type Manner, open, serverOf } from "../fakes/mcp-http.js";

const inRequests =
  (which: string) =>
  (answer: (response: ServerResponse) => unknown): Manner =>
  ({ method }, response) => {
    if (method !== which) return false;
    answer(response);
    return true;
  };
const inCalls = inRequests("tools/call");
const inLists = inRequests("tools/list");
const always =
  (answer: (response: ServerResponse) => unknown): Manner =>
  (_, response) => {
    answer(response);
    return true;
  };
const status =
  (code: number, headers = {}) =>
  (response: ServerResponse) =>
    response.writeHead(code, headers).end("no: secret-token");
const page = (code: number) => (response: ServerResponse) =>
  response
    .writeHead(code, { "content-type": "text/html" })
    .end(`<html><title>${code} Bad Day</title></html>`);
const scope = { "www-authenticate": 'Bearer error="insufficient_scope", scope="tea:pour"' };
/** An error of the protocol that comes with a status of HTTP. */
const refusal =
  (code: number, message: string, id: number | null = null) =>
  (response: ServerResponse) =>
    response
      .writeHead(code, { "content-type": "application/json" })
      .end(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32602, message } }));
const refusesLists: Manner = ({ method, id = null }, response) => {
  if (method !== "tools/list") return false;
  refusal(200, "no secret-token.", id)(response);
  return true;
};
const elsewhere = status(307, { location: "/mcp/?token=secret-token" });
const TO_ELSEWHERE =
  /307, a redirect to http:\/\/127\.0\.0\.1:\d+\/mcp\/\. Redirects are not followed: set url/;
/** The beginning of a stream of events, and then what follows. */
const stream = (begin: string, then: (response: ServerResponse) => void) => (response: ServerResponse) => {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(begin, () => then(response));
};
const endless = (response: ServerResponse): void => {
  const more = (failed?: Error | null): void => {
    const data = { jsonrpc: "2.0", method: "notifications/message", params: { data: "x".repeat(200_000) } };
    if (!failed && !response.destroyed) response.write(`data: ${JSON.stringify(data)}\n\n`, more);
  };
  more();
};
const longAnswer = (response: ServerResponse): void => {
  const result = { content: [{ type: "text", text: "x".repeat(11 * 1024 * 1024) }] };
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", id: 2, result }));
};
const OVER_LENGTH = /answer that can be read: it has more than 10 MiB at once\. Ask for less\.$/;

const NOT_REACHED = "has done nothing";
const INTERRUPTED = "may have done something";

test.each<[string, Manner, string, RegExp]>([
  [
    "wants another token",
    always(status(401)),
    NOT_REACHED,
    /status 401: no: <secret>; it does not take the token in T\./,
  ],
  [
    "wants another token for a call",
    inCalls(status(403)),
    NOT_REACHED,
    /with HTTP status 403: no: <secret>\./,
  ],
  [
    "has no place for messages",
    always(status(405)),
    NOT_REACHED,
    /status 405: no: <secret>; it may speak .* over SSE/,
  ],
  ["wants another scope", always(status(403, scope)), NOT_REACHED, /with HTTP status 403: no/],
  ["wants another scope for a call", inCalls(status(403, scope)), NOT_REACHED, /with HTTP status 403: no/],
  [
    "names what it lacks",
    inCalls(refusal(400, "no cup, secret-token")),
    NOT_REACHED,
    /400: no cup, <secret>\./,
  ],
  [
    "speaks plainly",
    always(status(200, { "content-type": "text/plain" })),
    NOT_REACHED,
    /protocol as.*text\/plain/,
  ],
  ["sends elsewhere", always(elsewhere), NOT_REACHED, TO_ELSEWHERE],
  ["sends a call elsewhere", inCalls(elsewhere), NOT_REACHED, TO_ELSEWHERE],
  ["sends nowhere", always(status(302)), NOT_REACHED, /302, a redirect to nowhere\./],
  ["fails", inCalls(status(500)), INTERRUPTED, /answers with HTTP status 500: no: <secret>\./],
  ["fails at once", always(page(503)), NOT_REACHED, /answers with HTTP status 503: Bad Day\./],
  ["fails to say its tools", inLists(page(502)), NOT_REACHED, /answers with HTTP status 502: Bad Day/],
  [
    "is behind a proxy that asks who is there, which may say a password",
    always((response) => response.writeHead(407).end("wrong password s3cret for bob")),
    NOT_REACHED,
    /status 407: Proxy Authentication Required: a proxy wants a user and a password\.$/,
  ],
  [
    "has no such path",
    always((response) => response.writeHead(404).end("404 page not found\n")),
    NOT_REACHED,
    /status 404: page not found\.$/,
  ],
  [
    "repeats another's key",
    always((response) => response.writeHead(502).end("bad key sk-proj-abcdef1234567890abcdef")),
    NOT_REACHED,
    /status 502: bad key <secret>\.$/,
  ],
  [
    "breaks off what its tools are",
    inLists(stream(": x\n\n", (to) => to.destroy())),
    NOT_REACHED,
    /has not said which tools it has\.$/,
  ],
  ["takes no other name", always(status(421)), NOT_REACHED, /answers with HTTP status 421: no: <secret>\./],
  ["looks elsewhere in vain", refusesLists, NOT_REACHED, /refuses to say which tools it has: no <secret>\./],
  [
    "breaks the connection",
    inCalls((response) => response.destroy()),
    INTERRUPTED,
    /s broke the connection\.$/,
  ],
  ["takes nobody", always((response) => response.destroy()), NOT_REACHED, /s broke the connection\.$/],
  ["answers with a page", inCalls(status(200, { "content-type": "text/html" })), INTERRUPTED, /can be read/],
  ["breaks its stream", inCalls(stream(": x\n\n", (to) => to.destroy())), INTERRUPTED, /has ended while/],
  ["ends its stream", inCalls(stream(": x\n\n", (to) => to.end())), INTERRUPTED, /has ended while/],
  ["breaks what can go on", inCalls(stream("id: 1\ndata:\n\n", (to) => to.end())), INTERRUPTED, /has ended/],
  ["never ends its stream", inCalls(stream(": x\n\n", endless)), INTERRUPTED, OVER_LENGTH],
  ["says too much", inCalls(longAnswer), INTERRUPTED, OVER_LENGTH],
])(
  "a server that %s is no tool that has answered, and no secret is told",
  async (_, manner, what, message) => {
    const { url, asked } = await serverOf(manner);
    const { call, notes } = open(url);
    const error = await call().then(
      () => new Error("It was answered."),
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(what === NOT_REACHED ? NotReached : Interrupted);
    expect(String(error)).toMatch(message);
    expect(notes.join() + String(error)).not.toContain("secret-token");
    expect(asked.every(({ authorization }) => authorization === "Bearer secret-token")).toBe(true);
  },
);

test("a server that refuses to begin, as a proxy whose own server is gone, is not said to speak another protocol", async () => {
  const { url } = await serverOf(({ id, method }, response) => {
    if (method !== "initialize") return false;
    const error = { code: -32000, message: "fetch failed: no secret-token." };
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id, error }));
    return true;
  });
  await expect(open(url).call()).rejects.toThrow(
    "The MCP server s refuses to begin: fetch failed: no <secret>.",
  );
});

test("a server that wants a token is told none where the settings name no variable for it, and that is said", async () => {
  const { url } = await serverOf(({ method }, response) => {
    if (method !== "tools/list") return false;
    status(401)(response);
    return true;
  });
  await expect(open(url, {}, {}).call()).rejects.toThrow(
    "answers with HTTP status 401: no: secret-token; the settings name no bearerVariable for it, and it may want a login (docs/mcp.md).",
  );
});

test("a server is told what the settings name for its other headers, and a 401 names those variables", async () => {
  const heard = new Set<unknown>();
  const { url } = await serverOf((_, response) => {
    const { "x-api-key": key, authorization } = response.req.headers;
    heard.add([key, authorization].join(" "));
    if (key === "abcd-1234") return false;
    status(401)(response);
    return true;
  });
  const headerVariables = { "X-Api-Key": "K", Authorization: "A" };
  const told = (key: string) => open(url, { K: key, A: "Basic dGVh" }, { headerVariables });
  expect(await told("abcd-1234\n").call()).toMatchObject({ content: "done" });
  expect([...heard]).toEqual(["abcd-1234 Basic dGVh"]);
  await expect(told("wrong-one").call()).rejects.toThrow(
    /status 401: .*; it does not take the token in K, A\./,
  );
});

test("a token that is exchanged is told from the next session on, and neither is shown", async () => {
  let taken = "token-of-an-hour";
  const { url } = await serverOf(({ method, id }, response) => {
    if (response.req.headers.authorization !== `Bearer ${taken}`) status(401)(response);
    else if (method === "tools/call" && taken === "token-of-the-next")
      refusal(200, `no: ${taken}, once token-of-an-hour`, id)(response);
    else return false;
    return true;
  });
  const variables: Record<string, string> = { T: taken };
  const { call } = open(url, variables);
  expect((await call()).content).toBe("done");
  variables["T"] = taken = "token-of-the-next";
  await expect(call()).rejects.toThrow(Reopenable);
  await expect(call()).rejects.toThrow("The server refuses the call: no: <secret>, once <secret>");
});

test("a session that the server has forgotten is begun again for the next call, and nothing was done", async () => {
  const forgotten = new Set<string>();
  const { url, asked } = await serverOf(({ session }, response) => {
    if (!forgotten.has(session)) return false;
    response.writeHead(404).end();
    return true;
  });
  const { call } = open(url);
  expect((await call()).content).toBe("done");
  for (const { session } of asked) if (session !== "undefined") forgotten.add(session);
  await expect(call()).rejects.toThrow(Reopenable);
  expect((await call()).content).toBe("done");
});

test("a session that is forgotten in an answer like any other is begun again with the next look at the tools", async () => {
  let isForgotten = false;
  const { url } = await serverOf(({ id, method }, response) => {
    if (method === "initialize") isForgotten = false;
    if (isForgotten) refusal(200, "Session not found", id)(response);
    return isForgotten;
  });
  const { call } = open(url);
  await call();
  isForgotten = true;
  await expect(call()).rejects.toThrow("Session not found");
  expect((await call()).content).toBe("done");
});

test.each<[string, (message: string) => string]>([
  ["application/json", (message) => message],
  ["text/event-stream", (message) => `event: message\r\ndata: ${message}\r\n\r\n`],
  ["text/event-stream", (message) => `event: message\rdata: ${message}\r\r: more\r`],
  ["text/event-stream", (message) => `${" ".repeat(400_000)}\n\ndata: ${message}\n\n`],
])("a server that says null where it has nothing is understood, in %s", async (type, said) => {
  const results: Readonly<Record<string, object>> = {
    initialize: {
      protocolVersion: "2025-06-18",
      capabilities: { tools: {}, prompts: null },
      serverInfo: { name: "fake", version: "1" },
      instructions: null,
    },
    "tools/list": { tools: [{ name: "act", inputSchema: { type: "object" } }], _meta: null },
    "tools/call": {
      content: [{ type: "text", text: "done" }],
      structuredContent: { cup: null },
      _meta: null,
    },
  };
  const { url } = await serverOf(({ id, method }, response) => {
    if (id === undefined) return false;
    const message = JSON.stringify({ jsonrpc: "2.0", id, result: results[method] ?? {}, error: null });
    response.writeHead(200, { "content-type": type });
    response.end(said(message));
    return true;
  });
  expect((await open(url).call()).content).toContain("done");
});

test.each<object>([
  { capabilities: undefined },
  { capabilities: { tools: true } },
  { serverInfo: undefined, instructions: { say: "x" } },
  { serverInfo: { name: "fake" } },
])("a server that says too little of itself, or in another form, is begun: %j", async (said) => {
  const { url } = await serverOf(({ id, method }, response) => {
    if (method !== "initialize") return false;
    const result = {
      protocolVersion: "2025-06-18",
      capabilities: {},
      serverInfo: { name: "f", version: "1" },
    };
    const message = { jsonrpc: "2.0", id, result: { ...result, ...said } };
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(message));
    return true;
  });
  expect((await open(url).call()).content).toBe("done");
});

test.each<object>([{ error: { code: -32601, message: "Method not found" } }, { result: { tools: null } }])(
  "a server without tools has none: %j",
  async (said) => {
    const { url, asked } = await serverOf(({ id, method }, response) => {
      if (method !== "tools/list") return false;
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id, ...said }));
      return true;
    });
    const { call } = open(url);
    await expect(call()).rejects.toThrow("The server has no tool.");
    await expect(call()).rejects.toThrow("The server has no tool.");
    expect(asked.filter(({ method }) => method === "initialize")).toHaveLength(1);
  },
);

/** The answer to a call, in a stream that is left open. */
const inStream = (said: (message: string, id: unknown) => string): Manner => {
  return ({ id, method }, response) => {
    if (method !== "tools/call") return false;
    const result = { content: [{ type: "text", text: "done" }] };
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(said(JSON.stringify({ jsonrpc: "2.0", id, result }), id));
    return true;
  };
};

test.each<[string, (message: string) => string]>([
  ["no empty line is behind it", (message) => `event: message\nid: 7\ndata: ${message}\n`],
  ["its event has another name", (message) => `event: result\ndata: ${message}\n\n`],
  ["it stands in a list", (message) => `data: [${message}]\n\n`],
  ["it is spread over lines", (message) => `data: ${message.slice(0, -1)}\ndata: ${message.slice(-1)}\n\n`],
  [
    "it follows a notification closely",
    (message) => `data: {"jsonrpc":"2.0","method":"x"}\n\ndata:${message}\n`,
  ],
])("an answer is read in a stream that is left open where %s", async (_, said) => {
  const { url } = await serverOf(inStream(said));
  expect((await open(url).call()).content).toBe("done");
});

test("an answer is read whose line has not ended with its stream", async () => {
  const { url } = await serverOf((asked, response) => {
    const isAnswered = inStream((message) => `data: ${message}`)(asked, response);
    if (isAnswered) response.end();
    return isAnswered;
  });
  expect((await open(url).call()).content).toBe("done");
});

test.each<[string, (id: unknown) => string]>([
  ["is cut off", (id) => `data: {"jsonrpc":"2.0","id":${Number(id)},"result":{"con\n\n`],
  ["has no result", (id) => `data: {"jsonrpc":"2.0","id":${Number(id)},"resul":{}}\n\n`],
  ["has no version", (id) => `data: {"id":${Number(id)},"result":{"content":[]}}\n\n`],
])("an answer in an open stream that %s is not waited for again", async (_, said) => {
  const { url } = await serverOf(inStream((__, id) => said(id)));
  const called = open(url).call();
  await expect(called).rejects.toThrow("has not given an answer that can be read");
  await expect(called).rejects.toThrow(Interrupted);
});

test.each<[string, string, object]>([
  ["", '{"content":"done","isError":"false"}', { content: "done", isError: false }],
  ["text/json", '{"content":[{"text":"no"}],"isError":"True"}', { content: "no", isError: true }],
])("an answer in other spellings is one, of the type %j: %s", async (type, result, expected) => {
  const { url } = await serverOf(({ id, method }, response) => {
    if (method !== "tools/call") return false;
    response.writeHead(200, type === "" ? {} : { "content-type": type });
    response.end(`{"jsonrpc":"2.0","id":${id},"result":${result}}`);
    return true;
  });
  expect(await open(url).call()).toEqual(expected);
});

test.each<[number, unknown, RegExp]>([
  [200, "no cup", /^Error: The server has failed in the call.*: no cup$/],
  [200, { code: "NO_CUP", message: "no cup" }, /^Error: The server has failed in the call.*: no cup$/],
  [500, { code: -32603, message: "no cup" }, /answers with HTTP status 500: no cup\.$/],
  // What proxies say of the server behind them: the call runs on there, or has ended somewhere in it.
  [
    200,
    { code: -32001, message: "Request timed out" },
    /^Error: The server has failed in the call.*: Request/,
  ],
  [200, { code: -32000, message: "Connection closed" }, /^Error: The server has failed in the call.*: Conn/],
  [200, { code: -32602, message: "no cup" }, /^Error: The server refuses the call: no cup$/],
])("what a server says of its failure is told, with status %i: %j", async (code, error, expected) => {
  const { url } = await serverOf(({ id, method }, response) => {
    if (method !== "tools/call") return false;
    response.writeHead(code, { "content-type": "application/json" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id, error }));
    return true;
  });
  expect(await open(url).call().catch(String)).toMatch(expected);
});

test.each([
  ["as what it cannot read", refusal(400, "Invalid request")],
  ["as a path that it does not have", status(404)],
  ["as a proxy does", status(502)],
])("a server that refuses the word that all is well, %s, is spoken to all the same", async (_, answer) => {
  const { url, asked } = await serverOf(({ method }, response) => {
    if (method !== "notifications/initialized") return false;
    answer(response);
    return true;
  });
  const { call } = open(url);
  expect((await call()).isError).toBe(false);
  expect(asked.filter(({ method }) => method === "initialize")).toHaveLength(1);
});

test("a server that leaves the word that all is well without an answer holds nobody up for ever", async () => {
  const { setTimeout: later } = globalThis;
  const timers = vi.spyOn(globalThis, "setTimeout");
  timers.mockImplementation(((then: () => void, delay: number) =>
    later(then, delay === 30_000 ? 500 : delay)) as typeof setTimeout);
  onTestFinished(() => timers.mockRestore());
  const { url } = await serverOf(({ method }) => method === "notifications/initialized");
  await expect(open(url).call()).rejects.toThrow("has not begun within 30 seconds");
});

test("a stream that its server leaves open is closed behind the answer, and behind a call that was given up", async () => {
  const left: Promise<unknown>[] = [];
  const result = { content: [{ type: "text", text: "left open" }] };
  const { url } = await serverOf(({ id, method }, response) => {
    if (method !== "tools/call") return false;
    left.push(once(response, "close"));
    const answer = `data: ${JSON.stringify({ jsonrpc: "2.0", id, result })}\n\n`;
    stream(left.length === 1 ? answer : ": nothing\n\n", () => undefined)(response);
    return true;
  });
  const { call } = open(url);
  expect((await call()).content).toBe("left open");
  const givenUp = new AbortController();
  const called = call(givenUp.signal);
  await eventually(() => Promise.resolve(left.length === 2));
  givenUp.abort();
  await expect(called).rejects.toThrow(Interrupted);
  await Promise.all(left);
});

test("a server is told that a session is over, and one that does not care holds nobody up", async () => {
  for (const onEnd of [status(200), status(405), (): unknown => undefined]) {
    const { url, ended } = await serverOf(() => false, onEnd);
    const { call, close } = open(url);
    await call();
    await close();
    expect(ended).toEqual(["s1"]);
  }
});

test.each<[string, number, object, number]>([
  ["answers it", 200, { result: {} }, 1],
  ["answers it as PHP does", 200, { result: [] }, 1],
  ["has no word for it", 200, { error: { code: -32601, message: "Method not found" } }, 1],
  ["has no word for it, with a status", 404, { error: { code: -32601, message: "Method not found" } }, 1],
  ["has forgotten who asks", 404, { error: { code: -32001, message: "Session not found" } }, 2],
])(
  "a server that is pinged since it has not answered a call is begun again only where it is not there: it %s",
  async (_, code, pong, begun) => {
    const { url, asked } = await serverOf(({ id, method }, response) => {
      if (method === "ping")
        response
          .writeHead(code, { "content-type": "application/json" })
          .end(JSON.stringify({ jsonrpc: "2.0", id, ...pong }));
      return method === "ping" || (method === "tools/call" && asked.every(({ method: m }) => m !== "ping"));
    });
    const { call } = open(url);
    const off = new AbortController();
    const called = call(off.signal);
    await eventually(() => asked.some(({ method }) => method === "tools/call"));
    off.abort();
    await expect(called).rejects.toBeDefined();
    expect(await call()).toEqual({ content: "done", isError: false });
    expect(asked.filter(({ method }) => method === "initialize")).toHaveLength(begun);
  },
);

test("a server that is gone is begun again or said to be gone, to the operator as well", async () => {
  const { url, end } = await serverOf(() => false);
  const { call, notes } = open(url);
  await call();
  end();
  await expect(call()).rejects.toBeInstanceOf(Error); // what was on its way when the connection broke may have been done
  await expect(call()).rejects.toThrow("cannot be reached: nothing listens there");
  expect(notes).toContain("The MCP server s cannot be reached: nothing listens there.");
});

test("a server that has its stream opened again at once, or in years, does not get its way", async () => {
  expect([0, 1_000, 99_999_999_999].map(delayUntilNextStream)).toEqual([500, 1_000, 60_000]);
  const timers = vi.spyOn(globalThis, "setTimeout");
  onTestFinished(() => timers.mockRestore());
  const { url } = await serverOf(inCalls(stream("retry: 99999999999\nid: 1\ndata:\n\n", (to) => to.end())));
  const { call } = open(url);
  const given = new AbortController();
  const called = call(given.signal);
  await eventually(() => Promise.resolve(timers.mock.calls.some(([, delay]) => delay === 60_000)));
  given.abort();
  await expect(called).rejects.toBeInstanceOf(Error);
});

test("a stream that ends again before it has said anything is gone on with where it was, as often as it takes", async () => {
  const wanted: unknown[] = [];
  let asked: number | undefined;
  const { url } = await serverOf(
    ({ id, method }, response) => {
      if (method !== "tools/call") return false;
      asked = id;
      stream("retry: 1\nid: begun\ndata:\n\n", (to) => to.end())(response);
      return true;
    },
    undefined,
    (response, { headers }) => {
      if (asked === undefined) return response.writeHead(405).end();
      wanted.push(headers["last-event-id"]);
      const result = { content: [{ type: "text", text: "in the end" }] };
      const said =
        wanted.length < 3
          ? ": nothing yet"
          : `data: ${JSON.stringify({ jsonrpc: "2.0", id: asked, result })}`;
      return stream(`${said}\n\n`, (to) => to.end())(response);
    },
  );
  expect((await open(url).call()).content).toBe("in the end");
  expect(wanted).toEqual(["begun", "begun", "begun"]);
});

test("a server that speaks no TLS is told as that, not as one that cannot be reached", async () => {
  const { url } = await serverOf(() => false);
  const { call, notes } = open(url.replace("http:", "https:"));
  const why = "The MCP server s cannot be reached: no TLS is agreed on. Is it http:// that is spoken there?";
  await expect(call()).rejects.toThrow(new NotReached(why));
  expect(notes).toEqual([why]);
});

test("a token that is named and not there is missed before anybody is asked", async () => {
  const { url, asked } = await serverOf(() => false);
  const { call } = open(url, {});
  await expect(call()).rejects.toThrow("wants a token: the variable T is not set where this worker runs");
  await expect(call()).rejects.toThrow(NotReached);
  expect(asked).toEqual([]);
});

test("a port that no request goes to is told", async () => {
  await expect(open("http://127.0.0.1:6667/mcp").call()).rejects.toThrow(
    "cannot be reached: its URL names port 6667, which other protocols have",
  );
});

test("a token that no header can carry is told before anybody is asked, and not repeated", async () => {
  const { url, asked } = await serverOf(() => false);
  const failure = await open(url, { T: "sec\nret" }).call().catch(String);
  expect(failure).toMatch(/wants a token: the variable T holds characters that no header can carry/);
  expect(failure).not.toContain("sec\nret");
  expect(asked).toEqual([]);
});
