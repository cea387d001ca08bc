import { once } from "node:events";
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

/** One answer of a script. */
export type ScriptedAnswer =
  | ({ readonly calls: readonly ScriptedCall[]; readonly content?: string } & Manner)
  | ({ readonly content: string } & Manner)
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: unknown }
  | { readonly hang: true };

/** How an answer is given. */
interface Manner {
  readonly finishReason?: string;
  /** The name it gives of its model; absent means the one that was asked for. */
  readonly model?: string;
  readonly afterMs?: number;
  /** What it says of its tokens; null says nothing. Absent: 100 and 10. */
  readonly usage?: object | null;
  /** Ends the connection after half of it. */
  readonly cut?: boolean;
  /** Awaited when all of a streamed answer but its end has been sent. */
  readonly beforeEnd?: () => Promise<void>;
}

/** What else is known of a request. */
export interface Exchange {
  readonly apiKey: string;
  /** Whether the client got the whole answer, once the connection has ended. */
  readonly ended: Promise<boolean>;
}

export interface ScriptedCall {
  readonly id?: string;
  readonly name: string;
  readonly arguments: unknown;
}

export interface ChatRequestBody {
  readonly model: string;
  readonly stream?: boolean;
  readonly messages: readonly {
    readonly role: string;
    readonly content: string | null;
    readonly tool_call_id?: string;
    readonly tool_calls?: readonly { readonly id: string; readonly function: { readonly name: string } }[];
  }[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
}

export type Script =
  | readonly ScriptedAnswer[]
  | ((request: ChatRequestBody, index: number) => ScriptedAnswer | Promise<ScriptedAnswer>);

/** A script that may want to know who asks, and whether its answer arrives. */
type AttentiveScript =
  | readonly ScriptedAnswer[]
  | ((
      request: ChatRequestBody,
      index: number,
      exchange: Exchange,
    ) => ScriptedAnswer | Promise<ScriptedAnswer>);

/**
 * An OpenAI-compatible endpoint that answers from a script, keeps every request, and answers 418 when the script
 * has ended: a run that asks once too often fails at once.
 */
export class ScriptedModel {
  readonly requests: ChatRequestBody[] = [];
  readonly baseUrl: string;
  /** Requests whose connection the client closed before an answer. */
  aborted = 0;
  private readonly close_: () => Promise<void>;

  private constructor(baseUrl: string, close: () => Promise<void>) {
    this.baseUrl = baseUrl;
    this.close_ = close;
  }

  static async start(script: AttentiveScript): Promise<ScriptedModel> {
    let callCount = 0;
    const server = createServer((request, response) => {
      void answer(request, response);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const model = new ScriptedModel(`http://127.0.0.1:${port}/v1`, async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      if (request.method !== "POST") return send(response, 404, { error: { message: "no such thing" } });
      const body = JSON.parse(Buffer.concat(chunks).toString("utf8")) as ChatRequestBody;
      const index = model.requests.push(body) - 1;
      const ended = once(response, "close").then(
        () => response.writableFinished,
        () => false,
      );
      response.on("close", () => {
        if (!response.writableFinished) model.aborted += 1;
      });
      const apiKey = request.headers.authorization?.replace(/^Bearer /, "") ?? "";
      const next =
        typeof script === "function" ? await script(body, index, { apiKey, ended }) : script[index];
      if (next === undefined) return send(response, 418, { error: { message: "the script has ended" } });
      if ("hang" in next) return;
      if ("status" in next)
        return send(response, next.status, next.body ?? { error: { message: "scripted" } }, next.headers);
      if (next.afterMs !== undefined) await pause(next.afterMs);
      const calls = "calls" in next ? next.calls : [];
      const message = {
        role: "assistant",
        content: next.content ?? null,
        ...(calls.length === 0
          ? {}
          : {
              tool_calls: calls.map((call) => ({
                id: call.id ?? `call-${(callCount += 1)}`,
                type: "function",
                function: {
                  name: call.name,
                  arguments:
                    typeof call.arguments === "string" ? call.arguments : JSON.stringify(call.arguments),
                },
              })),
            }),
      };
      const finishReason = next.finishReason ?? (calls.length > 0 ? "tool_calls" : "stop");
      const name = next.model ?? body.model;
      const { usage = USAGE } = next;
      if (body.stream === true)
        return stream(response, message, {
          finishReason,
          model: name,
          usage,
          cut: next.cut,
          beforeEnd: next.beforeEnd,
        });
      const text = JSON.stringify({
        id: "x",
        object: "chat.completion",
        created: 0,
        model: name,
        choices: [{ index: 0, message, finish_reason: finishReason }],
        ...(usage === null ? {} : { usage }),
      });
      if (next.cut !== true) return send(response, 200, text);
      response.writeHead(200, { "content-type": "application/json", "content-length": text.length });
      response.write(text.slice(0, text.length / 2), () => response.destroy());
    }
    return model;
  }

  close(): Promise<void> {
    return this.close_();
  }
}

const USAGE = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };

function send(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(typeof body === "string" ? body : JSON.stringify(body));
}

/** The same answer in pieces: content by halves, each call's arguments by halves, usage last. */
async function stream(
  response: ServerResponse,
  message: {
    content: string | null;
    tool_calls?: readonly { id: string; function: { name: string; arguments: string } }[];
  },
  manner: {
    readonly finishReason: string;
    readonly model: string;
    readonly usage: object | null;
    readonly cut: boolean | undefined;
    readonly beforeEnd: (() => Promise<void>) | undefined;
  },
): Promise<void> {
  const { finishReason, model, usage, cut, beforeEnd } = manner;
  response.writeHead(200, { "content-type": "text/event-stream" });
  const chunk = (value: object) =>
    response.write(
      `data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", created: 0, model, ...value })}\n\n`,
    );
  const delta = (value: object) => chunk({ choices: [{ index: 0, delta: value, finish_reason: null }] });
  const content = message.content ?? "";
  delta({ role: "assistant", content: content.slice(0, content.length / 2) });
  delta({ content: content.slice(content.length / 2) });
  for (const [index, call] of (message.tool_calls ?? []).entries()) {
    const { name, arguments: text } = call.function;
    const half = Math.floor(text.length / 2);
    delta({
      tool_calls: [
        { index, id: call.id, type: "function", function: { name, arguments: text.slice(0, half) } },
      ],
    });
    delta({ tool_calls: [{ index, function: { arguments: text.slice(half) } }] });
  }
  if (cut === true) {
    response.write(": cut\n\n", () => response.destroy());
    return;
  }
  await beforeEnd?.();
  chunk({ choices: [{ index: 0, delta: {}, finish_reason: finishReason }] });
  if (usage !== null) chunk({ choices: [], usage });
  response.end("data: [DONE]\n\n");
}

/** A patch of the state document as a model writes it. */
export function patch(update: object, extra: object = {}): ScriptedCall {
  return {
    name: "fs_apply_patch",
    arguments: { path: "@state/workflow.md", patch: { operation: "updateFrontmatter", update, ...extra } },
  };
}

export function call(name: string, args: unknown): ScriptedCall {
  return { name, arguments: args };
}
