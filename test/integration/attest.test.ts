import { execFile } from "node:child_process";
import { createHash, generateKeyPairSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { chmod, copyFile, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { signEnvelope, signingKey } from "../../src/attest/dsse.js";
import { PAYLOAD_TYPE, PREDICATE_TYPE, STATEMENT_TYPE } from "../../src/attest/statement.js";
import { call, patch } from "../fakes/scripted-model.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { step } from "../fakes/walk.js";
import { type Bench, openBench, temporaryDirectory, until } from "./harness.js";
import { MAIN, type Outcome, ROOT, Shell, jsonOf, shellOf } from "./shell.js";

const WALK = [
  { calls: [call("fs_write", { path: "@project/artifacts/out.md", content: "# Out\n" })] },
  { content: "Which way?" },
  { calls: [step("ask", "finish")] },
  { calls: [step("ask", "middle")] },
  { calls: [step("middle", "finish")] },
  { calls: [patch({ stepsCompleted: { append: ["finish"] } })] },
];

/** How the page has a statement checked without us. */
const [, BY_HAND = ""] =
  /^## Without Interlock\n[^]*?^```sh\n([^]*?)^```$/m.exec(
    readFileSync(join(ROOT, "docs/attestation.md"), "utf8"),
  ) ?? [];

async function completedRun(bench: Bench): Promise<string> {
  const run = await bench.start(twoNodePackage());
  await until(run, "waiting-user");
  await run.answer({ nodeId: "ask", text: "This way.", by: "ann" });
  await run.result();
  return run.runId;
}

async function newKey(dir: string, name: string) {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const [secret, open] = [join(dir, `${name}.pem`), join(dir, `${name}.pub.pem`)];
  await writeFile(secret, privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600 });
  await writeFile(open, publicKey.export({ type: "spki", format: "pem" }));
  return { secret, open };
}

/** Verifies as somebody who has the file, a key and nothing else: an empty directory, no home, no settings. */
async function verifyElsewhere(file: string, ...args: string[]): Promise<Outcome> {
  const cwd = await temporaryDirectory();
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [MAIN, "attest", "verify", file, ...args],
      { cwd, env: {} },
      (error, stdout, stderr) => resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
    );
  });
}

