import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import { dirname, join } from "node:path";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { isPrintable } from "../../src/core/printable.js";
import { readLive } from "../../src/store/runs/live-answer.js";
import { openPlace } from "../fakes/place.js";
import { eventually } from "../fakes/eventually.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { type Bench, openBench, until, writeTree } from "./harness.js";
import { MAIN, jsonOf, shellOf } from "./shell.js";
import { listen } from "../fakes/listen.js";
import { freePort } from "../fakes/free-port.js";

/** A command that runs on, and what it has said so far. */
interface Command {
  readonly child: ChildProcess;
  /** Waits until it has said this. */
  says(pattern: RegExp): Promise<string>;
  text(): string;
}

function begin(
  bench: Where,
  args: readonly string[],
  file = process.execPath,
  before: readonly string[] = [],
) {
  const shell = shellOf(bench);
  const child = spawn(file, [...before, ...args], { env: shell.environment, cwd: shell.dir });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => (said += chunk.toString("utf8")));
  }
  const closed = once(child, "close");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await closed;
  });
  const command: Command = {
    child,
    text: () => said,
    async says(pattern) {
      await eventually(() => {
        if (pattern.test(said)) return true;
        if (child.exitCode !== null) throw new Error(`It has ended without saying ${pattern}:\n${said}`);
        return false;
      });
      return pattern.exec(said)?.[0] ?? "";
    },
  };
  return command;
}

type Where = Pick<Bench, "store" | "environment">;

/** `interlock run` of a package of two nodes. */
async function beginRun(bench: Where): Promise<Command> {
  await writeTree(join(dirname(bench.store.dir), "package"), twoNodePackage());
  return begin(bench, [MAIN, "run", "package", "--project", "project"]);
}

/** Ends what a test has begun, so that no worker waits for it. */
async function cancelAll(bench: Bench): Promise<void> {
  for (const { runId } of await bench.store.runs.listAllRuns()) {
    await bench.client.handle(runId).cancel();
    await eventually(async () => !["RUNNING"].includes(await bench.client.handle(runId).executionStatus()));
  }
}

async function endpoint(answer: (response: ServerResponse, request: IncomingMessage) => void) {
  const server = createServer((request, response) => {
    request.resume().on("end", () => answer(response, request));
  });
  return `http://127.0.0.1:${await listen(server)}/v1`;
}

async function nothingListens(): Promise<string> {
  return `http://127.0.0.1:${await freePort()}/v1`;
}

const answering =
  (status: number, body: string | object, headers: Record<string, string> = {}) =>
  () =>
    endpoint((response) => {
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.end(typeof body === "string" ? body : JSON.stringify(body));
    });
const error = (message: string, more: object = {}) => ({ error: { message, ...more } });
const HOSTILE = "x\u001b[2J\u202e\u200b\nRun 1: completed";

