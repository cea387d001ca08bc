import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { NO_LOCK } from "../../../src/store/disk/fenced-lock.js";
import { rememberStore } from "../../../src/store/disk/own-file.js";
import { Executions } from "../../../src/store/runs/executions.js";
import { type LiveCall, LiveWriter, readLive } from "../../../src/store/runs/live-answer.js";
import { eventually } from "../../fakes/eventually.js";

const CALL: LiveCall = { execution: 1, visit: 2, turn: 3, attempt: 1 };
const HEADER = {
  endpoint: "http://127.0.0.1:1/v1/chat/completions",
  model: "m",
  startedAt: "2026-03-04T05:06:07.000Z",
  timeoutMs: 1_000,
};

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "interlock-live-"));
  rememberStore(dir);
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
});

function begun(call: LiveCall = CALL, claim = NO_LOCK): LiveWriter {
  const writer = new LiveWriter(dir, call, claim);
  writer.begin(HEADER);
  return writer;
}

/** The moment goes by after which a call that is not over has a file. */
const aMomentLater = () => vi.advanceTimersByTime(1_000);
afterEach(() => void vi.useRealTimers());

const files = () => readdir(join(dir, "live")).catch(() => []);

describe("an answer that is being given", () => {
  test("is read as far as it has come, and from there on", async () => {
    const writer = begun();
    await eventually(() => readLive(dir) !== undefined);
    expect(readLive(dir)).toMatchObject({ ...CALL, ...HEADER, text: "", thinking: 0, calls: [] });
    writer.add({ type: "text", text: "One \u{1f600}" });
    writer.add({ type: "thinking", characters: 7 });
    await eventually(() => readLive(dir)?.thinking === 7);
    const first = readLive(dir);
    expect(first).toMatchObject({ text: "One \u{1f600}", thinking: 7, restarts: true });
    writer.add({ type: "text", text: ", two" });
    writer.add({ type: "call", index: 0, name: "fs_write", bytes: 12 });
    await eventually(() => readLive(dir, first)?.text === ", two");
    expect(readLive(dir, first)).toMatchObject({
      restarts: false,
      calls: [{ name: "fs_write", bytes: 12 }],
    });
    await writer.end();
    expect([readLive(dir), await readdir(dir)]).toEqual([undefined, []]);
  });

  test("that turns out to be a thought is taken back", async () => {
    const writer = begun();
    writer.add({ type: "text", text: "hm" });
    await eventually(() => readLive(dir)?.text === "hm");
    const first = readLive(dir);
    writer.add({ type: "restart" });
    writer.add({ type: "text", text: "Yes." });
    await eventually(() => readLive(dir, first)?.text === "Yes.");
    expect(readLive(dir, first)).toMatchObject({ restarts: true });
    expect(readLive(dir)?.text).toBe("Yes.");
    await writer.end();
  });

  test("within a moment has no file", async () => {
    const writer = begun();
    writer.add({ type: "text", text: "quick" });
    await writer.end();
    expect(await readdir(dir)).toEqual([]);
  });

  test("of a worker that was killed is gone with the next call", async () => {
    vi.useFakeTimers();
    begun();
    aMomentLater();
    expect(await files()).toEqual(["1.2.3.1.jsonl"]);
    const next = begun({ ...CALL, attempt: 2 });
    aMomentLater();
    expect(await files()).toEqual(["1.2.3.2.jsonl"]);
    await next.end();
    expect(await files()).toEqual([]);
  });

  test("of a worker that was stopped never covers its successor's", async () => {
    const stopped = new LiveWriter(dir, CALL, NO_LOCK);
    const successor = begun({ ...CALL, attempt: 2 });
    stopped.begin(HEADER); // it wakes up
    stopped.add({ type: "text", text: "late" });
    successor.add({ type: "text", text: "new" });
    await eventually(() => readLive(dir)?.text === "new");
    expect(readLive(dir)).toMatchObject({ attempt: 2 });
    await stopped.end();
    expect(readLive(dir)).toMatchObject({ attempt: 2, text: "new" });
    await successor.end();
    expect(await files()).toEqual([]);
  });

  test("of an execution that is over is not written", async () => {
    vi.useFakeTimers();
    const executions = new Executions(dir);
    const writer = begun(CALL, executions.claimOf(1));
    await writeFile(join(dir, "execution.2"), "{}");
    writer.add({ type: "text", text: "late" });
    const late = begun({ ...CALL, turn: 4 }, executions.claimOf(1));
    aMomentLater();
    expect(await files()).toEqual([]);
    await writer.end();
    await late.end();
    expect(await files()).toEqual([]);
  });

  test("is bounded, whatever comes", async () => {
    const writer = begun();
    const text = "\u0001".repeat(3_000_000);
    writer.add({ type: "text", text });
    for (let index = 0; index < 1_000; index += 1) {
      writer.add({ type: "call", index, name: "\u0001".repeat(1_000), bytes: 1 });
    }
    await eventually(() => (readLive(dir)?.text.length ?? 0) > 0);
    const seen = readLive(dir);
    expect(seen?.text.length).toBeLessThanOrEqual(65_536);
    expect(seen?.calls).toHaveLength(16);
    await writer.end();
  });

  test.each<[string, () => Promise<unknown>]>([
    ["a file", () => writeFile(join(dir, "live"), "")],
    [
      "a link",
      async () => {
        await mkdir(join(dir, "elsewhere"));
        await symlink(join(dir, "elsewhere"), join(dir, "live"));
      },
    ],
  ])("is nobody's failure where %s stands in the place of its folder", async (_, place) => {
    await place();
    vi.useFakeTimers();
    const writer = begun();
    writer.add({ type: "text", text: "x" });
    aMomentLater();
    await writer.end();
    expect(readLive(dir)).toBeUndefined();
    expect(await readdir(join(dir, "elsewhere")).catch(() => [])).toEqual([]);
  });

  test.each(["", "{}\n", "no json\n", "[]\n{}\n", `${JSON.stringify(HEADER)}\nno json\n{"at":1}\n`])(
    "is nothing to fail by, where its file says %j",
    async (content) => {
      await mkdir(join(dir, "live"));
      await writeFile(join(dir, "live", "1.2.3.1.jsonl"), content);
      await writeFile(join(dir, "live", "other"), content);
      expect(readLive(dir)?.text ?? "").toBe("");
    },
  );
});
