import { once } from "node:events";
import { eventually } from "../fakes/eventually.js";
import { spawn } from "node:child_process";
import { access, cp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, inject, test } from "vitest";
import { type Script, patch } from "../fakes/scripted-model.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { openBench, writeTree } from "./harness.js";
import { MAIN, type Outcome, ROOT, type Shell, jsonOf, newShell, shellOf, withModel } from "./shell.js";

const THREE_STEPS = [
  { calls: [patch({ stepsCompleted: { append: ["ask"] }, currentNodeId: { set: "middle" } })] },
  { calls: [patch({ stepsCompleted: { append: ["middle"] }, currentNodeId: { set: "finish" } })] },
  { calls: [patch({ stepsCompleted: { append: ["finish"] } })] },
];

/** A process in which Temporal's worker cannot be loaded. */
const WITHOUT_WORKER = `const Module = require("node:module");
const load = Module._load;
Module._load = function (name, ...others) {
  if (name === "@temporalio/worker") throw new Error("none is installed");
  return load.call(this, name, ...others);
};
`;

/** `interlock dev` in a shell, once it serves: what it has said by then, and what ends it. */
async function startDev({
  environment,
  dir,
}: Shell): Promise<{ readonly said: string; stop(): Promise<void> }> {
  const dev = spawn(process.execPath, [MAIN, "dev", "--quiet"], { env: environment, cwd: dir });
  const ended = once(dev, "exit");
  let said = "";
  dev.stdout.on("data", (chunk: Buffer) => (said += chunk.toString()));
  await eventually(() => said.includes("Stop with Ctrl-C."));
  return {
    said,
    async stop() {
      dev.kill("SIGINT");
      await ended;
    },
  };
}

describe("interlock demo", () => {
  let outcome: Outcome;
  let shell: Shell;
  let report: {
    phase: string;
    runId: string;
    stepsCompleted: string[];
    artifacts: string[];
    usage: { toolCalls: number };
    stateFile: string;
    logFile: string;
    webUrl: string | null;
  };

  beforeAll(async () => {
    shell = await newShell();
    shell.environment["TMPDIR"] = shell.dir;
    outcome = await shell.runAlone(["demo", "--json"]);
    report = JSON.parse(outcome.stdout) as typeof report;
  });

  test("completes all six nodes of the example, on a server of its own", () => {
    expect(outcome.code).toBe(0);
    expect(report.phase).toBe("completed");
    expect(report.stepsCompleted).toEqual([
      "step-01-load-context",
      "step-02-choose-story",
      "step-03-draft-story",
      "step-04-developer-context",
      "step-05-readiness-check",
      "step-06-handover",
    ]);
    expect(outcome.stderr).toContain("this is a rehearsal");
  });

  test("links to the Web UI while it is there, and not when its server has ended", () => {
    expect(outcome.stderr).toMatch(/^Watch it: http:/m);
    expect(report.webUrl).toBeNull();
  });

  test.each(["retry", "status"])(
    "%s of a run that only the stopped server may know says how it is asked",
    async (command) => {
      const unknown = "0b7c7e0e-6f0e-4d36-9d5c-3d1f0c1d2e3f";
      const { code, stderr } = await shell.run([command, unknown]);
      expect(code).toBe(2);
      expect(stderr).toContain(`There is no run "${unknown}" in this store.`);
      expect(stderr).toContain("Start it with: interlock dev");
    },
  );

  test("leaves its artifacts in the project and lists them in the state document", async () => {
    expect(report.artifacts).toHaveLength(5);
    const demo = (await readdir(shell.dir)).find((name) => name.startsWith("interlock-demo-")) ?? "";
    const document = await readFile(report.stateFile, "utf8");
    for (const artifact of report.artifacts) {
      await access(join(shell.dir, demo, "shelfmark", artifact));
      expect(document).toContain(`"${artifact}"`);
    }
  });

  test("shows one refused move, and writes one audit line for each tool call", async () => {
    const events = (await readFile(report.logFile, "utf8"))
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { kind: string; output?: { error?: { code: string } } });
    const calls = events.filter(({ kind }) => kind === "tool.exec");
    expect(calls).toHaveLength(report.usage.toolCalls);
    expect(calls.flatMap(({ output }) => output?.error?.code ?? [])).toEqual(["E_INVALID_TRANSITION"]);
  });

  test("sends the model no path of the machine", async () => {
    const runDir = dirname(dirname(report.stateFile));
    const visits = await readdir(join(runDir, "conversation"));
    expect(visits).toHaveLength(6);
    const sent = await Promise.all([
      ...visits.map((visit) => readFile(join(runDir, "conversation", visit), "utf8")),
      readFile(join(runDir, "calls.jsonl"), "utf8"),
    ]);
    for (const text of sent) {
      expect(text).not.toContain(shell.dir);
      expect(text).not.toContain(ROOT);
    }
  });

  test("is listed by runs and shown by status afterwards, without a server", async () => {
    const runs = await shell.run(["runs", "--json"]);
    expect(JSON.parse(runs.stdout)).toMatchObject([{ runId: report.runId, phase: "completed" }]);
    const status = await shell.run(["status", report.runId, "--json"]);
    expect(JSON.parse(status.stdout)).toMatchObject({
      runId: report.runId,
      phase: "completed",
      artifacts: report.artifacts,
      usage: report.usage,
    });
    const packages = await shell.run(["package", "list", "--json"]);
    expect(JSON.parse(packages.stdout)).toMatchObject([{ name: "create-story", version: "1.0.0" }]);
  });
});

