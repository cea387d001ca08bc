import { createServer } from "node:http";
import { api } from "@opentelemetry/sdk-node";
import { expect, onTestFinished, test, vi } from "vitest";
import { openTraces } from "../../src/instruments/traces.js";
import { listen } from "../fakes/listen.js";

test("traces that are opened after others were closed are sent: a short id of a run is looked for by a session of its own", async () => {
  let requests = 0;
  const collector = createServer((_, response) => {
    requests += 1;
    response.end();
  });
  vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", `http://127.0.0.1:${await listen(collector)}`);
  onTestFinished(() => void vi.unstubAllEnvs());
  const said: string[] = [];
  for (const name of ["looked for", "told"]) {
    const traces = await openTraces({ captureContent: false, onTrouble: (text) => void said.push(text) });
    api.trace.getTracer("test").startSpan(name).end();
    await traces.close();
  }
  expect([said, requests]).toEqual([[], 2]);
});
