import { setTimeout as pause } from "node:timers/promises";
import type { WorkflowClientInterceptor } from "@temporalio/client";
import type * as Telemetry from "@opentelemetry/sdk-node";
import type { WorkflowInfo } from "@temporalio/workflow";
import type * as Interceptors from "@temporalio/interceptors-opentelemetry";
import { jsonIn } from "../core/json.js";
import type { Instrument } from "../worker/instrument.js";
import { z } from "zod";
import { ended, excerpt } from "../core/text.js";
import { version } from "../worker/version.js";
import { bundleWorkflows } from "../worker/workflow-bundle.js";
import { moduleFile } from "../package-place.js";
import { runsOfActivities, spansOfCalls, spansOfModel } from "./spans.js";
import { systemCode } from "../core/system-code.js";

export interface TracesOptions {
  /** Spans of model calls hold what was said. */
  readonly captureContent: boolean;
  /** Hears, in a sentence, what keeps spans from being sent. */
  readonly onTrouble: (sentence: string) => void;
}

export interface Traces {
  /** For the client that starts runs: the trace begins there. */
  readonly clientInterceptors: readonly WorkflowClientInterceptor[];
  readonly instrument: Instrument;
  /** Sends what has not been sent, as far as the collector takes it at once. Never rejects. */
  close(): Promise<void>;
}

/** What is installed beside Interlock by who wants traces: the optional peers of `package.json`. */
export const TRACES_NEED = [
  "@opentelemetry/api@1.9.1",
  "@opentelemetry/sdk-node@0.57.2",
  "@temporalio/interceptors-opentelemetry@1.24.0",
] as const;

/** What the environment asks for is not there, or cannot be used. */
export class TracesMissing extends Error {}

/** What the SDK throws quotes the variables: a header is a login, most likely. */
const UNUSABLE =
  "OpenTelemetry's SDK cannot use what its variables say of where traces go: a URL in OTEL_EXPORTER_OTLP_ENDPOINT, headers that can be sent, percent-encoded, in OTEL_EXPORTER_OTLP_HEADERS. Correct them, or set OTEL_SDK_DISABLED=true.";

const NO_EXPORTER =
  "OTEL_TRACES_EXPORTER names no exporter that OpenTelemetry's SDK has (docs/metrics.md). Correct it, or set OTEL_SDK_DISABLED=true.";

/** Where spans go, and how, say the variables that OpenTelemetry's SDK reads. Throws `TracesMissing`. */
export async function openTraces({ captureContent, onTrouble }: TracesOptions): Promise<Traces> {
  const { telemetry, interceptors } = await load();
  const { api, node, resources, NodeSDK } = telemetry;
  const sayTrouble = once(onTrouble);
  api.diag.setLogger(troubleLogger(sayTrouble, once(onTrouble)), api.DiagLogLevel.ERROR);
  const sdk = new NodeSDK({
    resource: new resources.Resource({ "service.name": "interlock", "service.version": version() }),
    // Others would say what the process was called with, and by whom.
    resourceDetectors: [resources.envDetectorSync],
    instrumentations: [],
    logRecordProcessors: [],
  });
  try {
    sdk.start();
  } catch {
    throw new TracesMissing(UNUSABLE);
  }
  const provider = api.trace.getTracerProvider();
  const delegate = provider instanceof api.ProxyTracerProvider ? provider.getDelegate() : provider;
  if (delegate === new api.ProxyTracerProvider().getDelegate()) throw new TracesMissing(NO_EXPORTER); // the one that does nothing
  if (!(delegate instanceof node.NodeTracerProvider)) {
    throw new Error("Another tracer provider is registered in this process.");
  }
  delegate.addSpanProcessor(WORDLESS);
  const tracer = api.trace.getTracer("interlock", version());
  const client = new interceptors.OpenTelemetryWorkflowClientInterceptor();
  const exporter = interceptors.makeWorkflowExporter(delegate.getActiveSpanProcessor(), delegate.resource);
  return {
    clientInterceptors: [
      {
        // What is asked again and again, such as queries, is left out.
        start: (input, next) => client.start(input, next),
        startWithDetails: (input, next) => client.startWithDetails(input, next),
        signal: (input, next) => client.signal(input, next),
        signalWithStart: (input, next) => client.signalWithStart(input, next),
        startUpdate: (input, next) => client.startUpdate(input, next),
        cancel: (input, next) => client.cancel(input, next),
        terminate: (input, next) => client.terminate(input, next),
      },
    ],
    instrument: {
      activities: [
        (context) => ({
          inbound: new interceptors.OpenTelemetryActivityInboundInterceptor(context),
          outbound: new interceptors.OpenTelemetryActivityOutboundInterceptor(context),
        }),
        runsOfActivities(api),
      ],
      watchCall: spansOfCalls(api, tracer),
      watchModel: (model) => spansOfModel(api, tracer, model, captureContent),
      workflows: {
        sinks: {
          exporter: { export: { fn: (info, spans) => exporter.export.fn(namesOf(info), spans) } },
        },
        bundle: () => bundleWorkflows([moduleFile("instruments/trace-workflows")]),
      },
    },
    async close() {
      await within(FLUSH_MS, sdk.shutdown(), sayTrouble);
      // What is registered stays so: a command that looks for a run first opens its traces after these.
      for (const registered of [api.trace, api.context, api.propagation]) registered.disable();
    },
  };
}

