import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { isPrintable } from "../../src/core/printable.js";
import { eventually } from "../fakes/eventually.js";
import { MAIN, type Outcome, type Shell, jsonOf, newShell } from "./shell.js";

const HOSTILE = "x\u001b[2J\u001b]8;;https://evil.example\u0007\u202e\u200b\u0085\nRun 1: completed\r\u2028z";
const RUN = "0e4f0f3a-7a3a-4c1e-9a51-2f1f6b2f8f10";
const BROKEN = "1e4f0f3a-7a3a-4c1e-9a51-2f1f6b2f8f10";
const GONE = "2e4f0f3a-7a3a-4c1e-9a51-2f1f6b2f8f10";

/** A store as somebody else may have left it. */
async function storeWith(shell: Shell): Promise<string> {
  const project = join(shell.dir, "store/projects/shelf-000000000000");
  const entry = (runId: string) => ({
    runId,
    projectId: "shelf-000000000000",
    packageId: `p${HOSTILE}`,
    workflowRef: HOSTILE,
    activeAgentId: HOSTILE,
    phase: "failed",
    createdAt: HOSTILE,
    lastUpdatedAt: "x",
  });
  for (const runId of [RUN, BROKEN])
    await mkdir(join(project, "runs", runId, "state/logs"), { recursive: true });
  await writeFile(join(project, "runsIndex.json"), JSON.stringify([RUN, BROKEN, GONE].map(entry)));
  const front = {
    schemaVersion: "1.1",
    workflowType: "w",
    currentNodeId: HOSTILE,
    stepsCompleted: [HOSTILE],
    artifacts: [`../../${HOSTILE}`],
  };
  const lines = Object.entries(front).map(([key, value]) => `${key}: ${JSON.stringify(value)}\n`);
  await writeFile(join(project, "runs", RUN, "state/workflow.md"), `---\n${lines.join("")}---\n`);
  await writeFile(join(project, "runs", BROKEN, "state/workflow.md"), "no front matter\n");
  const status = {
    phase: "failed",
    nodeId: HOSTILE,
    change: 1,
    usage: { modelTurns: 0, toolCalls: 0, promptTokens: 0, completionTokens: 0 },
    fault: { code: "E_INTERNAL", message: HOSTILE },
  };
  await writeFile(join(project, "runs", RUN, "status.json"), JSON.stringify(status));
  return project;
}

function expectPrintable({ stdout, stderr }: Outcome): void {
  expect(`${stdout}${stderr}`.split("\n").filter((line) => !isPrintable(line))).toEqual([]);
}

describe("a hostile text", () => {
  let shell: Shell;
  beforeAll(async () => {
    shell = await newShell();
    await storeWith(shell);
  });

  test("forges no line of runs and status, and no order to the terminal", async () => {
    const runs = await shell.run(["runs"]);
    expectPrintable(runs);
    expect(runs.stdout.trimEnd().split("\n")).toHaveLength(4); // with the header
    const status = await shell.run(["status", RUN]);
    expectPrintable(status);
    expect(status.code).toBe(0);
    expect(status.stdout).toContain(String.raw`\u{1b}[2J`);
    expect(status.stdout.split("\n").filter((line) => line.startsWith("Run "))).toHaveLength(1);
  });

  test("is JSON and printable for programs", async () => {
    const outcome = await shell.run(["status", RUN, "--json"]);
    expectPrintable(outcome);
    expect(jsonOf(outcome)).toMatchObject({ stepsCompleted: [HOSTILE], failure: { message: HOSTILE } });
  });

  test.each([
    ["status", HOSTILE],
    ["package", "check", HOSTILE],
    ["package", "show", HOSTILE],
    ["bundle", "check", HOSTILE],
    ["run", HOSTILE, "--project", "."],
    ["fork", RUN, "--set", HOSTILE, "--from-node", "a"],
    ["state", RUN, "--at", HOSTILE],
    [HOSTILE],
    ["runs", `--${HOSTILE}`],
    ["replay", HOSTILE],
  ])("in an argument is repeated as escapes: %j", async (...args) => {
    const outcome = await shell.run(args);
    expectPrintable(outcome);
    expect(outcome.code).not.toBe(0);
  });
});

describe("a run whose files are missing or broken", () => {
  test("is reported as that by status, audit and export", { tags: "slow" }, async () => {
    const shell = await newShell();
    const project = await storeWith(shell);
    const status = await shell.run(["status", BROKEN]);
    expect(status).toMatchObject({ code: 1 });
    expect(status.stdout).toContain(join(project, "runs", BROKEN, "state/workflow.md"));
    await rm(join(project, "runs", BROKEN, "state/workflow.md"));
    expect((await shell.run(["status", BROKEN])).stdout).toContain("does not exist");
    for (const command of [["status"], ["audit", "verify"], ["export"], ["state"]]) {
      const gone = await shell.run([...command, GONE]);
      expect(gone.code).toBe(1);
      expect(gone.stdout + gone.stderr).toContain("its folder is missing");
    }
  });

  test("a torn index names itself, and the other projects go on", async () => {
    const shell = await newShell();
    await storeWith(shell);
    const torn = join(shell.dir, "store/projects/torn-000000000000");
    await mkdir(join(torn, "runs", GONE), { recursive: true });
    await writeFile(join(torn, "runsIndex.json"), '[{"runId": "');
    const runs = await shell.run(["runs"]);
    expect(runs.code).toBe(1);
    expect(runs.stdout).toContain(RUN);
    expect(runs.stderr).toContain(join(torn, "runsIndex.json"));
    expect((await shell.run(["status", RUN])).code).toBe(0);
    await writeFile(join(shell.dir, "store/projects/shelf-000000000000/runsIndex.json"), "[]");
    const status = await shell.run(["status", GONE]);
    expect(status.code).toBe(1);
    expect(status.stderr).toContain(join(torn, "runsIndex.json"));
  });
});