describe("interlock audit verify", () => {
  async function rehearsed() {
    const shell = shellOf(await openBench([]));
    const example = join(ROOT, "examples/create-story/package");
    const outcome = await shell.run(["run", example, "--project", "project", "--rehearse", "--json"]);
    const { runId, logFile } = JSON.parse(outcome.stdout) as { runId: string; logFile: string };
    const verify = async (text: string) => {
      await writeFile(logFile, text);
      const { code, stdout } = await shell.run(["audit", "verify", runId, "--json"]);
      const verdict = JSON.parse(stdout) as { ok: boolean; findings: { line: number }[] };
      return { code, ok: verdict.ok, lines: verdict.findings.map(({ line }) => line) };
    };
    return { original: await readFile(logFile, "utf8"), verify };
  }

  test("finds nothing in a log that is whole", { tags: "slow" }, async () => {
    const { original, verify } = await rehearsed();
    expect(await verify(original)).toEqual({ code: 0, ok: true, lines: [] });
  });

  test("finds an edited line, a removed line and a cut tail", { tags: "slow" }, async () => {
    const { original, verify } = await rehearsed();
    const lines = original.trimEnd().split("\n");
    const edited = lines.with(4, lines[4]?.replace("nodeId", "nodeID") ?? "");
    expect(await verify(`${edited.join("\n")}\n`)).toMatchObject({ code: 1, ok: false, lines: [6] });
    const removed = lines.filter((_line, index) => index !== 4);
    expect(await verify(`${removed.join("\n")}\n`)).toMatchObject({ code: 1, lines: [5, lines.length] });
    const cut = lines.slice(0, -1);
    expect(await verify(`${cut.join("\n")}\n`)).toMatchObject({ code: 1, lines: [lines.length] });
    const lastEdited = [...cut, lines.at(-1)?.replace("completed", "perfected") ?? ""];
    expect(await verify(`${lastEdited.join("\n")}\n`)).toMatchObject({ code: 1, lines: [lines.length] });
  });
});

/** `interlock run` of the package of a shell, and what it has said beside its output. */
function startRun({ environment, dir }: Pick<Shell, "environment" | "dir">, stdin: "pipe" | "ignore") {
  const child = spawn(process.execPath, [MAIN, "run", "package", "--project", "project"], {
    env: environment,
    cwd: dir,
    stdio: [stdin, "ignore", "pipe"],
  });
  const ended = once(child, "exit");
  let said = "";
  child.stderr?.on("data", (chunk: Buffer) => (said += chunk.toString()));
  return { child, ended, said: () => said };
}

