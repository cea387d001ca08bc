import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { type ServerResponse, createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { loadConfig } from "../../src/config.js";
import { checkModel } from "../../src/doctor/check-models.js";
import { configuredModels } from "../../src/doctor/configured-models.js";
import type { Finding } from "../../src/doctor/finding.js";
import type { ModelSettings } from "../../src/model/chat.js";
import { newStoreDir, writeSettings } from "./places.js";
import { listen } from "../fakes/listen.js";
import { freePort } from "../fakes/free-port.js";

const run = promisify(execFile);
const KEY = "sk-of-nobody-0123456789";

interface Asked {
  readonly method: string;
  readonly url: string;
  readonly body: Readonly<Record<string, unknown>>;
}
type Answer = (response: ServerResponse, asked: Asked) => void;

/** A real server on the loopback address that answers by hand. */
async function startServer(answer: Answer): Promise<{ baseUrl: string; asked: Asked[] }> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const text = Buffer.concat(chunks).toString("utf8");
      const body = (text === "" ? {} : JSON.parse(text)) as Asked["body"];
      asked.push({ method: request.method ?? "", url: request.url ?? "", body });
      answer(response, { method: request.method ?? "", url: request.url ?? "", body });
    });
  });
  return { baseUrl: `http://127.0.0.1:${await listen(server)}/v1`, asked };
}

const json = (response: ServerResponse, status: number, value: unknown) => {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(value));
};
const CALL = { id: "c1", type: "function", function: { name: "report", arguments: '{"ok":true}' } };
const USAGE = { prompt_tokens: 40, completion_tokens: 9 };
const completion = (message: object, usage: object | undefined = USAGE, reason = "tool_calls") => ({
  model: "m-1",
  choices: [{ index: 0, message: { role: "assistant", content: null, ...message }, finish_reason: reason }],
  ...(usage === undefined ? {} : { usage }),
});
const events = (response: ServerResponse, chunks: readonly unknown[]) => {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(
    [...chunks.map((chunk) => JSON.stringify(chunk)), "[DONE]"].map((data) => `data: ${data}\n\n`).join(""),
  );
};
const streamed = (usage: object | undefined = USAGE) => [
  { choices: [{ index: 0, delta: { tool_calls: [{ index: 0, ...CALL }] }, finish_reason: null }] },
  { choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] },
  ...(usage === undefined ? [] : [{ choices: [], usage }]),
];
/** A server as it should be. */
const good: Answer = (response, { method, body }) => {
  if (method === "GET") json(response, 200, { data: [{ id: "m" }, { id: "other" }] });
  else if (body["stream"] === true) events(response, streamed());
  else json(response, 200, completion({ tool_calls: [CALL] }));
};
/** Like that, but for what it is asked by POST. */
const posts =
  (answer: Answer): Answer =>
  (response, asked) =>
    asked.method === "GET" ? good(response, asked) : answer(response, asked);

async function checked(answer: Answer, settings: Partial<ModelSettings> = {}) {
  const { baseUrl, asked } = await startServer(answer);
  const findings = await checkModel({
    settings: { model: "m", baseUrl, apiKey: KEY, stream: false, timeoutMs: 540_000, ...settings },
    usedBy: ["default"],
    keyVariable: "OPENAI_API_KEY",
  });
  expect(JSON.stringify(findings)).not.toContain(KEY);
  return { findings, asked, baseUrl, of: (part: string) => of(findings, part) };
}

function of(findings: readonly Finding[], part: string): Finding {
  const finding = findings.find(({ name }) => name.endsWith(`: ${part}`));
  if (finding === undefined) throw new Error(`no finding for ${part}`);
  return finding;
}
const statusesOf = (findings: readonly Finding[]) => findings.map(({ status }) => status).join(" ");

