/** What OpenTelemetry's own variables say of traces. */
export interface TraceSettings {
  readonly captureContent: boolean;
}

/** Traces are off unless OpenTelemetry's variables name an exporter or where spans go. */
export function readTraces(
  environment: Readonly<Record<string, string | undefined>>,
): TraceSettings | undefined {
  const {
    OTEL_SDK_DISABLED: disabled,
    OTEL_TRACES_EXPORTER: exporter,
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: tracesEndpoint,
    OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: content,
  } = environment;
  const isOff = disabled?.toLowerCase() === "true" || exporter?.trim() === "none";
  if (isOff || (exporter ?? endpoint ?? tracesEndpoint) === undefined) return undefined;
  return { captureContent: content?.toLowerCase() === "true" };
}
