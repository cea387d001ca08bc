import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { reportFromStore } from "../../src/cli/report/run-report.js";
import { artifactsOf } from "../../src/reads/artifacts.js";
import { runFacts } from "../../src/reads/run-facts.js";
import { conversationOf } from "../../src/reads/transcript.js";
import { StoreAnswers } from "../../src/reads/store-answers.js";
import type { RunFiles } from "../../src/store/runs/run-files.js";
import { validPackage } from "../fakes/package-fixture.js";
import { type RunWorld, openRunWorld, valueOf } from "../fakes/run-world.js";
import { withoutRights } from "../fakes/unprivileged.js";

/** A run of one turn with one call, that is over; one file of it belongs to somebody else, as after a command with sudo. */

const USAGE = { modelTurns: 1, toolCalls: 1, promptTokens: 5, completionTokens: 2, cost: 0 };
const TURN = {
  kind: "model.turn",
  id: "1.1",
  nodeId: "draft",
  promptTokens: 5,
  completionTokens: 2,
  cost: 0,
};
const WRITTEN = { ok: true, path: "@project/artifacts/plan.md", sha256After: "0" };
const CALL = { kind: "tool.exec", toolCallId: "c1", nodeId: "draft", output: WRITTEN };
const CALLS = [{ id: "c1", name: "fs_write", argumentsJson: "{}" }];
const SAID = { type: "assistant", visit: 1, turn: 1, content: "", model: "m", calls: CALLS };

let world: RunWorld;
let runId: string;
let files: RunFiles;
beforeEach(async () => {
  world = await openRunWorld(validPackage());
  const { store, projectRoot, packageId } = world;
  const run = valueOf(await store.runs.createRun({ projectRoot, packageId, activeAgentId: "author" }));
  runId = run.runId;
  files = valueOf(await store.runs.openFiles(run.projectId, runId));
  const events: readonly object[] = [TURN, CALL];
  await writeFile(files.logFile, events.map((event) => `${JSON.stringify(event)}\n`).join(""));
  await mkdir(join(files.dir, "conversation"), { recursive: true });
  await writeFile(join(files.dir, "conversation/visit-1.jsonl"), `${JSON.stringify(SAID)}\n`);
  await files.status.write({ phase: "completed", nodeId: "draft", change: 1, usage: USAGE });
  await store.runs.setPhase(run, "completed", new Date());
});

/** While a file is closed to us. */
function closed<T>(path: string, action: () => Promise<T>): Promise<T> {
  return withoutRights(world.dir, async () => {
    await chmod(path, 0);
    try {
      return await action();
    } finally {
      await chmod(path, 0o600);
    }
  });
}

const unread = (path: string) => ({
  ok: false,
  error: {
    code: "E_INTERNAL",
    message: expect.stringContaining(`${path} cannot be read now (EACCES)`) as string,
  },
});

describe("an audit log that cannot be read now", () => {
  test("is no run whose calls were not done", async () => {
    const answers = new StoreAnswers({ store: world.store });
    const question = { run: runId, name: "visit-1" };
    const asked = () => answers.page("read.conversation", { question });
    expect(await closed(files.logFile, asked)).toMatchObject(unread(files.logFile));
    // By all that it is remembered by, the log is what it was.
    const { entries } = valueOf(await conversationOf(world.store, question));
    expect(entries).toMatchObject([{ calls: [{ outcome: "ok" }] }]);
  });

  test("is no run that has written nothing", async () => {
    const answers = new StoreAnswers({ store: world.store });
    const listed = () => answers.page("read.artifacts", { question: { run: runId } });
    expect(await closed(files.logFile, listed)).toMatchObject(unread(files.logFile));
    expect(valueOf(await artifactsOf({ store: world.store }, runId)).artifacts).toMatchObject([
      { path: "artifacts/plan.md", nodeId: "draft" },
    ]);
  });

  test("is told of beside what can be read", async () => {
    const { standing, usage, status } = valueOf(
      await closed(files.logFile, () => runFacts(world.store, runId)),
    );
    expect(standing.problem).toContain(`${files.logFile} cannot be read now (EACCES)`);
    expect({ usage, status }).toMatchObject({ usage: undefined, status: { usage: USAGE } });
  });
});

test("a run whose status cannot be read now is told of with what its log has counted, and not with nothing", async () => {
  const path = join(files.dir, "status.json");
  const facts = valueOf(await closed(path, () => runFacts(world.store, runId)));
  const { problem, usage } = reportFromStore(facts);
  expect(problem).toContain(`${path} cannot be read now (EACCES)`);
  expect(usage).toMatchObject({ modelTurns: 1, toolCalls: 1, promptTokens: 5 });
});