/**
 * What spans of a workflow say of it. The exporter makes attributes of all it is given: a workflow's memo holds its question, also where
 * Temporal gets that sealed.
 */
function namesOf({ namespace, taskQueue, workflowType, workflowId, runId }: WorkflowInfo): WorkflowInfo {
  return { namespace, taskQueue, workflowType, workflowId, runId } as WorkflowInfo; // of which nothing else is wanted
}

/** How long the end of a command waits for a collector. */
const FLUSH_MS = 1_500;

async function within(ms: number, sending: Promise<void>, say: (sentence: string) => void): Promise<void> {
  const over = new AbortController();
  const tooLong = async (): Promise<void> => {
    await pause(ms, undefined, { signal: over.signal });
    say(`Traces are lost: the collector has not taken them within ${ms / 1_000} s.`);
  };
  await Promise.race([sending, tooLong()]).catch((error: unknown) => say(notSent(error)));
  over.abort();
}

async function load(): Promise<{
  readonly telemetry: typeof Telemetry;
  readonly interceptors: typeof Interceptors;
}> {
  try {
    const telemetry = await import("@opentelemetry/sdk-node");
    return { telemetry, interceptors: await import("@temporalio/interceptors-opentelemetry") };
  } catch (error) {
    if (systemCode(error) !== "ERR_MODULE_NOT_FOUND") throw error;
    throw new TracesMissing(
      `The environment asks for traces (OTEL_…), and the packages for them are not installed. Install them beside Interlock: npm install ${TRACES_NEED.join(" ")}. Or set OTEL_SDK_DISABLED=true.`,
      { cause: error },
    );
  }
}

/** The SDK's interceptors write down what an error says, and that may quote a model. Spans are sent later, in batches. */
const WORDLESS: Telemetry.tracing.SpanProcessor = {
  onStart: () => undefined,
  onEnd({ events, status }) {
    events.length = 0;
    delete status.message;
  },
  forceFlush: () => Promise.resolve(),
  shutdown: () => Promise.resolve(),
};

/**
 * An exporter that cannot send tries again with each batch: it is said once, and what it was is for the collector's logs. A variable that says
 * nothing to the SDK keeps no span from being sent.
 */
function troubleLogger(
  say: (sentence: string) => void,
  sayOfVariable: (sentence: string) => void,
): Telemetry.api.DiagLogger {
  const nothing = (): void => undefined;
  return {
    error(message) {
      if (message.startsWith("OTEL_")) sayOfVariable(`Traces: ${ended(excerpt(message))}`);
      else say(notSent(parsed(message)));
    },
    warn: nothing,
    info: nothing,
    debug: nothing,
    verbose: nothing,
  };
}

/** OpenTelemetry's SDK says an error as JSON. */
function parsed(said: string): unknown {
  const value = jsonIn(said);
  return value === undefined ? { message: said } : value;
}

const errorSchema = z.object({
  message: z.string().min(1),
  code: z.union([z.string(), z.number()]).optional(),
});

/** Of an error, what it says: its stack, and what a collector has answered beside its status, are not for whoever looks on. */
function notSent(error: unknown): string {
  const { data: { message, code = "" } = { message: "no reason given" } } = errorSchema.safeParse(error);
  const isNamed = message.includes(`${code}`);
  return `Traces cannot be sent: ${ended(excerpt(isNamed ? message : `${message} (${code})`))}`;
}

function once(say: (sentence: string) => void): (sentence: string) => void {
  let isSaid = false;
  return (sentence) => {
    if (!isSaid) say(sentence);
    isSaid = true;
  };
}
