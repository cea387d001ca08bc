import { execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { chmod, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { Connection } from "@temporalio/client";
import { expect, inject, test } from "vitest";
import type { Finding } from "../../src/doctor/finding.js";
import { eventually } from "../fakes/eventually.js";
import { unprivileged } from "../fakes/unprivileged.js";
import { begin } from "./begin-command.js";
import { openBench } from "./harness.js";
import { MAIN, type Outcome, type Shell, jsonOf, newShell, shellOf, withModel } from "./shell.js";

const findingsOf = (outcome: Outcome) => jsonOf(outcome) as readonly Finding[];
const named = (findings: readonly Finding[], name: string): Finding => {
  const finding = findings.find((other) => other.name === name);
  if (finding === undefined) throw new Error(`no finding ${name}`);
  return finding;
};
const look = async (shell: Shell, variables: Record<string, string>) => {
  const outcome = await shell.with({ ...shell.environment, ...variables }).runAlone(["doctor", "--json"]);
  return { code: outcome.code, findings: findingsOf(outcome), stderr: outcome.stderr };
};

/** An address of this machine at which nobody listens, or where somebody does who never says a word. */
async function listening(): Promise<{ address: string; close: () => Promise<void> }> {
  const server = createServer((socket) => socket.on("error", () => undefined).resume());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { address, close: () => new Promise((resolve) => server.close(() => resolve())) };
}

test("interlock doctor against a server with a worker: version, namespace, attributes and who polls", async () => {
  const bench = await openBench(() => ({ content: "" }));
  const { code, findings } = await look(shellOf(bench), { TEMPORAL_ADDRESS: inject("temporalAddress") });
  expect(named(findings, "temporal")).toMatchObject({ status: "ok" });
  expect(named(findings, "temporal").found).toMatch(/^127\.0\.0\.1:\d+ \(version \d+\.\d+\.\d+/);
  expect(named(findings, "namespace")).toMatchObject({ status: "ok", found: "default" });
  expect(named(findings, "retention").found).toMatch(/^\d+ days? after a run is over/);
  expect(named(findings, "search attributes")).toMatchObject({ status: "ok", found: "all 6" });
  expect(named(findings, "workers").found).toContain(`${process.pid}@`);
  expect(named(findings, "workers").found).toContain(bench.store.taskQueue);
  expect(code).toBe(findings.some(({ status }) => status === "failed") ? 1 : 0);
});

test(
  "a queue that two stores share is named by the worker that comes second, and by doctor",
  { tags: "slow" },
  async () => {
    const bench = await openBench(() => ({ content: "" }));
    const { storeId, taskQueue } = bench.store;
    await eventually(async () => (await bench.client.stores()).some((store) => store.storeId === storeId));
    const shell = await newShell();
    const there = { TEMPORAL_ADDRESS: inject("temporalAddress"), INTERLOCK_TASK_QUEUE: taskQueue };
    const shared = `The task queue "${taskQueue}" has workers of another store as well, `;
    const { said } = begin(shell.with({ ...shell.environment, ...there }), ["worker"]);
    await eventually(() => said.notes.includes(shared) && said.notes.includes(storeId));
    const { findings } = await look(shell, there);
    expect(named(findings, "workers")).toMatchObject({ status: "warning" });
    expect(named(findings, "workers").found).toContain(shared);
    expect(named(findings, "workers").remedy).toContain("A queue for each store");
  },
);

test("interlock doctor names a namespace that is not there, and says how to make it", async () => {
  const { code, findings } = await look(await newShell(), {
    TEMPORAL_ADDRESS: inject("temporalAddress"),
    TEMPORAL_NAMESPACE: "nowhere",
  });
  expect(code).toBe(1);
  expect(named(findings, "temporal")).toMatchObject({ status: "ok" });
  expect(named(findings, "namespace")).toMatchObject({ status: "failed", found: "nowhere does not exist" });
  expect(named(findings, "namespace").remedy).toContain("temporal operator namespace create");
});

test("interlock doctor names the search attributes that a namespace lacks, and its short retention", async () => {
  const address = inject("temporalAddress");
  const namespace = `doctor-${randomUUID()}`;
  const connection = await Connection.connect({ address });
  try {
    const workflowExecutionRetentionPeriod = { seconds: 2 * 86_400 } as never; // a Long, of which it takes numbers
    await connection.workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod });
  } finally {
    await connection.close();
  }
  const shell = await newShell();
  let findings: readonly Finding[] = [];
  await eventually(async () => {
    ({ findings } = await look(shell, { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace }));
    return named(findings, "namespace").status === "ok"; // a new one is known a little later
  });
  const attributes = named(findings, "search attributes");
  const found = expect.stringContaining("RunPhase, RunNode") as string;
  expect(attributes).toMatchObject({ status: "warning", found });
  expect(attributes.remedy).toContain(`--namespace ${namespace} --name RunPhase --type Keyword`);
  expect(named(findings, "retention")).toMatchObject({ status: "warning" });
  expect(named(findings, "retention").found).toContain("2 days");
  expect(named(findings, "workers")).toMatchObject({ status: "warning", remedy: "interlock worker" });

  // Of other commands the worker alone says so: whoever lists runs or answers a question can do nothing about it.
  const environment = { ...shell.environment, TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace };
  expect(await shell.with(environment).run(["inbox"])).toMatchObject({ code: 0, stderr: "" });
  const worker = spawn(process.execPath, [MAIN, "worker"], { env: environment, cwd: shell.dir });
  let notes = "";
  worker.stderr.on("data", (chunk: Buffer) => (notes += chunk.toString("utf8")));
  const closed = once(worker, "close");
  try {
    await eventually(() => notes.includes("interlock doctor"));
    expect(notes).toContain(`The namespace ${namespace} lacks search attributes (RunPhase, RunNode`);
    worker.kill("SIGINT");
    expect(await closed).toEqual([0, null]);
  } finally {
    worker.kill("SIGKILL");
  }
});

test(
  "interlock doctor says where nobody listens, where nobody answers, and what is no Temporal",
  { tags: "slow" },
  async () => {
    const closed = await listening();
    await closed.close();
    const silent = await listening();
    try {
      const shell = await newShell();
      const [refused, hanging] = await Promise.all([
        look(shell, {
          TEMPORAL_ADDRESS: closed.address,
          OPENAI_BASE_URL: `http://${closed.address}/v1`,
          INTERLOCK_MODEL: "m",
        }),
        look(shell, { TEMPORAL_ADDRESS: silent.address }),
      ]);
      expect([refused.code, hanging.code]).toEqual([1, 1]);
      expect(named(refused.findings, "temporal")).toMatchObject({
        status: "failed",
        found: `${closed.address}: connect ECONNREFUSED ${closed.address}`,
      });
      expect(named(refused.findings, "temporal").remedy).toContain("TEMPORAL_ADDRESS");
      expect(named(refused.findings, "model m (default): reachable")).toMatchObject({
        status: "failed",
        found: `http://${closed.address}/v1: ECONNREFUSED`,
      });
      expect(named(hanging.findings, "temporal")).toMatchObject({ status: "failed" });
      expect(named(hanging.findings, "temporal").found).toContain(`${silent.address}: no answer within`);
      expect(await readdir(shell.dir)).toEqual(["project"]);
    } finally {
      await silent.close();
    }
  },
);

test("interlock doctor starts no embedded server, makes no store, and shows a table", async () => {
  const shell = await newShell();
  const { code, stdout } = await shell.run(["doctor"]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^ok +temporal +embedded; none runs now/m);
  expect(stdout).toMatch(/^ok +store +.*is not there yet/m);
  expect(stdout).toMatch(/^warning +model \(default\) .*\n +→ Set INTERLOCK_MODEL/m);
  expect(await readdir(shell.dir)).toEqual(["project"]);
});

test("interlock doctor looks at what there is where the settings are broken, and names the place", async () => {
  const shell = await newShell();
  await mkdir(join(shell.dir, "store"), { mode: 0o700 });
  await writeFile(join(shell.dir, "store", "settings.json"), '{"agents":{"writer":{"temprature":1}}}');
  const { code, findings } = await look(shell, {});
  expect(code).toBe(1);
  expect(named(findings, "settings")).toMatchObject({ status: "failed" });
  expect(named(findings, "settings").found).toContain("agents.writer");
  expect(named(findings, "store")).toMatchObject({ status: "ok" });
  expect(named(findings, "models")).toMatchObject({ status: "skipped" });
});

test("interlock doctor --no-models asks no model; without it, no key is shown and nothing forged", async () => {
  await withModel(
    () => ({ content: "in prose\u001B[2K\nok  forged" }),
    async (model, variables) => {
      const key = "sk-of-nobody-0123456789";
      const base = await newShell();
      const shell = base.with({ ...base.environment, ...variables, OPENAI_API_KEY: key });
      const quiet = await shell.run(["doctor", "--no-models"]);
      expect([quiet.code, model.requests.length]).toEqual([0, 0]);
      const { code, stdout, stderr } = await shell.run(["doctor"]);
      expect(code).toBe(1);
      expect(stdout).toMatch(
        /^failed +model scripted \(default\): calls a tool +no: it answered with text: in prose/m,
      );
      expect(stdout).not.toContain("\u001B");
      expect(stdout).not.toMatch(/^ok {2}forged/m);
      expect(stdout + stderr).not.toContain(key);
    },
  );
});

test("interlock doctor says what the user it runs as may not write to", async () => {
  const shell = await newShell();
  const root = join(shell.dir, "project");
  const env = { ...shell.environment, INTERLOCK_PROJECT_ROOTS: root, INTERLOCK_STORE: join(root, "store") };
  const { uid } = unprivileged(shell.dir);
  const who = `user ${uid ?? process.getuid?.()}`;
  await chmod(root, 0o500);
  const stdout = await new Promise<string>((resolve) => {
    const args = [MAIN, "doctor", "--json"];
    execFile(process.execPath, args, { env, cwd: "/", ...(uid === undefined ? {} : { uid }) }, (_, said) =>
      resolve(said),
    );
  });
  await chmod(root, 0o700);
  await rm(root, { recursive: true });
  const findings = JSON.parse(stdout) as readonly Finding[];
  expect(named(findings, "store")).toMatchObject({ status: "failed" });
  expect(named(findings, "store").found).toContain(`${root} is closed to ${who}`);
  expect(named(findings, "root")).toMatchObject({ status: "failed" });
  expect(named(findings, "root").found).toContain(
    `cannot be read and written by ${who}, as whom this runs (EACCES)`,
  );
});
