import type { MetricMeter } from "@temporalio/common";
import type {
  ActivityInboundCallsInterceptor,
  ActivityInterceptorsFactory,
  PrometheusMetricsExporter,
} from "@temporalio/worker";
import { ModelError } from "../model/model-error.js";
import type { ChatModel } from "../model/chat.js";
import type { Instrument } from "../worker/instrument.js";
import { OUTCOMES } from "./count-events.js";
import { LabelValues } from "./label-values.js";
import { histogramBuckets } from "./metric-table.js";
import { Meters } from "./meters.js";
import { watchStore } from "./watch-store.js";

export interface MetricsOptions {
  /** `Runtime.instance().metricMeter` of a runtime with an exporter for metrics. */
  readonly meter: MetricMeter;
  /** What endpoints call the models that are configured: these have series of their own, however many others are named. */
  readonly models: readonly string[];
}

/** How the SDK's exporter serves its metrics and ours: names as in Temporal's reference, durations in seconds. */
export function prometheus(bindAddress: string): PrometheusMetricsExporter["prometheus"] {
  return {
    bindAddress,
    unitSuffix: true,
    useSecondsForDurations: true,
    histogramBucketOverrides: histogramBuckets(),
  };
}

/** Our metrics, beside those of the SDK. */
export function createMetrics({ meter, models }: MetricsOptions): Instrument {
  const meters = new Meters(meter);
  const known = new LabelValues(models);
  return {
    activities: [countRecoveries(meters)],
    watchModel: (model) => timed(meters, known, model),
    watchStore: (store) => watchStore(meters, known, store),
  };
}

/** An attempt that is not the first: the one before failed, was given up, or died with its worker. */
function countRecoveries(meters: Meters): ActivityInterceptorsFactory {
  return ({ info }) => {
    const inbound: ActivityInboundCallsInterceptor = {
      execute(input, next) {
        // Which activities there are, the worker decides: no other is ever run.
        if (info.attempt > 1) meters.count("recoveries", { activity: info.activityType });
        return next(input);
      },
    };
    return { inbound };
  };
}

function timed(meters: Meters, models: LabelValues, model: ChatModel): ChatModel {
  return {
    async complete(request) {
      const startedAt = performance.now();
      const name = models.of(request.settings.model);
      try {
        const answer = await model.complete(request);
        meters.count("requests", { model: name, outcome: "ok" });
        return answer;
      } catch (error) {
        const code =
          error instanceof ModelError ? error.code : request.signal.aborted ? "ENGINE_ABORTED" : "";
        meters.count("requests", { model: name, outcome: OUTCOMES.of(code) });
        throw error;
      } finally {
        meters.observe("latency", (performance.now() - startedAt) / 1_000, { model: name });
      }
    },
  };
}
