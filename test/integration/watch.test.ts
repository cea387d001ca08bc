import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, rename } from "node:fs/promises";
import { Ajv2020 } from "ajv/dist/2020.js";
import { expect, test } from "vitest";
import { InterlockError, type RunHandle } from "../../src/client/client.js";
import type { RunEvent } from "../../src/core/run/run-event.js";
import { eventually } from "../fakes/eventually.js";
import { WRITES_AND_ASKS_TWICE } from "../fakes/asking-twice.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { type Bench, askedRun, openBench, until, untilAsked } from "./harness.js";
import { MAIN, shellOf, strangerShell } from "./shell.js";

function eventsIn(stdout: string): RunEvent[] {
  return stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as RunEvent);
}

/** The log's own lines, by what they are known by. */
async function logged(bench: Bench, run: RunHandle): Promise<unknown[]> {
  const lines = await bench.auditEvents(run);
  return lines.map(({ kind, ts }, index) => [index + 1, kind, ts]);
}

const known = (events: readonly RunEvent[]) => events.map(({ seq, kind, ts }) => [seq, kind, ts]);

test(
  "whoever comes late sees every event once, from anywhere, as the published schema says",
  { tags: "slow" },
  async () => {
    const bench = await openBench(WRITES_AND_ASKS_TWICE);
    const run = await askedRun(bench);
    const schema = JSON.parse(
      await readFile(new URL("../../schemas/events.schema.json", import.meta.url), "utf8"),
    ) as object;
    const validate = new Ajv2020({ strict: true, strictRequired: false }).compile(schema);
    const there = await strangerShell(bench);
    const said = await Promise.all(
      [shellOf(bench), there, there].map((shell) => shell.run(["watch", run.runId, "--events"])),
    );
    const expected = await logged(bench, run);
    for (const { code, stdout, stderr } of said) {
      expect([code, stderr]).toEqual([3, expect.stringContaining("Which way?")]);
      expect(stderr).toContain(`interlock answer ${run.runId}`);
      const events = eventsIn(stdout);
      expect(known(events)).toEqual(expected);
      for (const event of events) expect([event, validate(event)]).toEqual([event, true]);
    }
    const tail = await there.run(["watch", run.runId, "--events", "--tail", "2"]);
    expect(known(eventsIn(tail.stdout))).toEqual(expected.slice(-2));
    const plain = await there.run(["watch", run.runId]);
    expect(plain).toEqual(await shellOf(bench).run(["watch", run.runId]));
    expect(plain.code).toBe(3);
    expect(plain.stdout.match(/ turn \d+\.\d+ · /g)).toHaveLength(2);
    expect(plain.stdout).toContain("fs.read: ENOENT");
    expect(plain.stdout).toContain("Which way?");
    for (const tail of ["0", "-1", "x"]) {
      await expect(there.run(["watch", run.runId, "--tail", tail])).resolves.toMatchObject({ code: 2 });
    }
    expect((await run.state()).phase).toBe("waiting-user");
  },
);

test(
  "two watch a run to its end, and go on where an answer and another worker come in between: no event twice, none lost",
  { tags: "slow" },
  async () => {
    const bench = await openBench([{ hang: true }, ...WRITES_AND_ASKS_TWICE]);
    const run = await bench.start(twoNodePackage());
    await until(run, "running");
    const watchers = [await strangerShell(bench), shellOf(bench)].map((shell) =>
      shell.run(["watch", run.runId, "--events"]),
    );
    await bench.startAnotherWorker();
    await untilAsked(bench, run);
    for (const { stdout, code } of await Promise.all(watchers)) {
      expect(known(eventsIn(stdout))).toEqual(await logged(bench, run));
      expect(code).toBe(3);
    }
    await run.cancel();
    await expect(run.result()).rejects.toThrow(InterlockError);
    const there = await (await strangerShell(bench)).run(["watch", run.runId, "--events"]);
    expect(there.code).toBe(1);
    expect(known(eventsIn(there.stdout))).toEqual(await logged(bench, run));
    await expect(shellOf(bench).run(["watch", run.runId])).resolves.toMatchObject({ code: 1 });
  },
);

test("a program is told each event once, answers when it is asked, and begins where it wants to", async () => {
  const bench = await openBench(WRITES_AND_ASKS_TWICE);
  const run = await bench.start(twoNodePackage());
  const seen: RunEvent[] = [];
  let answers = 0;
  for await (const event of run.events()) {
    seen.push(event);
    if (event.kind !== "run.phase" || event.phase !== "waiting-user") continue;
    const { question, visit, turn } = await run.state();
    if (question === undefined) continue;
    answers += 1;
    if (answers === 1)
      await run.answer({ nodeId: question.nodeId, text: "This way.", answerId: `${visit}.${turn}` });
    else await run.cancel();
  }
  expect(known(seen)).toEqual(await logged(bench, run));
  expect(seen.map(({ kind }) => kind)).toContain("user.input");
  const later: RunEvent[] = [];
  for await (const event of run.events({ from: 4 })) later.push(event);
  expect(later).toEqual(seen.slice(3));
  const called = new AbortController();
  called.abort(new Error("enough"));
  await expect(run.events({ signal: called.signal }).next()).rejects.toThrow("enough");
});

test("a reader of the output that has gone ends the watching without a word", async () => {
  const bench = await openBench([{ hang: true }]);
  const run = await bench.start(twoNodePackage());
  await until(run, "running");
  const { environment, dir } = shellOf(bench);
  const child = spawn(process.execPath, [MAIN, "watch", run.runId, "--events"], {
    env: environment,
    cwd: dir,
  });
  let said = "";
  child.stderr.on("data", (piece: Buffer) => (said += piece.toString()));
  child.stdout.once("data", () => child.stdout.destroy());
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  await run.cancel();
  expect([0, 1, 141]).toContain(await ended);
  expect(said).not.toMatch(/EPIPE|at .*:\d+/);
});

