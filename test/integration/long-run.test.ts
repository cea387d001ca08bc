// @module-tag slow
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { MAX_PAYLOAD_BYTES } from "../../src/contract/names.js";
import { workflowIdOf } from "../../src/core/run/run-id.js";
import { type EarlyServer, startEarlyServer } from "../fakes/early-server.js";
import { gatePackage } from "../fakes/gate-package.js";
import { type ScriptedAnswer, call, patch } from "../fakes/scripted-model.js";
import { circlePackage } from "../fakes/two-node-package.js";
import { roundAndRound } from "../fakes/walk.js";
import { openBench, signedClient, until } from "./harness.js";

interface Length {
  readonly callsPerTurn: number;
  readonly turns: number;
  readonly pausedAt: number;
  /** In a later execution. */
  readonly askedAgainAt: number;
  readonly maxEvents: number;
}

/** Until Temporal's own limit suggests to continue as new. */
const LONG: Length = { callsPerTurn: 30, turns: 140, pausedAt: 60, askedAgainAt: 135, maxEvents: 6_000 };
/** On a server that suggests it early: what differs is done the same way, however long a history is. */
const SHORT: Length = { callsPerTurn: 3, turns: 30, pausedAt: 5, askedAgainAt: 27, maxEvents: 200 };

let early: EarlyServer;

beforeAll(async () => {
  early = await startEarlyServer(inject("cacheDir"));
});
afterAll(() => early.close());

/** The sizes of all payloads in a history, in bytes. */
function payloadSizes(value: unknown): readonly number[] {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return [];
  const data = "data" in value && value.data instanceof Uint8Array ? [value.data.length] : [];
  return [...data, ...Object.values(value).flatMap(payloadSizes)];
}

describe("a long run", () => {
  test.each([
    { starts: "open", length: LONG, address: () => inject("temporalAddress") },
    { starts: "signed", length: SHORT, address: () => early.address },
  ])(
    "of a store with $starts starts continues as new between two turns of one node: no call, question, pause, budget or story is lost, and no update counts twice",
    async ({ starts, length, address }) => {
      const { callsPerTurn, turns, pausedAt, askedAgainAt, maxEvents } = length;
      const reads = Array.from({ length: callsPerTurn }, () => call("fs_list", { path: "@pkg/steps" }));
      const bench = await openBench(
        (_request, index): ScriptedAnswer => {
          if (index === pausedAt || index === askedAgainAt) return { content: "Go on?" };
          if (index < turns) return { calls: reads };
          const ends: readonly ScriptedAnswer[] = [
            { calls: [patch({ stepsCompleted: { append: ["build"] }, currentNodeId: { set: "qa" } })] },
            {
              calls: [
                call("state_record", { gateDecisions: { qaGate: "PASS" } }),
                patch({ stepsCompleted: { append: ["qa"] }, currentNodeId: { set: "finish" } }),
              ],
            },
            { calls: [patch({ stepsCompleted: { append: ["finish"] } })] },
          ];
          return ends[index - turns] ?? { status: 418 };
        },
        { INTERLOCK_STARTS: starts, TEMPORAL_ADDRESS: address() },
      );
      const starter = starts === "signed" ? (await signedClient(bench)).client : bench.client;
      const request = {
        limits: { maxTurnsPerNode: 1_000, maxModelAttempts: 2 },
        storyId: "wrkf-1010",
        evaluateConditions: true,
        input: "Look around.",
        budget: { run: { turns: 1_000 } },
      };
      const run = await bench.start(gatePackage(), request, starter);
      await until(run, "waiting-user");
      const raise = { raiseId: "raise-1", add: { turns: 10 } };
      const raised = { run: { turns: 1_010 } };
      expect(await run.raiseBudget(raise)).toEqual(raised);
      await run.pause();
      const answer = { nodeId: "build", text: "Yes.", answerId: "answer-1" };
      await run.answer(answer);
      await until(run, "running");
      expect((await run.state()).paused).toBe(true);
      const firstExecution = await run.executionRunId();
      await run.resume();
      await until(run, "waiting-user");
      expect(await run.executionRunId()).not.toBe(firstExecution);
      expect(await run.raiseBudget(raise)).toEqual(raised);
      await run.answer(answer);
      expect((await run.state()).phase).toBe("waiting-user");
      await run.answer({ nodeId: "build", text: "Yes, again." });
      await run.result();

      const state = await run.state();
      const calls = (turns - 2) * callsPerTurn + 4;
      expect(state.usage).toMatchObject({ modelTurns: turns + 3, toolCalls: calls });
      expect(state).toMatchObject({ visit: 3, paused: false, currentNodeId: "finish" });
      expect((await run.graphState())?.stateHistory.map((snapshot) => snapshot.state.routingFlags)).toEqual([
        { escalate: true, proceed: true },
        { proceed: true },
        { complete: true },
      ]);
      const events = await bench.auditEvents(run);
      expect(events.filter(({ kind }) => kind === "tool.exec")).toHaveLength(calls);
      expect(events.filter(({ kind }) => kind === "user.input")).toHaveLength(3);
      const words = bench.model.requests
        .at(turns)
        ?.messages.filter(({ content }) => content?.includes("USER_INPUT"));
      expect(words).toHaveLength(3);

      const executions: string[] = [];
      const query = `WorkflowId = "${workflowIdOf(run.runId)}"`;
      for await (const { runId } of bench.client.temporal.workflow.list({ query })) executions.push(runId);
      expect(executions.length).toBeGreaterThan(1);
      for (const runId of executions) {
        const history = await bench.client.temporal.workflow
          .getHandle(workflowIdOf(run.runId), runId)
          .fetchHistory();
        expect(history.events?.length).toBeLessThan(maxEvents);
        expect(Math.max(...payloadSizes(history.events))).toBeLessThan(MAX_PAYLOAD_BYTES);
      }
    },
  );

  test("by nodes, passing one after the other, continues as new when the bars of all of them are over", async () => {
    const visits = 60;
    const bench = await openBench(roundAndRound, { TEMPORAL_ADDRESS: early.address });
    const limits = { maxTurnsPerRun: visits };
    const run = await bench.start(circlePackage(), { steps: "nodes", limits });
    await expect(run.result()).rejects.toMatchObject({ code: "ENGINE_MAX_TURNS_EXCEEDED" });
    const { workflow } = bench.client.temporal;
    const query = `WorkflowId = "${workflowIdOf(run.runId)}"`;
    const counts: { readonly bars: number; readonly over: number }[] = [];
    for await (const { runId } of workflow.list({ query })) {
      const { events } = await workflow.getHandle(workflowIdOf(run.runId), runId).fetchHistory();
      const idOf = (id: { toString(): string } | null | undefined): string => String(id);
      const bars = (events ?? []).flatMap(({ eventId, activityTaskScheduledEventAttributes: activity }) =>
        activity?.activityType?.name === "state.snapshot" ? [idOf(eventId)] : [],
      );
      const over = (events ?? []).flatMap(({ activityTaskCompletedEventAttributes: ended }) =>
        ended ? [idOf(ended.scheduledEventId)] : [],
      );
      counts.push({ bars: bars.length, over: bars.filter((id) => over.includes(id)).length });
    }
    expect(counts.length).toBeGreaterThan(1);
    expect(counts.map(({ over }) => over)).toEqual(counts.map(({ bars }) => bars));
    expect(counts.reduce((sum, { bars }) => sum + bars, 0)).toBe(visits);
    expect(bench.model.requests).toHaveLength(visits);
  });
});
