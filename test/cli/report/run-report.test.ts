import { afterEach, expect, test, vi } from "vitest";
import type { RunHandle } from "../../../src/client/client.js";
import { printReport } from "../../../src/cli/report/print-report.js";
import { tellsOf } from "../../../src/cli/report/run-report.js";
import { unopened } from "../../../src/cli/session/run-session.js";
import { SIGNED_ONLY } from "../../../src/contract/signed.js";
import { NO_USAGE } from "../../../src/core/run/usage.js";

const REPORT = {
  runId: "r",
  workflowId: "run-r",
  packageId: "bundle:desk",
  workflowRef: "talk",
  projectId: "p",
  phase: "completed",
  currentNodeId: "workflow",
  stepsCompleted: ["workflow"],
  variables: {},
  artifacts: [],
  paused: false,
  usage: NO_USAGE,
  webUrl: null,
  stateFile: null,
  logFile: null,
  sessionFolder: "/s",
} as const;

afterEach(() => vi.restoreAllMocks());

test("what a run waits for many times is one line of the report", () => {
  const written = vi.spyOn(process.stdout, "write").mockReturnValue(true);
  const bar = { activity: "state.snapshot", standing: "waiting", attempt: 1, maximumAttempts: 10 } as const;
  printReport({ ...REPORT, phase: "running", work: [bar, bar, bar] }, undefined);
  const lines = written.mock.calls.map(([text]) => String(text)).filter((text) => text.includes("at work"));
  expect(lines).toEqual(["  at work     state.snapshot, attempt 1 of 10: waiting for a worker (3 times)\n"]);
});

test.each([
  ["a bundle run that has saved nothing", {}, "Run r: completed, nothing saved"],
  ["one that has", { artifacts: ["{session-folder}/a.md"] }, "Run r: completed"],
  ["one that goes on", { phase: "running" as const }, "Run r: running"],
  ["a graph run", { sessionFolder: null }, "Run r: completed"],
])("of %s the report says so", (_, changes, line) => {
  const written = vi.spyOn(process.stdout, "write").mockReturnValue(true);
  printReport({ ...REPORT, ...changes }, undefined);
  expect(String(written.mock.calls[0]?.[0]).trimEnd()).toBe(line);
});

test("a start that was refused as unsigned is not led to a retry, which signs none that it does not know", async () => {
  const written = vi.spyOn(process.stdout, "write").mockReturnValue(true);
  const saidOf = async (message: string) => {
    written.mockClear();
    const failure = { code: "E_PRECONDITION_FAILED", message };
    printReport({ ...REPORT, phase: "failed", currentNodeId: "", failure }, undefined);
    const closedBy = () => Promise.resolve(failure);
    const run = { runId: "r", wasOpened: () => Promise.resolve(false), closedBy } as unknown as RunHandle; // what is asked of it
    return [...written.mock.calls.map(([text]) => String(text)), (await unopened(run))?.message ?? ""].join(
      "",
    );
  };
  expect(
    await saidOf(`${SIGNED_ONLY}, and this one is not signed. Start runs with interlock run`),
  ).not.toContain("retry");
  expect((await saidOf("There is no such project.")).split("interlock retry r")).toHaveLength(3);
  expect(await saidOf("None.\nLet it go on with: x")).not.toContain("\nLet it go on with: x");
});

test("of a run that its model's endpoint has failed the report names the doctor, and no wait any more", () => {
  const written = vi.spyOn(process.stdout, "write").mockReturnValue(true);
  const saidOf = (phase: "failed" | "running", code: string): string => {
    written.mockClear();
    const model = { chain: [], missing: "it has no key" };
    printReport({ ...REPORT, phase, model, failure: { code, message: "m" } }, undefined);
    return written.mock.calls.map(([text]) => String(text)).join("");
  };
  expect(saidOf("failed", "LLM_AUTH_FAILED")).toContain(
    "  interlock doctor says what to mend of its model\n",
  );
  expect(saidOf("failed", "LLM_AUTH_FAILED")).not.toContain("waits");
  expect(saidOf("failed", "LLM_CONTEXT_EXCEEDED")).not.toContain("doctor");
  expect(saidOf("running", "LLM_AUTH_FAILED")).toContain("  waits       it has no key\n");
});

test("the commands of a report take a run's id as one word, whoever has chosen it", () => {
  const written = vi.spyOn(process.stdout, "write").mockReturnValue(true);
  const failure = { code: "LLM_TIMEOUT", message: "No answer." } as const;
  const question = { nodeId: "workflow", text: "Which?" };
  const runId = "r; touch pwned";
  printReport({ ...REPORT, runId, phase: "waiting-user", question, paused: true, failure }, undefined);
  const said = written.mock.calls.map(([text]) => String(text)).filter((line) => line.includes("interlock "));
  expect(said.map((line) => /interlock (\w+) 'r; touch pwned'/.exec(line)?.[1])).toEqual([
    "retry",
    "answer",
    "finish",
    "resume",
  ]);
});

test("a failure is the files' own when Temporal has closed the run with it, and no other", () => {
  const failure = { code: "LLM_TIMEOUT", message: "No answer." } as const;
  const closed = (changes: object) =>
    tellsOf(
      { ...REPORT, phase: "failed", failure },
      { status: "FAILED", said: { code: "LLM_TIMEOUT", message: "No answer.", ...changes } },
    );
  expect(closed({})).toBe(true);
  expect(closed({ code: "ENGINE_ABORTED" })).toBe(false);
  expect(closed({ message: "by hand, (cancelled): no" })).toBe(false);
  expect(tellsOf({ ...REPORT, failure }, { status: "FAILED", said: failure })).toBe(false);
  const code = "ENGINE_ABORTED";
  const cancelled = { status: "CANCELLED", said: { code, message: "Workflow canceled" } } as const;
  expect(
    tellsOf({ ...REPORT, phase: "failed", failure: { code, message: "The run was cancelled." } }, cancelled),
  ).toBe(true);
});

test("one turn of the model is no turns", () => {
  const written = vi.spyOn(process.stdout, "write").mockReturnValue(true);
  printReport({ ...REPORT, usage: { ...NO_USAGE, modelTurns: 1, toolCalls: 1 } }, undefined);
  const said = written.mock.calls.map(([text]) => String(text)).join("");
  expect(said).toContain(" 1 model turn, 1 tool call, ");
});
