// @module-tag slow
import { once } from "node:events";
import { expect, test } from "vitest";
import { type ChatRequestBody, type ScriptedAnswer, call } from "../fakes/scripted-model.js";
import { straightOn } from "../fakes/walk.js";
import { openWorkerPlace } from "./worker-place.js";

const RUNS = 12;

function answerTo(request: ChatRequestBody): ScriptedAnswer {
  if (!request.messages.some(({ role }) => role === "assistant")) {
    const paths = ["@pkg/bmad.json", "@pkg/agents.json", "@pkg/workflow.md", "@state/workflow.md"];
    return { calls: paths.map((path) => call("fs_read", { path })) };
  }
  return straightOn(request);
}

test("a worker that may open few files takes less at once, says so, and its runs complete", async () => {
  const place = await openWorkerPlace(answerTo);
  const worker = place.startWorker(160);
  await worker.polls;
  for (const run of await place.startRuns(RUNS)) {
    expect(await run.result()).toMatchObject({ stepsCompleted: ["ask", "middle", "finish"] });
  }
  expect(worker.said()).toMatch(
    /may open 160 files and connections, so the worker runs \d+ tasks at once instead of \d+/u,
  );
  expect(worker.said()).toMatch(/It does \d+ activities, .* pollers\./u);
  expect(worker.child.exitCode).toBeNull();
});

test.each([64, 110])(
  "a worker that may open %i files ends with a sentence that names the remedy",
  async (limit) => {
    const worker = (await openWorkerPlace([])).startWorker(limit);
    const [code] = await once(worker.child, "exit");
    expect([code, worker.said()]).toEqual([1, expect.stringMatching(/ulimit -n \d+/u)]);
    expect(worker.said().trim().split("\n")).toHaveLength(1);
  },
);
