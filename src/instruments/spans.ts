import type { api as Api } from "@opentelemetry/sdk-node";
import type { ActivityInterceptorsFactory } from "@temporalio/worker";
import type { WatchCall } from "../core/tools/watched-call.js";
import type { ChatModel } from "../model/chat.js";
import { ModelError } from "../model/model-error.js";
import {
  answerAttributes,
  inputContent,
  outputContent,
  requestAttributes,
  runAttributes,
} from "./model-span.js";
import { type RunContext, runContextOf } from "./run-context.js";

const RUN = Symbol("the run that an activity works for");
/** For all below an activity: whose run it is. */
export function runsOfActivities(api: typeof Api): ActivityInterceptorsFactory {
  return () => ({
    inbound: {
      execute(input, next) {
        const context = api.context.active().setValue(RUN, runContextOf(input.args));
        return api.context.with(context, () => next(input));
      },
    },
  });
}

/** A span for each call of a tool. */
export function spansOfCalls(api: typeof Api, tracer: Api.Tracer): WatchCall {
  return ({ tool, callId, runId, nodeId, agentId }, make) => {
    const attributes = {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": tool,
      "gen_ai.tool.type": "function",
      "gen_ai.tool.call.id": callId,
      ...runAttributes({ run: { runId }, nodeId, agentId }),
    };
    const context = api.context.active();
    const span = tracer.startSpan(`execute_tool ${tool}`, { attributes }, context);
    return inSpan(span, api, context, async () => {
      const outcome = await make();
      const code = codeOf(outcome);
      if (code !== undefined) fail(span, api, code);
      return outcome;
    });
  };
}

/** A span for each request to a model. */
export function spansOfModel(
  api: typeof Api,
  tracer: Api.Tracer,
  model: ChatModel,
  withContent: boolean,
): ChatModel {
  return {
    complete(request) {
      const context = api.context.active();
      const run = context.getValue(RUN) as RunContext | undefined; // set above
      const attributes = {
        ...requestAttributes(request, run),
        ...(withContent ? inputContent(request) : {}),
      };
      const name = `chat ${request.settings.model}`;
      const span = tracer.startSpan(name, { kind: api.SpanKind.CLIENT, attributes }, context);
      return inSpan(span, api, context, async () => {
        const answer = await model.complete(request);
        span.setAttributes({ ...answerAttributes(answer), ...(withContent ? outputContent(answer) : {}) });
        return answer;
      });
    },
  };
}

/** What is done in a span; one that throws has failed, with a code and no words: these may quote what was said. */
async function inSpan<T>(
  span: Api.Span,
  api: typeof Api,
  context: Api.Context,
  run: () => Promise<T>,
): Promise<T> {
  try {
    return await api.context.with(api.trace.setSpan(context, span), run);
  } catch (error) {
    fail(
      span,
      api,
      error instanceof ModelError ? error.code : error instanceof Error ? error.name : "_OTHER",
    );
    throw error;
  } finally {
    span.end();
  }
}

function fail(span: Api.Span, api: typeof Api, code: string): void {
  span.setAttribute("error.type", code);
  span.setStatus({ code: api.SpanStatusCode.ERROR });
}

/** The code of a call that was refused or has failed. */
function codeOf(outcome: unknown): string | undefined {
  if (typeof outcome !== "object" || outcome === null || !("ok" in outcome) || outcome.ok !== false)
    return undefined;
  return "code" in outcome && typeof outcome.code === "string" ? outcome.code : "_OTHER";
}
