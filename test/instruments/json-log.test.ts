import { describe, expect, test } from "vitest";
import { openJsonLog } from "../../src/instruments/json-log.js";
import type { LogLevel } from "../../src/environment/log-words.js";

const RUN = "a8e71b35-5012-4529-b000-df5cea739fea";
const AT = 1_700_000_000_000_000_000n;

function logged(
  level: LogLevel,
  use: (log: ReturnType<typeof openJsonLog>) => void,
): Record<string, unknown>[] {
  const lines: string[] = [];
  use(openJsonLog(level, (line) => lines.push(line)));
  for (const line of lines) expect(line).toMatch(/^\{.*\}\n$/);
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

const entry = (
  message: string,
  meta?: Record<string, unknown>,
  level: "INFO" | "WARN" | "DEBUG" = "INFO",
) => ({
  level,
  timestampNanos: AT,
  message,
  ...(meta === undefined ? {} : { meta }),
});

describe("a log of JSON lines", () => {
  test("has the run's id of what a workflow or an activity of a run says, and Temporal's under its own name", () => {
    const [line] = logged("info", (log) =>
      log.entry(entry("failed", { workflowId: `run-${RUN}`, runId: "of-temporal", attempt: 2 })),
    );
    expect(line).toEqual({
      level: "info",
      time: "2023-11-14T22:13:20.000Z",
      runId: RUN,
      workflowId: `run-${RUN}`,
      workflowRunId: "of-temporal",
      attempt: 2,
      msg: "failed",
    });
  });

  test("says no more than its level", () => {
    const lines = logged("warn", (log) => {
      log.say("info", "x");
      log.entry(entry("debug", {}, "DEBUG"));
      log.entry(entry("warn", {}, "WARN"));
    });
    expect(lines.map(({ level, msg }) => [level, msg])).toEqual([["warn", "warn"]]);
  });

  test("keeps secrets out of messages, fields and errors", () => {
    const secret = "sk-abcdefghijklmnopqrstuvwx";
    const meta = {
      apiKey: "hunter2hunter2",
      error: new Error(`Bearer ${secret}`),
      deep: { text: `key ${secret}` },
    };
    const text = JSON.stringify(logged("info", (log) => log.entry(entry(`token=${secret}`, meta))));
    expect(text).not.toMatch(/sk-abc|hunter2/);
    expect(text).toContain("<secret>");
  });

  test("takes what cannot be written as it is: big numbers, circles, very much", () => {
    const circle: Record<string, unknown> = { big: 1n };
    circle["self"] = circle;
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`f${index}`, index]));
    const [line] = logged("info", (log) => log.entry(entry("x", { circle, many })));
    expect(line?.["circle"]).toMatchObject({ big: "1" });
    expect(Object.keys(line?.["many"] ?? {})).toHaveLength(50);
  });

  test("has one line for a text of several", () => {
    expect(logged("info", (log) => log.say("error", "a\nb"))).toMatchObject([
      { level: "error", msg: "a\nb" },
    ]);
  });
});
