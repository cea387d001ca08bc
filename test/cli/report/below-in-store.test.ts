import { expect, test } from "vitest";
import { belowInStore } from "../../../src/cli/report/below-in-store.js";
import type { RunFacts, StoreReader, StoredRun } from "../../../src/contract/reads.js";
import { fail, ok } from "../../../src/core/errors.js";

const run = (runId: string, more: Partial<StoredRun> = {}): StoredRun => ({
  runId,
  workflowRef: `${runId}-workflow`,
  projectId: "p",
  packageId: "k",
  activeAgentId: "",
  phase: "running",
  createdAt: "2026-01-01T00:00:00.000Z",
  lastUpdatedAt: "2026-01-01T00:00:00.000Z",
  ...more,
});
const factsOf = (metadata: StoredRun, status: object | null = null) =>
  ({ metadata, projectRoot: "/project", status }) as unknown as RunFacts;

/** A store with these runs; the one that waits asks that. */
function storeWith(runs: readonly StoredRun[], question: object): StoreReader {
  const ask = (name: string, asked: { readonly run?: string }) => {
    if (name === "read.runs") return Promise.resolve(ok({ runs, damaged: [] }));
    const known = runs.find(({ runId }) => runId === asked.run);
    if (known === undefined) return Promise.resolve(fail("E_RUN_NOT_FOUND", "There is none."));
    return Promise.resolve(ok(factsOf(known, { question })));
  };
  return { isAtHand: true, ask } as unknown as StoreReader;
}

const top = run("top");
const question = { nodeId: "draft", text: "Which colour?" };

test("the files of a run say which run below it waits for, and what the last of them asks", async () => {
  const middle = run("middle", { parentRunId: "top" });
  const last = run("last", { parentRunId: "middle", phase: "waiting-user" });
  const runs = [top, run("over", { parentRunId: "top", phase: "completed" }), middle, last, run("other")];
  const named = { runId: "middle", workflowRef: "middle-workflow" };
  const asks = { runId: "last", workflowRef: "last-workflow", ...question };
  expect(await belowInStore(storeWith(runs, question), factsOf(top))).toEqual({ ...named, asks });
  const silent = runs.map((each) => (each === last ? run("last", { parentRunId: "middle" }) : each));
  expect(await belowInStore(storeWith(silent, question), factsOf(top))).toEqual(named);
});

test("a run that is over, and one that has started none, wait for no run below", async () => {
  const middle = run("middle", { parentRunId: "top", phase: "waiting-user" });
  const over = factsOf({ ...top, phase: "failed" });
  expect(await belowInStore(storeWith([top, middle], question), over)).toBeUndefined();
  expect(await belowInStore(storeWith([top], question), factsOf(top))).toBeUndefined();
});