describe("a model", () => {
  test("whose server takes no second message of the system's, as runs send, is not in order", async () => {
    const { findings, of } = await checked(
      posts((response, asked) => {
        const messages = asked.body["messages"] as { role: string }[];
        if (messages.filter(({ role }) => role === "system").length < 2) good(response, asked);
        else json(response, 400, { error: { message: "E42" } });
      }),
    );
    expect(statusesOf(findings)).toContain("failed");
    expect(of("calls a tool").found).toContain("E42");
  });

  test("that answers as it should is in order, for two small requests", async () => {
    const { findings, asked, of } = await checked(good);
    expect(statusesOf(findings)).toBe("ok ok ok ok ok ok");
    expect(of("key").found).toContain("OPENAI_API_KEY");
    expect(of("usage").found).toBe("49 tokens for this");
    const requests = asked.filter(({ method }) => method === "POST");
    expect(requests.map(({ url, body }) => [url, body["stream"] === true])).toEqual([
      ["/v1/chat/completions", false],
      ["/v1/chat/completions", true],
    ]);
    expect(requests.every(({ body }) => body["max_completion_tokens"] === 512)).toBe(true);
  });

  test("that refuses the key is reachable, and the remedy names the variable", async () => {
    const { findings, of } = await checked((response) =>
      json(response, 401, { error: { message: `Incorrect API key provided: ${KEY}` } }),
    );
    expect(statusesOf(findings)).toBe("ok failed skipped skipped skipped skipped");
    expect(of("key").found).toContain("401");
    expect(of("key").remedy).toContain("OPENAI_API_KEY");
  });

  test.each(["\n", "’"])(
    "whose key no header can carry is told so, by the variable and without the key: %j",
    async (end) => {
      const { findings, asked, of } = await checked(good, { apiKey: `${KEY}${end}` });
      expect(asked).toEqual([]);
      expect(statusesOf(findings)).toBe("failed skipped skipped skipped skipped skipped");
      expect(of("reachable").found).toContain("its key holds characters that no header can carry");
      expect(of("reachable").remedy).toBe("Correct the key in OPENAI_API_KEY.");
    },
  );

  test("on a port that no request goes to is told so, and no server is to be started", async () => {
    const { of } = await checked(good, { baseUrl: "http://127.0.0.1:6000/v1" });
    expect(of("reachable").found).toContain("names port 6000, which other protocols have");
    expect(of("reachable").remedy).toBe("Correct OPENAI_BASE_URL.");
  });

  test("that is not there is said with those that are", async () => {
    const { of } = await checked(
      posts((response) => json(response, 404, { error: { message: "The model does not exist" } })),
      { model: "gone" },
    );
    expect(of("exists")).toMatchObject({ status: "failed" });
    expect(of("exists").found).toContain("404");
    expect(of("exists").found).toContain("GET /models has m, other");
    expect(of("exists").remedy).toContain("INTERLOCK_MODEL");
  });

  test("is said with those that are, where they come in no field", async () => {
    const { of } = await checked(
      (response, { method }) =>
        method === "GET"
          ? json(response, 200, [{ id: "m" }, { id: "other" }])
          : json(response, 404, { error: { message: "The model does not exist" } }),
      { model: "gone" },
    );
    expect(of("exists").found).toContain("GET /models has m, other");
  });

  test.each([
    ["gemma3", "gemma3:latest"],
    ["org/model:fastest", "org/model"],
  ])(
    "called %s, which its list has as %s, is there where it refuses for something else",
    async (model, id) => {
      const message = `registry.example/library/${id} does not support tools`;
      const { findings, of } = await checked(
        (response, { method }) =>
          method === "GET"
            ? json(response, 200, { data: [{ id }] })
            : json(response, 400, { error: { message } }),
        { model },
      );
      expect(statusesOf(findings)).toBe("ok skipped skipped failed skipped skipped");
      expect(of("calls a tool").found).toContain("does not support tools");
    },
  );

  test("behind a proxy that lets nobody through is not reachable, whatever the key", async () => {
    const { of } = await checked((response) => {
      response.writeHead(403, { "content-type": "text/html" });
      response.end("<!DOCTYPE html><title>Just a moment...</title>");
    });
    expect(of("reachable")).toMatchObject({ status: "failed" });
    expect(of("reachable").found).toContain("403 Just a moment...");
  });

  test("whose credits are used up says so, and blames no key and no proxy", async () => {
    const { of } = await checked((response) => json(response, 403, { error: "You have used all credits." }));
    expect(of("key")).not.toMatchObject({ status: "failed" });
    expect(of("calls a tool")).toMatchObject({ status: "failed" });
    expect(of("calls a tool").found).toContain("used all credits");
  });

  test("behind a proxy that says 502 in HTML is not reachable", async () => {
    const { of } = await checked((response) => {
      response.writeHead(502, { "content-type": "text/html" });
      response.end("<html><head><title>502 Bad Gateway</title></head></html>");
    });
    expect(of("reachable")).toMatchObject({ status: "failed" });
    expect(of("reachable").found).toContain("502 Bad Gateway");
  });

  test("whose address is a web site's is none: the remedy is the address, no other try", async () => {
    const { of } = await checked((response) => {
      response.writeHead(200, { "content-type": "text/html; charset=utf-8" });
      response.end("<!doctype html><title>Welcome</title>");
    });
    expect(of("reachable")).toMatchObject({
      status: "failed",
      remedy: "Correct OPENAI_BASE_URL: most end in /v1.",
    });
    expect(of("reachable").found).toContain("with a web page, not a chat completion: Welcome");
  });

  test.each([
    [405, "text/html", "<html><head><title>405 Not Allowed</title></head></html>"],
    [405, "application/json", '{"detail":"Method Not Allowed"}'],
    [404, "text/html; charset=utf-8", "<!doctype html><title>404: This page is not here</title>"],
  ])(
    "whose address is one that takes no requests is told of that alone: %i %s",
    async (status, type, body) => {
      const { of } = await checked((response) => {
        response.writeHead(status, { "content-type": type });
        response.end(body);
      });
      expect(of("reachable")).toMatchObject({
        status: "failed",
        remedy: "Correct OPENAI_BASE_URL: most end in /v1.",
      });
    },
  );

  test("whose address lacks /v1 is told so where its server says that under 200", async () => {
    const { of } = await checked((response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: "Unexpected endpoint or method. (POST /chat/completions)" }));
    });
    expect(of("reachable")).toMatchObject({
      status: "failed",
      remedy: "Correct OPENAI_BASE_URL: most end in /v1.",
    });
  });

  test("whose address redirects is not followed, and the host is named", async () => {
    const { of, asked } = await checked((response) => {
      response.writeHead(308, { location: "http://elsewhere.example/v1/chat/completions" });
      response.end();
    });
    expect(of("reachable")).toMatchObject({ status: "failed" });
    expect(of("reachable").found).toContain("elsewhere.example");
    expect(asked).toHaveLength(2);
  });

  test("that hangs is said to, and so is one that only takes its time", async () => {
    const [hanging, slow] = await Promise.all([checked(() => undefined), checked(posts(() => undefined))]);
    expect(hanging.of("reachable")).toMatchObject({ status: "failed" });
    expect(hanging.of("reachable").found).toContain(`${hanging.baseUrl}: no answer within 5 s`);
    expect(slow.of("calls a tool")).toMatchObject({ status: "warning" });
    expect(slow.of("calls a tool").remedy).toContain("540 s");
  });

  test("at a closed port is refused, with address and cause", async () => {
    const baseUrl = `http://127.0.0.1:${await freePort()}/v1`;
    const findings = await checkModel({
      settings: { model: "m", baseUrl: `${baseUrl}?key=${KEY}`, stream: false, timeoutMs: 1_000 },
      usedBy: ["writer"],
      keyVariable: "",
    });
    expect(of(findings, "reachable")).toMatchObject({ status: "failed", found: `${baseUrl}: ECONNREFUSED` });
    expect(of(findings, "reachable").remedy).toContain("agents.writer.baseUrl");
  });

  test("whose certificate is not accepted is told so, not to be started", async () => {
    const dir = await newStoreDir();
    const [key, cert] = [join(dir, "k.pem"), join(dir, "c.pem")];
    const made = ["-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=other.example"];
    await run("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", ...made]);
    const server = createTlsServer({ key: readFileSync(key), cert: readFileSync(cert) }, (_, response) =>
      response.end("{}"),
    );
    const port = await listen(server);
    const findings = await checkModel({
      settings: { model: "m", baseUrl: `https://127.0.0.1:${port}/v1`, stream: false, timeoutMs: 540_000 },
      usedBy: ["default"],
      keyVariable: "OPENAI_API_KEY",
    });
    expect(of(findings, "reachable").found).toContain("its certificate is not accepted");
    expect(of(findings, "reachable").remedy).toContain("NODE_EXTRA_CA_CERTS");
  });

  test("that answers in prose calls no tool", async () => {
    const { of } = await checked(
      posts((response) => json(response, 200, completion({ content: "I will report now." }, USAGE, "stop"))),
    );
    expect(of("calls a tool")).toMatchObject({ status: "failed" });
    expect(of("calls a tool").found).toContain("I will report now.");
  });

  test.each([
    ["in its marks", '<tool_call>\n{"name": "report", "arguments": {"ok": true}}'],
    ["without them", 'report{"ok": true}'],
  ])("whose call its server leaves in the text is told of the server's parser: %s", async (_, call) => {
    const content = `<think>\nThe user wants me to call the function report, so that is what I do.\n</think>\n${call}`;
    const { of } = await checked(
      posts((response) => json(response, 200, completion({ content }, USAGE, "stop"))),
    );
    const { status, found, remedy } = of("calls a tool");
    expect(status).toBe("failed");
    expect(found).toBe(`no: it writes the call as text, which is not run: ${call}`);
    expect(remedy).toContain("--tool-call-parser");
  });

  test("that thinks for longer than it is given fails nothing", async () => {
    const { of } = await checked(
      posts((response) => json(response, 200, completion({ content: "" }, USAGE, "length"))),
    );
    expect(of("calls a tool")).toMatchObject({ status: "warning" });
  });

  test("of Ollama whose context's length nobody has set is warned of: what is too long is cut off silently", async () => {
    const [unset, set] = await Promise.all([
      checked(good, { dialect: "ollama" }),
      checked(good, { dialect: "ollama", contextTokens: 8_192 }),
    ]);
    expect(unset.of("context")).toMatchObject({
      status: "warning",
      remedy: expect.stringContaining("contextTokens"),
    });
    expect(statusesOf(set.findings)).toBe("ok ok ok ok ok ok");
  });

  test("that reports no usage, or none in streams, is estimated, and said to be", async () => {
    const [never, notInStreams] = await Promise.all([
      checked(
        posts((response, { body }) =>
          body["stream"] === true
            ? events(response, streamed({}))
            : json(response, 200, completion({ tool_calls: [CALL] }, {})),
        ),
      ),
      checked(
        posts((response, asked) =>
          asked.body["stream"] === true ? events(response, streamed({})) : good(response, asked),
        ),
      ),
    ]);
    expect(never.of("usage")).toMatchObject({
      status: "warning",
      found: "none is reported: tokens are estimated",
    });
    expect(notInStreams.of("usage").found).toContain("none in a stream: tokens are estimated");
  });

  test.each(["stop", "length"])(
    "that calls nothing whole either, with the end %s, streams as it answers",
    async (end) => {
      const { of } = await checked(
        posts((response, { body }) => {
          if (body["stream"] !== true) json(response, 200, completion({ content: "Hm." }, USAGE, end));
          else events(response, [{ choices: [{ index: 0, delta: { content: "Hm." }, finish_reason: end }] }]);
        }),
      );
      expect(of("calls a tool").status).not.toBe("ok");
      expect(of("streams")).toMatchObject({ status: "ok" });
    },
  );

  test("that answers whole where a stream is asked for does not stream", async () => {
    const { of } = await checked(
      posts((response) => json(response, 200, completion({ tool_calls: [CALL] }))),
    );
    expect(of("streams")).toMatchObject({ status: "warning" });
    expect(of("usage")).toMatchObject({ status: "ok" });
  });

  test.each([
    [true, "failed"],
    [false, "warning"],
  ])("that refuses streams, with stream %s, is a matter of %s", async (stream, status) => {
    const { of } = await checked(
      posts((response, asked) =>
        asked.body["stream"] === true
          ? json(response, 500, { error: { message: "no streams here" } })
          : good(response, asked),
      ),
      { stream },
    );
    expect(of("streams")).toMatchObject({ status });
    expect(of("streams").found).toContain("no streams here");
  });

  test("whose quota is used up fails; one that asks to wait does not", async () => {
    const quota = { error: { message: "You exceeded your quota", code: "insufficient_quota" } };
    const [used, busy] = await Promise.all([
      checked(posts((response) => json(response, 429, quota))),
      checked(posts((response) => json(response, 429, { error: { message: "slow down" } }))),
    ]);
    expect(used.of("calls a tool")).toMatchObject({ status: "failed" });
    expect(used.of("calls a tool").found).toContain("429");
    expect(busy.of("calls a tool")).toMatchObject({ status: "warning" });
  });

  const overloaded = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
  test.each<[string, number, object]>([
    ["Anthropic's own status", 529, overloaded],
    ["as JSON under 503", 503, { error: { code: 503, message: "Loading model", type: "unavailable_error" } }],
    ["in place of an answer", 200, overloaded],
    ["under 404", 404, { detail: "DEGRADED function cannot be invoked" }],
  ])("that is overloaded, %s, is there: runs ask it again", async (_, status, body) => {
    const { of } = await checked(posts((response) => json(response, status, body)));
    expect(of("reachable")).toMatchObject({ status: "ok" });
    const remedy = "Try again; runs do so by themselves.";
    expect(of("calls a tool")).toMatchObject({ status: "warning", remedy });
  });

  test.each<[string, number, { readonly error: { readonly message: string; readonly code?: string } }]>([
    [
      "Ollama's",
      500,
      { error: { message: "model requires more system memory (9.8 GiB) than is available (5.5 GiB)" } },
    ],
    ["LiteLLM's", 502, { error: { message: "litellm.BadGatewayError: Error code: 502", code: "502" } }],
    ["vLLM's in a stream", 200, { error: { message: "Internal server error", code: "500" } }],
  ])(
    "whose server has failed itself is there, and its address is not to blame: %s",
    async (_, status, body) => {
      const { of } = await checked(posts((response) => json(response, status, body)));
      expect(of("reachable")).toMatchObject({ status: "ok" });
      const { status: judged, found, remedy } = of("calls a tool");
      expect(judged).toBe("failed");
      expect(found).toContain(body.error.message);
      expect(remedy).toMatch(
        /^Try again; runs do so by themselves\. Else mend what it names at http:\/\/127\.0\.0\.1:\d+\/v1\.$/u,
      );
    },
  );

  test.each([
    ["OpenRouter's", "No endpoints found that support tool use."],
    ["LM Studio's", "No models loaded. Please load a model in the developer page."],
    ["MLX's", "[metal::malloc] Attempting to allocate too many bytes."],
  ])("that is listed is no unknown name, whatever is said of it under 404: %s", async (_, message) => {
    const { findings, of } = await checked(posts((response) => json(response, 404, { error: { message } })));
    expect(statusesOf(findings)).toBe("ok skipped skipped failed skipped skipped");
    expect(of("calls a tool").found).toContain(message);
  });

  test("that a router does not know is named, also where it says so under 200", async () => {
    const error = { code: "model_not_found", message: "No such model" };
    const { of } = await checked(
      posts((response) => json(response, 200, { error })),
      { model: "gone" },
    );
    expect(of("reachable")).toMatchObject({ status: "ok" });
    expect(of("exists")).toMatchObject({
      status: "failed",
      remedy: "Correct INTERLOCK_MODEL, or OPENAI_BASE_URL: most end in /v1.",
    });
  });

  test("that refuses a parameter is asked again without it, as in runs", async () => {
    const { findings } = await checked(
      posts((response, asked) =>
        Object.hasOwn(asked.body, "max_completion_tokens")
          ? json(response, 422, { error: { message: "unknown parameter max_completion_tokens" } })
          : good(response, asked),
      ),
    );
    expect(statusesOf(findings)).toBe("ok ok ok ok ok ok");
  });

  test("whose name is not in the list but answers is there", async () => {
    const { of } = await checked(good, { model: "alias" });
    expect(of("exists")).toMatchObject({ status: "ok" });
    expect(of("exists").found).toContain("does not list it");
  });

  test("is not said to be missing in a list of which one page is seen", async () => {
    const page = { data: [{ id: "newest" }], has_more: true, last_id: "newest" };
    const paged = (answer: Answer): Answer => {
      return (response, asked) =>
        asked.method === "GET" ? json(response, 200, page) : answer(response, asked);
    };
    const there = await checked(paged(good), { model: "older" });
    expect(there.of("exists").found).not.toContain("GET /models");
    const refused = { error: { message: "messages: at least one message is required" } };
    const other = await checked(
      paged((response) => json(response, 400, refused)),
      { model: "older" },
    );
    expect(other.of("calls a tool").found).toContain("at least one message");
  });
});

