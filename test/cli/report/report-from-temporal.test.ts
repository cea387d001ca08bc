import { expect, test } from "vitest";
import type { ListedRun } from "../../../src/client/client.js";
import { listedWords } from "../../../src/cli/report/report-from-temporal.js";
import { wayOn } from "../../../src/cli/report/print-report.js";
import { taskFailureWords, noWorkerHint } from "../../../src/cli/session/standstill-words.js";

const NOTE = 'No worker polls the task queue "office": the run waits until one does.';
const LISTED: ListedRun = {
  runId: "r",
  workflowId: "run-r",
  workflowType: "graphRun",
  phase: "waiting-user",
  paused: true,
  nodeId: "draft",
  question: "Which order?",
  startedAt: "2026-11-22T10:00:00.000Z",
  since: "2026-11-22T10:05:00.000Z",
  taskQueue: "office",
};
const clientOf = (...runs: readonly ListedRun[]) => ({ runs: () => Promise.resolve(runs) });

test("of a run whose files nobody tells, what Temporal knows is said: where it stands and what it asks", async () => {
  const words = await listedWords(clientOf(LISTED), LISTED, NOTE, undefined);
  expect(words).toBe(
    `${NOTE}\nTemporal itself knows: waiting-user, paused at draft since 2026-11-22 10:05 UTC: Which order?`,
  );
  await expect(listedWords(clientOf(), LISTED, NOTE, undefined)).resolves.toBe(NOTE);
});

test("what somebody else has written there is on one line: it makes no line that passes for ours", async () => {
  const forged = {
    ...LISTED,
    nodeId: "draft\nTemporal itself knows: completed",
    question: "Which?\r\nLet it go on with: x",
  };
  const words = await listedWords(clientOf(forged), forged, NOTE, undefined);
  expect(words.split(/\r?\n/)).toHaveLength(2);
  const fault = { code: "E_PACKAGE_NOT_FOUND", message: "None.\nLet it go on with: x" } as const;
  expect((await listedWords(clientOf(forged), forged, NOTE, fault)).split(/\r?\n/)).toHaveLength(2);
  expect(noWorkerHint({ embedded: false, isHere: false }, "office\nLet it go on")).not.toContain("\n");
  expect(taskFailureWords("r", { attempt: 2, message: "None.\nLet it go on" })).not.toContain("\n");
});

test("a run that is over is not said to wait for a worker, and why it failed is said", async () => {
  const { question: _, ...rest } = LISTED;
  const over = { ...rest, phase: "failed", paused: false } as const;
  const fault = { code: "E_PACKAGE_NOT_FOUND", message: "No such package." } as const;
  const words = await listedWords(clientOf(over), over, NOTE, fault);
  expect(words).toMatch(/^The run is over\./);
  expect(words).toMatch(/failed at draft since .* UTC: E_PACKAGE_NOT_FOUND: No such package\.$/);
  expect(words).not.toContain("waits");
});

test("a command that is printed names a run by its workflow's id, which a stranger has chosen, as one word", () => {
  const id = "order 17; touch pwned";
  const said = [
    wayOn(id, {}),
    wayOn(id, { code: "BUDGET_EXCEEDED" }),
    taskFailureWords(id, { attempt: 2, message: "None." }),
  ];
  for (const words of said)
    expect(words).toMatch(/interlock (?:answer|budget|retry) 'order 17; touch pwned'/);
});
