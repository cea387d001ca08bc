import { inspect } from "node:util";
import { expect, onTestFinished, test, vi } from "vitest";
import { TracesMissing, openTraces } from "../../src/instruments/traces.js";

test("an exporter that OpenTelemetry's SDK has not is named with its variable", async () => {
  vi.stubEnv("OTEL_TRACES_EXPORTER", "logging");
  onTestFinished(() => void vi.unstubAllEnvs());
  const opened = openTraces({ captureContent: false, onTrouble: () => undefined });
  const error: unknown = await opened.catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(TracesMissing);
  expect(error).toMatchObject({
    message:
      "OTEL_TRACES_EXPORTER names no exporter that OpenTelemetry's SDK has (docs/metrics.md). Correct it, or set OTEL_SDK_DISABLED=true.",
  });
});

test.each([
  ["a header that cannot be sent", "OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20sk-secret%0A"],
  [
    "one with letters that no header has",
    "OTEL_EXPORTER_OTLP_HEADERS",
    "authorization=Bearer%20sk-secret%C3%BC",
  ],
  ["one that is encoded wrongly", "OTEL_EXPORTER_OTLP_HEADERS", "authorization=sk-secret%zz"],
  ["an endpoint that is no URL", "OTEL_EXPORTER_OTLP_ENDPOINT", "http://user:sk-secret@ host"],
])("%s is told by its variable, and not repeated", async (_, variable, value) => {
  vi.stubEnv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
  vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9");
  vi.stubEnv(variable, value);
  onTestFinished(() => void vi.unstubAllEnvs());
  const opened = openTraces({ captureContent: false, onTrouble: () => undefined });
  const error: unknown = await opened.catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(TracesMissing);
  expect(error).toMatchObject({ message: expect.stringContaining(variable) as string });
  expect(inspect(error)).not.toContain("sk-secret");
});
