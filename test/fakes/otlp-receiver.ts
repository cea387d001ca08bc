import { once } from "node:events";
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { z } from "zod";

const attributeSchema = z.object({
  key: z.string(),
  value: z.looseObject({
    stringValue: z.string().optional(),
    intValue: z.union([z.number(), z.string()]).optional(),
    arrayValue: z.unknown().optional(),
  }),
});

const tracesSchema = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes: z.array(attributeSchema) }),
      scopeSpans: z.array(
        z.object({
          spans: z.array(
            z.object({
              traceId: z.string().regex(/^[\da-f]{32}$/),
              spanId: z.string().regex(/^[\da-f]{16}$/),
              parentSpanId: z.string().optional(),
              name: z.string(),
              kind: z.number(),
              attributes: z.array(attributeSchema),
            }),
          ),
        }),
      ),
    }),
  ),
});

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: number;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** A collector on loopback that takes OTLP over HTTP, as JSON, and keeps every span. */
export class OtlpReceiver {
  readonly spans: ReceivedSpan[] = [];
  /** All that came, as it came. */
  readonly bodies: string[] = [];
  readonly url: string;
  readonly close: () => void;

  private constructor(url: string, close: () => void) {
    this.url = url;
    this.close = close;
  }

  static async start(): Promise<OtlpReceiver> {
    const server = createServer((request, response) => {
      void answer(request, response);
    });
    async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
      receiver.take(await text(request));
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    }
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo; // it listens on a port
    const receiver = new OtlpReceiver(`http://127.0.0.1:${port}`, () => {
      server.close();
      server.closeAllConnections();
    });
    return receiver;
  }

  /** The variables that send spans here. */
  get environment(): Record<string, string> {
    return {
      OTEL_EXPORTER_OTLP_ENDPOINT: this.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_BSP_SCHEDULE_DELAY: "200",
    };
  }

  private take(body: string): void {
    this.bodies.push(body);
    const { resourceSpans } = tracesSchema.parse(JSON.parse(body));
    const spans = resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans: own }) => own));
    for (const { traceId, spanId, parentSpanId, name, kind, attributes } of spans) {
      const known = attributes.map(({ key, value }) => [key, Object.values(value)[0]] as const);
      this.spans.push({ traceId, spanId, parentSpanId, name, kind, attributes: Object.fromEntries(known) });
    }
  }
}
