import { type ServerResponse, createServer } from "node:http";
import type { Asked, Json, Provider, Said } from "./providers.js";
import { listen } from "./listen.js";

const USAGE = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };

/** A server that speaks as a provider's does, and says what the script has for the conversation at hand. */
export async function startProvider(
  provider: Provider,
  script: (asked: Asked) => Said,
): Promise<{
  readonly baseUrl: string;
  readonly asked: readonly Asked[];
  readonly refused: readonly unknown[];
}> {
  const asked: Asked[] = [];
  const refused: unknown[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = JSON.parse(Buffer.concat(chunks).toString("utf8")) as Asked["body"];
      const question: Asked = { headers: request.headers, body };
      asked.push(question);
      const refusal = provider.refuse(question);
      if (refusal !== undefined) {
        refused.push(refusal.body);
        response.writeHead(refusal.status, { "content-type": "application/json" });
        response.end(JSON.stringify(refusal.body));
        return;
      }
      const { message, reason } = provider.answer(script(question), asked.length);
      if (body["stream"] === true) stream(response, provider, question, message, reason);
      else {
        response.writeHead(200, { "content-type": "application/json" });
        const choices = [{ index: 0, message, finish_reason: reason }];
        response.end(
          JSON.stringify({ id: "x", object: "chat.completion", model: "m", choices, usage: USAGE }),
        );
      }
    });
  });
  return { baseUrl: `http://127.0.0.1:${await listen(server)}/v1`, asked, refused };
}

function stream(
  response: ServerResponse,
  provider: Provider,
  { body }: Asked,
  message: Json,
  reason: string,
): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (value: Json) =>
    response.write(`data: ${JSON.stringify({ id: "x", model: "m", ...value })}\n\n`);
  const deltas = provider.deltas?.(message) ?? inHalves(message);
  for (const delta of deltas) {
    if (provider.comment !== undefined) response.write(provider.comment);
    send({ choices: [{ index: 0, delta, finish_reason: null }] });
  }
  const { usage = "asked" } = provider;
  const isAsked = (body["stream_options"] as Json | undefined)?.["include_usage"] === true;
  const last = { choices: [{ index: 0, delta: {}, finish_reason: reason }] };
  send(
    usage === "x_groq"
      ? { ...last, x_groq: { usage: USAGE } }
      : usage === "always"
        ? { ...last, usage: USAGE }
        : last,
  );
  if (usage === "asked" && isAsked) send({ choices: [], usage: USAGE });
  response.end("data: [DONE]\n\n");
}

/** Fields that are no text first, then each text by halves, then each call's arguments by halves. */
function inHalves({ tool_calls: calls, role, ...fields }: Json): readonly Json[] {
  const texts = Object.entries(fields).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  );
  const rest = Object.fromEntries(Object.entries(fields).filter(([, value]) => typeof value !== "string"));
  const halves = texts.flatMap(([key, text]) => {
    const middle = Math.ceil(text.length / 2);
    return [{ [key]: text.slice(0, middle) }, { [key]: text.slice(middle) }];
  });
  const pieces = ((calls ?? []) as Json[]).flatMap((call, index) => {
    const { name, arguments: args } = call["function"] as { name: string; arguments: string };
    const middle = Math.floor(args.length / 2);
    return [
      { tool_calls: [{ index, ...call, function: { name, arguments: args.slice(0, middle) } }] },
      { tool_calls: [{ index, function: { arguments: args.slice(middle) } }] },
    ];
  });
  return [{ role, ...rest }, ...halves, ...pieces];
}