describe("whoever follows a run is told what is wrong", () => {
  test.each<[string, () => Promise<string>, string]>([
    [
      "an endpoint that is not there",
      nothingListens,
      "attempt 1 failed: LLM_HTTP_ERROR: The model endpoint ENDPOINT cannot be reached: nothing listens there (ECONNREFUSED). Next try in ",
    ],
    [
      "a broken one",
      answering(500, error(HOSTILE)),
      "attempt 1 failed: LLM_HTTP_ERROR: The model endpoint ENDPOINT answered 500 x",
    ],
    [
      "one that is asked too often",
      answering(429, error("slow down"), { "retry-after": "60" }),
      "attempt 1 failed: LLM_RATE_LIMITED: The model endpoint ENDPOINT answered 429 slow down. Next try in ",
    ],
    [
      "a proxy's page",
      answering(502, "<html><title>Bad gateway</title></html>", { "content-type": "text/html" }),
      "attempt 1 failed: LLM_HTTP_ERROR: The model endpoint ENDPOINT answered 502 Bad gateway. Next try in ",
    ],
    [
      "a page in place of an answer",
      answering(200, "<html><title>Log in</title></html>", { "content-type": "text/html" }),
      "attempt 1 failed: LLM_BAD_RESPONSE: The model endpoint ENDPOINT answered 200 with a web page, not a chat completion: Log in. Next try in ",
    ],
    ["one that hangs", () => endpoint(() => undefined), "model turn 1 · ask: no answer yet from HOST for "],
    [
      "one that hangs in the middle of an answer",
      () =>
        endpoint((response) => {
          response.writeHead(200, { "content-type": "application/json" });
          response.write("{");
        }),
      "model turn 1 · ask: no answer yet from HOST for ",
    ],
  ])("%s", async (_, start, sentence) => {
    const baseUrl = await start();
    const bench = await openBench([], { OPENAI_BASE_URL: baseUrl });
    const command = await beginRun(bench);
    const words = sentence
      .replace("ENDPOINT", `${baseUrl}/chat/completions`)
      .replace("HOST", new URL(baseUrl).host);
    // On a busy machine nobody looks in the one second before the second attempt: the same is said before each later one.
    const literal = words.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
    const pattern = literal
      .replace(/^attempt 1 /, String.raw`attempt [1-7] `)
      .replace(/Next try in $/, String.raw`Next try in \d+ s: attempt [2-8] of 8\.`);
    await command.says(new RegExp(pattern));
    expect(
      command
        .text()
        .split("\n")
        .filter((line) => !isPrintable(line)),
    ).toEqual([]);
    await cancelAll(bench);
  });

  test.each<[string, () => Promise<string>, string]>([
    [
      "a wrong key",
      answering(401, error("Incorrect key")),
      "LLM_AUTH_FAILED: The model endpoint ENDPOINT answered 401 Incorrect key",
    ],
    [
      "a wrong model",
      answering(404, error("No model m")),
      "LLM_HTTP_ERROR: The model endpoint ENDPOINT answered 404 No model m",
    ],
    [
      "a quota that is used up",
      answering(429, error("Pay first", { code: "insufficient_quota" })),
      "LLM_RATE_LIMITED: The model endpoint ENDPOINT answered 429 Pay first",
    ],
  ])("%s, at once and for good", async (_, start, sentence) => {
    const baseUrl = await start();
    const bench = await openBench([], { OPENAI_BASE_URL: baseUrl });
    const command = await beginRun(bench);
    await once(command.child, "close");
    expect(command.child.exitCode).toBe(1);
    expect(command.text()).toContain(
      `failure     ${sentence.replace("ENDPOINT", `${baseUrl}/chat/completions`)}\n`,
    );
    expect(command.text()).not.toContain("Next try");
  });

  test("the last attempt says which it was", async () => {
    const bench = await openBench([{ status: 500 }, { status: 500 }]);
    const run = await bench.start(twoNodePackage());
    await eventually(async () => (await run.state()).phase === "failed");
    expect((await run.state()).failure?.message).toBe(
      `The model endpoint ${bench.model.baseUrl}/chat/completions answered 500 scripted (attempt 2 of 2)`,
    );
  });

  test("a worker that has died, and that nobody takes its place", { tags: "slow" }, async () => {
    const bench = await openPlace(inject("temporalAddress"), [{ hang: true }, { hang: true }]);
    onTestFinished(() => bench.close());
    const worker = begin(bench, [MAIN, "worker"]);
    await eventually(() => bench.client.hasWorker());
    const command = await beginRun(bench);
    await eventually(() => bench.model.requests.length === 1);
    await command.says(/node entered/);
    worker.child.kill("SIGKILL");
    await command.says(
      /model turn 1 · ask: attempt 1 failed: TIMEOUT: Its worker was not heard of any more\./,
    );
    await command.says(/No worker polls the task queue/);
    const runs = await bench.store.runs.listAllRuns();
    const status = await shellOf(bench).run(["status", runs[0]?.runId ?? ""]);
    expect(status.stdout).toMatch(/at work {5}model\.turn, attempt 2 of 8: waiting for a worker/);
    expect(command.child.exitCode).toBeNull(); // it still waits
  });
});