test(
  "a completed run is attested, by its store and from elsewhere, and verified with nothing but the file and the key",
  { tags: "slow" },
  async () => {
    const bench = await openBench(WALK);
    const runId = await completedRun(bench);
    const key = await newKey(bench.dir, "operator");
    const other = await newKey(bench.dir, "other");
    const file = join(bench.dir, "run.att.json");
    const shell = shellOf(bench);
    await expect(shell.run(["attest", runId, "--key", key.secret, "--output", file])).resolves.toMatchObject({
      code: 0,
    });
    await chmod(key.secret, 0o644);
    const again = await shell.run(["attest", runId, "--key", key.secret, "--output", file]);
    expect([again.code, again.stderr]).toEqual([
      1,
      expect.stringMatching(/^Others may open the key ".*" \(0644\)/),
    ]);

    const verified = await verifyElsewhere(file, "--key", key.open, "--project", bench.projectRoot, "--json");
    expect([verified.code, verified.stderr]).toEqual([0, ""]);
    const { statement } = jsonOf(verified) as { statement: { subject: object[]; predicate: object } };
    const sha256 = expect.stringMatching(/^[0-9a-f]{64}$/);
    expect(statement.subject).toContainEqual({ name: "artifacts/out.md", digest: { sha256 } });
    expect(statement.predicate).toMatchObject({
      run: { runId, phase: "completed", rehearsal: false },
      package: { id: expect.stringMatching(/^two-nodes-1\.0\.0-/), digest: { sha256 } },
      path: [{ nodeId: "ask" }, { nodeId: "middle" }, { nodeId: "finish" }],
      answers: [{ nodeId: "ask", by: "ann", digest: { sha256 } }],
      models: [{ nodeId: "ask" }, { nodeId: "middle" }, { nodeId: "finish" }],
      audit: { knownToTemporal: true },
    });
    expect(JSON.stringify(statement)).not.toContain("This way.");
    const told = await verifyElsewhere(file, "--key", key.open);
    expect(told.stdout).toMatch(/refused +line \d+: ask → finish \(E_INVALID_TRANSITION\)/);
    expect(told.stdout).toContain("path       ask → middle → finish");

    const dir = await temporaryDirectory();
    const there = new Shell(dir, {
      INTERLOCK_STORE: "",
      TEMPORAL_ADDRESS: bench.environment["TEMPORAL_ADDRESS"] ?? "",
      TEMPORAL_CONFIG_FILE: join(dir, "none.toml"),
    });
    const remote = await there.run(["attest", runId, "--key", key.secret]);
    expect(remote.stdout.trim()).toBe(await readFile(file, "utf8"));

    await expect(verifyElsewhere(file, "--key", other.open)).resolves.toMatchObject({
      code: 1,
      stdout: expect.stringContaining("not signed with the key"),
    });
    await expect(verifyElsewhere(file, "--key", key.secret)).resolves.toMatchObject({ code: 2 });
    const both = await shell.run(["attest", runId, "--key", key.secret, "--key", other.secret]);
    const signedByBoth = join(bench.dir, "both.att.json");
    await writeFile(signedByBoth, both.stdout);
    await expect(
      verifyElsewhere(signedByBoth, "--key", key.open, "--key", other.open),
    ).resolves.toMatchObject({
      code: 0,
    });
    await expect(verifyElsewhere(file, "--key", key.open, "--key", other.open)).resolves.toMatchObject({
      code: 1,
    });

    const changed = join(bench.dir, "changed");
    await mkdir(join(changed, "artifacts"), { recursive: true });
    await copyFile(join(bench.projectRoot, "artifacts/out.md"), join(changed, "artifacts/out.md"));
    await expect(verifyElsewhere(file, "--key", key.open, "--project", changed)).resolves.toMatchObject({
      code: 0,
    });
    await writeFile(join(changed, "artifacts/out.md"), "# Out!\n");
    await expect(verifyElsewhere(file, "--key", key.open, "--project", changed)).resolves.toMatchObject({
      code: 1,
      stdout: expect.stringContaining("artifacts/out.md is not what the run has made."),
    });

    // Its store has not heard of it: no worker has taken it up.
    await bench.stopWorker();
    const { workflow, workflowService } = bench.client.temporal;
    const { events } = await workflow.getHandle(`run-${runId}`).fetchHistory();
    const task = events?.find((event) => event.workflowTaskCompletedEventAttributes);
    await workflowService.resetWorkflowExecution({
      namespace: "default",
      workflowExecution: { workflowId: `run-${runId}` },
      workflowTaskFinishEventId: task?.eventId ?? null,
      requestId: runId,
    });
    const goesOn = await shell.run(["attest", runId, "--key", key.secret]);
    expect([goesOn.code, goesOn.stdout]).toEqual([2, ""]);
    expect(goesOn.stderr).toContain("goes on in Temporal: a run is attested when it is over.");
  },
);

