import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { noticeIdOf } from "../../src/contract/notice.js";
import { isPrintable } from "../../src/core/printable.js";
import { parseNotice } from "../../src/core/notify/notice.js";
import { eventually } from "../fakes/eventually.js";
import { namesIn } from "../fakes/run-world.js";
import type { Script } from "../fakes/scripted-model.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { STRAIGHT } from "../fakes/walk.js";
import { type Received, SECRET, isSigned, openReceiver, status, taken } from "../fakes/webhook-receiver.js";
import { type Bench, openBench, temporaryDirectory, until } from "./harness.js";
import { MAIN, jsonOf, shellOf } from "./shell.js";
import { freePort } from "../fakes/free-port.js";

const QUESTION = "Which one? <!channel>\nBlue, or [red](https://evil.example)?";
const ASKING: Script = [{ content: QUESTION }, ...STRAIGHT];

/** Where nobody listens. */
async function freeAddress(): Promise<string> {
  return `http://127.0.0.1:${await freePort()}/`;
}

/** A bench whose settings name these webhooks. */
async function benchWith(webhooks: object, script: Script = ASKING, more: Record<string, string> = {}) {
  const settings = join(await temporaryDirectory(), "settings.json");
  await writeFile(settings, JSON.stringify({ notifications: { webhooks } }));
  return openBench(script, { INTERLOCK_SETTINGS: settings, OPS_SECRET: SECRET, ...more });
}

/** Starts a run, answers its question, and returns it completed. */
async function completedRun(bench: Bench) {
  const run = await bench.start(twoNodePackage());
  await until(run, "waiting-user");
  await run.answer({ nodeId: "ask", text: "Blue." });
  expect(await run.result()).toMatchObject({ stepsCompleted: ["ask", "middle", "finish"] });
  return run;
}

function deliveryOf(bench: Bench, { runId }: { readonly runId: string }, change: number, webhook = "ops") {
  const id = noticeIdOf({ storeId: "", projectId: "", runId, change, webhook });
  const handle = bench.client.temporal.workflow.getHandle(id);
  onTestFinished(() => handle.terminate().then(undefined, () => undefined));
  return handle;
}

const eventsOf = (messages: readonly Received[]) =>
  messages.map(({ body }) => parseNotice(JSON.parse(body))?.data.event);

