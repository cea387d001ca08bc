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
