import { expect, onTestFinished, test, vi } from "vitest";
import { openTraces } from "../../src/instruments/traces.js";

test("a sampler that OpenTelemetry's SDK has not is named, and is no trouble in sending", async () => {
  vi.stubEnv("OTEL_TRACES_EXPORTER", "otlp");
  vi.stubEnv("OTEL_TRACES_SAMPLER", "sometimes");
  onTestFinished(() => void vi.unstubAllEnvs());
  const said: string[] = [];
  const traces = await openTraces({ captureContent: false, onTrouble: (sentence) => said.push(sentence) });
  onTestFinished(() => traces.close());
  expect(said).toHaveLength(1);
  expect(said[0]).toMatch(/^Traces: OTEL_TRACES_SAMPLER value "sometimes.* invalid, defaulting to /);
});
