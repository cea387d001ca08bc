import { execFileSync } from "node:child_process";
import { appendFile, chmod, mkdir, rm, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { STORE_QUESTIONS } from "../../src/contract/reads.js";
import { StoreAnswers } from "../../src/reads/store-answers.js";
import { validPackage } from "../fakes/package-fixture.js";
import { withoutRights } from "../fakes/unprivileged.js";
import { openRunWorld, valueOf } from "../fakes/run-world.js";

const FILES = [
  "boundaries.jsonl",
  "calls.jsonl",
  "conversation/visit-1.jsonl",
  "graph-state.json",
  "graph-state.jsonl",
  "live",
  "run.json",
  "state/logs/execution.jsonl",
  "state/workflow.md",
  "status.json",
];
const STAND_INS: Readonly<Record<string, (path: string) => unknown>> = {
  "a named pipe": (path) => execFileSync("sh", ["-c", 'mkfifo "$0"', path]),
  "a folder": (path) => mkdir(path),
  "a link that leads nowhere": (path) => symlink("nowhere", path),
};

test.each(Object.keys(STAND_INS))(
  "a question about a run with %s in the place of a file is answered, or refused with a sentence",
  async (what) => {
    const { store, projectRoot, packageId } = await openRunWorld(validPackage());
    for (const file of FILES) {
      const { runId, projectId } = valueOf(
        await store.runs.createRun({ projectRoot, packageId, activeAgentId: "author" }),
      );
      const path = join(store.dir, "projects", projectId, "runs", runId, file);
      await mkdir(dirname(path), { recursive: true });
      await rm(path, { force: true, recursive: true });
      await STAND_INS[what]?.(path);
      const answers = new StoreAnswers({ store });
      for (const name of STORE_QUESTIONS.filter((each) => each.startsWith("read."))) {
        for (const more of [
          {},
          { name: "visit-1" },
          { name: file },
          { visit: 0 },
          { path: "x" },
          { tail: 5 },
        ]) {
          const asked = answers.page(name, { question: { run: runId, ...more } });
          await expect(asked, `${name} ${file}`).resolves.toHaveProperty("ok");
        }
      }
    }
  },
);

test("what passes by itself is no answer: the question fails, and is asked again", async () => {
  const { store } = await openRunWorld(validPackage());
  const failing = (code: string) => {
    const runs = { findRun: () => Promise.reject(Object.assign(new Error(code), { code })) };
    const answers = new StoreAnswers({ store: { ...store, runs: runs as never } });
    return answers.page("read.run", { question: { run: "11111111-2222-4333-8444-555555555555" } });
  };
  await expect(failing("EMFILE")).rejects.toThrow("EMFILE");
  await expect(failing("EIO")).resolves.toMatchObject({ ok: false, error: { code: "E_INTERNAL" } });
});

test.each(["", ...FILES.filter((file) => file !== "live")])(
  "a question about a run whose %j belongs to another user is not answered with the system's words alone, nor with a backup",
  async (name) => {
    const { store, projectRoot, packageId } = await openRunWorld(validPackage());
    const { runId, projectId } = valueOf(
      await store.runs.createRun({ projectRoot, packageId, activeAgentId: "author" }),
    );
    const folder = join(store.dir, "projects", projectId, "runs", runId);
    const path = join(folder, name);
    await mkdir(dirname(path), { recursive: true });
    if (name !== "") await appendFile(path, "");
    await withoutRights(dirname(store.dir), async () => {
      await chmod(path, 0);
      const said: string[] = [];
      for (const question of STORE_QUESTIONS.filter((each) => each.startsWith("read."))) {
        for (const more of [{}, { name: "visit-1" }, { name }, { visit: 0 }, { path: "x" }, { tail: 5 }]) {
          const asked = { question: { run: runId, ...more } };
          const answer = await new StoreAnswers({ store }).page(question, asked);
          said.push(answer.ok ? Buffer.from(answer.value.base64, "base64").toString() : answer.error.message);
        }
      }
      expect(said.join("\n")).toContain("EACCES");
      for (const each of said) {
        if (!/EACCES/.test(each)) continue;
        expect(each).toMatch(/see to its permissions/i);
        expect(each).not.toMatch(/backup/i);
      }
      await chmod(path, 0o700);
    });
  },
);

test("a folder of conversations that cannot be read now is not one that holds none", async () => {
  const { store, projectRoot, packageId } = await openRunWorld(validPackage());
  const run = valueOf(await store.runs.createRun({ projectRoot, packageId, activeAgentId: "author" }));
  const folder = join(store.dir, "projects", run.projectId, "runs", run.runId, "conversation");
  const visits = () => new StoreAnswers({ store }).page("read.visits", { question: { run: run.runId } });
  expect(await visits()).toMatchObject({ ok: true });
  await mkdir(folder, { recursive: true });
  await withoutRights(dirname(store.dir), async () => {
    await chmod(folder, 0);
    const message: unknown = expect.stringContaining("cannot be read now (EACCES)");
    expect(await visits()).toMatchObject({ error: { code: "E_INTERNAL", message } });
    await chmod(folder, 0o700);
  });
});

test("a file of a run that cannot be read now is not one that the run does not have", async () => {
  const { store, projectRoot, packageId } = await openRunWorld(validPackage());
  const run = valueOf(await store.runs.createRun({ projectRoot, packageId, activeAgentId: "author" }));
  const name = "state/workflow.md";
  const path = join(store.dir, "projects", run.projectId, "runs", run.runId, name);
  const file = () => new StoreAnswers({ store }).page("read.file", { question: { run: run.runId, name } });
  expect(await file()).toMatchObject({ ok: true });
  await withoutRights(dirname(store.dir), async () => {
    await chmod(path, 0);
    const message: unknown = expect.stringContaining("cannot be read now (EACCES)");
    expect(await file()).toMatchObject({ error: { code: "E_INTERNAL", message } });
    await chmod(path, 0o700);
  });
});
