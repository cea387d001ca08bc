import { mkdir, readFile, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { type Result, fail } from "../../src/core/errors.js";
import { eventually } from "../fakes/eventually.js";
import { WRITES_AND_ASKS_TWICE } from "../fakes/asking-twice.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { type Bench, askedRun, copyRoom, newNamespace, openBench, until } from "./harness.js";
import { Shell, jsonOf, newShell, shellOf, strangerShell } from "./shell.js";
import { zipPackage } from "../fakes/package-fixture.js";

test(
  "every command about a run works from a machine that has nothing but the address, and says what it says at hand",
  { tags: "slow" },
  async () => {
    const bench = await openBench(WRITES_AND_ASKS_TWICE);
    const run = await askedRun(bench);
    const { runId } = run;
    const there = await strangerShell(bench);
    const here = shellOf(bench);
    for (const args of [
      ["status", runId, "--json"],
      ["status", `run-${runId}`, "--json"],
      ["status", runId],
      ["transcript", runId],
      ["transcript", runId, "--json", "--results"],
      ["transcript", runId, "--node", "ask", "--results"],
      ["artifacts", runId],
      ["artifacts", runId, "--json"],
      ["artifacts", runId, "small.md"],
      ["audit", "verify", runId, "--json"],
      ["replay", runId, "--json"],
    ]) {
      const [one, other] = await Promise.all([here.run(args), there.run(args)]);
      expect([args, other.code, other.stdout, other.stderr]).toEqual([
        args,
        one.code,
        one.stdout,
        one.stderr,
      ]);
      expect([args, one.code]).toEqual([args, 0]);
    }
    const [titles = "", ...listed] = (await there.run(["artifacts", runId])).stdout.trimEnd().split("\n");
    expect(titles).toMatch(/^SHA-256 +BYTES +NODE +ARTIFACT$/);
    const column = titles.indexOf("ARTIFACT");
    expect(listed.map((line) => line.slice(column))).toContain("artifacts/small.md");
    const transcript = (await there.run(["transcript", runId])).stdout;
    expect(transcript).toContain("> I write it down.");
    expect(transcript).toContain("- `fs_write` `@project/artifacts/small.md`: `ok`");
    expect(transcript).toContain("- `fs_read` `@project/none.md`: `ENOENT`");
    await expect(there.run(["transcript", runId, "--node", "nowhere"])).resolves.toMatchObject({ code: 2 });

    // Temporal itself hands the fields of a history out in another order each time: what the store says is compared in store-reads.
    const exported = async (shell: Shell) => {
      const output = join(there.dir, "run.zip");
      return jsonOf(await shell.run(["export", runId, "--output", output, "--json"]));
    };
    const atHand = await exported(here);
    expect(await exported(there)).toEqual(atHand);
    await expect(readFile(join(there.dir, "run.zip"))).resolves.not.toHaveLength(0);

    await expect(there.run(["pause", runId])).resolves.toMatchObject({ code: 0 });
    await expect(there.run(["resume", runId])).resolves.toMatchObject({ code: 0 });
    await expect(there.run(["answer", runId, "This way."])).resolves.toMatchObject({ code: 0 });
    await until(run, "waiting-user");
    expect((await there.run(["transcript", runId])).stdout).toContain("> This way.");
    await expect(there.run(["fork", runId, "--at-visit", "0", "--detach"])).resolves.toMatchObject({
      code: 0,
    });
    await expect(there.run(["cancel", runId])).resolves.toMatchObject({ code: 0 });
    await expect(there.run(["retry", runId, "--detach", "--json"])).resolves.toMatchObject({ code: 0 });
    await expect(readdir(there.home)).resolves.toEqual([]);
  },
);

test(
  "artifacts are saved below the directory that was named, over nothing, and through no link",
  { tags: "slow" },
  async () => {
    const bench = await openBench(WRITES_AND_ASKS_TWICE);
    const { runId } = await askedRun(bench);
    const there = await strangerShell(bench);
    const dir = join(there.dir, "out");
    await expect(there.run(["artifacts", runId, "--save", dir])).resolves.toMatchObject({ code: 0 });
    await expect(readFile(join(dir, "artifacts/small.md"), "utf8")).resolves.toBe("# Small\n");
    await writeFile(join(dir, "artifacts/small.md"), "mine");
    await expect(there.run(["artifacts", runId, "--save", dir])).resolves.toMatchObject({ code: 1 });
    await expect(readFile(join(dir, "artifacts/small.md"), "utf8")).resolves.toBe("mine");
    await expect(there.run(["artifacts", runId, "--save", dir, "--force"])).resolves.toMatchObject({
      code: 0,
    });
    await expect(readFile(join(dir, "artifacts/small.md"), "utf8")).resolves.toBe("# Small\n");
    const trap = join(there.dir, "trap");
    await mkdir(trap);
    await mkdir(join(there.dir, "linked"));
    await symlink(trap, join(there.dir, "linked/artifacts"));
    const said = await there.run(["artifacts", runId, "--save", join(there.dir, "linked"), "--force"]);
    expect(said.code).toBe(1);
    await expect(readdir(trap)).resolves.toEqual([]);
    const small = { path: "artifacts/small.md", bytes: 8 };
    expect(jsonOf(await there.run(["artifacts", runId, "small.md", "--json"]))).toMatchObject(small);
    await rm(join(bench.projectRoot, "artifacts/small.md"));
    const left = await there.run(["artifacts", runId, "--save", dir, "--force", "--json"]);
    expect([left.code, jsonOf(left)]).toMatchObject([
      1,
      { notSaved: [{ path: "artifacts/small.md", problem: expect.any(String) as string }] },
    ]);
    await writeFile(join(bench.projectRoot, "artifacts/small.md"), "# Small\n");
    const unusable = join(there.dir, "taken");
    await writeFile(unusable, "");
    for (const place of [unusable, join(unusable, "below")]) {
      const refused = await there.run(["artifacts", runId, "--save", place]);
      expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("could not be written")]);
    }
    const file = join(there.dir, "one.md");
    await expect(there.run(["artifacts", runId, "small.md", "--output", file])).resolves.toMatchObject({
      code: 0,
    });
    await expect(readFile(file, "utf8")).resolves.toBe("# Small\n");
    await expect(there.run(["artifacts", runId, "../../etc/passwd"])).resolves.toMatchObject({ code: 2 });
  },
);

