import { SpanStatusCode, context, trace, type Context, type Span } from "@opentelemetry/api";
import {
  extractContextFromHeaders,
  headersWithContext,
} from "@temporalio/interceptors-opentelemetry/lib/instrumentation.js";
import {
  OpenTelemetryInternalsInterceptor,
  OpenTelemetryOutboundInterceptor,
} from "@temporalio/interceptors-opentelemetry/lib/workflow/index.js";
import {
  type ActivityInput,
  ContinueAsNew,
  type LocalActivityInput,
  type WorkflowExecuteInput,
  type WorkflowInterceptorsFactory,
  workflowInfo,
} from "@temporalio/workflow";

/**
 * Workflow code: bundled with the workflows where traces are wanted, and nowhere else.
 *
 * The SDK's interceptors prepare the sandbox and send its spans. In their place stand these, which wait for nothing: a turn of
 * the microtask queue more, and the commands of a history come in another order with traces than without.
 */
export const interceptors: WorkflowInterceptorsFactory = () => {
  const logs = new OpenTelemetryOutboundInterceptor();
  const tracer = trace.getTracer("interlock");
  const startSpan = (name: string, parent: Context) => {
    const span = tracer.startSpan(name, {}, parent);
    return { span, inside: trace.setSpan(parent, span) };
  };
  const schedule = <I extends ActivityInput | LocalActivityInput>(
    input: I,
    next: (input: I) => Promise<unknown>,
  ) => {
    const { span, inside } = startSpan(`StartActivity:${input.activityType}`, context.active());
    const headers = context.with(inside, () => headersWithContext(input.headers));
    return endedWith(span, next({ ...input, headers }));
  };
  return {
    inbound: [
      {
        execute(input, next) {
          const { span, inside } = startSpan(
            `RunWorkflow:${workflowInfo().workflowType}`,
            parentIn(input.headers),
          );
          return endedWith(
            span,
            context.with(inside, () => next(input)),
          );
        },
      },
    ],
    outbound: [
      {
        scheduleActivity: schedule,
        scheduleLocalActivity: schedule,
        continueAsNew: (input, next) => next({ ...input, headers: headersWithContext(input.headers) }),
        getLogAttributes: (input, next) => logs.getLogAttributes(input, next),
      },
    ],
    internals: [new OpenTelemetryInternalsInterceptor()],
  };
};

/** What the trace goes on from. Whoever starts a run sends what they like there: what cannot be read is nothing to go on from. */
function parentIn(headers: WorkflowExecuteInput["headers"]): Context {
  try {
    return extractContextFromHeaders(headers) ?? context.active();
  } catch {
    return context.active();
  }
}

/** The same promise, whose end is the span's. */
function endedWith<T>(span: Span, result: Promise<T>): Promise<T> {
  const end = (): void => span.end();
  result.then(end, (error: unknown) => {
    if (!(error instanceof ContinueAsNew)) span.setStatus({ code: SpanStatusCode.ERROR });
    end();
  });
  return result;
}