test(
  "a bundle run is attested with what it has saved, wherever its session folder lies, and not with what was changed since",
  { tags: "slow" },
  async () => {
    const saved = "request-2026-03-04.md";
    const session = [
      { calls: [call("save_output", { file_path: saved, content: "A draft.\n" })] },
      { content: "Which book?" },
      { calls: [call("save_output", { file_path: saved, content: "A quiet book.\n" })] },
      { content: "Saved.\n\nWORKFLOW COMPLETE" },
    ];
    const bench = await openBench([...session, ...session]);
    const outside = join(bench.dir, "outside");
    const key = await newKey(bench.dir, "operator");
    for (const outputRoot of [undefined, outside]) {
      const run = await bench.startBundle(outputRoot === undefined ? {} : { outputRoot });
      await until(run, "waiting-user");
      await run.answer({ nodeId: "workflow", text: "A quiet one.", by: "ann" });
      await run.result();
      const { dir } = await bench.session(run);
      const place = outputRoot === undefined ? ["--project", bench.projectRoot] : ["--session", dir];
      const file = join(bench.dir, `${run.runId}.json`);
      const attest = () => shellOf(bench).run(["attest", run.runId, "--key", key.secret]);
      const attested = await attest();
      expect(attested).toMatchObject({ code: 0, stderr: "" });
      await writeFile(file, attested.stdout);
      const verified = await verifyElsewhere(file, "--key", key.open, ...place, "--json");
      expect([verified.code, verified.stdout]).toEqual([0, expect.stringContaining('"findings":[]')]);
      const { statement, checked } = jsonOf(verified) as {
        checked: object;
        statement: { subject: { name: string }[]; predicate: object };
      };
      const isInProject = outputRoot === undefined;
      expect(checked).toEqual({ graph: false, project: isInProject, session: !isInProject });
      const told = await verifyElsewhere(file, "--key", key.open, ...place);
      expect(told.stdout).toMatch(/^graph {6}none: it is said to be a bundle run/m);
      const name = outputRoot === undefined ? `artifacts/${run.runId}/${saved}` : `{session-folder}/${saved}`;
      expect(statement.subject.map((each) => each.name)).toEqual([name, "@state/logs/execution.jsonl"]);
      expect(statement.predicate).toMatchObject({
        run: { runId: run.runId, phase: "completed", workflow: "intake" },
        graph: null,
        path: [{ nodeId: "workflow" }],
        decisions: [],
        answers: [{ nodeId: "workflow", by: "ann" }],
        models: [{ nodeId: "workflow", models: ["scripted"], turns: 4 }],
        audit: { knownToTemporal: true },
      });
      expect(JSON.stringify(statement)).not.toContain(bench.dir);

      await writeFile(join(dir, saved), "Another book.\n");
      await writeFile(join(dir, "planted.md"), "By somebody else.\n");
      await expect(verifyElsewhere(file, "--key", key.open, ...place)).resolves.toMatchObject({
        code: 1,
        stdout: expect.stringContaining(`${name} is not what the run has made.`),
      });
      await expect(attest()).resolves.toEqual(attested); // what is signed is what the log says, as before
    }
  },
);

test("what a run lists and has not written is attested as what lay there, and a project's folder is not taken for the store's", async () => {
  const bench = await openBench([
    {
      calls: [
        call("fs_write", { path: "@project/@state/workflow.md", content: "# Mine\n" }),
        patch({ artifacts: { append: ["README.md"] } }),
        step("ask", "middle"),
      ],
    },
    { calls: [step("middle", "finish")] },
    { calls: [patch({ stepsCompleted: { append: ["finish"] } })] },
  ]);
  await writeFile(join(bench.projectRoot, "README.md"), "Somebody's.\n");
  const run = await bench.start(twoNodePackage());
  await run.result();
  const key = await newKey(bench.dir, "operator");
  const file = join(bench.dir, "run.att.json");
  const attest = ["attest", run.runId, "--key", key.secret, "--output", file];
  expect(await shellOf(bench).run(attest)).toMatchObject({ code: 0 });
  const verify = () => verifyElsewhere(file, "--key", key.open, "--project", bench.projectRoot, "--json");
  const { statement } = jsonOf(await verify()) as { statement: { subject: object[] } };
  const digest = { sha256: expect.any(String) as string };
  expect(statement.subject.slice(0, 2)).toEqual([
    { name: "@project/@state/workflow.md", digest },
    { name: "README.md", digest, annotations: { hashed: "when-signed" } },
  ]);
  await copyFile(file, join(bench.projectRoot, "run.att.json"));
  await copyFile(key.open, join(bench.projectRoot, "operator.pub.pem"));
  const byHand = () => promisify(execFile)("bash", ["-ec", BY_HAND], { cwd: bench.projectRoot });
  const ours = "@state/workflow.md: OK\nREADME.md: OK\n";
  await expect(byHand()).resolves.toMatchObject({ stdout: `Signature Verified Successfully\n${ours}` });
  await writeFile(join(bench.projectRoot, "@state/workflow.md"), "# Yours\n");
  await expect(byHand()).rejects.toMatchObject({ stdout: expect.stringContaining("workflow.md: FAILED") });
  await expect(verify()).resolves.toMatchObject({
    code: 1,
    stdout: expect.stringContaining("@project/@state/workflow.md is not what the run has made."),
  });
});

