import { ServiceError } from "@temporalio/client";
import { expect, test } from "vitest";
import type { PendingWork } from "../../../src/client/runs/pending-work.js";
import { stateOnceAsked } from "../../../src/cli/follow/asked-state.js";
import type { RunState } from "../../../src/core/run/run-state.js";

const RUN_ID = "11111111-2222-4333-8444-555555555555";
const silence = (): Promise<RunState> => Promise.reject(new ServiceError("Failed to query Workflow"));
const said = { phase: "waiting-user" } as RunState;

function runThat(answers: (() => Promise<RunState>)[], others: { work?: PendingWork; closed?: Error } = {}) {
  return {
    runId: RUN_ID,
    state: () => (answers.length > 1 ? answers.shift() : answers[0])?.() ?? silence(),
    pendingWork: () => Promise.resolve(others.work ?? { activities: [] }),
    requireOpen: () =>
      others.closed === undefined ? Promise.resolve("RUNNING") : Promise.reject(others.closed),
  };
}

test("whoever is to be told something is waited for, however often nobody answers", async () => {
  const run = runThat([...Array.from({ length: 40 }, () => silence), () => Promise.resolve(said)]);
  await expect(stateOnceAsked(run, 0)).resolves.toBe(said);
});

test("a run that ends while nobody answers is waited for no longer", async () => {
  const closed = new Error("The run is over.");
  await expect(stateOnceAsked(runThat([silence], { closed }), 0)).rejects.toBe(closed);
});

test("a run whose workflow task fails again and again is named with the reason", async () => {
  const work = {
    activities: [],
    taskFailure: { attempt: 7, message: "no build fits" },
  } as unknown as PendingWork;
  await expect(stateOnceAsked(runThat([silence], { work }), 0)).rejects.toThrow("no build fits");
});

test("a Temporal that does not answer is not waited for", async () => {
  const run = { ...runThat([silence]), pendingWork: () => Promise.reject(new Error("unavailable")) };
  await expect(stateOnceAsked(run, 0)).rejects.toThrow("Failed to query Workflow");
});

test.each([7, 16])("a Temporal that does not let this in is not waited for: %s", async (code) => {
  const status = Object.assign(new Error("Request unauthorized."), { code, details: "", metadata: {} });
  const refused = new ServiceError("Failed to query Workflow", { cause: status });
  const run = runThat([() => Promise.reject(refused), () => Promise.resolve(said)]);
  await expect(stateOnceAsked(run, 0)).rejects.toBe(refused);
});