describe("a webhook", () => {
  test("is told of a run's start, question and end, each once, signed, and until it takes them", async () => {
    const receiver = await openReceiver(status(500), status(500), taken);
    const bench = await benchWith(
      { ops: { url: receiver.url, secretVariable: "OPS_SECRET", events: ["question", "completed"] } },
      ASKING,
      { INTERLOCK_WEB_UI: "https://temporal.example/" },
    );
    const run = await bench.start(twoNodePackage());
    await until(run, "waiting-user");
    await eventually(() => receiver.messages.length === 3);
    await run.answer({ nodeId: "ask", text: "Blue." });
    await run.result();
    await eventually(() => receiver.messages.length === 4);
    const { messages } = receiver;
    expect(messages.every((message) => isSigned(message))).toBe(true);
    const ids = messages.map(({ headers }) => headers["webhook-id"]);
    expect(new Set(ids.slice(0, 3))).toEqual(new Set([`notice-${run.runId}-1-ops`]));
    expect(new Set(ids).size).toBe(2);
    expect(eventsOf(messages)).toEqual(["question", "question", "question", "completed"]);
    const executionRunId = await run.executionRunId();
    expect(JSON.parse(messages[2]?.body ?? "")).toEqual({
      type: "run.question",
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
      data: {
        schemaVersion: "1.0",
        event: "question",
        runId: run.runId,
        workflowId: run.workflowId,
        change: 1,
        phase: "waiting-user",
        package: expect.stringMatching(/^two-nodes-1\.0\.0-/),
        workflow: "two-nodes",
        projectId: expect.stringMatching(/^project-/),
        project: "project",
        node: "ask",
        question: { id: "1.1", text: QUESTION },
        command: `interlock answer ${run.runId} --question 1.1`,
        webUrl: `https://temporal.example/namespaces/default/workflows/${run.workflowId}/${executionRunId}/user-metadata`,
      },
    });
    // In the Web UI each delivery is a workflow, which says what came of it; nothing waits any more.
    expect(await deliveryOf(bench, run, 1).result()).toEqual({ found: "taken with 204" });
    await deliveryOf(bench, run, 3).result();
    expect(await namesIn(join((await bench.filesOf(run)).dir, "notices"))).toEqual([]);
  });

  test("that is gone, or not there at all, hinders no run", async () => {
    const gone = await openReceiver(status(410), status(410), taken);
    const bench = await benchWith({
      gone: { url: gone.url, secretVariable: "OPS_SECRET" },
      dead: { url: await freeAddress(), secretVariable: "OPS_SECRET" },
      unset: { urlVariable: "NO_SUCH_URL", secretVariable: "OPS_SECRET" },
    });
    const run = await completedRun(bench);
    await expect(deliveryOf(bench, run, 1, "gone").result()).rejects.toMatchObject({
      cause: { cause: { type: "NoticeNotTaken", message: "Not delivered: refused with 410." } },
    });
    expect(gone.messages.filter(({ headers }) => headers["webhook-id"]?.includes("-1-"))).toHaveLength(1);
    await expect(deliveryOf(bench, run, 3, "gone").result()).rejects.toMatchObject({
      name: "WorkflowFailedError",
    });
    // Whoever wants it sent again resets its workflow.
    const given = deliveryOf(bench, run, 1, "gone");
    const { events } = await given.fetchHistory();
    const begun = events?.find(
      ({ workflowTaskCompletedEventAttributes }) => workflowTaskCompletedEventAttributes,
    );
    await bench.client.temporal.workflowService.resetWorkflowExecution({
      namespace: "default",
      workflowExecution: { workflowId: given.workflowId },
      workflowTaskFinishEventId: begun?.eventId ?? null,
      requestId: given.workflowId,
    });
    expect(await deliveryOf(bench, run, 1, "gone").result()).toEqual({ found: "taken with 204" });
    for (const [name, reason] of [
      ["dead", "Not delivered: cannot be reached: nothing listens there (ECONNREFUSED)."],
      ["unset", "Not delivered: the variable of its URL, NO_SUCH_URL, is not set, where this worker runs."],
    ] as const) {
      const delivery = deliveryOf(bench, run, 3, name);
      await eventually(async () => {
        const { raw } = await delivery.describe();
        return raw.pendingActivities?.[0]?.lastFailure?.message === reason;
      });
      await deliveryOf(bench, run, 1, name).terminate();
      await delivery.terminate();
    }
  });

  test("is left alone for as long as it says", async () => {
    const receiver = await openReceiver(status(429, { "retry-after": "60" }));
    const bench = await benchWith({
      ops: { url: receiver.url, secretVariable: "OPS_SECRET", events: ["completed"] },
    });
    const run = await completedRun(bench);
    const delivery = deliveryOf(bench, run, 3);
    await eventually(async () => {
      const [activity] = (await delivery.describe()).raw.pendingActivities ?? [];
      const { nextAttemptScheduleTime: next, lastAttemptCompleteTime: last } = activity ?? {};
      return Number(next?.seconds ?? 0) - Number(last?.seconds ?? 0) > 50;
    });
    expect(receiver.messages).toHaveLength(1);
  });

  test("is sent again where the receiver asks for no wait before that", async () => {
    const receiver = await openReceiver(status(503, { "retry-after": "0" }), status(200));
    const bench = await benchWith({
      ops: { url: receiver.url, secretVariable: "OPS_SECRET", events: ["completed"] },
    });
    await completedRun(bench);
    await eventually(() => receiver.messages.length > 1);
    expect(receiver.messages.map(({ body }) => body)).toEqual(Array(2).fill(receiver.messages[0]?.body));
  });

  test("of Slack gets its message, of Teams its card, by events and filters; nothing a model says is live", async () => {
    const [slack, teams, other] = [await openReceiver(), await openReceiver(), await openReceiver()];
    const bench = await benchWith(
      {
        slack: { urlVariable: "SLACK_URL", format: "slack", events: ["question"], projects: ["project"] },
        teams: {
          url: teams.url,
          format: "teams",
          events: ["started", "running", "completed"],
          packages: ["two-nodes"],
        },
        other: { url: other.url, format: "slack", packages: ["three-nodes"] },
      },
      ASKING,
      { SLACK_URL: slack.url },
    );
    await completedRun(bench);
    await eventually(() => slack.messages.length === 1 && teams.messages.length === 3);
    expect(slack.messages[0]?.body).toContain("Which one? &lt;!channel&gt;");
    expect(slack.messages[0]?.body).not.toContain("<!channel>");
    const heads = teams.messages.map(({ body }) => /A run [a-z ]+/.exec(body)?.[0]);
    expect(new Set(heads)).toEqual(new Set(["A run has started", "A run goes on", "A run has completed"]));
    expect(other.messages).toEqual([]);
  });

  test("is told of a pause and of a failure with its code, but not again of a question that waits", async () => {
    const receiver = await openReceiver();
    const events = ["question", "paused", "failed", "cancelled"];
    const bench = await benchWith({ ops: { url: receiver.url, secretVariable: "OPS_SECRET", events } }, [
      { content: QUESTION },
      { status: 400, body: { error: { message: "no, says /home/somebody/x" } } },
    ]);
    const run = await bench.start(twoNodePackage());
    await until(run, "waiting-user");
    await run.pause();
    await eventually(() => receiver.messages.length === 2);
    await run.resume();
    await run.answer({ nodeId: "ask", text: "Blue." });
    await expect(run.result()).rejects.toMatchObject({ code: "LLM_HTTP_ERROR" });
    await eventually(() => receiver.messages.length === 3);
    const notices = receiver.messages.map(({ body }) => parseNotice(JSON.parse(body))?.data);
    expect(notices.map((data) => data?.event)).toEqual(["question", "paused", "failed"]);
    expect(notices[2]).toMatchObject({
      failure: { code: "LLM_HTTP_ERROR" },
      command: `interlock retry ${run.runId}`,
    });
    expect(JSON.stringify(notices)).not.toContain("somebody");
  });

  test(
    "whose delivery anybody begins anew is told nothing twice, and nothing that was not written down",
    { tags: "slow" },
    async () => {
      const receiver = await openReceiver();
      const bench = await benchWith({
        ops: { url: receiver.url, secretVariable: "OPS_SECRET", events: ["question"] },
      });
      const run = await completedRun(bench);
      await deliveryOf(bench, run, 1).result();
      const { projectId } = await run.state();
      const ref = { storeId: bench.store.storeId, projectId, runId: run.runId, webhook: "ops" };
      const begin = (workflowId: string, asked: object) =>
        bench.client.temporal.workflow.execute("runNotice", {
          workflowId,
          taskQueue: bench.store.taskQueue,
          args: [asked],
        });
      for (const change of [1, 2, 99]) {
        expect(await begin(`again-${run.runId}-${change}`, { ...ref, change })).toEqual({
          found: "There is nothing to tell any more.",
        });
      }
      for (const asked of [
        { ...ref, change: 1, url: receiver.url },
        { ...ref, change: 1, webhook: "../x" },
        {},
      ]) {
        await expect(begin(`hostile-${run.runId}`, asked)).rejects.toMatchObject({
          cause: { message: "This names no notice of a run." },
        });
      }
      expect(receiver.messages).toHaveLength(1);
    },
  );
});

