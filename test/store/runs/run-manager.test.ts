import { randomUUID } from "node:crypto";
import { chmod, mkdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { parseMarkdown } from "../../../src/core/documents/front-matter.js";
import type { CreateRunRequest } from "../../../src/store/runs/create-request.js";
import { agent, stepDocument, validPackage, workflowDocument } from "../../fakes/package-fixture.js";
import { namesListed } from "../../fakes/names-listed.js";
import { type RunWorld, namesIn, openRunWorld, valueOf } from "../../fakes/run-world.js";

const NOW = new Date("2026-03-04T05:06:07.000Z");
const RUN_ID = "11111111-2222-4333-8444-555555555555";

/** A package that lists two workflows, and an entry that is neither. */
function manyWorkflows() {
  const files = validPackage();
  const graph = {
    schemaVersion: "1.1",
    entryNodeId: "only",
    nodes: [{ id: "only", type: "end", file: "steps/only.md" }],
    edges: [],
  };
  return {
    ...files,
    "bmad.json": {
      ...files["bmad.json"],
      workflows: [
        { id: "first", workflow: "workflows/first/workflow.md", graph: "workflows/first/graph.json" },
        { id: "constructor", workflow: "workflows/second/workflow.md", graph: "workflows/second/graph.json" },
      ],
    },
    "agents.json": { schemaVersion: "1.1", agents: [agent("author"), agent("toString")] },
    "workflows/first/workflow.md": workflowDocument("one"),
    "workflows/first/graph.json": graph,
    "workflows/second/workflow.md": workflowDocument("two"),
    "workflows/second/graph.json": graph,
    "steps/only.md": stepDocument("only", "end"),
  };
}

let world: RunWorld;
beforeEach(async () => {
  world = await openRunWorld(validPackage());
});

const create = (changes: Partial<CreateRunRequest> = {}) =>
  world.store.runs.createRun(
    { projectRoot: world.projectRoot, packageId: world.packageId, activeAgentId: "author", ...changes },
    NOW,
  );
const list = async () => valueOf(await world.store.runs.listRuns(world.projectRoot));
const projectDir = (projectId: string) => join(world.store.dir, "projects", projectId);
const modeOf = async (path: string) => (await stat(path)).mode & 0o777;

describe("a run that is created", () => {
  test("has metadata, which the index lists", async () => {
    const run = valueOf(await create({ runId: RUN_ID }));
    expect(run).toEqual({
      runId: RUN_ID,
      projectId: expect.stringMatching(/^project-[0-9a-f]{12}$/u),
      packageId: world.packageId,
      workflowRef: "tiny",
      activeAgentId: "author",
      phase: "idle",
      createdAt: "2026-03-04T05:06:07.000Z",
      lastUpdatedAt: "2026-03-04T05:06:07.000Z",
    });
    expect(await list()).toEqual([run]);
    expect(await world.store.runs.listAllRuns()).toEqual([run]);
    expect(await world.store.runs.findRun(RUN_ID)).toEqual({ ok: true, value: run });
  });

  test("has the folder of the contract, private, with an empty log, and the project has artifacts/", async () => {
    const { projectId } = valueOf(await create({ runId: RUN_ID }));
    const dir = projectDir(projectId);
    expect(await namesIn(dir)).toEqual([
      "create.lock",
      "project.json",
      "runs.jsonl",
      "runs/",
      `runs/${RUN_ID}/`,
      `runs/${RUN_ID}/conversation/`,
      `runs/${RUN_ID}/state/`,
      `runs/${RUN_ID}/state/logs/`,
      `runs/${RUN_ID}/state/logs/execution.jsonl`,
      `runs/${RUN_ID}/state/workflow.md`,
      "runsIndex.lock",
    ]);
    for (const name of await namesIn(dir)) {
      expect([name, await modeOf(join(dir, name))]).toEqual([name, name.endsWith("/") ? 0o700 : 0o600]);
    }
    expect(await modeOf(join(world.store.dir, "projects"))).toBe(0o700);
    expect(await readFile(join(dir, "runs", RUN_ID, "state/logs/execution.jsonl"), "utf8")).toBe("");
    expect(await namesIn(world.projectRoot)).toEqual(["artifacts/"]);
    expect(await world.store.runs.projectRoot(projectId)).toEqual({ ok: true, value: world.projectRoot });
  });

  test("has the workflow's document with a fresh frontmatter and its body untouched", async () => {
    const body = "Body\r\nwith its own line ends, NUL \u0000, and no final newline";
    world = await openRunWorld({
      ...validPackage(),
      "workflow.md": `\ufeff---\r\nschemaVersion: 1.1\r\nown: [1, {a: b}]\r\nworkflowType: tiny\r\ncurrentNodeId: done\r\nstepsCompleted: [draft]\r\nvariables: {x: 1}\r\n---\r\n${body}`,
    });
    valueOf(await create({ runId: RUN_ID }));
    const path = valueOf(await world.store.runs.getRunStatePath(world.projectRoot, RUN_ID));
    expect(await readFile(path, "utf8")).toBe(
      `\ufeff---\r\nschemaVersion: "1.1"\nown: [1,{"a":"b"}]\nworkflowType: "tiny"\ncurrentNodeId: ""\nstepsCompleted: []\nvariables: {}\nrunId: "${RUN_ID}"\nactiveAgentId: "author"\nworkflowRef: "tiny"\nupdatedAt: "2026-03-04T05:06:07.000Z"\ndecisionLog: []\nartifacts: []\n---\r\n${body}`,
    );
  });

  test("gets a run id of its own when none is given", async () => {
    const [one, two] = [valueOf(await create()), valueOf(await create())];
    expect(one.runId).toMatch(/^[0-9a-f-]{36}$/u);
    expect(two.runId).not.toBe(one.runId);
    expect((await list()).map(({ runId }) => runId)).toEqual([one.runId, two.runId]);
  });

  test("leaves an artifacts/ that is there alone, a link to a directory included", async () => {
    await mkdir(join(world.dir, "elsewhere"));
    await symlink("../elsewhere", join(world.projectRoot, "artifacts"));
    valueOf(await create());
    expect(await namesIn(world.dir + "/elsewhere")).toEqual([]);
  });

  test("is found by whatever path leads to its project", async () => {
    await symlink("project", join(world.dir, "link"));
    const run = valueOf(await create({ projectRoot: join(world.dir, "link") }));
    expect(await list()).toEqual([run]);
  });
});

describe("a creation that is retried with the same run id", () => {
  test("is the same run, as it was made first, and what was done since stays", async () => {
    const run = valueOf(await create({ runId: RUN_ID }));
    const path = valueOf(await world.store.runs.getRunStatePath(world.projectRoot, RUN_ID));
    await writeFile(path, "changed");
    await world.store.runs.setPhase(run, "running", NOW);
    expect(await create({ runId: RUN_ID })).toEqual({ ok: true, value: { ...run, phase: "running" } });
    expect(await readFile(path, "utf8")).toBe("changed");
    expect(await list()).toHaveLength(1);
  });

  test("eight times at once makes one run", async () => {
    const runs = await Promise.all(Array.from({ length: 8 }, () => create({ runId: RUN_ID })));
    expect(new Set(runs.map((run) => JSON.stringify(run))).size).toBe(1);
    expect(await list()).toHaveLength(1);
  });

  test("after a crash before the index knew of it makes it anew", async () => {
    const { projectId } = valueOf(await create({ runId: RUN_ID }));
    await rm(join(projectDir(projectId), "runs.jsonl"));
    await writeFile(join(projectDir(projectId), "runs", RUN_ID, "state", "left-over"), "");
    await mkdir(join(projectDir(projectId), "staged", "left-over", "state"), { recursive: true });
    valueOf(await create({ runId: RUN_ID }));
    expect((await namesIn(projectDir(projectId))).filter((name) => /left/u.test(name))).toEqual([]);
    expect(await list()).toHaveLength(1);
  });

  test("looks through none of the project's other runs", async () => {
    const { projectId } = valueOf(await create());
    for (let other = 0; other < 100; other += 1) {
      await mkdir(join(projectDir(projectId), "runs", `11111111-2222-4333-8444-${100_000_000_000 + other}`));
    }
    expect(await namesListed(async () => valueOf(await create()))).toBeLessThan(20);
  });

  test.each([
    [
      "the index has lost it",
      async (dir: string) => rm(join(dir, "runs.jsonl")),
      /in use.*does not list it: restore it/u,
    ],
    [
      "the index cannot be read",
      async (dir: string) => writeFile(join(dir, "runs.jsonl"), "{\n"),
      /cannot be read: restore it/u,
    ],
  ])("never deletes a run that was worked in, although %s", async (_, damage, sentence) => {
    const { projectId } = valueOf(await create({ runId: RUN_ID }));
    const files = valueOf(await world.store.runs.openFiles(projectId, RUN_ID));
    await files.audit.record({ kind: "run.phase", id: "1" }, NOW);
    await damage(projectDir(projectId));
    const before = await namesIn(join(projectDir(projectId), "runs"));
    expect(await create({ runId: RUN_ID })).toMatchObject({
      error: { code: "E_INDEX_WRITE_FAILED", message: expect.stringMatching(sentence) },
    });
    expect(await namesIn(join(projectDir(projectId), "runs"))).toEqual(before);
  });
});

describe("a run that cannot be created", () => {
  test.each<[string, Partial<CreateRunRequest>, string, string | RegExp]>([
    [
      "a project that does not exist",
      { projectRoot: "/nowhere/at/all" },
      "E_PROJECT_INVALID",
      /does not exist/u,
    ],
    ["an empty project root", { projectRoot: "" }, "E_PROJECT_INVALID", /is empty/u],
    [
      "a package that is not installed",
      { packageId: "tiny-story-1.0.0-000000000000" },
      "E_PACKAGE_NOT_FOUND",
      /is installed/u,
    ],
    ["a package id that is a path", { packageId: "../projects" }, "E_PACKAGE_NOT_FOUND", /is installed/u],
    ["an empty package id", { packageId: "" }, "E_PACKAGE_NOT_FOUND", /is installed/u],
    [
      "a workflow that the package has not",
      { workflowRef: "other" },
      "E_WORKFLOW_NOT_FOUND",
      'The package has no workflow "other". It has: tiny.',
    ],
    [
      "a workflow that every object has",
      { workflowRef: "constructor" },
      "E_WORKFLOW_NOT_FOUND",
      'The package has no workflow "constructor". It has: tiny.',
    ],
    [
      "a workflow with a space behind it",
      { workflowRef: "tiny " },
      "E_WORKFLOW_NOT_FOUND",
      /It has: tiny\.$/u,
    ],
    [
      "an agent that the package has not",
      { activeAgentId: "other" },
      "E_AGENT_NOT_FOUND",
      'The package has no agent "other". It has: author.',
    ],
    ["no agent", { activeAgentId: "" }, "E_AGENT_NOT_FOUND", 'The package has no agent "". It has: author.'],
    [
      "an agent that every object has",
      { activeAgentId: "toString" },
      "E_AGENT_NOT_FOUND",
      /It has: author\.$/u,
    ],
    [
      "a run id that is a path",
      { runId: "../../packages" },
      "E_RUN_NOT_FOUND",
      "A run id is a UUID in lower case.",
    ],
    ["an empty run id", { runId: "" }, "E_RUN_NOT_FOUND", "A run id is a UUID in lower case."],
    [
      "a run id in upper case, which some file systems take for another run's",
      { runId: "AAAAAAAA-2222-4333-8444-555555555555" },
      "E_RUN_NOT_FOUND",
      "A run id is a UUID in lower case.",
    ],
  ])("for %s leaves nothing", async (_, changes, code, message) => {
    const before = await namesIn(world.dir);
    expect(await create(changes)).toMatchObject({
      ok: false,
      error: { code, message: expect.stringMatching(message) },
    });
    expect(await namesIn(world.dir)).toEqual(before);
  });

  test("says so on one short line, whatever it was asked for", async () => {
    const evil = `x\n${"y".repeat(100_000)}`;
    for (const changes of [
      { workflowRef: evil },
      { activeAgentId: evil },
      { packageId: evil },
      { runId: evil },
    ]) {
      const result = await create(changes);
      expect(result.ok ? "" : result.error.message).toMatch(/^[^\n]{1,400}$/u);
    }
  });

  test("for a project that is a file", async () => {
    await writeFile(join(world.dir, "file"), "");
    expect(await create({ projectRoot: join(world.dir, "file") })).toMatchObject({
      error: { code: "E_PROJECT_INVALID", message: expect.stringContaining("is not a directory") },
    });
  });

  test.each([
    ["a file", "EEXIST", () => writeFile(join(world.projectRoot, "artifacts"), "mine")],
    ["a link to nothing", "ENOENT", () => symlink("nowhere", join(world.projectRoot, "artifacts"))],
  ])("because artifacts is %s (%s), which stays", async (_, code, block) => {
    await block();
    expect(await create({ runId: RUN_ID })).toEqual({
      ok: false,
      error: {
        code: "E_PROJECT_INVALID",
        message: `The project's artifacts directory cannot be made (${code}). Check the project's permissions.`,
      },
    });
    expect(await list()).toEqual([]);
    expect((await namesIn(world.store.dir)).filter((name) => name.includes(RUN_ID))).toEqual([]);
    expect(await namesIn(world.projectRoot)).toEqual(["artifacts"]);
  });

  test("because the installed package was changed on disk", async () => {
    const file = join(world.store.dir, "packages", world.packageId, "workflow.graph.json");
    await chmod(join(file, ".."), 0o700);
    await rm(file, { force: true });
    expect(await create()).toMatchObject({ error: { code: "E_PACKAGE_INVALID" } });
    expect(await list()).toEqual([]);
  });

  test("because its first state would be larger than front matter may be", async () => {
    world = await openRunWorld({
      ...validPackage(),
      "workflow.md": `---\nschemaVersion: 1.1\nworkflowType: tiny\nown: ${"x".repeat(130_900)}\n---\n`,
    });
    expect(await create()).toMatchObject({ error: { code: "E_WRITE_LIMIT" } });
    expect(await namesIn(world.projectRoot)).toEqual([]);
  });

  // The store's own files, blocked by directories where files belong and the other way round.
  test.each<[string, (dir: string) => Promise<unknown>]>([
    ["projects/ is a file", async (dir) => writeFile(join(dir, "..", "..", "projects"), "")],
    [
      "the project's folder is a file",
      async (dir) => {
        await mkdir(join(dir, ".."));
        await writeFile(dir, "");
      },
    ],
    [
      "runs/ is a file",
      async (dir) => {
        await mkdir(dir, { recursive: true });
        await writeFile(join(dir, "runs"), "");
      },
    ],
    ["the creation lock is a directory", async (dir) => mkdir(join(dir, "create.lock"), { recursive: true })],
    ["the index is a directory", async (dir) => mkdir(join(dir, "runs.jsonl", "x"), { recursive: true })],
    [
      "the index's lock is a directory",
      async (dir) => mkdir(join(dir, "runsIndex.lock"), { recursive: true }),
    ],
    [
      "project.json is a directory",
      async (dir) => mkdir(join(dir, "project.json", "x"), { recursive: true }),
    ],
  ])("because %s", async (_, block) => {
    const other = valueOf(await world.store.runs.listRuns(world.projectRoot));
    expect(other).toEqual([]);
    const { projectId } = valueOf(
      await (
        await openRunWorld(validPackage())
      ).store.runs.createRun({
        projectRoot: world.projectRoot,
        packageId: world.packageId,
        activeAgentId: "author",
      }),
    );
    await rm(join(world.projectRoot, "artifacts"), { recursive: true });
    await block(projectDir(projectId));
    expect(await create({ runId: RUN_ID })).toMatchObject({
      ok: false,
      error: { code: "E_INDEX_WRITE_FAILED" },
    });
    expect(await namesIn(world.projectRoot)).toEqual([]);
    expect((await namesIn(world.store.dir)).filter((name) => name.includes(RUN_ID))).toEqual([]);
  });
});

describe("which workflow runs", () => {
  const open = async () => {
    world = await openRunWorld(manyWorkflows());
  };

  test("must be said where the manifest lists workflows", async () => {
    await open();
    for (const changes of [{}, { workflowRef: "" }]) {
      expect(await create(changes)).toEqual({
        ok: false,
        error: {
          code: "E_WORKFLOW_REF_REQUIRED",
          message: "The package lists its workflows, so one must be named: first, constructor.",
          details: { workflows: ["first", "constructor"] },
        },
      });
    }
  });

  test.each([
    ["first", "one"],
    ["constructor", "two"],
  ])("%s, by its id", async (workflowRef, workflowType) => {
    await open();
    const run = valueOf(await create({ workflowRef, activeAgentId: "toString" }));
    expect(run).toMatchObject({ workflowRef, activeAgentId: "toString" });
    const path = valueOf(await world.store.runs.getRunStatePath(world.projectRoot, run.runId));
    const document = valueOf(parseMarkdown(await readFile(path)));
    expect(document.frontmatter).toMatchObject({ workflowType, workflowRef });
  });

  test("is none by the entry's type, or a listed one's, where ids are listed", async () => {
    await open();
    for (const workflowRef of ["tiny", "one", "toString"]) {
      expect(await create({ workflowRef })).toMatchObject({
        error: { code: "E_WORKFLOW_NOT_FOUND", details: { workflows: ["first", "constructor"] } },
      });
    }
  });

  test("is the entry where none is listed, with its type for a name or without", async () => {
    for (const workflowRef of ["", "tiny"]) {
      expect(valueOf(await create({ workflowRef })).workflowRef).toBe("tiny");
    }
  });
});

describe("finding runs", () => {
  test("an unknown run, in the project or at all, is E_RUN_NOT_FOUND", async () => {
    const { projectId } = valueOf(await create());
    const runId = randomUUID();
    for (const result of [
      await world.store.runs.findRun(runId),
      await world.store.runs.getRunStatePath(world.projectRoot, runId),
      await world.store.runs.openFiles(projectId, runId),
    ]) {
      expect(result).toEqual({
        ok: false,
        error: { code: "E_RUN_NOT_FOUND", message: `There is no run "${runId}" in this store.` },
      });
    }
  });

  test.each([
    "..",
    "../../..",
    "",
    ".",
    "x",
    `${RUN_ID}/state`,
    "AAAAAAAA-2222-4333-8444-555555555555",
    "\0",
  ])("%j opens no files", async (runId) => {
    const { projectId } = valueOf(await create({ runId: RUN_ID }));
    expect(await world.store.runs.openFiles(projectId, runId)).toMatchObject({
      error: { code: "E_RUN_NOT_FOUND" },
    });
  });

  test.each(["..", "../packages", "", "A", "a/../b"])(
    "project %j opens no files and has no root",
    async (projectId) => {
      valueOf(await create({ runId: RUN_ID }));
      expect(await world.store.runs.openFiles(projectId, RUN_ID)).toMatchObject({
        error: { code: "E_RUN_NOT_FOUND" },
      });
      expect(await world.store.runs.projectRoot(projectId)).toMatchObject({
        error: { code: "E_PROJECT_INVALID" },
      });
    },
  );

  test("the files of a run are opened once", async () => {
    const { projectId, runId } = valueOf(await create());
    const files = valueOf(await world.store.runs.openFiles(projectId, runId));
    expect(valueOf(await world.store.runs.openFiles(projectId, runId))).toBe(files);
  });

  test("a project without runs has none, one that does not exist is an error", async () => {
    expect(await list()).toEqual([]);
    expect(await world.store.runs.listAllRuns()).toEqual([]);
    expect(await world.store.runs.listRuns(join(world.dir, "no"))).toMatchObject({
      error: { code: "E_PROJECT_INVALID" },
    });
  });

  test("runs of all projects are listed by age, and stray files among the projects do no harm", async () => {
    const other = join(world.dir, "other");
    await mkdir(other);
    const old = valueOf(
      await world.store.runs.createRun(
        { projectRoot: other, packageId: world.packageId, activeAgentId: "author" },
        new Date(0),
      ),
    );
    const young = valueOf(await create());
    for (const name of [".DS_Store", "README"]) await writeFile(join(world.store.dir, "projects", name), "");
    expect(await world.store.runs.listAllRuns()).toEqual([old, young]);
  });

  test("a damaged index is told, not taken for an empty one", async () => {
    const { projectId } = valueOf(await create());
    await writeFile(join(projectDir(projectId), "runs.jsonl"), "[\n");
    const message: unknown = expect.stringContaining(join(projectDir(projectId), "runs.jsonl"));
    expect(await world.store.runs.listRuns(world.projectRoot)).toEqual({
      ok: false,
      error: { code: "E_INTERNAL", message },
    });
    await expect(world.store.runs.listAllRuns()).rejects.toThrow("runs.jsonl");
  });
});

test.each([
  ["nothing", undefined, "the request"],
  ["no project", { packageId: "p", activeAgentId: "author" }, "projectRoot"],
  ["a number for a package", { projectRoot: "/p", packageId: 5, activeAgentId: "author" }, "packageId"],
])("a program that hands in %s is told what is missing, and nothing is made", async (_, request, field) => {
  const created = await world.store.runs.createRun(request as unknown as CreateRunRequest);
  expect(created).toMatchObject({ error: { code: "E_SCHEMA_VALIDATION" } });
  expect(created).toMatchObject({ error: { message: expect.stringContaining(` ${field}: `) } });
});