/** Runs a command with its standard output at a file that is open. */
function runInto(
  shell: Shell,
  args: readonly string[],
  fd: number,
): Promise<{ code: number | null; stderr: string }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [MAIN, ...args], {
      env: shell.environment,
      cwd: shell.dir,
      stdio: ["ignore", fd, "pipe"],
    });
    let stderr = "";
    child.stderr?.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
    child.on("close", (code) => resolve({ code, stderr }));
  });
}

/** The same with a pipe whose reader has gone. */
async function runIntoClosedPipe(
  shell: Shell,
  args: readonly string[],
): Promise<{ code: number; stderr: string }> {
  // The reader is gone before the command begins.
  const command = `mkfifo gate; { read -r _ <gate; "$0" "$@" 2>err; echo $? >code; } | { exec <&-; echo >gate; }`;
  await new Promise((resolve) => {
    spawn("bash", ["-c", command, process.execPath, MAIN, ...args], {
      env: shell.environment,
      cwd: shell.dir,
    }).on("close", resolve);
  });
  return {
    code: Number(await readFile(join(shell.dir, "code"), "utf8")),
    stderr: await readFile(join(shell.dir, "err"), "utf8"),
  };
}

describe.each([[["runs"]], [["status", RUN]], [["--help"]], [["status", RUN, "--json"]]])(
  "the output of %j",
  (args) => {
    test("into a pipe that nobody reads ends quietly, as by SIGPIPE", async () => {
      const shell = await newShell();
      await storeWith(shell);
      expect(await runIntoClosedPipe(shell, args)).toEqual({ code: 141, stderr: "" });
    });

    test.runIf(process.platform === "linux")("onto a full device is one sentence", async () => {
      const shell = await newShell();
      await storeWith(shell);
      const full = openSync("/dev/full", "w");
      const { code, stderr } = await runInto(shell, args, full);
      closeSync(full);
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: "The output could not be written: the device is full.\n",
      });
    });
  },
);

test("a reader that takes its time has all of the output, also where the command is long done", async () => {
  const shell = await newShell();
  const project = join(shell.dir, "store/projects/shelf-000000000000");
  await mkdir(project, { recursive: true });
  const lines = Array.from({ length: 2_000 }, (_, nth) => ({
    runId: `0e4f0f3a-7a3a-4c1e-9a51-${String(nth).padStart(12, "0")}`,
    projectId: "shelf-000000000000",
    packageId: "p",
    workflowRef: "w",
    activeAgentId: "a",
    phase: "completed",
    createdAt: "2026-01-02T03:04:05.000Z",
    lastUpdatedAt: "2026-01-02T03:04:05.000Z",
  }));
  await writeFile(join(project, "runs.jsonl"), lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  const child = spawn(process.execPath, [MAIN, "runs", "--limit", "2000", "--json"], {
    env: shell.environment,
    cwd: shell.dir,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [first] = (await once(child.stdout.pause(), "readable")) as unknown[]; // what a pager shows at first
  expect(first).toBeUndefined();
  await setTimeout(2_000); // by itself it would end after half a second
  const chunks: Buffer[] = [];
  for await (const chunk of child.stdout) chunks.push(chunk as Buffer);
  expect(JSON.parse(Buffer.concat(chunks).toString("utf8"))).toHaveLength(2_000);
  expect(child.exitCode ?? (await once(child, "exit"))[0]).toBe(0);
});

test("a terminal that takes nothing for a while, as after Ctrl-S, does not hold a worker up", async () => {
  const { dir } = await newShell();
  const program = join(dir, "print.mjs");
  const output = JSON.stringify(join(dirname(MAIN), "terminal/output.js"));
  const text = `import { writeFileSync } from "node:fs";
import { print, waitForNoTerminal } from ${output};
waitForNoTerminal();
for (let turn = 0; turn < 100; turn += 1) {
  print("x".repeat(65_536));
  await new Promise(setImmediate);
}
writeFileSync("went-on", "");
setInterval(() => undefined, 1_000);
`;
  await writeFile(program, text);
  const node = process.execPath;
  const args =
    process.platform === "linux"
      ? ["-qfec", `${node} ${program}`, "/dev/null"]
      : ["-q", "/dev/null", node, program];
  const inTerminal: string = "script"; // gives a program a terminal
  const terminal = spawn(inTerminal, args, { cwd: dir, stdio: ["pipe", "pipe", "inherit"] });
  onTestFinished(() => void terminal.kill("SIGKILL"));
  terminal.stdout.pause(); // nobody looks
  await eventually(async () => (await readdir(dir)).includes("went-on"));
  expect(terminal.exitCode).toBeNull(); // it was read by nobody to the end
});