test("a run that Temporal has ended is attested as one that has failed", async () => {
  const bench = await openBench(WALK);
  const key = await newKey(bench.dir, "operator");
  const run = await bench.start(twoNodePackage());
  await until(run, "waiting-user");
  await bench.client.temporal.workflow.getHandle(run.workflowId).terminate("enough");
  const file = join(bench.dir, "run.att.json");
  const attest = ["attest", run.runId, "--key", key.secret, "--output", file];
  expect(await shellOf(bench).run(attest)).toMatchObject({ code: 0 });
  const verified = await verifyElsewhere(file, "--key", key.open, "--project", bench.projectRoot, "--json");
  expect([verified.code, jsonOf(verified)]).toMatchObject([
    0,
    { statement: { predicate: { run: { phase: "failed" }, path: [{ nodeId: "ask" }] } } },
  ]);
});

test("a run that goes on, one that may have been a rehearsal, and one whose audit log was edited, are not attested", async () => {
  const bench = await openBench(WALK);
  const key = await newKey(bench.dir, "operator");
  const run = await bench.start(twoNodePackage());
  await until(run, "waiting-user");
  const shell = shellOf(bench);
  await expect(shell.run(["attest", run.runId, "--key", key.secret])).resolves.toMatchObject({ code: 2 });
  await run.answer({ nodeId: "ask", text: "This way." });
  await run.result();
  const { dir, logFile } = await bench.filesOf(run);
  const request = await readFile(join(dir, "run.json"), "utf8");
  await writeFile(join(dir, "run.json"), request.slice(1));
  await expect(shell.run(["attest", run.runId, "--key", key.secret])).resolves.toMatchObject({
    code: 1,
    stderr: expect.stringContaining("run.json is missing or damaged. Nothing is attested."),
  });
  await writeFile(join(dir, "run.json"), request);
  const document = await readFile(join(dir, "state/workflow.md"), "utf8");
  await rm(join(dir, "state/workflow.md"));
  expect(await shell.run(["attest", run.runId, "--key", key.secret])).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /^The state document cannot be read: .*workflow\.md.* Restore it from a backup\.$/m,
    ),
  });
  await writeFile(join(dir, "state/workflow.md"), document);
  const log = await readFile(logFile, "utf8");
  await writeFile(logFile, log.replace("E_INVALID_TRANSITION", "E_INVALID_FRONTMATTE"));
  await expect(shell.run(["attest", run.runId, "--key", key.secret])).resolves.toMatchObject({
    code: 1,
    stderr: expect.stringContaining("nothing is attested"),
  });
  await writeFile(logFile, log.slice(0, log.lastIndexOf("\n", log.length - 2) + 1));
  await expect(shell.run(["attest", run.runId, "--key", key.secret])).resolves.toMatchObject({ code: 1 });
});

test("more artifacts than a process may open files are verified", async () => {
  const dir = await temporaryDirectory();
  const { secret, open } = await newKey(dir, "operator");
  const names = Array.from({ length: 400 }, (_, index) => `${index}.md`);
  await mkdir(join(dir, "project"));
  for (const name of names) await writeFile(join(dir, "project", name), "");
  const digest = { sha256: createHash("sha256").digest("hex") };
  const statement = {
    _type: STATEMENT_TYPE,
    subject: names.map((name) => ({ name, digest })),
    predicateType: PREDICATE_TYPE,
    predicate: {
      run: { runId: "r", phase: "failed", createdAt: "2026-01-01", workflow: "w", rehearsal: false },
      interlock: { version: "1.0.0" },
      package: { id: "p" },
      graph: null,
      path: [],
      decisions: [],
      answers: [],
      models: [],
      audit: { lines: 1, ...digest, knownToTemporal: false },
    },
  };
  const file = join(dir, "statement.json");
  const signed = signEnvelope(PAYLOAD_TYPE, Buffer.from(JSON.stringify(statement)), [
    signingKey(await readFile(secret, "utf8")),
  ]);
  await writeFile(file, JSON.stringify(signed));
  const verify = [MAIN, "attest", "verify", file, "--key", open, "--project", join(dir, "project")];
  const { stdout } = await promisify(execFile)("/bin/sh", [
    "-c",
    'ulimit -n 150; exec "$0" "$@"',
    process.execPath,
    ...verify,
  ]);
  expect(stdout).toMatch(/^Verified:/m);
});
