import { ServiceError } from "@temporalio/client";
import { expect, test } from "vitest";
import { onceBack, patientReader } from "../../../src/client/temporal/away.js";
import { isAway } from "../../../src/client/temporal/grpc-status.js";
import { nextQuestion } from "../../../src/client/runs/next-question.js";
import type { StoreReader } from "../../../src/contract/reads.js";
import type { RunState } from "../../../src/core/run/run-state.js";
import { grpc } from "../../fakes/grpc-error.js";

const refused = new ServiceError("Failed to query Workflow", {
  cause: grpc(14, "No connection established"),
});
const stop = new AbortController().signal;

test("Temporal that refuses or is silent is away, whoever says it; what it forbids is its answer", () => {
  expect([refused, grpc(14, "gone"), grpc(4, "Deadline exceeded")].map(isAway)).toEqual([true, true, true]);
  expect(
    [
      grpc(5, "none"),
      grpc(7, "no"),
      grpc(1, "The connection has been closed."),
      new Error("x"),
      undefined,
    ].map(isAway),
  ).toEqual([false, false, false, false, false]);
});

test("who waits for Temporal asks until it is back, and hears at once what it refuses", async () => {
  const answers = [() => Promise.reject(refused), () => Promise.resolve("back")];
  await expect(onceBack(stop, () => answers.shift()?.() ?? Promise.reject(refused))).resolves.toBe("back");
  await expect(onceBack(stop, () => Promise.reject(grpc(7, "Not you.")))).rejects.toThrow("Not you.");
  const over = AbortSignal.abort(new Error("enough"));
  await expect(onceBack(over, () => Promise.resolve("back"))).rejects.toThrow("enough");
});

test("who stops waits no longer for a store that does not answer", async () => {
  const silent = { isAtHand: false, ask: () => new Promise(() => undefined) } as unknown as StoreReader;
  const stopping = new AbortController();
  const asked = patientReader(silent, stopping.signal).ask("read.packages", {});
  stopping.abort(new Error("enough"));
  await expect(asked).rejects.toThrow("enough");
});

test("a program that waits for a question waits on while Temporal is away", async () => {
  const asked = { phase: "waiting-user", question: { nodeId: "ask", text: "Which?" }, visit: 1, turn: 1 };
  const states = [() => Promise.reject(refused), () => Promise.resolve(asked as RunState)];
  const run = {
    state: () => states.shift()?.() ?? Promise.reject(refused),
    executionStatus: () => Promise.reject(refused),
  };
  await expect(nextQuestion(run, new Set(), undefined)).resolves.toMatchObject({ text: "Which?" });
});

test("a program that waits for a question hears at once that Temporal does not let it in", async () => {
  const barred = new ServiceError("Failed to query Workflow", { cause: grpc(7, "Request unauthorized.") });
  const run = { state: () => Promise.reject(barred), executionStatus: () => Promise.resolve("RUNNING") };
  await expect(nextQuestion(run, new Set(), AbortSignal.timeout(2_000))).rejects.toBe(barred);
});
