// An MCP server over stdio that behaves as badly as its argument says. It speaks the protocol by hand: what it sends is up to it.
import { spawn } from "node:child_process";
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";

let [manner = "plain"] = process.argv.slice(2);
const [log = "", flag = ""] = process.argv.slice(3);
const write = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
/** What results have since the protocol's version of 2026-07-28. */
const LATER = { resultType: "complete", ttlMs: 0, cacheScope: "private" };
const send = (message) => {
  const whole = { jsonrpc: "2.0", ...message };
  if (manner === "unbegun" && whole.result !== undefined) whole.result = { ...LATER, ...whole.result };
  if (manner === "no version") write(message);
  else
    write(
      manner === "in lists"
        ? [{ jsonrpc: "2.0", method: "notifications/message", params: {} }, whole]
        : whole,
    );
};
if (manner === "marked") process.stdout.write("\uFEFF");
/** Is told of each error that a request of this server is answered with. */
let answered = () => undefined;
const note = (line) => log !== "" && appendFileSync(log, `${line}\n`);
note(`begun ${process.pid}`);
process.stdin.on("end", () => {
  note("ended");
  if (manner !== "stays") process.exit(0);
});

const tool = (name, more = {}) => ({
  name,
  description: `Does ${name}.`,
  inputSchema: { type: "object" },
  ...more,
});
const look = tool("look", { annotations: { readOnlyHint: true } });

const LISTS = {
  plain: () => [look, tool("act"), tool("set", { annotations: { idempotentHint: true } })],
  dotted: () => [look, tool("admin.act"), tool("look.at", { annotations: { readOnlyHint: true } })],
  changing: () => (existsSync(flag) ? [look, tool("later")] : [look, tool("act")]),
  tasks: () => [
    look,
    tool("act", { execution: { taskSupport: "optional" } }),
    tool("brew", { execution: { taskSupport: "required" } }),
  ],
  hostile: () => [
    look,
    tool("bidi", { description: "safe\u202Eevil \u001B[31mred\u200B", annotations: "none" }),
    tool("na\u202Eme"),
    tool("x".repeat(500)),
    tool("a b; rm"),
    tool("__proto__"),
    tool("deep", {
      inputSchema: JSON.parse(
        `{"type":"object","properties":${'{"a":{"properties":'.repeat(60)}{}${"}}".repeat(60)}}`,
      ),
    }),
    tool("wide", {
      inputSchema: {
        type: "object",
        properties: Object.fromEntries(Array.from({ length: 3_000 }, (_, n) => [`p${n}`, {}])),
      },
    }),
    tool("long", { inputSchema: { type: "object", description: "x".repeat(1_000_000) } }),
    tool("far", {
      inputSchema: { type: "object", properties: { a: { $ref: "https://elsewhere.invalid/a.json" } } },
    }),
    tool("list", { inputSchema: { type: "array" } }),
    tool("marker", { inputSchema: { $schema: "http://json-schema.org/draft-07/schema#" } }),
    tool("none", { inputSchema: null }),
    tool("php", { inputSchema: { type: "object", properties: [] } }),
    tool("either", { inputSchema: { type: ["object", "null"], properties: { a: {} } } }),
    tool("yes", { inputSchema: true }),
    { name: 7, inputSchema: { type: "object" } },
    null,
    "text",
    tool("proto", { inputSchema: JSON.parse('{"type":"object","__proto__":{"x":1}}') }),
    tool("hidden", { inputSchema: { type: "object", properties: { "na\u200Bme": {} } } }),
  ],
};

/** Pages, as servers spell their end: the cursor of the one after it by the cursor of each. */
const PAGES = {
  "null after two pages": { "": "p2", p2: null },
  "an empty one after two pages": { "": "p2", p2: "" },
  "the same one again and again": { "": "p2", p2: "p2" },
};

/** Answers of a call by `how`, as servers give them. */
/** Of which nearly all is there at each place of many a. */
const HARD = `${"a".repeat(4_000)}b${"a".repeat(3_900)}`;

