import {
  OpenTelemetryInboundInterceptor,
  OpenTelemetryInternalsInterceptor,
  OpenTelemetryOutboundInterceptor,
} from "@temporalio/interceptors-opentelemetry/lib/workflow/index.js";
import type { WorkflowInterceptorsFactory } from "@temporalio/workflow";

/** Workflow code: bundled with the workflows where traces are wanted, and nowhere else. It adds headers and no commands. */
export const interceptors: WorkflowInterceptorsFactory = () => {
  const inbound = new OpenTelemetryInboundInterceptor();
  const outbound = new OpenTelemetryOutboundInterceptor();
  return {
    // Queries are left out: who watches a run asks each second, and each would be a trace of its own.
    inbound: [
      {
        execute: (input, next) => inbound.execute(input, next),
        handleSignal: (input, next) => inbound.handleSignal(input, next),
        handleUpdate: (input, next) => inbound.handleUpdate(input, next),
      },
    ],
    outbound: [outbound],
    internals: [new OpenTelemetryInternalsInterceptor()],
  };
};
