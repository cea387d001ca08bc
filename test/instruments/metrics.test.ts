import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { readFileSync, readdirSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { LabelValues, OTHER } from "../../src/instruments/label-values.js";
import { METRICS, type MetricDefinition } from "../../src/instruments/metric-table.js";
import { LOCK_TAKEN_OVER, withFileLock } from "../../src/store/disk/fenced-lock.js";
import { temporaryDirectory } from "../fakes/package-fixture.js";

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const DEPLOY = "deploy/instruments";
const definitions: readonly MetricDefinition[] = Object.values(METRICS);

/** The names of series that Prometheus has of a metric. */
function seriesOf({ name, kind }: MetricDefinition): readonly string[] {
  return kind === "histogram" ? ["_bucket", "_sum", "_count"].map((end) => name + end) : [name];
}

/** The metrics of ours and of the SDK that an expression asks for. */
function metricsIn(expression: string): readonly string[] {
  return [...expression.matchAll(/\b(?:interlock|temporal)_\w+/g)].map(([name]) => name);
}

interface Panel {
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
}
const dashboard = JSON.parse(read(`${DEPLOY}/grafana/dashboards/interlock.json`)) as {
  readonly uid: string;
  readonly panels: readonly Panel[];
};
const rules = (
  parse(read(`${DEPLOY}/alerts.yml`)) as {
    readonly groups: readonly {
      readonly rules: readonly { readonly alert: string; readonly expr: string }[];
    }[];
  }
).groups.flatMap((group) => group.rules);

describe("the table of metrics", () => {
  test("is that of docs/metrics.md: names, kinds and labels", () => {
    const rows = [...read("docs/metrics.md").matchAll(/^\| `(interlock_\w+)` \| (\w+) \|([^|]*)\|/gm)];
    const documented = rows.map(([, name, kind, labels = ""]) => ({
      name,
      kind,
      labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label),
    }));
    expect(documented).toEqual(
      definitions.map(({ name, kind, labels }) => ({ name, kind, labels: [...labels] })),
    );
  });

  test("has names as Prometheus wants them", () => {
    for (const { name, kind, labels } of definitions) {
      expect(name).toMatch(/^interlock_[a-z_]+$/);
      expect(name.endsWith("_total")).toBe(kind === "counter");
      expect(labels).not.toContain("quantile");
    }
  });
});

describe("dashboard and alerts", () => {
  const known = new Set(definitions.flatMap(seriesOf));
  /** Those of the SDK, as its exporter names them. */
  const OF_THE_SDK = [
    "temporal_workflow_task_schedule_to_start_latency_seconds_bucket",
    "temporal_activity_schedule_to_start_latency_seconds_bucket",
    "temporal_worker_task_slots_used",
  ];
  const expressions = [
    ...dashboard.panels.flatMap(({ title, targets = [] }) =>
      targets.map(({ expr }) => [title, expr] as const),
    ),
    ...rules.map(({ alert, expr }) => [alert, expr] as const),
  ];

  test.each(expressions)("%s asks for metrics that there are, by labels that they have", (_, expression) => {
    const metrics = metricsIn(expression);
    for (const metric of metrics) expect([...known, ...OF_THE_SDK]).toContain(metric);
    const selected = [...expression.matchAll(/(interlock_\w+?)(?:_bucket|_sum|_count)?\{([^}]*)\}/g)];
    for (const [, name = "", matchers = ""] of selected) {
      const labels = definitions.find((each) => each.name === name)?.labels;
      for (const [, label] of matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)) expect(labels).toContain(label);
    }
    const grouped = [...expression.matchAll(/by \(([^)]*)\)/g)].flatMap(([, by = ""]) => by.split(", "));
    const labels = metrics.flatMap(
      (metric) => definitions.find((each) => seriesOf(each).includes(metric))?.labels ?? [],
    );
    const isOurs = metrics.every((metric) => metric.startsWith("interlock_"));
    expect(isOurs ? grouped.filter((label) => !["le", ...labels].includes(label)) : []).toEqual([]);
  });

  test("show every metric that there is", () => {
    const asked = new Set(expressions.flatMap(([, expression]) => metricsIn(expression)));
    const unseen = definitions.filter((each) => !seriesOf(each).some((series) => asked.has(series)));
    expect(unseen.map(({ name }) => name)).toEqual([]);
  });

  test("are files of deploy/instruments that the Compose file mounts", () => {
    expect(readdirSync(new URL(`../../${DEPLOY}`, import.meta.url)).toSorted()).toEqual([
      "alerts.yml",
      "grafana",
      "otel-collector.yaml",
      "prometheus.yml",
    ]);
    expect(parse(read(`${DEPLOY}/prometheus.yml`))).toMatchObject({ rule_files: ["alerts.yml"] });
    expect(read(`${DEPLOY}/grafana/provisioning/datasources/prometheus.yaml`)).toContain(
      "http://prometheus:9090",
    );
  });
});

describe("a label", () => {
  test("takes what is configured, a few others, and no more", () => {
    const values = new LabelValues(["mine"], 2);
    expect(["a", "b", "c", "mine", "a"].map((value) => values.of(value))).toEqual([
      "a",
      "b",
      OTHER,
      "mine",
      "a",
    ]);
  });

  test.each(['x"} 1\nforged 9', "", "\u202Ex", "a b", "x".repeat(81), "ключ", "a{b}"])(
    "takes no value that is no name: %j",
    (value) => expect(new LabelValues([]).of(value)).toBe(OTHER),
  );

  test("has a bounded number of values, whatever a hostile run names", () => {
    const values = new LabelValues(["mine"]);
    const series = new Set(Array.from({ length: 10_000 }, (_, index) => values.of(`model-${index}`)));
    expect(series.size).toBe(21);
    expect(values.of("mine")).toBe("mine");
  });
});

test("a lock that is taken over is told to who listens, once", async () => {
  const lockFile = join(await temporaryDirectory(), "x.lock");
  const told: unknown[] = [];
  const hear = (message: unknown): void => void told.push(message);
  subscribe(LOCK_TAKEN_OVER, hear);
  onTestFinished(() => void unsubscribe(LOCK_TAKEN_OVER, hear));
  const take = () =>
    withFileLock(
      lockFile,
      () => Promise.resolve(),
      () => undefined,
    );
  await take();
  expect(told).toEqual([]);
  // What a process that waited too long leaves behind: the next generation of the lock.
  await writeFile(`${lockFile}.1`, "");
  await take();
  await take();
  expect(told).toEqual([{ lockFile }]);
});
