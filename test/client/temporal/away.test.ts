import { ServiceError } from "@temporalio/client";
import { expect, test } from "vitest";
import { onceBack, patientReader } from "../../../src/client/temporal/away.js";
import { isAway } from "../../../src/client/temporal/grpc-status.js";
import { unreadyWords } from "../../../src/client/temporal/temporal-words.js";
import { nextQuestion } from "../../../src/client/runs/next-question.js";
import type { StoreReader } from "../../../src/contract/reads.js";
import type { RunState } from "../../../src/core/run/run-state.js";

/** As gRPC says it. */
const grpc = (code: number, details = "") =>
  Object.assign(new Error(`code ${code}`), { code, details, metadata: {} });
/** As a worker's own connection says it: no details, the words as its message. */
const native = (code: number, message: string) =>
  Object.assign(new Error(message), { code, details: "", metadata: {} });
const refused = new ServiceError("Failed to query Workflow", { cause: grpc(14) });
const stop = new AbortController().signal;

test("Temporal that refuses or is silent is away, whoever says it; what it forbids is its answer", () => {
  expect([refused, grpc(14), grpc(4)].map(isAway)).toEqual([true, true, true]);
  expect([grpc(5), grpc(7), new Error("x"), undefined].map(isAway)).toEqual([false, false, false, false]);
});

test("a worker's own connection says under other codes that Temporal is away, and that is no refusal", () => {
  const said = [
    native(1, "Timeout expired"),
    native(2, "transport error"),
    native(1, "operation was canceled"),
    native(13, "h2 protocol error: http2 error"),
    native(13, "Unexpected EOF decoding stream."),
    native(2, "protocol error: missing grpc-status trailer, stream was terminated without a final status"),
  ];
  expect(said.map((each) => [isAway(each), unreadyWords(each)])).toEqual(said.map(() => [true, undefined]));
  const others = [native(2, "panic"), native(5, "x"), grpc(1, "The connection has been closed.")];
  expect(others.map(isAway)).toEqual([false, false, false]);
});

test("a namespace that a worker's own connection does not find is named as one", () => {
  const unknown = native(5, "Namespace away is not found.");
  expect(unreadyWords(unknown)).toBe(
    "Namespace away is not found. TEMPORAL_NAMESPACE names it. See: interlock doctor",
  );
});

test("who waits for Temporal asks until it is back, and hears at once what it refuses", async () => {
  const answers = [() => Promise.reject(refused), () => Promise.resolve("back")];
  await expect(onceBack(stop, () => answers.shift()?.() ?? Promise.reject(refused))).resolves.toBe("back");
  await expect(onceBack(stop, () => Promise.reject(grpc(7)))).rejects.toThrow("code 7");
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
  const barred = new ServiceError("Failed to query Workflow", { cause: grpc(7) });
  const run = { state: () => Promise.reject(barred), executionStatus: () => Promise.resolve("RUNNING") };
  await expect(nextQuestion(run, new Set(), AbortSignal.timeout(2_000))).rejects.toBe(barred);
});