test(
  "what is wrong with a run's document is said from elsewhere as at hand, and its conversation beside it",
  { tags: "slow" },
  async () => {
    const bench = await openBench(WRITES_AND_ASKS_TWICE);
    const run = await askedRun(bench);
    await writeFile(join((await bench.filesOf(run)).stateDir, "workflow.md"), "no document");
    const [here, there] = [shellOf(bench), await strangerShell(bench)];
    for (const command of ["status", "transcript"]) {
      const [one, other] = await Promise.all([here, there].map((shell) => shell.run([command, run.runId])));
      expect([command, other]).toEqual([command, one]);
      expect(`${one?.stdout}${one?.stderr}`).toContain("workflow.md cannot be used");
    }
    await run.cancel();
  },
);

test(
  "packages are listed, installed and removed from elsewhere, and a broken one is refused there",
  { tags: "slow" },
  async () => {
    const bench = await openBench(WRITES_AND_ASKS_TWICE);
    const there = await strangerShell(bench, bench.store.taskQueue);
    const source = join(there.dir, "two.bmad");
    const filler = Array.from(
      { length: 400_000 },
      (_, index) => (index * 2_654_435_761) % 4_294_967_296,
    ).join(" ");
    await writeFile(source, zipPackage({ ...twoNodePackage(), "assets/large.txt": filler }));
    expect((await stat(source)).size).toBeGreaterThan(1_000_000); // several pieces
    const installed = jsonOf(await there.run(["package", "install", source, "--json"])) as {
      packageId: string;
    };
    expect(installed).toMatchObject({ ok: true, name: "two-nodes" });
    const { packageId } = installed;
    expect(jsonOf(await there.run(["package", "install", source, "--json"]))).toEqual(installed);
    const listed = await there.run(["package", "list"]);
    expect(listed.stdout).toContain(packageId);
    expect(listed).toEqual(await shellOf(bench).run(["package", "list"]));
    await expect(there.run(["package", "show", "two-nodes"])).resolves.toMatchObject({ code: 0 });
    const broken = join(there.dir, "broken.bmad");
    await writeFile(broken, "no zip at all");
    await expect(there.run(["package", "install", broken])).resolves.toMatchObject({ code: 1 });
    await expect(there.run(["package", "install", there.dir])).resolves.toMatchObject({ code: 2 });
    await expect(readdir(join(bench.store.dir, "uploads"))).resolves.toEqual([]);
    await expect(there.run(["project", "list"])).resolves.toMatchObject({ code: 0 });
    await expect(there.run(["package", "remove", packageId])).resolves.toMatchObject({ code: 0 });
    await expect(there.run(["package", "list"])).resolves.toMatchObject({
      stdout: expect.stringContaining("No packages") as string,
    });
    await expect(readdir(there.home)).resolves.toEqual([]);
  },
);