describe("interlock run", () => {
  test("answers come from standard input, one line each", async () => {
    const bench = await openBench([{ content: "Which colour?" }, ...THREE_STEPS]);
    const shell = shellOf(bench);
    await writeTree(join(shell.dir, "package"), twoNodePackage());
    const outcome = await shell.runAlone(["run", "package", "--project", "project", "--json"], "Blue\n");
    expect(bench.model.requests[1]?.messages.at(-1)?.content).toBe("USER_INPUT\n- forNodeId: ask\nBlue");
    expect(outcome.code).toBe(0);
    expect(outcome.stderr).toContain("Which colour?");
    expect(JSON.parse(outcome.stdout)).toMatchObject({
      phase: "completed",
      stepsCompleted: ["ask", "middle", "finish"],
    });
  });

  test(
    "at the end of standard input the exit code is 3, and answer, which the inbox names, goes on from there",
    { tags: "slow" },
    async () => {
      const shell = await newShell();
      await writeTree(join(shell.dir, "package"), twoNodePackage());
      await withModel([{ content: "Which colour?" }, ...THREE_STEPS], async (_model, variables) => {
        const configured = shell.with(variables);
        const waiting = await configured.runAlone(["run", "package", "--project", "project", "--json"]);
        expect(waiting).toMatchObject({ code: 3 });
        const report = JSON.parse(waiting.stdout) as { runId: string };
        expect(report).toMatchObject({
          phase: "waiting-user",
          question: { nodeId: "ask", text: "Which colour?" },
        });
        const status = await configured.run(["status", report.runId, "--json"]);
        expect(JSON.parse(status.stdout)).toMatchObject({
          phase: "waiting-user",
          question: { text: "Which colour?" },
        });
        const { stderr } = await configured.run(["inbox"]);
        expect(stderr).toContain("An answer starts it by itself.\nAnswer one with: interlock answer <run>");
        const answered = await configured.run(["answer", report.runId, "Blue", "--json"]);
        expect(answered.code).toBe(0);
        expect(JSON.parse(answered.stdout)).toMatchObject({ runId: report.runId, phase: "completed" });
      });
    },
  );

  test("a failed run ends with exit code 1 and says why", async () => {
    const shell = shellOf(await openBench([{ status: 401 }]));
    await writeTree(join(shell.dir, "package"), twoNodePackage());
    const outcome = await shell.runAlone(["run", "package", "--project", "project", "--json"]);
    expect(outcome.code).toBe(1);
    expect(JSON.parse(outcome.stdout)).toMatchObject({
      phase: "failed",
      failure: { code: "LLM_AUTH_FAILED" },
    });
  });

  test("a run that is interrupted goes on in the next command", { tags: "slow" }, async () => {
    const shell = await newShell();
    await writeTree(join(shell.dir, "package"), twoNodePackage());
    let hang = true;
    const script: Script = (_request, index) =>
      hang ? { hang: true } : (THREE_STEPS[index - 1] ?? { status: 418 });
    await withModel(script, async (model, variables) => {
      const { environment, dir } = shell.with(variables);
      const child = spawn(process.execPath, [MAIN, "run", "package", "--project", "project"], {
        env: environment,
        cwd: dir,
        stdio: "ignore",
      });
      await eventually(() => model.requests.length > 0);
      hang = false;
      child.kill("SIGKILL");
      await new Promise((resolve) => child.once("exit", resolve));
      const dev = spawn(process.execPath, [MAIN, "dev"], { env: environment, cwd: dir, stdio: "ignore" });
      const [run] = JSON.parse((await shell.run(["runs", "--json"])).stdout) as { runId: string }[];
      await eventually(async () => {
        const status = await shell.run(["status", run?.runId ?? "", "--json"]);
        const { phase } = JSON.parse(status.stdout) as { phase: string };
        expect(["running", "completed"]).toContain(phase);
        return phase === "completed";
      });
      const done = await shell.run(["status", run?.runId ?? ""]);
      expect(done.stdout).toMatch(/^ {2}web ui +all runs: http:\/\/127\.0\.0\.1:\d+$/m);
      dev.kill("SIGINT");
      await new Promise((resolve) => dev.once("exit", resolve));
    });
  });

  test(
    "dev says where its Temporal is reached, and a command with that address reaches it",
    { tags: "slow" },
    async () => {
      const shell = await newShell();
      const { dir } = shell;
      const dev = await startDev(shell);
      const [, address = ""] = /^Temporal: (.+)$/m.exec(dev.said) ?? [];
      expect(address).toMatch(/^127\.0\.0\.1:\d+$/);
      const elsewhere = shell.with({ TEMPORAL_ADDRESS: address, INTERLOCK_STORE: join(dir, "another") });
      expect(await elsewhere.run(["runs", "--limit", "1"])).toMatchObject({ code: 0 });
      await dev.stop();
    },
  );

  test(
    "beside dev a run begins with the worker that is there, ends there when the command can have none, and is retried with the model of this shell",
    { tags: "slow" },
    async () => {
      const shell = await newShell();
      const { dir } = shell;
      await writeTree(join(dir, "package"), twoNodePackage());
      await writeFile(join(dir, "without-worker.cjs"), WITHOUT_WORKER);
      const dev = await startDev(shell);
      const hampered = shell.with({ NODE_OPTIONS: `--require ${join(dir, "without-worker.cjs")}` });
      const outcome = await hampered.runAlone(["run", "package", "--project", "project", "--rehearse"]);
      expect(outcome).toMatchObject({
        code: 0,
        stderr: expect.stringContaining(
          "This command has no worker of its own (none is installed). The run is with the one that was there.",
        ) as string,
      });
      await withModel(
        () => ({ status: 400 }),
        async (model, variables) => {
          const withKey = shell.with(variables); // dev has no model
          const failed = await withKey.run(["run", "package", "--project", "project", "--json"]);
          const { runId } = jsonOf(failed) as { runId: string };
          await withKey.run(["retry", runId]);
          expect(model.requests).toHaveLength(2);
        },
      );
      await dev.stop();
    },
  );

  test.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)(
    "%s at a run's question is no failure of the run: exit code %i",
    { tags: ["slow"] },
    async (signal, code) => {
      const shell = await newShell();
      await writeTree(join(shell.dir, "package"), twoNodePackage());
      await withModel(
        () => ({ content: "Which way?" }),
        async (_, variables) => {
          const { child, ended, said } = startRun(shell.with(variables), "pipe");
          await eventually(() => said().includes("Which way?"));
          child.kill(signal);
          expect(await ended).toEqual([code, null]);
          expect(said()).toContain("is not finished");
        },
      );
    },
  );

  test.each([
    ["another one does not wait", "SIGINT"],
    ["its terminal may be closed meanwhile", "SIGHUP"],
  ] as const)(
    "Ctrl-C while the model is silent says what is waited for; %s",
    { tags: ["slow"] },
    async (_, signal) => {
      const shell = await newShell();
      await writeTree(join(shell.dir, "package"), twoNodePackage());
      await withModel(
        () => ({ hang: true }),
        async (model, variables) => {
          const { child, ended, said } = startRun(shell.with(variables), "ignore");
          await eventually(() => model.requests.length > 0);
          child.kill("SIGINT");
          await eventually(() => said().includes("Another Ctrl-C does not wait for it."));
          child.kill(signal);
          expect(await ended).toEqual([null, signal]);
        },
      );
    },
  );

  test("wrong usage ends with exit code 2 and names the remedy, before anything is started", async () => {
    const shell = await newShell();
    await writeTree(join(shell.dir, "package"), twoNodePackage());
    const noModel = await shell.runAlone(["run", "package", "--project", "project"]);
    expect(noModel).toMatchObject({ code: 2, stdout: "" });
    expect(noModel.stderr).toContain("Set INTERLOCK_MODEL and OPENAI_API_KEY");
    const noPackage = await shell.run(["run", "nowhere", "--project", "project", "--rehearse"]);
    expect(noPackage.code).toBe(2);
    expect(noPackage.stderr).toContain("neither a package directory nor an installed package");
    const noAgent = await shell.run([
      "run",
      "package",
      "--project",
      "project",
      "--rehearse",
      "--agent",
      "nobody",
    ]);
    expect(noAgent.stderr).toContain('The package has no agent "nobody". It has: author, closer.');
    const noProject = await shell.run(["run", "package", "--project", "missing", "--rehearse"]);
    expect([noProject.code, noProject.stderr]).toEqual([
      2,
      expect.stringContaining('"missing" is no directory'),
    ]);
    expect((await shell.run(["run", "package"])).code).toBe(2);
    expect((await shell.run(["worker"])).stderr).toContain("Set TEMPORAL_ADDRESS");
    expect((await readdir(join(shell.dir, "store"))).filter((name) => name.startsWith("temporal"))).toEqual(
      [],
    );
  });

  test(
    "a configured Temporal without a worker is said, and the run starts when one comes",
    { tags: "slow" },
    async () => {
      const shell = await newShell();
      await writeTree(join(shell.dir, "package"), twoNodePackage());
      const variables = {
        TEMPORAL_ADDRESS: inject("temporalAddress"),
        INTERLOCK_TASK_QUEUE: `cli-${shell.dir.slice(-6)}`,
      };
      const configured = shell.with(variables);
      const started = await configured.run([
        "run",
        "package",
        "--project",
        "project",
        "--rehearse",
        "--detach",
        "--json",
      ]);
      expect(started.code).toBe(0);
      expect(started.stderr).toContain("Start one with: interlock worker");
      const { runId } = JSON.parse(started.stdout) as { runId: string };
      const worker = spawn(process.execPath, [MAIN, "worker"], {
        env: configured.environment,
        cwd: shell.dir,
        stdio: "ignore",
      });
      await eventually(async () => {
        const { code, stdout } = await configured.run(["status", runId, "--json"]);
        return code === 0 && (JSON.parse(stdout) as { phase: string }).phase === "completed";
      });
      worker.kill("SIGTERM");
      await new Promise((resolve) => worker.once("exit", resolve));
    },
  );
});

