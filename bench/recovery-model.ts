import { once } from "node:events";
import { type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A tool call, or a text. */
export type Answer = string | { readonly name: string; readonly arguments: unknown };

/** An OpenAI-compatible server that gives its answers in order, and then keeps everybody waiting. */
export class RecoveryModel {
  readonly baseUrl: string;
  requestCount = 0;
  private readonly waiting: { readonly count: number; readonly tell: () => void }[] = [];
  private readonly close_: () => void;

  private constructor(baseUrl: string, close: () => void) {
    this.baseUrl = baseUrl;
    this.close_ = close;
  }

  static async start(answers: readonly Answer[]): Promise<RecoveryModel> {
    const server = createServer((request, response) => {
      request.resume().on("end", () => {
        const answer = answers[model.requestCount];
        model.count();
        if (answer !== undefined) send(response, answer, model.requestCount);
      });
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo; // it listens on a port
    const model = new RecoveryModel(`http://127.0.0.1:${port}/v1`, () => {
      server.closeAllConnections();
      server.close();
    });
    return model;
  }

  /** Resolves when so many requests have come. */
  async isAsked(count: number): Promise<void> {
    if (this.requestCount >= count) return;
    await new Promise<void>((tell) => this.waiting.push({ count, tell }));
  }

  async close(): Promise<void> {
    this.close_();
  }

  private count(): void {
    this.requestCount += 1;
    for (const { count, tell } of this.waiting) if (this.requestCount >= count) tell();
  }
}

function send(response: ServerResponse, answer: Answer, index: number): void {
  const message =
    typeof answer === "string"
      ? { role: "assistant", content: answer }
      : {
          role: "assistant",
          content: null,
          tool_calls: [
            {
              id: `call_${index}`,
              type: "function",
              function: { name: answer.name, arguments: JSON.stringify(answer.arguments) },
            },
          ],
        };
  const finish = typeof answer === "string" ? "stop" : "tool_calls";
  response.writeHead(200, { "content-type": "application/json" }).end(
    JSON.stringify({
      id: `answer-${index}`,
      object: "chat.completion",
      created: 0,
      model: "scripted",
      choices: [{ index: 0, message, finish_reason: finish }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    }),
  );
}