describe("interlock notify test", () => {
  test("sends each webhook a message and says what came of it; doctor says what can be seen", async () => {
    const good = await openReceiver();
    const bad = await openReceiver(status(404, {}, "no_service"));
    const bench = await benchWith({
      good: { url: good.url, secretVariable: "OPS_SECRET" },
      bad: { url: bad.url, format: "slack" },
      unset: { urlVariable: "NO_SUCH_URL", format: "teams" },
    });
    const shell = shellOf(bench);
    const all = await shell.run(["notify", "test"]);
    expect(all).toMatchObject({
      code: 1,
      stdout: [
        "ok      good  taken with 204",
        "failed  bad  refused with 404: no_service",
        "failed  unset  the variable of its URL, NO_SUCH_URL, is not set\n",
      ].join("\n"),
    });
    expect(good.messages.map((message) => isSigned(message))).toEqual([true]);
    expect(eventsOf(good.messages)).toEqual(["test"]);
    const one = await shell.run(["notify", "test", "good", "--json"]);
    expect([one.code, jsonOf(one)]).toEqual([
      0,
      [{ webhook: "good", format: "json", ok: true, found: "taken with 204" }],
    ]);
    expect(await shell.run(["notify", "test", "none"])).toMatchObject({
      code: 2,
      stderr: 'The settings name no webhook "none". They name: good, bad, unset\n',
    });
    const { stdout } = await shell.run(["doctor", "--no-models"]);
    expect(stdout).toMatch(/ok +webhook good +json, signed: question, completed, failed\./);
    expect(stdout).toMatch(/warning +webhook unset +the variable of its URL, NO_SUCH_URL, is not set/);
  });
});

