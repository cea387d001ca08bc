import { createServer } from "node:http";
import { api } from "@opentelemetry/sdk-node";
import { expect, onTestFinished, test, vi } from "vitest";
import { openTraces } from "../../src/instruments/traces.js";
import { listen } from "../fakes/listen.js";

test.each([
  ["in the middle", "1", 1],
  ["at the end", "60000", 0],
])(
  "a collector that refuses spans %s is told of in one sentence, without a stack and what it has answered",
  async (_, delay, saidBefore) => {
    const refusing = createServer((request, response) => {
      request.resume();
      response.writeHead(403, { "content-type": "text/html" });
      response.end(`<html>\n${"Sign in first. ".repeat(1_000)}</html>`);
    });
    vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", `http://127.0.0.1:${await listen(refusing)}`);
    vi.stubEnv("OTEL_BSP_SCHEDULE_DELAY", delay);
    onTestFinished(() => {
      vi.unstubAllEnvs();
      api.trace.disable();
      api.context.disable();
      api.propagation.disable();
    });
    const said: string[] = [];
    const traces = await openTraces({ captureContent: false, onTrouble: (text) => void said.push(text) });
    api.trace.getTracer("test").startSpan("first").end();
    await vi.waitFor(() => expect(said).toHaveLength(saidBefore), 60_000);
    await traces.close();
    expect(said).toEqual(["Traces cannot be sent: Forbidden (403)."]);
  },
);
