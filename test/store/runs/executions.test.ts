import { appendFileSync, closeSync, openSync, writeSync } from "node:fs";
import { appendFile, chmod, mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tryLock } from "fs-native-extensions";
import { beforeEach, describe, expect, test } from "vitest";
import { createInitialState } from "../../../src/core/graph-state/initial-state.js";
import { withoutHistory } from "../../../src/core/graph-state/walk.js";
import { ExecutionOver, Executions } from "../../../src/store/runs/executions.js";
import { FencedLock } from "../../../src/store/disk/fenced-lock.js";
import { RunFiles } from "../../../src/store/runs/run-files.js";
import { readTree, temporaryDirectory } from "../../fakes/package-fixture.js";
import { withoutRights } from "../../fakes/unprivileged.js";

const AT = "2026-01-02T03:04:05.000Z";
const FIRST = { id: "a", startedAt: 100 };
const SECOND = { id: "b", startedAt: 200 };
const THIRD = { id: "c", startedAt: 300 };

let dir: string;
beforeEach(async () => {
  dir = await temporaryDirectory();
  await mkdir(join(dir, "state", "logs"), { recursive: true });
  await mkdir(join(dir, "conversation"));
});

describe("an execution of a run", () => {
  test("has a number that stays its own, through continuing as new", async () => {
    const executions = new Executions(dir);
    expect(await executions.begin(FIRST, false)).toBe(1);
    expect(await readdir(dir)).toEqual(expect.not.arrayContaining(["execution.1"]));
    expect(await executions.begin(SECOND, true)).toBe(2);
    expect(await executions.begin(SECOND, true)).toBe(2);
    expect(await new Executions(dir).begin({ ...SECOND, startedAt: 250 }, false)).toBe(2);
    expect(await new Executions(dir).begin(THIRD, true)).toBe(3);
    expect(executions.newest()).toBe(3);
  });

  test("gets its number once, however many ask at the same time", async () => {
    const asked = Array.from({ length: 8 }, () => new Executions(dir).begin(SECOND, true));
    expect(new Set(await Promise.all(asked))).toEqual(new Set([2]));
    expect(new Executions(dir).newest()).toBe(2);
  });

  test("begun before the newest one is over, whether it had a number or not", async () => {
    const executions = new Executions(dir);
    await executions.begin(SECOND, true);
    await executions.begin(THIRD, true);
    await expect(executions.begin(FIRST, false)).rejects.toThrow(ExecutionOver);
    await expect(executions.begin(SECOND, true)).rejects.toThrow(ExecutionOver);
    await expect(executions.begin({ id: "d", startedAt: 150 }, true)).rejects.toThrow(
      "A newer execution of the run has taken over",
    );
    expect(executions.newest()).toBe(3);
  });

  test("that Temporal calls the newest goes on where its clock was set back, and none that had a number before it", async () => {
    const executions = new Executions(dir);
    const newest = () => Promise.resolve(true);
    await executions.begin(THIRD, true);
    expect(await executions.begin(SECOND, true, newest)).toBe(3);
    expect(await executions.begin(SECOND, true)).toBe(3);
    await expect(executions.begin(THIRD, true, newest)).rejects.toThrow(ExecutionOver);
    await expect(executions.begin(FIRST, false, newest)).rejects.toThrow(ExecutionOver);
    expect(executions.newest()).toBe(3);
  });

  test("can follow one whose file was damaged", async () => {
    await writeFile(join(dir, "execution.2"), "{");
    expect(await new Executions(dir).begin(THIRD, true)).toBe(3);
  });

  test("is not another one because its files cannot be read now, and neither are its request and status others", async () => {
    const usage = { modelTurns: 0, toolCalls: 0, promptTokens: 0, completionTokens: 0, cost: 0 };
    const status = (change: number) => ({ phase: "running", nodeId: "ask", change, usage }) as const;
    const files = new RunFiles(dir);
    await files.executions.begin(SECOND, true);
    await files.request.keep("graph", { first: true });
    await files.status.write(status(2));
    const names = ["execution.2", "run.json", "status.json"];
    const before = await readTree(dir);
    await withoutRights(dir, async () => {
      for (const name of names) await chmod(join(dir, name), 0);
      const late = new RunFiles(dir);
      await expect(late.executions.begin(SECOND, true)).rejects.toThrow("EACCES");
      await expect(late.request.keep("graph", { resume: true })).rejects.toThrow("EACCES");
      await expect(late.status.write(status(1))).rejects.toThrow("EACCES");
    });
    for (const name of names) await chmod(join(dir, name), 0o600);
    expect(await readTree(dir)).toEqual(before);
  });

  test("is over the moment there is a newer one, and loses the locks it holds", async () => {
    const files = new RunFiles(dir, 1);
    await files.whileStateIsMine(async (lock) => {
      lock.assertHeld();
      await files.executions.begin(SECOND, true);
      expect(lock.isHeld()).toBe(false);
      expect(() => lock.assertHeld()).toThrow(ExecutionOver);
    });
    expect(new RunFiles(dir, 2).claim.isHeld()).toBe(true);
  });

  test("takes no lock over once it is over", async () => {
    const lockFile = join(dir, "state.lock");
    const fd = openSync(lockFile, "a");
    tryLock(fd);
    const { claim, executions } = new RunFiles(dir, 1);
    const lock = new FencedLock(lockFile, () => undefined, claim);
    const refused = lock.hold(async () => undefined).catch((error: unknown) => error);
    await executions.begin(SECOND, true);
    expect(await refused).toBeInstanceOf(ExecutionOver);
    closeSync(fd);
    expect(await readdir(dir)).not.toContain("state.lock.1");
  });
});