describe("a notice on the desktop", () => {
  const HOSTILE = `Blue?\u0007\u001B]0;owned\u0007 \u009d9;x\u009c\u202e`;

  /** `script` gives a command a terminal. */
  const IN_TERMINAL: string = "script";

  function atTerminal(bench: Bench, args: readonly string[], more: Record<string, string> = {}) {
    const line = [process.execPath, MAIN, ...args];
    const terminal =
      process.platform === "linux" ? ["-qfec", line.join(" "), "/dev/null"] : ["-q", "/dev/null", ...line];
    const { environment, dir } = shellOf(bench, { TERM: "xterm", ...more });
    const child = spawn(IN_TERMINAL, terminal, { env: environment, cwd: dir });
    let text = "";
    child.stdout.on("data", (chunk: Buffer) => (text += chunk.toString("utf8")));
    const closed = once(child, "close");
    onTestFinished(async () => {
      child.kill("SIGKILL");
      await closed;
    });
    return { text: () => text, closed };
  }

  test(
    "says what a run asks, by the terminal's own sequence and bell, and nothing in it is obeyed",
    { tags: "slow" },
    async () => {
      const bench = await openBench([{ content: HOSTILE }]);
      const run = await bench.start(twoNodePackage());
      await until(run, "waiting-user");
      const inbox = atTerminal(bench, ["inbox", "--watch", "--notify"]);
      const watch = atTerminal(bench, ["watch", run.runId, "--notify"]);
      await watch.closed;
      const said = String.raw`Interlock: run ${run.runId.slice(0, 8)} asks: Blue?`;
      expect(watch.text()).toContain(`\u001B]9;${said}`);
      const [notice = "", ...rest] = watch.text().split("\u001B]9;")[1]?.split("\u0007\u0007") ?? [];
      expect([isPrintable(notice), rest.length]).toEqual([true, 1]);
      for (const hidden of ["\u001B]0;", "\u009C", "\u009D", "\u202E"])
        expect(watch.text()).not.toContain(hidden);
      // The inbox is that of all stores: other runs may ask meanwhile.
      const ofThisRun = () =>
        inbox
          .text()
          .split("\u001B]9;Interlock: ")
          .slice(1)
          .filter((told) => told.split("\u0007")[0]?.includes(run.runId.slice(0, 8)));
      await eventually(() => ofThisRun().length > 0);
      await eventually(() => inbox.text().includes("  │ Blue?"));
      expect(ofThisRun()).toHaveLength(1);
    },
  );

  test("is not raised where no terminal takes it, and says so", async () => {
    const bench = await openBench([{ content: "Blue?" }]);
    const run = await bench.start(twoNodePackage());
    await until(run, "waiting-user");
    const piped = await shellOf(bench).run(["watch", run.runId, "--notify"]);
    expect(piped.stderr).toContain("--notify is for a terminal: there will be no notice.\n");
    expect(piped.stdout + piped.stderr).not.toContain("\u0007");
    const dumb = atTerminal(bench, ["watch", run.runId, "--notify"], { TERM: "dumb" });
    await dumb.closed;
    expect(dumb.text()).not.toContain("\u0007");
    expect(await shellOf(bench).run(["inbox", "--notify"])).toMatchObject({ code: 2 });
  });
});
