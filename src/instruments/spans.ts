import type { api as Api } from "@opentelemetry/sdk-node";
import type { ActivityInterceptorsFactory } from "@temporalio/worker";
import { BUNDLE_TOOLS } from "../core/bundle/bundle-tools.js";
import { FILE_TOOLS, STATE_TOOL } from "../core/tools/tool-specs.js";
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
/** The activities that are calls of tools; `state.persist` saves what a call changes in the state document. */
const TOOLS: ReadonlySet<string> = new Set([...FILE_TOOLS, STATE_TOOL, ...BUNDLE_TOOLS, "state.persist"]);

/** A span for each call of a tool, and for all below an activity: whose run it is. */
export function spansOfTools(api: typeof Api, tracer: Api.Tracer): ActivityInterceptorsFactory {
  return ({ info }) => ({
    inbound: {
      execute(input, next) {
        const run = runContextOf(input.args);
        const context = api.context.active().setValue(RUN, run);
        if (!TOOLS.has(info.activityType)) return api.context.with(context, () => next(input));
        const attributes = {
          "gen_ai.operation.name": "execute_tool",
          "gen_ai.tool.name": info.activityType,
          "gen_ai.tool.type": "function",
          ...(run?.callId === undefined ? {} : { "gen_ai.tool.call.id": run.callId }),
          ...runAttributes(run),
        };
        const name = `execute_tool ${info.activityType}`;
        return inSpan(tracer.startSpan(name, { attributes }, context), api, context, async (span) => {
          const outcome = await next(input);
          const code = codeOf(outcome);
          if (code !== undefined) fail(span, api, code);
          return outcome;
        });
      },
    },
  });
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
  run: (span: Api.Span) => Promise<T>,
): Promise<T> {
  try {
    return await api.context.with(api.trace.setSpan(context, span), () => run(span));
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
