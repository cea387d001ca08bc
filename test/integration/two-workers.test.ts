// @module-tag slow
import { once } from "node:events";
import { describe, expect, test } from "vitest";
import type { RunHandle } from "../../src/client/client.js";
import { verifyAuditLog } from "../../src/store/runs/audit-verify.js";
import { valueOf } from "../fakes/run-world.js";
import { type ChatRequestBody, type ScriptedAnswer, call } from "../fakes/scripted-model.js";
import { nodeOf, straightOn } from "../fakes/walk.js";
import { openWorkerPlace } from "./worker-place.js";

const RUNS = 8;
const REQUESTS_BEFORE_KILL = 20;

/** What the node at hand wants next: told by the conversation, so that a repeated request gets the same answer. */
function answerTo(request: ChatRequestBody): ScriptedAnswer {
  const turn = request.messages.filter(({ role }) => role === "assistant").length;
  if (turn < 2)
    return { calls: [call("fs_list", { path: "@pkg" }), call("fs_read", { path: "@pkg/bmad.json" })] };
  if (turn === 2) {
    const nodeId = nodeOf(request);
    return { calls: [call("fs_write", { path: `@project/artifacts/${nodeId}.md`, content: nodeId })] };
  }
  return straightOn(request);
}

/** Which processes have worked on a run, as Temporal's history names them. */
async function workersOf(run: RunHandle): Promise<readonly string[]> {
  const history = await run.history();
  return (history.events ?? []).flatMap(
    (event) => event.workflowTaskCompletedEventAttributes?.identity ?? [],
  );
}

describe("two workers on one store", () => {
  test("share its runs, and when one is killed the other one ends them all", async () => {
    let heard = 0;
    let killNow: () => void = () => undefined;
    const timeToKill = new Promise<void>((resolve) => {
      killNow = resolve;
    });
    const place = await openWorkerPlace((request) => {
      heard += 1;
      if (heard === REQUESTS_BEFORE_KILL) killNow();
      return answerTo(request);
    });
    const [first, second] = [place.startWorker(), place.startWorker()];
    await Promise.all([first.polls, second.polls]);
    const runs = await place.startRuns(RUNS);
    await timeToKill;
    first.child.kill("SIGKILL");
    await once(first.child, "exit");

    for (const run of runs) {
      expect(await run.result()).toMatchObject({ stepsCompleted: ["ask", "middle", "finish"] });
      const { projectId } = valueOf(await place.store.runs.findRun(run.runId));
      const { logFile } = valueOf(await place.store.runs.openFiles(projectId, run.runId));
      const verdict = await verifyAuditLog(logFile, await run.auditHead());
      expect(verdict.findings).toEqual([]);
    }
    const identities = new Set((await Promise.all(runs.map(workersOf))).flat());
    expect([...identities].some((identity) => identity.startsWith(`${first.child.pid}@`))).toBe(true);
    expect([...identities].some((identity) => identity.startsWith(`${second.child.pid}@`))).toBe(true);
  });
});