test("a package that is not there makes no store on a machine that has none, and nobody is asked", async () => {
  const bench = await openBench([]);
  const there = await strangerShell(bench, "a-queue-that-nobody-polls");
  const installed = await there.run(["package", "install", "mistyped.bmad", "--json"]);
  expect([installed.code, jsonOf(installed)]).toMatchObject([2, { error: { code: "E_PACKAGE_NOT_FOUND" } }]);
  await expect(readdir(there.home)).resolves.toEqual([]);
});

test("a run of what is nowhere, a name and a project that is taken away make no store", async () => {
  const { dir, environment } = await newShell();
  const shell = new Shell(dir, { ...environment, INTERLOCK_STORE: join(dir, "mistyped") });
  for (const args of [
    ["run", "mistyped", "--project", "project"],
    ["run", "project", "--project", "./mistyped-project"],
    ["bundle", "run", "mistyped.yaml", "--project", "project"],
    ["store", "name", "laptop"],
    ["project", "remove", "project"],
  ]) {
    const said = await shell.run(args);
    expect([args, said.code]).toEqual([args, 2]);
  }
  await expect(readdir(join(dir, "mistyped"))).rejects.toThrow("ENOENT");
});

test("a command that only looks makes no store where nobody is asked, and says that there is none", async () => {
  const { dir, environment } = await newShell();
  const store = join(dir, "mistyped");
  const shell = new Shell(dir, { ...environment, INTERLOCK_STORE: store });
  const sentence = `There is no store in ${store}. INTERLOCK_STORE says where it is; the first run makes one.\n`;
  const unknown = "00000000-0000-4000-8000-000000000000";
  const lists = [["runs"], ["runs", "--json"], ["inbox"], ["package", "list"], ["project", "list"]];
  const others = "status watch transcript artifacts export pause cancel retry restore replay"
    .split(" ")
    .map((command) => [command, unknown]);
  const all = [
    ...lists.map((args) => [args, 0] as const),
    ...[...others, ["status", "0000"], ["answer", unknown, "x"], ["package", "show", "x"], ["ui"]].map(
      (args) => [args, 2] as const,
    ),
  ];
  const outcomes = await shell.runEach(all.map(([args]) => args));
  expect(outcomes.map(({ code, stderr }, index) => [all[index]?.[0], code, stderr])).toEqual(
    all.map(([args, code]) => [args, code, sentence]),
  );
  await expect(readdir(store)).rejects.toThrow("ENOENT");
});

test("a bundle of another machine runs there: its paths are that machine's, and its store is named", async () => {
  const bench = await openBench([]);
  const { bundleRoot, coreRoot, workflowPath, agentFile } = await copyRoom(bench.dir);
  for (const root of [bench.projectRoot, bundleRoot, coreRoot]) await bench.store.roots.add(root, "write");
  await bench.startAnotherWorker(); // which makes them known
  const there = await strangerShell(bench);
  const store = bench.store.storeId;
  await eventually(async () => {
    const stores = jsonOf(await there.run(["stores", "--json"])) as { storeId: string; projects: object[] }[];
    return stores.some(({ storeId, projects }) => storeId === store && projects.length > 0);
  });
  const workflow = join(bundleRoot, workflowPath);
  const named = ["--store", store, "--project", "project", "--rehearse", "--json"];
  const begin = ["bundle", "run", workflow, ...named];
  await expect(there.run(begin)).resolves.toMatchObject({
    code: 2,
    stderr: expect.stringContaining("--bundle") as string,
  });
  const paths = ["--bundle", bundleRoot, "--core", coreRoot, "--agent", agentFile, "--input", "*intake"];
  const outcome = await there.run([...begin, ...paths]);
  expect([outcome.code, outcome.stderr]).toEqual([0, expect.stringContaining("is started in the store")]);
  expect(jsonOf(outcome)).toMatchObject({ phase: "completed", workflowRef: "intake" });
  await expect(readdir(there.home)).resolves.toEqual([]);
});