/** Everything a run's files can be asked to write. */
const WRITES: Readonly<Record<string, (files: RunFiles) => Promise<unknown>>> = {
  audit: (files) => files.audit.record({ kind: "user.input", id: "x" }, new Date()),
  calls: (files) => files.calls.record("x", { result: { ok: true } }),
  plans: (files) => files.calls.plan("x", {}),
  conversation: (files) =>
    files.conversation("visit-1").append([{ type: "user", id: "x", nodeId: "ask", text: "late" }]),
  boundaries: (files) => files.boundaries.keepBeginning({ next: "ask", timestamp: AT }, Buffer.from("x")),
  graphState: (files) =>
    files.graphState.keep({
      state: withoutHistory(createInitialState({ epicPrefix: "wrkf", storyId: "wrkf-1" })),
      change: 1,
    }),
  status: (files) =>
    files.status.write({
      phase: "failed",
      nodeId: "ask",
      change: 9,
      usage: { modelTurns: 0, toolCalls: 0, promptTokens: 0, completionTokens: 0, cost: 0 },
    }),
  request: (files) => files.request.keep("graph", {}),
  state: (files) => files.whileStateIsMine(() => appendFile(join(dir, "late"), "")),
};

describe("an execution that is over", () => {
  test.each(Object.entries(WRITES))("writes nothing: %s", async (_name, write) => {
    const late = new RunFiles(dir, 1);
    await late.executions.begin(SECOND, true);
    const contents = async () =>
      Object.entries(await readTree(dir))
        .filter(([path, bytes]) => !path.includes(".lock") && bytes.length > 0)
        .map(([path]) => path);
    expect(await contents()).toEqual(["execution.2"]);
    await expect(write(late)).rejects.toThrow(ExecutionOver);
    expect(await contents()).toEqual(["execution.2"]);
    await write(new RunFiles(dir, 2));
    await write(new RunFiles(dir)); // without an execution, nothing is shut out
  });
});

/** A process that was stopped while it held a lock: the kernel's, which nobody in this process waits for. */
function stoppedIn(lockName: string): () => void {
  const fd = openSync(join(dir, lockName), "a");
  if (!tryLock(fd)) throw new Error("The lock is taken.");
  return () => closeSync(fd);
}

describe("whoever opens a new execution", () => {
  test.each([
    ["audit.lock", "state/logs/execution.jsonl"],
    ["calls.lock", "calls.jsonl"],
    ["boundaries.lock", "boundaries.jsonl"],
    ["graph-state-log.lock", "graph-state.jsonl"],
    ["conversation.lock", "conversation/visit-1.jsonl"],
    ["conversation.lock", "conversation/visit-2.jsonl"],
  ])("leaves who was stopped under %s a file that nobody reads: %s", async (lockName, log) => {
    const path = join(dir, log);
    for (const name of [log, "conversation/visit-1.jsonl"]) appendFileSync(join(dir, name), "{}\n");
    const text = await readFile(path, "utf8");
    const wake = stoppedIn(lockName);
    const open = openSync(path, "a");
    const files = new RunFiles(dir, await new Executions(dir).begin(SECOND, true));
    await files.fence();
    writeSync(open, "late\n");
    closeSync(open);
    wake();
    expect(await readFile(path, "utf8")).toBe(text);
  });

  test.each([
    ["state.lock", "state/.tmp-workflow.md-0123456789ab"],
    ["status.lock", ".tmp-status.json-0123456789ab"],
    ["graph-state.lock", ".tmp-graph-state.json-0123456789ab"],
  ])("leaves who was stopped under %s nothing to rename", async (lockName, temporary) => {
    await writeFile(join(dir, temporary), "late");
    const wake = stoppedIn(lockName);
    const files = new RunFiles(dir, await new Executions(dir).begin(SECOND, true));
    await files.fence();
    wake();
    expect(Object.keys(await readTree(dir))).not.toContain(temporary);
  });

  test("changes nothing where nobody was stopped", async () => {
    const files = new RunFiles(dir, await new Executions(dir).begin(SECOND, true));
    await WRITES["audit"]?.(files);
    const before = await readdir(dir);
    await files.fence();
    expect((await readdir(dir)).filter((name) => /\.lock\.\d+$/.test(name))).toEqual([]);
    expect(before).toContain("audit.lock");
  });
});