const ANSWERS = {
  "a picture twice": {
    content: [{ type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" }],
    structuredContent: { content: [{ type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" }] },
  },
  nulls: {
    content: [
      { type: "text", text: "poured", mimeType: null, annotations: null },
      { type: "resource", resource: { uri: "file:///x", mimeType: null, text: "words" } },
    ],
    structuredContent: null,
    isError: null,
  },
  "structure alone": { content: null, structuredContent: { cups: 2 } },
  "structure beside words": {
    content: [{ type: "text", text: "Two are there." }],
    structuredContent: { cups: 2 },
  },
  "a flag beside words": {
    content: [{ type: "text", text: "Looked at." }],
    structuredContent: { approved: false },
  },
  "flags beside words": {
    content: [{ type: "text", text: "12 Oolong: true to its kind" }],
    structuredContent: { number: 12, name: "Oolong", isPure: true, leaves: [{ isWhole: false }] },
  },
  "flags without end": {
    content: [{ type: "text", text: `${"tru ".repeat(200_000)}true` }],
    structuredContent: { leaves: Array.from({ length: 90_000 }, () => true) },
  },
  "words that are hard to find": {
    content: [{ type: "text", text: `${"a".repeat(240_000)} ${HARD}` }],
    structuredContent: { hard: Array.from({ length: 500 }, () => HARD) },
  },
  "a number in others": {
    content: [{ type: "text", text: "12 teas of 2026, 2.5 g each." }],
    structuredContent: { cups: 2 },
  },
  "a word in another": {
    content: [{ type: "text", text: "Looked at it." }],
    structuredContent: { state: "ok" },
  },
  links: {
    content: [
      {
        type: "resource_link",
        uri: "file:///tea.md",
        name: "tea.md",
        title: "Tea",
        description: "How to\nbrew",
        mimeType: "text/markdown",
      },
      { type: "resource_link", uri: "tea://2", name: "two" },
    ],
  },
  "structure that is said": {
    content: [{ type: "text", text: '{ "b": 1, "a": [2] }' }],
    structuredContent: { a: [2], b: 1 },
  },
  "structure that is said without spaces": {
    content: [{ type: "text", text: '{"isWhole":true,"cups":[1,2]}' }],
    structuredContent: { isWhole: true, cups: [1, 2] },
  },
  "wrapped list that is said": {
    content: [{ type: "text", text: "[1,2,3]" }],
    structuredContent: { result: [1, 2, 3] },
  },
  "words wrapped": {
    content: [{ type: "text", text: 'a "cup"\nof tea' }],
    structuredContent: { content: 'a "cup"\nof tea', isWhole: true },
  },
  "wrapped list": {
    content: [
      { type: "text", text: "oolong" },
      { type: "text", text: "assam" },
    ],
    structuredContent: { result: ["oolong", "assam"] },
  },
  "first version": { toolResult: { cups: 2 } },
  "wants to be asked again": { resultType: "input_required", requestState: "x" },
  "wants input": { resultType: "input_required", inputRequests: {}, requestState: "x" },
};

const CALLS = {
  look: () => readFileSync(0 in process.argv ? (log === "" ? process.argv[1] : log) : "", "utf8").length,
  environment: () => JSON.stringify(process.env),
  where: () => process.cwd(),
  arguments: () => JSON.stringify([...process.argv.slice(5), process.env.PLACE]),
};

let hasLostItsOwn;

function lost(id, method) {
  const message = "Connection closed";
  if (hasLostItsOwn === "lose" || method !== "tools/call") send({ id, error: { code: -32000, message } });
  else send({ id, result: { isError: true, content: [{ type: "text", text: message }] } });
}

function answerCall(id, { name, arguments: args = {} }) {
  note(args.id === undefined ? `called ${name}` : `called ${name} ${args.id}`);
  const say = (text, more = {}) =>
    send({ id, result: { content: [{ type: "text", text: String(text) }], ...more } });
  if (Object.hasOwn(ANSWERS, args.how)) return send({ id, result: ANSWERS[args.how] });
  switch (args.how) {
    case "hang":
      return;
    case "stop":
      process.kill(process.pid, "SIGSTOP"); // not even a ping is answered, no signal but SIGKILL is heard
      return;
    case "lose": // as a proxy whose own server ends in a call
    case "lose quietly":
      hasLostItsOwn = args.how;
      return lost(id, "tools/call");
    case "child":
      return say(spawn("sleep", ["1000"], { stdio: "inherit" }).pid);
    case "abandon": // what is left holds the output, and says nothing
      spawn("sleep", ["1000"], { stdio: "inherit" }).once("spawn", () =>
        process.kill(process.pid, "SIGKILL"),
      );
      return;
    case "request": {
      const methods = ["sampling/createMessage", "elicitation/create", "roots/list", "none/such"];
      const codes = [];
      answered = ({ code }) => codes.push(code) === methods.length && say(codes.join());
      for (const method of methods) send({ id: method, method, params: {} });
      return;
    }
    case "hand on": // as servers do that fail by what they were answered themselves
      answered = (error) => send({ id, error });
      return send({ id: "roots", method: "roots/list", params: {} });
    case "ask": {
      const ask = () => {
        for (let n = 0; n < 100; n += 1)
          send({
            id: `q${Math.random()}`,
            method: "sampling/createMessage",
            params: { messages: [], maxTokens: 1 },
          });
        setImmediate(ask);
      };
      return ask();
    }
    case "deep":
      process.stdout.write(
        `{"jsonrpc":"2.0","id":${id},"result":{"structuredContent":${"[".repeat(100_000)}${"]".repeat(100_000)}}}\n`,
      );
      return;
    case "structure":
      return send({ id, result: { content: [], structuredContent: { n: "no number" } } });
    case "die":
      process.kill(process.pid, "SIGKILL");
      return;
    case "flood":
      process.stdout.write(`{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"`);
      process.stdout.write("x".repeat(100 * 1024 * 1024));
      process.stdout.write('"}]}}\n');
      return;
    case "long":
      return say("é".repeat(1_000_000));
    case "stderr": {
      const more = () => process.stderr.write("e".repeat(65_536), more);
      more();
      return say("said");
    }
    case "late":
      setTimeout(() => say("too late"), 300);
      return;
    case "fail":
      return say(`no \u202Eway ${process.cwd()}`, { isError: true });
    case "tell":
      return say(`it is ${process.env.TEA_TOKEN} of ${process.env.TEA_PLACE}`);
    case "refuse with it":
      return send({ id, error: { code: -32000, message: `401 for ${process.env.TEA_TOKEN}` } });
    case "die with it":
      process.stderr.write(`not taken: ${process.env.TEA_TOKEN}\n`, () => process.exit(1));
      return;
    case "refuse":
      return send({
        id,
        error: { code: -32602, message: "not like this: /etc/passwd sk-abcdefghijklmnopqrst" },
      });
    case "torn":
      process.stdout.write(`{"jsonrpc": "2.0", "id": ${id}, "result": {"content": [NaN\n`);
      return;
    case "bare":
      return send({ id, result: "text" });
    case "without version":
      process.stdout.write(`${JSON.stringify({ id: String(id), result: { content: [] } })}\n`);
      return;
    case "stumble":
      return send({ id, error: { code: -32603, message: "fetch failed" } });
    case "garbage":
      process.stdout.write("no json\n{}\n[]\n");
      return send({ id, result: { content: 7 } });
    case "text alone":
      return send({ id, result: { content: "just so" } });
    case "texts alone":
      return send({ id, result: { content: ["just so"] } });
    case "block alone":
      return send({ id, result: { content: { type: "text", text: "just so" } } });
    case "log in":
      return send({
        id,
        error: {
          code: -32042,
          message: "More is needed.",
          data: {
            elicitations: [
              { mode: "url", elicitationId: "1", url: "https://tea.example/in?a=1", message: "Log in." },
            ],
          },
        },
      });
    case "which argument":
      return send({
        id,
        error: { code: -32602, message: "Invalid.", data: [{ path: ["cup"], message: "is cold" }] },
      });
    case "picture":
      return send({
        id,
        result: {
          content: [
            { type: "image", data: "AAAA", mimeType: "image/png" },
            5,
            { type: "text", text: "and \u202Etext\ta\r\nb" },
            { type: "resource", resource: { uri: "file:///x", mimeType: "application/x", blob: "AAAA" } },
            { type: "resource", resource: { uri: "file:///y", text: "words" } },
            { type: "resource_link", uri: "demo://z", name: "z" },
          ],
        },
      });
    case "change":
      note("changes");
      send({ method: "notifications/tools/list_changed" });
      return say("changed");
    case "wait": {
      const poll = () => (existsSync(flag) ? say("waited") : setTimeout(poll, 20));
      return poll();
    }
    default:
      return say(CALLS[args.how]?.() ?? `${name} ${JSON.stringify(args)}`);
  }
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const { method } = JSON.parse(line);
  if (method === "initialize" && manner === "slow") {
    manner = "plain";
    const begin = () => (existsSync(flag) ? heard(line) : setTimeout(begin, 20));
    begin();
  } else heard(line);
});

function heard(line) {
  const { id, method, params = {}, error } = JSON.parse(line);
  if (error !== undefined) answered(error);
  else if (hasLostItsOwn && id !== undefined) lost(id, method);
  else if (method === "initialize" && manner === "unborn") note("asked");
  else if (method === "initialize" && manner === "unbegun")
    send({ id, error: { code: -32601, message: "There is no handshake any more." } });
  else if (method === "initialize" && manner === "refuses to begin")
    send({ id, error: { code: -32000, message: "No licence is set." } });
  else if (method === "initialize") {
    const { protocolVersion } = params;
    send({
      id,
      result: {
        protocolVersion: manner === "later" ? "2999-01-01" : protocolVersion,
        capabilities: { tools: { listChanged: true } },
        serverInfo: { name: "fake", version: "1" },
      },
    });
  } else if (method === "tools/list") {
    if (manner === "mute") return;
    const { cursor = "" } = params;
    if (PAGES[manner] !== undefined) {
      note(`asked for page "${cursor}"`);
      const tools = [tool(cursor === "" ? "first" : "second", { description: null })];
      return send({ id, result: { tools, nextCursor: PAGES[manner][cursor] } });
    }
    if (manner === "endless")
      send({ id, result: { tools: [tool(`t${Math.random()}`)], nextCursor: `${Math.random()}` } });
    else send({ id, result: { tools: (LISTS[manner] ?? LISTS.plain)() } });
  } else if (method === "tools/call") answerCall(id, params);
  else if (method === "notifications/cancelled") note("cancelled");
  else if (id !== undefined) send({ id, result: {} });
}