describe("which models are asked", () => {
  const read = async (settings: object, environment: Record<string, string>) =>
    configuredModels(
      loadConfig({ ...environment, INTERLOCK_STORE: await writeSettings(await newStoreDir(), settings) }),
    );

  test("the default and those of agents, each once", async () => {
    const { models, findings } = await read(
      {
        agents: {
          writer: { temperature: 0.5 },
          editor: {},
          judge: { model: "j", baseUrl: "http://127.0.0.1:9/v1", apiKeyVariable: "JUDGE_KEY" },
        },
      },
      { INTERLOCK_MODEL: "m", OPENAI_API_KEY: KEY, JUDGE_KEY: "judge-key" },
    );
    expect(findings).toEqual([]);
    expect(models.map(({ usedBy, keyVariable, settings }) => [usedBy, keyVariable, settings.model])).toEqual([
      [["default", "editor"], "OPENAI_API_KEY", "m"],
      [["writer"], "OPENAI_API_KEY", "m"],
      [["judge"], "JUDGE_KEY", "j"],
    ]);
  });

  test.each([
    [
      "http://model.invalid/v1",
      {},
      "HTTPS_PROXY is set and not used: Node 24 uses it with NODE_USE_ENV_PROXY=1.",
    ],
    ["http://model.invalid/v1", { NODE_USE_ENV_PROXY: "1" }, "correct OPENAI_BASE_URL."],
    ["http://127.0.0.1:2/v1", {}, "correct OPENAI_BASE_URL."],
  ])("at %s, with %j beside a proxy, is told of what is not used", async (url, more, end) => {
    const environment = { INTERLOCK_MODEL: "m", OPENAI_BASE_URL: url, HTTPS_PROXY: "http://127.0.0.1:9" };
    const { models } = await read({}, { ...environment, ...more });
    const [model] = models;
    if (model === undefined) throw new Error("no model");
    expect(of(await checkModel(model), "reachable").remedy).toMatch(new RegExp(`${end}$`, "u"));
  });

  test.each([
    ["by its id", {}],
    ["by the name of an entry", { models: { fast: { model: "m" } } }],
  ])("a default that is named %s and cannot be asked is not said to be missing", async (_, settings) => {
    const { findings } = await read(settings, { INTERLOCK_MODEL: "fast" });
    expect(findings.find(({ name }) => name === "model (default)")).toMatchObject({
      status: "warning",
      found: "fast has neither a base URL nor a key: runs need --rehearse, or agents' own models",
      remedy: "Set OPENAI_API_KEY or OPENAI_BASE_URL.",
    });
  });

  test("without any, runs need a rehearsal; an agent with settings and no model fails", async () => {
    const { models, findings } = await read({ agents: { writer: { temperature: 0 } } }, {});
    expect(models).toEqual([]);
    expect(findings.map(({ name, status }) => [name, status])).toEqual([
      ["model (default)", "warning"],
      ["model (writer)", "failed"],
    ]);
  });
});

test.each<readonly [number, string, object]>([
  [
    400,
    "as Gemini says it",
    [{ error: { code: 400, message: "API key not valid.", status: "INVALID_ARGUMENT" } }],
  ],
  [200, "as DashScope says it", { code: "InvalidApiKey", message: "Invalid API-key provided." }],
])("a key that is refused with %i, %s, is the key's fault", async (status, _, body) => {
  const { of: part } = await checked((response) => json(response, status, body));
  expect(part("key")).toMatchObject({ status: "failed" });
  expect(part("key").remedy).toContain("OPENAI_API_KEY");
});
