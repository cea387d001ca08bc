// An MCP server over stdio with one tool: it runs the commands of an allow-list in the directory it was started in.
// node server.mjs commands.json; docs/running-commands.md says what to think of before.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

/*
 * commands.json: { "allow": [{ "argv": ["npm", "test"], "more": true }], "within": [], "timeoutSeconds": 600 }
 *
 * `argv` is the program and its arguments, to the letter. With `more` words may follow: none that begins with a hyphen or a slash,
 * none with "..". `within` stands before every command: what it is run in, a container for one.
 */
const { allow, within, timeoutSeconds } = readSettings(process.argv[2]);
const MAX_OUTPUT_BYTES = 40_000;
const running = new Map();

/** A word that is not known ends the server: a misspelled `within` would run everything outside of its container. */
function readSettings(path) {
  const settings = read(path ?? fail("Name the file with the allowed commands."));
  const isText = (word) => typeof word === "string" && word !== "" && !word.includes("\0");
  const isWords = (list) => Array.isArray(list) && list.every(isText);
  const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
  const unknown = (object, known) => Object.keys(object).find((key) => !known.includes(key));
  if (!isObject(settings)) fail("The file must hold an object: { allow, within, timeoutSeconds }.");
  const { allow, within = [], timeoutSeconds = 600, ...others } = settings;
  const isCommand = (entry) =>
    isObject(entry) &&
    isWords(entry.argv) &&
    entry.argv.length > 0 &&
    [undefined, true, false].includes(entry.more) &&
    unknown(entry, ["argv", "more"]) === undefined;
  const other = unknown(others, []);
  if (other !== undefined) fail(`There is no setting ${JSON.stringify(other)}: allow, within, timeoutSeconds.`);
  if (!Array.isArray(allow) || !allow.every(isCommand)) fail("allow must be a list of { argv, more }, more true or false.");
  if (!isWords(within)) fail("within must be a list of words.");
  if (!Number.isInteger(timeoutSeconds) || timeoutSeconds < 1 || timeoutSeconds > 86_400)
    fail("timeoutSeconds must be a whole number from 1 to 86400.");
  return { allow, within, timeoutSeconds };
}

function read(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    return fail(`The file with the allowed commands cannot be read: ${error.message}`);
  }
}

function fail(sentence) {
  console.error(sentence);
  process.exit(2);
}

/** Whether a command is on the list: word for word, and what follows is harmless to a parser of options. */
function isAllowed(argv) {
  return allow.some(({ argv: prefix, more = false }) => {
    if (!prefix.every((word, index) => argv[index] === word)) return false;
    const rest = argv.slice(prefix.length);
    return rest.length === 0 || (more && rest.every(isPlainWord));
  });
}

function isPlainWord(word) {
  return /^[^-/\0\\][^\0\\]*$/.test(word) && !word.split("/").includes("..");
}

const tool = {
  name: "run",
  description: [
    "Runs a command in the project's directory, without a shell: no pipes, no variables, no wildcards. Allowed are:",
    ...allow.map(({ argv, more }) => `- ${JSON.stringify(argv)}${more ? " and names after it" : ""}`),
  ].join("\n"),
  inputSchema: {
    type: "object",
    properties: { argv: { type: "array", items: { type: "string" }, description: "The program and its arguments." } },
    required: ["argv"],
    additionalProperties: false,
  },
};

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);

function call(id, argv) {
  const say = (text, isError) => send({ id, result: { content: [{ type: "text", text }], isError } });
  if (!Array.isArray(argv) || !argv.every((word) => typeof word === "string") || !isAllowed(argv)) {
    say(`This command is not on the list. ${tool.description}`, true);
    return;
  }
  const [program, ...args] = [...within, ...argv];
  // A group of its own: what the command has started ends with it.
  const child = spawn(program, args, { detached: true, shell: false, stdio: ["ignore", "pipe", "pipe"] });
  let output = Buffer.alloc(0);
  let isCut = false;
  const keep = (chunk) => {
    output = Buffer.concat([output, chunk]);
    isCut ||= output.length > MAX_OUTPUT_BYTES;
    output = output.subarray(-MAX_OUTPUT_BYTES); // the end says most
  };
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  let why = "";
  const end = (reason) => {
    why = reason;
    endGroup(child);
  };
  const timer = setTimeout(() => end(`ended after ${timeoutSeconds} seconds`), timeoutSeconds * 1_000);
  running.set(id, end);
  let isOver = false;
  const over = (how) => {
    if (isOver) return;
    isOver = true;
    clearTimeout(timer);
    running.delete(id);
    say(`${why || how}\n${isCut ? "[the beginning is left out]\n" : ""}${output.toString("utf8")}`, how !== "exit code 0");
  };
  child.on("error", () => over("The program cannot be started."));
  child.on("close", (code, signal) => over(signal === null ? `exit code ${code}` : `ended by ${signal}`));
}

function endGroup({ pid }) {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {
    // it has ended
  }
}

/** What is asked of the server, by method; notifications have no answer. */
const METHODS = {
  initialize: (id, { protocolVersion }) =>
    send({
      id,
      result: { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "commands", version: "1.0.0" } },
    }),
  ping: (id) => send({ id, result: {} }),
  "tools/list": (id) => send({ id, result: { tools: [tool] } }),
  "tools/call": (id, { arguments: args }) => call(id, args?.argv),
  "notifications/initialized": () => undefined,
  "notifications/cancelled": (_, { requestId }) => running.get(requestId)?.("cancelled"),
};

/** What is no message has no id: nobody waits for an answer to it. */
function messageIn(line) {
  try {
    return JSON.parse(line) ?? {};
  } catch {
    return {};
  }
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = messageIn(line);
  if (Object.hasOwn(METHODS, method)) METHODS[method](id, params ?? {});
  else if (id !== undefined) send({ id, error: { code: -32601, message: "There is no such method." } });
});

// Whoever has started the server is gone: so are its commands.
process.stdin.on("end", () => {
  for (const end of running.values()) end("the server has ended");
  process.exit(0);
});