test("a run that has failed before any store knew it is watched to its failure", async () => {
  const bench = await openBench([]);
  const run = await bench.client.start({ packageId: "no-such-package", projectRoot: bench.projectRoot });
  await expect(run.result()).rejects.toMatchObject({ code: "E_PACKAGE_NOT_FOUND" });
  for (const shell of [shellOf(bench), await strangerShell(bench)]) {
    const watched = await shell.run(["watch", run.runId]);
    expect(watched).toMatchObject({ code: 1, stdout: "" });
    expect(watched.stderr).toMatch(/has failed before it was opened.*E_PACKAGE_NOT_FOUND/);
    expect(watched.stderr).toContain(`interlock retry ${run.runId}`);
    for (const command of ["transcript", "export", "audit verify", "artifacts"]) {
      const said = await shell.run([...command.split(" "), run.runId]);
      expect([command, said.code, said.stdout]).toEqual([command, 1, ""]);
      expect(said.stderr).toMatch(/has failed before it was opened.*E_PACKAGE_NOT_FOUND/);
    }
  }
  await bench.stopWorker();
  const told = await shellOf(bench).run(["status", run.runId]);
  expect(told).toMatchObject({ code: 1, stdout: "" });
  expect(told.stderr).toMatch(/has failed before it was opened.*E_PACKAGE_NOT_FOUND/);
  expect(told.stderr).toContain(`interlock retry ${run.runId}`);
});

test("a failed run that was let go on and failed before it was opened is told by the newer failure, and where it stood", async () => {
  const bench = await openBench(WRITES_AND_ASKS_TWICE);
  const run = await askedRun(bench);
  await run.cancel();
  await expect(run.result()).rejects.toMatchObject({ code: "ENGINE_ABORTED" });
  await rename(bench.projectRoot, `${bench.projectRoot}-moved`);
  await bench.client.retry(run.runId);
  await expect(run.result()).rejects.toMatchObject({ code: "E_PROJECT_INVALID" });
  for (const shell of [shellOf(bench), await strangerShell(bench)]) {
    for (const command of ["status", "watch"]) {
      const { stdout } = await shell.run([command, run.runId]);
      expect(stdout).toMatch(/failure +E_PROJECT_INVALID/);
      expect(stdout).toMatch(/node +ask/);
      expect(stdout).not.toMatch(/failure +ENGINE_ABORTED/);
    }
  }
});

test("a worker tells of each event that it writes, once, as whoever reads the log is told; an observer that throws harms nothing", async () => {
  const bench = await openBench(WRITES_AND_ASKS_TWICE);
  const told: RunEvent[] = [];
  const stop = bench.store.runs.observe((event) => {
    told.push(event);
    throw new Error("an observer's own trouble");
  });
  const run = await askedRun(bench);
  const read: RunEvent[] = [];
  for await (const event of run.events()) {
    read.push(event);
    if (event.kind === "run.phase" && event.phase === "waiting-user") break;
  }
  await eventually(() => told.length >= read.length);
  expect(told.toSorted((a, b) => a.seq - b.seq)).toEqual(read);
  stop();
});

test(
  "a worker in the foreground prints a line a turn for every run it carries, and none where it is to be quiet",
  { tags: "slow" },
  async () => {
    const bench = await openBench(WRITES_AND_ASKS_TWICE);
    await bench.stopWorker();
    for (const [args, turns] of [
      [["worker"], 2],
      [["worker", "--quiet"], 0],
    ] as const) {
      const run = await bench.start(twoNodePackage());
      const { environment, dir } = shellOf(bench);
      const child = spawn(process.execPath, [MAIN, ...args], { env: environment, cwd: dir });
      let said = "";
      child.stdout.on("data", (piece: Buffer) => (said += piece.toString()));
      const ended = new Promise((resolve) => child.once("close", resolve));
      await untilAsked(bench, run);
      await run.cancel();
      await expect(run.result()).rejects.toThrow(InterlockError);
      child.kill("SIGTERM");
      await ended;
      const line = new RegExp(`^${run.runId.slice(0, 8)} .* turn \\d+\\.\\d+ · `, "gm");
      expect([args, said.match(line)?.length ?? 0]).toEqual([args, turns]);
    }
  },
);

test.runIf(process.platform === "linux")(
  "an answer that is given elsewhere is seen as it comes, from a terminal that has nothing but the address",
  async () => {
    let end = (): void => undefined;
    const isRead = new Promise<void>((resolve) => (end = resolve));
    const bench = await openBench([{ content: "The first words: which way?", beforeEnd: () => isRead }], {
      INTERLOCK_MODEL_STREAM: "true",
    });
    const run = await bench.start(twoNodePackage());
    const { environment, dir } = await strangerShell(bench);
    const command = [process.execPath, MAIN, "watch", run.runId].join(" ");
    const inTerminal: string = "script";
    const terminal = spawn(inTerminal, ["-qfec", command, "/dev/null"], {
      env: { ...environment, TERM: "xterm" },
      cwd: dir,
    });
    let said = "";
    terminal.stdout.on("data", (chunk: Buffer) => (said += chunk.toString("utf8")));
    const closed = once(terminal, "close");
    await eventually(() => said.includes("The first words: which"), 100); // a word that is not ended may be a key
    end();
    await closed;
    expect(said).toContain(`interlock answer ${run.runId}`);
  },
);