test("who starts a run is told of it first, whatever Temporal then says of its workers", async () => {
  const shell = await newShell();
  await writeTree(join(shell.dir, "package"), twoNodePackage());
  const grpc = createRequire(import.meta.url).resolve("@grpc/grpc-js");
  const refusing = `import { Client } from ${JSON.stringify(grpc)};
    const { makeUnaryRequest: asked } = Client.prototype;
    Client.prototype.makeUnaryRequest = function (method, ...rest) {
      if (!method.endsWith("/DescribeTaskQueue")) return asked.call(this, method, ...rest);
      rest.at(-1)(Object.assign(new Error("injected"), { code: 9, details: "injected" }));
      return { cancel() {} };
    };`;
  await writeTree(shell.dir, { "refusing.mjs": refusing });
  const configured = {
    TEMPORAL_ADDRESS: inject("temporalAddress"),
    INTERLOCK_TASK_QUEUE: `cli-${shell.dir.slice(-6)}`,
  };
  const preload = { NODE_OPTIONS: `--import ${join(shell.dir, "refusing.mjs")}` };
  const begin = ["run", "package", "--project", "project", "--rehearse", "--detach"];
  const started = await shell.with({ ...configured, ...preload }).runAlone(begin);
  expect(started).toMatchObject({ code: 1, stderr: expect.stringContaining("injected") });
  const [, runId = "none"] = /^Run (\S+) is started/.exec(started.stdout) ?? [];
  const { stderr } = await shell.with(configured).run(["status", runId]);
  expect(stderr).toContain("the run waits until one does");
});