describe("status", () => {
  test("says what a run is at, and why the attempt before failed", async () => {
    const bench = await openBench([{ status: 429, headers: { "retry-after": "500" }, body: error(HOSTILE) }]);
    const run = await bench.start(twoNodePackage());
    await eventually(async () => (await run.pendingWork()).activities[0]?.lastFailure !== undefined);
    const text = await shellOf(bench).run(["status", run.runId]);
    expect(text.stdout).toMatch(/^ {2}at work {5}model\.turn, attempt 2 of 2: next try in \d+ s$/m);
    expect(text.stdout).toMatch(
      /^ {2}last error {2}attempt 1 failed: LLM_RATE_LIMITED: The model endpoint .* answered 429 x/m,
    );
    expect(text.stdout.split("\n").filter((line) => !isPrintable(line))).toEqual([]);
    expect(jsonOf(await shellOf(bench).run(["status", run.runId, "--json"]))).toMatchObject({
      work: [
        {
          activity: "model.turn",
          standing: "waiting",
          attempt: 2,
          maximumAttempts: 2,
          lastFailure: { type: "LLM_RATE_LIMITED" },
        },
      ],
    });
    await run.cancel();
  });
});

describe("an answer that is streamed", () => {
  /** A stream that goes on when it is told to. */
  async function stream() {
    const pieces: (() => void)[] = [];
    const baseUrl = await endpoint((response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const send = (delta: object, reason: string | null = null) =>
        response.write(
          `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`,
        );
      send({ content: `<think>a plan</think>The first ${HOSTILE} part` });
      pieces.push(
        () => send({ content: ", then the second" }),
        () => {
          send({ content: ". Which colour?" }, "stop");
          response.end("data: [DONE]\n\n");
        },
      );
    });
    const goOn = async () => {
      await eventually(() => pieces.length > 0);
      pieces.shift()?.();
    };
    return { baseUrl, goOn };
  }

  test("is seen in the terminal while it comes, and never in the history", async () => {
    const { baseUrl, goOn } = await stream();
    const bench = await openBench([], { OPENAI_BASE_URL: baseUrl, INTERLOCK_MODEL_STREAM: "true" });
    await writeTree(join(dirname(bench.store.dir), "package"), twoNodePackage());
    const args = [process.execPath, MAIN, "run", "package", "--project", "project"];
    // `script` gives a command a terminal.
    const terminal =
      process.platform === "linux" ? ["-qfec", args.join(" "), "/dev/null"] : ["-q", "/dev/null", ...args];
    const command = begin(bench, terminal, "script");
    await command.says(/│ The first/); // of a word that is not ended, nothing is told yet: it may be a key
    expect(command.text()).not.toContain("then the second");
    expect(command.text()).not.toContain("a plan");
    await goOn();
    await command.says(/, then the/);
    expect(command.text()).not.toContain("\u202e");
    await goOn();
    await command.says(/The run asks, at ask/);
    const run = bench.client.handle((await bench.store.runs.listAllRuns())[0]?.runId ?? "");
    expect(JSON.stringify(await run.history())).not.toContain("a plan");
    expect(readLive((await bench.filesOf(run)).dir)).toBeUndefined();
  });

  test("is no part of the run where its worker dies: the next one asks again", { tags: "slow" }, async () => {
    const { baseUrl } = await stream();
    const bench = await openBench([], { OPENAI_BASE_URL: baseUrl, INTERLOCK_MODEL_STREAM: "true" });
    await bench.stopWorker();
    const worker = begin(bench, [MAIN, "worker"]);
    const run = await bench.start(twoNodePackage());
    const dirOf = async () => {
      const known = await bench.store.runs.findRun(run.runId);
      return known.ok ? (await bench.filesOf(run)).dir : "";
    };
    await eventually(async () => readLive(await dirOf())?.text.startsWith("The first") === true);
    worker.child.kill("SIGKILL");
    await once(worker.child, "close");
    expect(readLive(await dirOf())).toMatchObject({ attempt: 1 }); // it lies there, and nobody minds
    begin(bench, [MAIN, "worker"]);
    await eventually(async () => readLive(await dirOf())?.attempt === 2);
    await run.cancel();
    await eventually(async () => readLive(await dirOf()) === undefined);
    expect((await until(run, "failed").catch(() => undefined))?.phase).not.toBe("completed");
  });
});
