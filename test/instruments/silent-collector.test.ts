import { once } from "node:events";
import { createServer } from "node:http";
import { api } from "@opentelemetry/sdk-node";
import { expect, onTestFinished, test, vi } from "vitest";
import { openTraces } from "../../src/instruments/traces.js";
import { listen } from "../fakes/listen.js";

test("a collector that takes spans and never answers keeps nobody from ending, and is named once", async () => {
  const silent = createServer();
  vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", `http://127.0.0.1:${await listen(silent)}`);
  vi.stubEnv("OTEL_BSP_SCHEDULE_DELAY", "1");
  onTestFinished(() => void vi.unstubAllEnvs());
  const said: string[] = [];
  const traces = await openTraces({ captureContent: false, onTrouble: (text) => void said.push(text) });
  const tracer = api.trace.getTracer("test");
  const asked = once(silent, "request");
  tracer.startSpan("first").end();
  await asked;
  tracer.startSpan("second").end();
  await traces.close();
  expect(said).toEqual(["Traces are lost: the collector has not taken them within 1.5 s."]);
});
