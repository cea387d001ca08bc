import { once } from "node:events";
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { serveParent } from "./child-process.js";

/*
 * A model that answers at once, as an OpenAI-compatible server. It knows nothing but the request: which turn it
 * is says the number of tool results, what to do says NODE_BRIEF. With `afterMs` each answer takes its time.
 */

export interface ScriptedModelSettings {
  readonly afterMs: number;
  /** One turn a node: it reads and writes nothing, says why it goes on and names a file, and moves on. */
  readonly movesOn?: boolean;
}

const ARTIFACT_BYTES = 2_048;
const ARTIFACT = "A line of the artifact that the scripted model writes, no more.\n"
  .repeat(ARTIFACT_BYTES / 64)
  .slice(0, ARTIFACT_BYTES);

interface Message {
  readonly role: string;
  readonly content: string | null;
}

interface ToolCall {
  readonly name: string;
  readonly arguments: unknown;
}

let movesOn = false;

function decide(messages: readonly Message[]): ToolCall {
  const start = messages.findLastIndex(({ content }) => content?.startsWith("NODE_BRIEF\n") === true);
  const brief = messages[start]?.content ?? "";
  const results = messages.slice(start + 1).filter(({ role }) => role === "tool");
  switch (movesOn ? Number.POSITIVE_INFINITY : results.length) {
    case 0:
      return { name: "fs_read", arguments: { path: lineOf(brief, /^- stepFile: (\S+)$/m) } };
    case 1:
      return {
        name: "fs_write",
        arguments: { path: lineOf(brief, /^ {2}- .* -> (\S+)$/m), content: ARTIFACT },
      };
    default:
      return { name: "fs_apply_patch", arguments: { path: "@state/workflow.md", patch: patchFor(brief) } };
  }
}

function patchFor(brief: string) {
  const nodeId = lineOf(brief, /^- currentNodeId: (\S+) /m);
  const next = /^- allowedNext:\n {2}- (\S+) /m.exec(brief)?.[1];
  return {
    operation: "updateFrontmatter",
    update: {
      stepsCompleted: { append: [nodeId] },
      ...(next === undefined ? {} : { currentNodeId: { set: next } }),
      ...(movesOn ? grownLists(nodeId, next) : {}),
    },
  };
}

/** What makes the lists of the state document longer with each visit. */
function grownLists(from: string, to = "") {
  return {
    decisionLog: {
      append: [{ from, to, label: "next", reason: `It is turn ${answered}, and the way leads on.` }],
    },
    artifacts: { append: [`artifacts/circle/of-turn-${answered}.md`] },
  };
}

function lineOf(brief: string, pattern: RegExp): string {
  const found = pattern.exec(brief)?.[1];
  if (found === undefined) throw new Error(`NODE_BRIEF has no line like ${pattern.source}.`);
  return found;
}

let answered = 0;

function completionFor(body: string) {
  const { model, messages } = JSON.parse(body) as { model: string; messages: readonly Message[] }; // the protocol
  const call = decide(messages);
  answered += 1;
  const argumentsJson = JSON.stringify(call.arguments);
  // Characters by four, a common rule of thumb for tokens.
  const promptTokens = Math.ceil(body.length / 4);
  const completionTokens = Math.ceil(argumentsJson.length / 4);
  return {
    id: `answer-${answered}`,
    object: "chat.completion",
    created: 0,
    model,
    choices: [
      {
        index: 0,
        finish_reason: "tool_calls",
        message: {
          role: "assistant",
          content: null,
          tool_calls: [
            {
              id: `call_${answered}`,
              type: "function",
              function: { name: call.name, arguments: argumentsJson },
            },
          ],
        },
      },
    ],
    usage: {
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      total_tokens: promptTokens + completionTokens,
    },
  };
}

/** Answers in as few steps as there can be: what is slow here would be counted against the worker. */
function answer(request: IncomingMessage, response: ServerResponse, afterMs: number): void {
  if (request.method === "GET") return void response.end(String(answered));
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const [status, answer] = answerTo(Buffer.concat(chunks).toString("utf8"));
    const text = Buffer.from(JSON.stringify(answer));
    const end = (): void => {
      response
        .writeHead(status, { "content-type": "application/json", "content-length": text.length })
        .end(text);
    };
    if (afterMs === 0) end();
    else setTimeout(end, afterMs);
  });
}

function answerTo(body: string): readonly [status: number, answer: unknown] {
  try {
    return [200, completionFor(body)];
  } catch (error) {
    return [400, { error: { message: String(error) } }];
  }
}

await serveParent(async (settings) => {
  const { afterMs = 0, ...way } = (settings ?? {}) as Partial<ScriptedModelSettings>; // written by the bench
  movesOn = way.movesOn === true;
  const server = createServer((request, response) => answer(request, response, afterMs));
  server.listen({ port: 0, host: "127.0.0.1", backlog: 2_048 });
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // it listens on a port
  return {
    ready: `http://127.0.0.1:${port}/v1`,
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
});
