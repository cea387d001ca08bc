import type { MetricMeter } from "@temporalio/common";
import { METRICS, type MetricKey } from "./metric-table.js";

type KindOf<K extends MetricKey> = (typeof METRICS)[K]["kind"];
type OfKind<Kind extends string> = { [K in MetricKey]: KindOf<K> extends Kind ? K : never }[MetricKey];
type Labels<K extends MetricKey> = Readonly<Record<(typeof METRICS)[K]["labels"][number], string>>;

/** The metrics of the table, made with the meter of the process's Temporal runtime: they are served with the SDK's own. */
export class Meters {
  private readonly meter: MetricMeter;
  private readonly counters = new Map<MetricKey, ReturnType<MetricMeter["createCounter"]>>();
  private readonly histograms = new Map<MetricKey, ReturnType<MetricMeter["createHistogram"]>>();
  private readonly gauges = new Map<MetricKey, ReturnType<MetricMeter["createGauge"]>>();

  constructor(meter: MetricMeter) {
    this.meter = meter;
  }

  /** `by` is a whole number. */
  count<K extends OfKind<"counter">>(key: K, labels: Labels<K>, by = 1): void {
    const { name, help } = METRICS[key];
    const counter = this.counters.get(key) ?? this.meter.createCounter(name, undefined, help);
    this.counters.set(key, counter);
    counter.add(by, labels);
  }

  observe<K extends OfKind<"histogram">>(key: K, value: number, labels: Labels<K>): void {
    const { name, help } = METRICS[key];
    const histogram = this.histograms.get(key) ?? this.meter.createHistogram(name, "float", undefined, help);
    this.histograms.set(key, histogram);
    histogram.record(value, labels);
  }

  set<K extends OfKind<"gauge">>(key: K, value: number, labels: Labels<K>): void {
    const { name, help } = METRICS[key];
    const gauge = this.gauges.get(key) ?? this.meter.createGauge(name, "float", undefined, help);
    this.gauges.set(key, gauge);
    gauge.set(value, labels);
  }
}