test(
  "what the store elsewhere does not have is said, and no run is made of it",
  { tags: "slow" },
  async () => {
    const bench = await openBench([]);
    await bench.store.roots.add(bench.projectRoot, "write");
    await bench.start(twoNodePackage());
    await bench.startAnotherWorker(); // which makes the project known
    const there = await strangerShell(bench);
    const start = (what: string, ...more: string[]) =>
      there.run(["run", what, "--store", bench.store.storeId, "--project", "project", "--detach", ...more]);
    await eventually(async () => (await start("mistyped")).stderr.includes("No package"));
    for (const [said, words] of [
      [await start("mistyped"), 'No package "mistyped" is installed'],
      [await start("two-nodes", "--agent", "nobody"), "It has: author, closer."],
    ] as const) {
      expect([said.code, said.stderr]).toEqual([2, expect.stringContaining(words)]);
    }
    const listed = jsonOf(await there.run(["runs", "--store", bench.store.storeId, "--json"]));
    expect(listed).toHaveLength(1);
  },
);

test("a command that only looks makes no store, and says who does not answer", { tags: "slow" }, async () => {
  const bench = await openBench([]);
  const queue = `nobody-${bench.store.taskQueue}`;
  const there = await strangerShell(bench, queue);
  for (const args of [
    ["package", "list"],
    ["package", "show", "x"],
    ["project", "list"],
  ]) {
    const said = await there.run(args);
    expect([args, said.code]).toEqual([args, 1]);
    expect(said.stderr).toContain(queue);
  }
  const unknown = "00000000-0000-4000-8000-000000000000";
  const alone = there.with({ ...there.environment, TEMPORAL_NAMESPACE: await newNamespace(bench) });
  for (const args of [
    ["status", unknown],
    ["transcript", unknown],
    ["artifacts", unknown],
    ["export", unknown],
  ]) {
    const said = await alone.run(args);
    expect([args, said.code, said.stderr.includes(unknown)]).toEqual([args, 2, true]);
  }
  await expect(readdir(there.home)).resolves.toEqual([]);
});

/** A cancelled run that its store keeps, and Temporal no longer. */
async function forgottenRun(bench: Bench) {
  const run = await askedRun(bench);
  const { runId, workflowId } = run;
  await isKnown(bench);
  const { temporal, namespace } = bench.client;
  await run.cancel();
  await run.result().catch(() => undefined);
  await temporal.workflowService.deleteWorkflowExecution({ namespace, workflowExecution: { workflowId } });
  await eventually(async () => (await bench.client.knowsOf([workflowId])).size === 0);
  return { runId };
}

/** Until Temporal tells of the store. */
async function isKnown({ client, store }: Bench) {
  await eventually(async () => (await client.stores()).some(({ storeId }) => storeId === store.storeId));
}

test(
  "a run that Temporal no longer has is told from elsewhere by the store that has it, on whichever queue",
  { tags: "slow" },
  async () => {
    const bench = await openBench(WRITES_AND_ASKS_TWICE);
    const { runId } = await forgottenRun(bench);
    const there = await strangerShell(bench);
    const wayBack = expect.stringContaining(`interlock restore ${runId}`) as string;
    const standing = await there.run(["status", runId, "--json"]);
    expect([standing.code, standing.stderr]).toEqual([0, wayBack]);
    expect(jsonOf(standing)).toMatchObject({ runId, workflowRef: "two-nodes", phase: "failed" });
    const events = await there.run(["watch", runId, "--events"]);
    expect([events.code, events.stdout]).toEqual([1, expect.stringContaining('"phase":"failed"')]);
    const artifacts = await there.run(["artifacts", runId]);
    expect([artifacts.code, artifacts.stdout]).toEqual([0, expect.stringContaining("artifacts/small.md")]);
    await expect(there.run(["retry", runId])).resolves.toMatchObject({ code: 1, stderr: wayBack });
    await expect(readdir(there.home)).resolves.toEqual([]);
  },
);

test(
  "a store that is asked and says nothing keeps nobody from a run that Temporal no longer has",
  { tags: "slow" },
  async () => {
    const bench = await openBench(WRITES_AND_ASKS_TWICE);
    const { runId } = await forgottenRun(bench);
    const silent = await openBench(WRITES_AND_ASKS_TWICE);
    await isKnown(silent);
    let answer: (found: Result<never>) => void = () => undefined;
    const unsaid = new Promise<Result<never>>((resolve) => (answer = resolve));
    const asked = vi.spyOn(silent.store.runs, "findRun").mockReturnValue(unsaid);
    const there = await strangerShell(bench);
    const standing = await there.run(["status", runId, "--json"]);
    answer(fail("E_RUN_NOT_FOUND", "It is asked no more."));
    expect([standing.code, asked.mock.calls]).toEqual([0, [[runId]]]);
    expect(jsonOf(standing)).toMatchObject({ runId, phase: "failed" });
  },
);
