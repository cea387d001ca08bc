import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, inject, onTestFinished, test } from "vitest";
import { door } from "../fakes/door.js";
import { eventually } from "../fakes/eventually.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { patch } from "../fakes/scripted-model.js";
import { step } from "../fakes/walk.js";
import { begin } from "./begin-command.js";
import { openBench, until } from "./harness.js";
import { MAIN, jsonOf, shellOf } from "./shell.js";

const QUESTION = "Which one?\u202e\nBlue, or red?";
/** Asks twice, then walks to the end. */
const ASKS_TWICE = [
  { content: QUESTION },
  { content: QUESTION },
  { calls: [step("ask", "middle")] },
  { calls: [step("middle", "finish")] },
  { calls: [patch({ stepsCompleted: { append: ["finish"] } })] },
];

test(
  "the inbox holds what waits in all projects, the oldest first, as a table and whole for programs",
  { tags: "slow" },
  async () => {
    const bench = await openBench(() => ({ content: QUESTION }));
    const { client } = bench;
    const shell = shellOf(bench);
    const attic = join(shell.dir, "attic");
    await mkdir(attic);
    await shell.run(["project", "add", attic]);
    const old = await bench.start(twoNodePackage(), { projectRoot: attic });
    await until(old, "waiting-user");
    const young = await bench.start(twoNodePackage());
    await until(young, "waiting-user");
    const mine = (json: unknown) =>
      (json as { runId: string }[]).filter(({ runId }) => [old.runId, young.runId].includes(runId));
    await eventually(async () => (await client.runs({ taskQueues: [client.taskQueue] })).length === 2);

    const asked = { nodeId: "ask", id: "1.1", isWhole: true, text: QUESTION };
    expect(mine(jsonOf(await shell.run(["inbox", "--json"])))).toEqual([
      expect.objectContaining({ ...asked, runId: old.runId, project: "attic" }),
      expect.objectContaining({ ...asked, runId: young.runId, project: "project" }),
    ]);
    const { stdout } = await shell.run(["inbox", "--project", "attic"]);
    expect(stdout).toMatch(/^RUN\s+PROJECT\s+NODE\s+ID\s+QUESTION\s+SINCE\n/);
    expect(stdout).toMatch(
      new RegExp(String.raw`${old.runId}\s+attic\s+ask\s+1\.1\s+Which one\?\\u\{202e\}`),
    );
    expect(stdout).not.toContain(young.runId);

    // Without a worker the first line is known, and a question that is answered is none.
    await old.answer({ nodeId: "ask", text: "Red.", question: "1.1" });
    await eventually(async () => (await old.state()).turn === 2);
    await until(old, "waiting-user");
    await bench.stopWorker();
    await eventually(async () => {
      const listed = mine(jsonOf(await shell.run(["inbox", "--project", "attic", "--json"])));
      return JSON.stringify(listed).includes('"1.2"');
    });
    expect(mine(jsonOf(await shell.run(["inbox", "--json"])))).toEqual([
      expect.objectContaining({ runId: young.runId, id: "1.1", isWhole: false }),
      expect.objectContaining({ runId: old.runId, id: "1.2", isWhole: false }),
    ]);
  },
);

test("whoever watches the inbox sees what comes, and who has answered it", { tags: "slow" }, async () => {
  const bench = await openBench(ASKS_TWICE);
  const shell = shellOf(bench);
  const first = await bench.start(twoNodePackage());
  await until(first, "waiting-user");
  const child = spawn(process.execPath, [MAIN, "inbox", "--watch", "--project", bench.projectRoot], {
    env: shell.environment,
    cwd: shell.dir,
  });
  let said = "";
  child.stdout.on("data", (chunk: Buffer) => (said += chunk.toString("utf8")));
  const closed = once(child, "close");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await closed;
  });
  const short = (runId: string) => runId.slice(0, 8);
  await eventually(() => said.includes(`asked     ${short(first.runId)}  project  ask  1.1`));
  await eventually(() => said.includes("  │ Blue, or red?\n"));
  const second = await bench.start(twoNodePackage());
  await eventually(() => said.includes(`asked     ${short(second.runId)}`));
  await second.answer({ nodeId: "ask", text: "Red.", question: "1.1", by: "ann@desk" });
  await eventually(() => said.includes(`answered  ${short(second.runId)}  project  ask  1.1 by ann@desk`));
  await first.cancel();
  await eventually(() => said.includes(`ended     ${short(first.runId)}`));
  child.kill("SIGINT");
  expect(await closed).toEqual([0, null]);
});

test(
  "whoever watches the inbox goes on watching when Temporal was away, and is told of it",
  { tags: "slow" },
  async () => {
    const bench = await openBench(ASKS_TWICE);
    const { address, shut, reopen } = await door(inject("temporalAddress"));
    const args = ["inbox", "--watch", "--project", bench.projectRoot];
    const { child, said, closed } = begin(shellOf(bench, { TEMPORAL_ADDRESS: address }), args);
    const first = await bench.start(twoNodePackage());
    await eventually(() => said.out.includes(`asked     ${first.runId.slice(0, 8)}`));
    await shut();
    await eventually(() =>
      said.notes.includes("Temporal does not answer any more. It is asked again until it does."),
    );
    const second = await bench.start(twoNodePackage());
    await until(second, "waiting-user");
    await reopen();
    await eventually(() => said.out.includes(`asked     ${second.runId.slice(0, 8)}`));
    expect(said.notes).toContain("Temporal answers again.");
    expect(said.out.match(/asked/g)).toHaveLength(2);
    child.kill("SIGINT");
    expect(await closed).toEqual([0, null]);
  },
);

test(
  "a program takes each question once, of one run and of all, and is told when a run is over",
  { tags: "slow" },
  async () => {
    const bench = await openBench(ASKS_TWICE);
    const { client } = bench;
    const run = await bench.start(twoNodePackage());
    const seen: string[] = [];
    const stop = new AbortController();
    const watching = (async () => {
      const filter = { taskQueues: [client.taskQueue] };
      for await (const { id, text } of client.questions(filter, { watch: true, signal: stop.signal })) {
        seen.push(`${id} ${text}`);
      }
    })();
    const answered: string[] = [];
    for (let question = await run.nextQuestion(); question; question = await run.nextQuestion()) {
      const { id, nodeId, text } = question;
      answered.push(`${id} ${text}`);
      await eventually(() => seen.length === answered.length);
      await run.answer({ nodeId, text: "Red.", question: id, answerId: id });
    }
    expect(answered).toEqual([`1.1 ${QUESTION}`, `1.2 ${QUESTION}`]);
    expect((await run.result()).phase).toBe("completed");
    stop.abort();
    await watching;
    expect(seen).toEqual(answered);
    await expect(run.nextQuestion()).resolves.toBeUndefined();
    const stopped = AbortSignal.abort(new Error("enough"));
    await expect(run.nextQuestion({ signal: stopped })).rejects.toThrow("enough");
  },
);
