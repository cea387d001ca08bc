import { mkdir, readFile, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { sha256 } from "../../src/store/disk/sha256.js";
import { temporaryDirectory } from "../fakes/package-fixture.js";
import { gatePackage } from "../fakes/gate-package.js";
import { type Script, call, patch } from "../fakes/scripted-model.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { intentOf, nodeOf, step, straightOn, wordsIn } from "../fakes/walk.js";
import { type Bench, finishedRun, openBench, until, untilAsked } from "./harness.js";
import { jsonOf, shellOf } from "./shell.js";

const write = (path: string, content: string) => call("fs_write", { path: `@project/${path}`, content });

/** `ask` writes out.md, `middle` rewrites it and writes two.md. */
const writing: Script = (request) => {
  const straight = straightOn(request);
  const calls = "calls" in straight ? (straight.calls ?? []) : [];
  const hasWritten = request.messages.some(({ role }) => role === "tool");
  if (hasWritten || nodeOf(request) === "finish") return straight;
  if (nodeOf(request) === "ask") return { calls: [write("artifacts/out.md", "first\n"), ...calls] };
  return { calls: [write("artifacts/out.md", "second\n"), write("artifacts/two.md", "two\n"), ...calls] };
};

async function newProject(bench: Bench, files: Record<string, string> = {}): Promise<string> {
  const dir = join(dirname(bench.projectRoot), "elsewhere");
  await mkdir(join(dir, "artifacts"), { recursive: true });
  for (const [path, content] of Object.entries(files)) await writeFile(join(dir, path), content);
  return dir;
}

describe("a fork in another project that cannot have a file of its source", () => {
  async function withoutContent() {
    const bench = await openBench(writing);
    const run = await finishedRun(bench);
    const elsewhere = await newProject(bench);
    await rm(join((await bench.filesOf(run)).dir, "blobs", sha256(Buffer.from("first\n"))));
    return { bench, run, elsewhere };
  }

  test("is refused before anything is made, and the file is named", async () => {
    const { bench, run, elsewhere } = await withoutContent();
    const shell = shellOf(bench);
    const fork = ["fork", run.runId, "--from-node", "middle", "--project", elsewhere];
    const refused = await shell.run(fork);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain("artifacts/out.md");
    expect(refused.stderr).toContain("--allow-missing");
    const started = await bench.client.fork(run.runId, { fromNode: "middle", projectRoot: elsewhere });
    await expect(started.result()).rejects.toMatchObject({
      code: "E_PRECONDITION_FAILED",
      message: expect.stringContaining("artifacts/out.md") as string,
    });
    expect((await bench.store.runs.listAllRuns()).map(({ runId }) => runId)).toEqual([run.runId]);
    expect(await readdir(join(elsewhere, "artifacts"))).toEqual([]);
  });

  test("begins without it where that is allowed", async () => {
    const { bench, run, elsewhere } = await withoutContent();
    const fork = ["fork", run.runId, "--from-node", "middle", "--project", elsewhere, "--allow-missing"];
    const outcome = await shellOf(bench).run([...fork, "--json"]);
    expect(outcome.code).toBe(0);
    expect(outcome.stderr).toContain("artifacts/out.md is missing, and its content is no longer kept.");
    expect((await readdir(join(elsewhere, "artifacts"))).toSorted()).toEqual(["out.md", "two.md"]);
  });

  test("whose place is taken by something else is failed, and says so in the store as well", async () => {
    const bench = await openBench(writing);
    const run = await finishedRun(bench);
    const elsewhere = await newProject(bench);
    await rm(join(elsewhere, "artifacts"), { recursive: true });
    await symlink("nowhere", join(elsewhere, "artifacts"));
    const started = await bench.client.fork(run.runId, { fromNode: "middle", projectRoot: elsewhere });
    await expect(started.result()).rejects.toMatchObject({ code: expect.stringMatching(/^E_P/) as string });
    const runs = await bench.store.runs.listAllRuns();
    expect(runs.filter(({ phase }) => phase === "running")).toEqual([]);
  });
});

describe("fork", () => {
  test("in place: the document of the boundary with variables set; says which files differ and leaves them", async () => {
    const bench = await openBench(writing);
    const run = await finishedRun(bench);
    const before = bench.model.requests.length;
    const outcome = await shellOf(bench).run([
      "fork",
      run.runId,
      "--from-node",
      "middle",
      "--detach",
      "--json",
      "--set",
      "colour=blue",
      "--set",
      'sizes={"a":[1,2]}',
      "--set",
      "note=a=b",
    ]);
    expect(outcome.stderr).toContain("artifacts/out.md differs from what it was then; it stays as it is.");
    const { runId, forkedFrom } = jsonOf(outcome) as { runId: string; forkedFrom: unknown };
    expect(forkedFrom).toEqual({
      runId: run.runId,
      visit: 1,
      nodeId: "middle",
      files: [{ path: "artifacts/out.md", sha256: sha256("first\n"), status: "differs" }],
    });
    const fork = bench.client.handle(runId);
    await expect(fork.result()).resolves.toMatchObject({ stepsCompleted: ["ask", "middle", "finish"] });
    const { frontmatter, body } = await bench.document(fork);
    expect(frontmatter).toMatchObject({
      runId,
      artifacts: ["artifacts/out.md"], // two.md was there already: rewriting a file records nothing
      variables: { colour: "blue", sizes: { a: [1, 2] }, note: "a=b" },
    });
    expect(body).toBe("Body, kept.\r\nNo newline at the end");
    const [first] = bench.model.requests.slice(before);
    if (first === undefined) throw new Error("The fork has asked nothing.");
    expect([nodeOf(first), intentOf(first), wordsIn(first)]).toEqual(["middle", "resume", []]);
    expect((await bench.store.runs.findRun(runId)).ok).toBe(true);
    expect((await bench.document(run)).frontmatter).toMatchObject({ runId: run.runId, variables: {} });
  });

  test("into another directory: files are restored as they were; what is there and differs stays", async () => {
    const bench = await openBench(writing);
    const run = await finishedRun(bench);
    const blobs = await readdir(join((await bench.filesOf(run)).dir, "blobs"));
    expect(blobs.sort()).toEqual([sha256("first\n"), sha256("second\n"), sha256("two\n")].sort());

    const empty = await newProject(bench);
    const fork = await bench.client.fork(run.runId, { visit: 2, projectRoot: empty });
    await fork.result();
    expect(await readFile(join(empty, "artifacts/out.md"), "utf8")).toBe("second\n");
    expect(await readFile(join(empty, "artifacts/two.md"), "utf8")).toBe("two\n");
    await rm(empty, { recursive: true });

    const mine = await newProject(bench, { "artifacts/out.md": "mine\n" });
    const outcome = await shellOf(bench).run([
      "fork",
      run.runId,
      "--at-visit",
      "2",
      "--project",
      mine,
      "--json",
    ]);
    expect(outcome.stderr).toContain("artifacts/two.md is restored as it was.");
    expect(jsonOf(outcome)).toMatchObject({
      phase: "completed",
      forkedFrom: { files: [{ status: "differs" }, { path: "artifacts/two.md", status: "missing" }] },
    });
    expect(await readFile(join(mine, "artifacts/out.md"), "utf8")).toBe("mine\n");
    expect(await readFile(join(mine, "artifacts/two.md"), "utf8")).toBe("two\n");
  });

  test("into another directory: a file that the operator's settings have opened is restored as well", async () => {
    const opened = ".vscode/tasks.json";
    const settings = join(await temporaryDirectory(), "settings.json");
    await writeFile(settings, JSON.stringify({ protectedPaths: { alsoAllowed: [opened] } }));
    const script: Script = (request) => {
      const straight = straightOn(request);
      const isFirst = nodeOf(request) === "ask" && !request.messages.some(({ role }) => role === "tool");
      const calls = "calls" in straight ? (straight.calls ?? []) : [];
      return isFirst ? { calls: [write(opened, "{}\n"), ...calls] } : straight;
    };
    const bench = await openBench(script, { INTERLOCK_SETTINGS: settings });
    const run = await finishedRun(bench);
    const empty = await newProject(bench);
    await (await bench.client.fork(run.runId, { visit: 2, projectRoot: empty })).result();
    expect(await readFile(join(empty, opened), "utf8")).toBe("{}\n");
  });

  test("from the beginning: the first words are said to the new run as well", async () => {
    const bench = await openBench(straightOn);
    const run = await finishedRun(bench);
    const fork = await bench.client.fork(run.runId, { visit: 0, projectRoot: await newProject(bench) });
    await fork.result();
    const again = bench.model.requests[3];
    expect([intentOf(again), wordsIn(again)]).toEqual(["start", ["Paint it."]]);
  });

  test("while the source goes on: the fork is of the moment that was chosen", async () => {
    let questions = 0;
    const bench = await openBench((request) => {
      if (nodeOf(request) !== "middle" || questions > 0) return straightOn(request);
      questions += 1;
      return { content: "Which way?" };
    });
    const run = await bench.start(twoNodePackage());
    await until(run, "waiting-user");
    const fork = await bench.client.fork(run.runId, { fromNode: "middle", set: { way: "left" } });
    await fork.result();
    expect(await run.state()).toMatchObject({ phase: "waiting-user", variables: {} });
    await run.answer({ nodeId: "middle", text: "Right." });
    await run.result();
    expect((await bench.document(fork)).frontmatter).toMatchObject({ variables: { way: "left" } });
  });

  test("a story begins with the graph state of that boundary", async () => {
    const bench = await openBench([
      { calls: [write("artifacts/story.md", "A story.\n"), step("build", "qa")] },
      { calls: [call("state_record", { gateDecisions: { qaGate: "FAIL" } }), step("qa", "build")] },
      { calls: [step("build", "qa")] },
      { calls: [call("state_record", { gateDecisions: { qaGate: "PASS" } }), step("qa", "finish")] },
      { calls: [patch({ stepsCompleted: { append: ["finish"] } })] },
      { content: "And now?" },
    ]);
    const run = await bench.start(gatePackage(), { storyId: "wrkf-7", evaluateConditions: true });
    await run.result();
    const fork = await bench.client.fork(run.runId, { visit: 2 });
    await until(fork, "waiting-user");
    expect(await fork.graphState()).toMatchObject({
      storyId: "wrkf-7",
      gateDecisions: { qaGate: "FAIL" },
      artifactPaths: { storyDoc: "artifacts/story.md" },
    });
    const begun = await (await bench.filesOf(fork)).graphState.current();
    expect(begun?.initial).toMatchObject({ gateDecisions: { qaGate: "FAIL" } });
    await fork.cancel();
  });

  test("a fork that failed goes on by a retry, even when its source is gone", async () => {
    let refuses = false;
    const bench = await openBench((request) => (refuses ? { status: 401 } : writing(request, 0)));
    const run = await finishedRun(bench);
    refuses = true;
    const empty = await newProject(bench);
    const fork = await bench.client.fork(run.runId, { fromNode: "middle", projectRoot: empty });
    await expect(fork.result()).rejects.toMatchObject({ code: "LLM_AUTH_FAILED" });
    refuses = false;
    await rm((await bench.filesOf(run)).dir, { recursive: true });
    const retried = await bench.client.retry(fork.runId);
    await expect(retried.result()).resolves.toMatchObject({ phase: "completed" });
    expect(await readFile(join(empty, "artifacts/two.md"), "utf8")).toBe("two\n");
    // A fork can be forked: what it was given is in its project, and what it wrote is kept beside it.
    await expect((await bench.client.fork(fork.runId, { visit: 0 })).result()).resolves.toMatchObject({
      phase: "completed",
    });
  });

  test("has the lists of its source whole, also what was moved out of the document; a model cannot change where that lies", async () => {
    const all = Array.from({ length: 400 }, (_, index) => `artifacts/part-${index + 1}.md`);
    const bench = await openBench((request) => {
      const straight = straightOn(request);
      const calls = "calls" in straight ? (straight.calls ?? []) : [];
      if (nodeOf(request) === "ask") return { calls: [patch({ artifacts: { append: all } }), ...calls] };
      const isFirst = !request.messages.some(({ role }) => role === "tool");
      if (nodeOf(request) === "finish" || !isFirst) return straight;
      const content =
        '---\nschemaVersion: "1.1"\nworkflowType: w\ncurrentNodeId: middle\nstepsCompleted: [ask]\n---\n';
      return { calls: [call("fs_write", { path: "@state/workflow.md", content })] };
    });
    const run = await finishedRun(bench);
    const result = await run.result();
    const { frontmatter } = await bench.document(run);
    expect(frontmatter["artifacts"]).toEqual(result.artifacts);
    expect(result.artifacts).toEqual(all.slice(result.earlierArtifacts));
    expect(result.artifacts.length).toBeLessThan(200);
    const refusal = bench.model.requests
      .flatMap(({ messages }) => messages)
      .find(({ role, content }) => role === "tool" && content?.includes("earlierEntries"));
    expect(refusal?.content).toContain("E_SCHEMA_VALIDATION");

    const shell = shellOf(bench);
    const [status, forked] = await Promise.all([
      shell.run(["status", run.runId, "--json"]),
      shell.run(["fork", run.runId, "--from-node", "finish", "--json"]),
    ]);
    expect(jsonOf(status)).toMatchObject({ artifacts: all });
    const fork = jsonOf(forked) as { runId: string; artifacts: unknown };
    expect(fork.artifacts).toEqual(all);
    const files = await bench.filesOf(bench.client.handle(fork.runId));
    const kept = (await readdir(join(files.stateDir, "logs"))).filter((name) => name.startsWith("artifacts"));
    expect(kept).toEqual([
      (frontmatter["earlierEntries"] as { artifacts: { file: string } }).artifacts.file.split("/").at(-1),
    ]);
    const listed = await bench.client.handle(fork.runId).artifacts();
    expect(listed.map(({ path }) => path)).toEqual(all);
  });

  test("what never was is named with what was; nothing is made", async () => {
    const bench = await openBench(straightOn);
    const run = await finishedRun(bench);
    const shell = shellOf(bench);
    const [unknown, never, nowhere, both] = await Promise.all([
      shell.run(["fork", run.runId, "--from-node", "elsewhere"]),
      shell.run(["fork", run.runId, "--at-visit", "9"]),
      shell.run(["fork", run.runId, "--from-node", "middle", "--project", "missing"]),
      shell.run(["fork", run.runId]),
    ]);
    expect(unknown.stderr).toContain(
      'The run was never at "elsewhere". It entered: ask, middle, finish (visits 0 to 3).',
    );
    expect(never.stderr).toContain("The run was never at visit 9.");
    expect(nowhere.stderr).toContain("E_PROJECT_INVALID");
    expect(both.stderr).toContain("--from-node <id>, or --at-visit <n>");
    expect([unknown, never, nowhere, both].map(({ code }) => code)).toEqual([2, 2, 2, 2]);
    expect(await bench.store.runs.listAllRuns()).toHaveLength(1);

    const fork = await bench.client.fork(run.runId, { fromNode: "elsewhere" });
    await expect(fork.result()).rejects.toMatchObject({ code: "E_PRECONDITION_FAILED" });
    expect(await bench.store.runs.listAllRuns()).toHaveLength(1);
    await expect(
      bench.client.fork(run.runId, { fromNode: "ask", set: { text: "x".repeat(200_000) } }),
    ).rejects.toMatchObject({ code: "E_WRITE_LIMIT" });
  });

  test("a bundle run has no boundaries to fork from", async () => {
    const bench = await openBench([{ content: "Hello. What shall I do?" }]);
    const bundleRoot = join(dirname(bench.projectRoot), "bundle");
    await mkdir(join(bundleRoot, "flow"), { recursive: true });
    await writeFile(join(bundleRoot, "flow/workflow.yaml"), "name: flow\ninstructions: instructions.md\n");
    await writeFile(join(bundleRoot, "flow/instructions.md"), "# Do it\n");
    const { projectRoot } = bench;
    const workflowPath = "flow/workflow.yaml";
    const run = await bench.client.startBundle({ projectRoot, bundleRoot, workflowPath });
    await untilAsked(bench, run);
    await expect(bench.client.fork(run.runId, { visit: 0 })).rejects.toMatchObject({
      code: "E_PRECONDITION_FAILED",
      message: expect.stringContaining("bundle run") as string,
    });
    const outcome = await shellOf(bench).run(["fork", run.runId, "--at-visit", "0"]);
    expect(outcome.code).toBe(2);
    expect(outcome.stderr).toContain("only graph runs can be forked");
    const status = await shellOf(bench, { TEMPORAL_ADDRESS: "" }).run(["status", run.runId, "--json"]);
    expect(jsonOf(status)).toMatchObject({ runId: run.runId, phase: "waiting-user" });
    await run.cancel();
  });
});
