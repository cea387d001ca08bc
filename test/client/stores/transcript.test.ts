import { expect, test } from "vitest";
import { type TranscriptVisit, readResults } from "../../../src/client/stores/transcript.js";
import { type StoreReader, MAX_ASKED_CALLS } from "../../../src/contract/reads.js";
import { ok } from "../../../src/core/errors.js";

test("results are asked for in pages that a store takes, several at once, and each call has its own", async () => {
  const ids = Array.from({ length: 2 * MAX_ASKED_CALLS + 1 }, (_, index) => `call-${index}`);
  const calls = ids.map((id) => ({ id, name: "fs.read", summary: "", outcome: null }));
  const entry = { type: "assistant", visit: 1, turn: 1, calls };
  const visits = [
    { name: "visit-1", nodeId: "a", entries: [entry] },
  ] as unknown as readonly TranscriptVisit[];
  const asked: (readonly string[])[] = [];
  let underWay = 0;
  let most = 0;
  const reader = {
    ask: async (_name: string, question: { readonly calls: readonly string[] }) => {
      asked.push(question.calls);
      most = Math.max(most, (underWay += 1));
      await new Promise(setImmediate);
      underWay -= 1;
      return ok({ results: question.calls.map((id) => ({ id, result: `of ${id}` })) });
    },
  } as unknown as StoreReader;
  const results = await readResults(reader, "run", visits);
  expect(asked.map((page) => page.length)).toEqual([MAX_ASKED_CALLS, MAX_ASKED_CALLS, 1]);
  expect([...results]).toEqual(ids.map((id) => [id, `of ${id}`]));
  expect(most).toBe(3);
  expect(await readResults(reader, "run", [])).toEqual(new Map());
});