test("a command ends although a library has left something open", async () => {
  const open = "--import data:text/javascript,setInterval(()=>undefined,1000)";
  const shell = (await newShell()).with({ NODE_OPTIONS: open });
  expect(await shell.runAlone(["runs"])).toMatchObject({ code: 0 });
  expect(await shell.runAlone(["status", "nobody"])).toMatchObject({ code: 2 });
});

describe("interlock package check", () => {
  test("accepts the example and finds nothing", async () => {
    const shell = await newShell();
    const outcome = await shell.run([
      "package",
      "check",
      join(ROOT, "examples/create-story/package"),
      "--json",
    ]);
    expect(outcome.code).toBe(0);
    expect(JSON.parse(outcome.stdout)).toEqual({ ok: true, findings: [] });
  });

  test("lists each finding with file, JSON path and sentence", async () => {
    const shell = await newShell();
    await cp(join(ROOT, "examples/create-story/package"), join(shell.dir, "package"), { recursive: true });
    await rm(join(shell.dir, "package/steps/step-06-handover.md"));
    const outcome = await shell.run(["package", "check", "package", "--json"]);
    expect(outcome.code).toBe(1);
    const { findings } = JSON.parse(outcome.stdout) as {
      findings: { file: string; path: string; message: string }[];
    };
    expect(findings).toContainEqual(
      expect.objectContaining({ severity: "error", file: "workflow.graph.json", path: "$.nodes[5].file" }),
    );
  });
});
