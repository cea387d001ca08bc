import { mkdir, readFile, realpath, rename, symlink } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { keepsInodes } from "../../src/store/roots/root-places.js";
import { temporaryDirectory } from "./harness.js";
import { Shell } from "./shell.js";

test("interlock project add, list and remove: each twice is once, and each says what it did", async () => {
  const dir = await realpath(await temporaryDirectory());
  const shell = new Shell(dir, { INTERLOCK_PROJECT_ROOTS: join(dir, "all") });
  const project = join(dir, "project");
  await mkdir(project);
  await symlink(project, join(dir, "link"));

  for (const named of ["project", "link"]) {
    const added = await shell.run(["project", "add", named, "--json"]);
    expect([added.code, JSON.parse(added.stdout)]).toEqual([0, { ok: true, path: project, access: "write" }]);
  }
  const listed = await shell.run(["project", "list"]);
  expect(listed.stdout).toBe(`write  ${project}\nwrite  ${join(dir, "all")} and all below  (configured)\n`);

  await rename(project, `${project}-moved`);
  await mkdir(project);
  const after = (await shell.run(["project", "list"])).stdout;
  expect(after.includes(`${project}  (exchanged)`)).toBe(keepsInodes(project));
  expect((await shell.run(["project", "add", "project"])).stdout).toBe(
    `Runs of this store may work in ${project}\n`,
  );

  const removed = await shell.run(["project", "remove", "project"]);
  expect([removed.code, removed.stdout]).toEqual([0, `${project} is registered no longer.\n`]);
  const again = await shell.run(["project", "remove", "project"]);
  expect([again.code, again.stdout]).toEqual([0, `${project} was not registered.\n`]);
  expect(JSON.parse(await readFile(join(dir, "store", "roots.json"), "utf8"))).toEqual({ roots: [] });
});

test("interlock project add says that it makes a store where a Temporal's may be elsewhere, once", async () => {
  const dir = await realpath(await temporaryDirectory());
  const shell = new Shell(dir, { TEMPORAL_ADDRESS: "127.0.0.1:1", INTERLOCK_TASK_QUEUE: "second" });
  await mkdir(join(dir, "project"));
  const made = await shell.run(["project", "add", "project"]);
  expect([made.code, made.stderr]).toEqual([
    0,
    `A store was made in ${join(dir, "store")}, with the queue "second": none stood there. INTERLOCK_STORE says where it is.\n`,
  ]);
  expect(await shell.run(["project", "add", "project"])).toMatchObject({ code: 0, stderr: "" });
});

test.each([
  ["the store", "store", "belongs to Interlock itself"],
  ["a directory of the store", "store/packages", "belongs to Interlock itself"],
  ["the root of the file system", "/", "is the root of the file system"],
  ["what is not there", "nowhere", "does not exist"],
])("interlock project add refuses %s with a sentence", async (_, named, sentence) => {
  const dir = await realpath(await temporaryDirectory());
  const shell = new Shell(dir);
  await mkdir(join(dir, "store", "packages"), { recursive: true });
  const refused = await shell.run(["project", "add", named]);
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain(sentence);
});

test("interlock run refuses a project that is the store before anything is started", async () => {
  const dir = await realpath(await temporaryDirectory());
  const shell = new Shell(dir);
  const example = join(import.meta.dirname, "../../examples/create-story/package");
  await mkdir(join(dir, "store"));
  const refused = await shell.run(["run", example, "--project", "store", "--rehearse"]);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("E_SANDBOX_VIOLATION")]);
});
