import { execFileSync } from "node:child_process";
import { mkdir, readFile, rename, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { homedir, userInfo } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { Access } from "../../../src/core/tools/name-rules.js";
import { keepsInodes } from "../../../src/store/roots/root-places.js";
import type { RootPolicy } from "../../../src/store/roots/roots.js";
import { type Store, openStore } from "../../../src/store/store.js";
import { temporaryDirectory } from "../../fakes/package-fixture.js";
import { valueOf } from "../../fakes/run-world.js";
import { compileForChildren } from "../../tools/compiled.js";

const VIOLATION = { ok: false, error: { code: "E_SANDBOX_VIOLATION" } };
const MISSING = { ok: false, error: { code: "E_PROJECT_INVALID" } };

let dir: string;
let store: Store;
const at = (path: string) => join(dir, path);
const reopen = async (policy?: RootPolicy) => openStore(at("store"), undefined, policy);
const permit = (path: unknown, access: Access = "write") => store.roots.permit(path, access);

beforeEach(async () => {
  dir = await temporaryDirectory();
  store = await reopen();
  await mkdir(at("project/sub/.git"), { recursive: true });
  await mkdir(at("project/.github/workflows"), { recursive: true });
  await mkdir(at("other"));
});

describe("a registered root", () => {
  test("and what lies in it is permitted, nothing beside it", async () => {
    valueOf(await store.roots.add(at("project"), "write"));
    expect(permit(at("project"))).toMatchObject({ ok: true, value: { path: at("project") } });
    expect(permit(`${at("project")}//`)).toMatchObject({ ok: true, value: { path: at("project") } });
    expect(permit(at("project/sub"))).toMatchObject({ ok: true });
    expect(permit(at("other"))).toMatchObject(VIOLATION);
    expect(permit(dir)).toMatchObject(VIOLATION);
    expect(permit(`${at("project")}x`)).toMatchObject(VIOLATION);
  });

  test("is not what is written with white space behind it, and that is said: it would not be seen", async () => {
    valueOf(await store.roots.add(at("project"), "write"));
    for (const path of [`${at("project")} `, `${at("project")}\n`]) {
      expect(permit(path)).toMatchObject(VIOLATION);
      expect(permit(path)).toMatchObject({
        error: { message: expect.stringContaining("ends with white space") },
      });
    }
    expect(permit(at("other"))).not.toMatchObject({
      error: { message: expect.stringContaining("white space") },
    });
  });

  test("for reading is none for writing; registered for writing later, it is", async () => {
    valueOf(await store.roots.add(at("project"), "read"));
    expect(permit(at("project"), "read")).toMatchObject({ ok: true });
    expect(permit(at("project"), "write")).toMatchObject(VIOLATION);
    valueOf(await store.roots.add(at("project"), "write"));
    valueOf(await store.roots.add(at("project"), "read"));
    expect(permit(at("project"), "write")).toMatchObject({ ok: true });
    expect(store.roots.list()).toHaveLength(1);
  });

  test("does not open what is protected in it as a root of its own", async () => {
    valueOf(await store.roots.add(at("project"), "write"));
    for (const path of ["project/sub/.git", "project/.github/workflows"]) {
      expect(permit(at(path))).toMatchObject(VIOLATION);
    }
  });

  test("that is the first name of a protected path does not open what follows in it", async () => {
    valueOf(await store.roots.add(at("project/.github"), "write"));
    expect(permit(at("project/.github"))).toMatchObject({ ok: true });
    expect(permit(at("project/.github/workflows"))).toMatchObject(VIOLATION);
    expect(permit(at("project/.github/workflows"), "read")).toMatchObject({ ok: true });
  });

  test("that another directory has taken the place of is none, until it is registered again", async () => {
    valueOf(await store.roots.add(at("project"), "write"));
    await rename(at("project"), at("moved"));
    expect(permit(at("project"))).toMatchObject(MISSING);
    await rename(at("other"), at("project"));
    expect(permit(at("project"))).toMatchObject(keepsInodes(at("project")) ? VIOLATION : { ok: true });
    expect(permit(at("moved"))).toMatchObject(VIOLATION);
    valueOf(await store.roots.add(at("project"), "write"));
    expect(permit(at("project"))).toMatchObject({ ok: true });
  });

  test("that a link has taken the place of is none, though the link leads to another root", async () => {
    valueOf(await store.roots.add(at("project"), "write"));
    valueOf(await store.roots.add(at("other"), "write"));
    await rename(at("project"), at("moved"));
    await symlink(at("other"), at("project"));
    expect(store.roots.permit(at("project"), "write", { isReal: true })).toMatchObject(VIOLATION);
  });

  test("named by a link is the directory behind it, and the link that is exchanged later leads nowhere", async () => {
    await symlink(at("project"), at("link"));
    expect(valueOf(await store.roots.add(at("link"), "write")).path).toBe(at("project"));
    expect(permit(at("link"))).toMatchObject({ ok: true, value: { path: at("project") } });
    await rm(at("link"));
    await symlink(at("other"), at("link"));
    expect(permit(at("link"))).toMatchObject(VIOLATION);
  });

  test("is removed by whatever leads to it, and twice is once", async () => {
    valueOf(await store.roots.add(at("project"), "write"));
    await symlink(at("project"), at("link"));
    expect([await store.roots.remove(at("link")), await store.roots.remove(at("project"))]).toEqual([
      true,
      false,
    ]);
    expect(permit(at("project"))).toMatchObject(VIOLATION);
  });

  test("is kept by several who register at once", async () => {
    const names = Array.from({ length: 12 }, (_, index) => at(`project/p${index}`));
    await Promise.all(names.map((name) => mkdir(name)));
    await Promise.all(names.map(async (name) => (await reopen()).roots.add(name, "write")));
    expect(
      store.roots
        .list()
        .map(({ path }) => path)
        .sort(),
    ).toEqual(names.sort());
  });
});

describe("what can be nobody's project", () => {
  const places: readonly (readonly [string, () => unknown])[] = [
    ["the root of the file system", () => "/"],
    ["a home directory", () => homedir()],
    ["the user's, by the machine's list", () => userInfo().homedir],
    ["root's", () => "/root"],
    ["what holds home directories", () => join(homedir(), "..")],
    ["/proc", () => "/proc"],
    ["something in it", () => "/proc/self"],
    ["/dev", () => "/dev"],
    ["/sys", () => "/sys"],
    ["the store", () => at("store")],
    ["a directory of the store", () => at("store/projects")],
    ["a link to the store", () => at("to-store")],
    ["a way through a link into the store", () => at("to-store/projects")],
    ["what else is Interlock's", () => at("cache")],
    ["a relative path", () => "project"],
    ["a dot", () => "."],
    ["nothing", () => ""],
    ["a way up", () => `${at("other")}/../project`],
    ["a NUL byte", () => `${at("project")}\0`],
    ["a path that is too long", () => `${at("project")}/${"a/".repeat(4_000)}`],
  ];

  test.each(places)("%s is refused, configured or not, and is not registered", async (_, pathOf) => {
    await mkdir(at("store/projects"), { recursive: true });
    await mkdir(at("cache"));
    await symlink(at("store"), at("to-store"));
    const path = pathOf();
    for (const projectRoots of [[], [dir, "/root", "/proc", "/dev", "/sys", homedir()]]) {
      store = await reopen({ projectRoots, privatePaths: [at("cache")] });
      expect(permit(path, "read")).toMatchObject({ ok: false });
      expect(await store.roots.add(String(path), "write")).toMatchObject({ ok: false });
    }
    expect(store.roots.list()).toEqual([]);
  });

  test.each([
    ["a name that is too long for the system", () => `${at("other")}/${"n".repeat(300)}`],
    ["a name below a file", () => `${at("file")}/x`],
    ["a link that leads to itself", () => `${at("loop")}/x`],
    ["another spelling of another directory", () => `/proc/self/root${at("other")}`],
    ["another case", () => at("PROJECT")],
    ["a space that is none", () => `${at("project")}\u00a0`],
  ])("%s is refused, whatever is asked of it", async (_, pathOf) => {
    await mkdir(at("project"), { recursive: true });
    await mkdir(at("other"), { recursive: true });
    await writeFile(at("file"), "x");
    await symlink("loop", at("loop"));
    valueOf(await store.roots.add(at("project"), "write"));
    for (const kind of ["directory", "file", "maybe"] as const) {
      expect(store.roots.permit(pathOf(), "write", { kind })).toMatchObject(VIOLATION);
    }
  });

  test.each([5, null, undefined, {}, ["/"]])("%j is no path", (path) => {
    expect(permit(path)).toMatchObject(VIOLATION);
  });

  test("a file is no project; an agent's file is read where it is registered", async () => {
    await writeFile(at("iris.md"), "x");
    expect(await store.roots.add(at("iris.md"), "write")).toMatchObject(MISSING);
    const asFile = () => store.roots.permit(at("iris.md"), "read", { kind: "file" });
    expect(asFile()).toMatchObject(VIOLATION);
    valueOf(await store.roots.add(at("iris.md"), "read"));
    expect(asFile()).toMatchObject({ ok: true });
    await rm(at("iris.md"));
    await writeFile(at("iris.md"), "saved again");
    expect(asFile()).toMatchObject({ ok: true });
    expect(permit(at("iris.md"))).toMatchObject(VIOLATION);
  });

  test("a bind mount of the store's directories is seen for what it is, for as long as it is there", () => {
    // In namespaces of its own: the mount is gone with the process.
    const script = `
      import { mkdirSync } from "node:fs"; import { execFileSync } from "node:child_process";
      const { openStore } = await import(process.argv[1]);
      const dir = process.argv[2];
      const store = await openStore(dir + "/store", undefined, { projectRoots: [dir] });
      const permits = (name) => store.roots.permit(dir + "/" + name, "write").ok;
      const seen = [];
      for (const [name, source] of [["b1", "store"], ["b2", "store/projects"], ["b3", "project"]]) {
        mkdirSync(dir + "/store/projects", { recursive: true }); mkdirSync(dir + "/" + name);
        const before = permits(name);
        execFileSync("mount", ["--bind", dir + "/" + source, dir + "/" + name]);
        const mounted = permits(name);
        execFileSync("umount", [dir + "/" + name]);
        seen.push([before, mounted, permits(name)]);
      }
      console.log(JSON.stringify(seen));
    `;
    const unshare = "/usr/bin/unshare";
    const namespaces = ["--user", "--map-root-user", "--mount"];
    try {
      execFileSync(unshare, [...namespaces, "true"], { stdio: "ignore" });
    } catch {
      return; // the system gives no namespaces: nothing can be mounted either
    }
    const compiled = compileForChildren("src/store/store.ts");
    onTestFinished(() => compiled.remove());
    const module = pathToFileURL(join(compiled.directory, "store/store.js")).href;
    const child = [process.execPath, "--input-type=module", "-e", script, module, dir];
    const output = execFileSync(unshare, [...namespaces, ...child], { encoding: "utf8" });
    expect(JSON.parse(output)).toEqual([
      [true, false, true],
      [true, false, true],
      [true, true, true],
    ]);
  });
});

test.each([
  ["/no/where", "project add /no/where"],
  ["/no/$(rm -rf x)", "project add '/no/$(rm -rf x)'"],
  ["/no/it's; x", "project add '/no/it'\\''s; x'"],
  ["/no/line\nbreak", "project add <dir>"],
])("the command in the sentence about %j is safe to paste", (path, command) => {
  const refused = permit(path);
  expect(refused.ok ? "" : refused.error.message.split("interlock ")[1]).toBe(command);
});

describe("the advice for what could not be registered either", () => {
  const places: readonly (readonly [string, () => string, string])[] = [
    ["the root of the file system", () => "/", "Make a directory in it"],
    ["a home directory", () => homedir(), "Make a directory in it"],
    ["another one, by its name, there or not", () => "/home/somebody", "Make a directory in it"],
    ["with a slash", () => `${homedir()}/`, "Make a directory in it"],
    ["what holds homes", () => "/home", "Make a directory in it"],
    ["the store", () => at("store"), "outside of it"],
    ["a directory of the store", () => at("store/projects"), "outside of it"],
    ["/proc", () => "/proc", "outside of it"],
  ];

  test.each(places)(
    "%s: where else, and not the command that refuses it as well",
    async (_, pathOf, advice) => {
      const refused = permit(pathOf());
      expect(refused).toMatchObject({ ok: false, error: { code: "E_SANDBOX_VIOLATION" } });
      expect(refused.ok ? "" : refused.error.message).toContain(advice);
      const added = await store.roots.add(pathOf(), "write");
      for (const told of [refused, added]) {
        expect(told.ok ? "" : told.error.message).not.toContain("project add");
      }
    },
  );

  test("a directory in a home is registered as any other", () => {
    const refused = permit(`${homedir()}/no-such-project`);
    expect(refused.ok ? "" : refused.error.message).toContain("interlock project add");
  });
});

describe("configured roots", () => {
  test("permit nothing where a link leads from them to the root of the file system", async () => {
    await symlink("/", at("all"));
    store = await reopen({ projectRoots: [at("all"), "/proc/self/root"] });
    expect(permit(at("project"))).toMatchObject(VIOLATION);
    expect(permit("/etc", "read")).toMatchObject(VIOLATION);
  });

  test("permit themselves and what lies in them by its real path", async () => {
    store = await reopen({ projectRoots: [at("project")] });
    await symlink(at("other"), at("project/out"));
    expect(permit(at("project/sub"))).toMatchObject({ ok: true });
    expect(permit(at("project/out"))).toMatchObject(VIOLATION);
    expect(permit(at("project/sub/.git"))).toMatchObject(VIOLATION);
    expect(store.roots.list()).toEqual([]);
  });

  test("an output directory may be one that does not exist yet, by no broken link", async () => {
    store = await reopen({ projectRoots: [at("project")] });
    const future = (path: string) => store.roots.permit(at(path), "write", { kind: "maybe" });
    expect(future("project/new/deep")).toMatchObject({ ok: true, value: { path: at("project/new/deep") } });
    expect(future("elsewhere/new")).toMatchObject(VIOLATION);
    await symlink(at("gone"), at("project/broken"));
    expect(future("project/broken/x")).toMatchObject(VIOLATION);
    await symlink(at("other"), at("project/out"));
    expect(future("project/out/x")).toMatchObject(VIOLATION);
  });
});

describe("roots.json", () => {
  test("is private, and one that is a link or damaged is told, not followed", async () => {
    valueOf(await store.roots.add(at("project"), "write"));
    expect((await stat(at("store/roots.json"))).mode & 0o777).toBe(0o600);
    const text = await readFile(at("store/roots.json"), "utf8");
    await writeFile(at("planted.json"), text);
    await rm(at("store/roots.json"));
    await symlink(at("planted.json"), at("store/roots.json"));
    expect(() => permit(at("project"))).toThrow("is damaged");
    await rm(at("store/roots.json"));
    await writeFile(at("store/roots.json"), "{");
    await expect(reopen()).rejects.toThrow("roots.json is damaged");
  });

  test("is asked each time: what another process has changed, or put back, counts at once", async () => {
    valueOf(await store.roots.add(at("project"), "write"));
    const [registered, { atime, mtime }] = [
      await readFile(at("store/roots.json")),
      await stat(at("store/roots.json")),
    ];
    expect(permit(at("project"))).toMatchObject({ ok: true });
    const reduced = registered.toString().replace('"write"', '"read" '); // as long as before
    await writeFile(at("store/roots.json"), reduced);
    await utimes(at("store/roots.json"), atime, mtime);
    expect(permit(at("project"))).toMatchObject(VIOLATION);
    expect(permit(at("project"), "read")).toMatchObject({ ok: true });
    await writeFile(at("store/roots.json"), "{");
    expect(() => permit(at("project"), "read")).toThrow("is damaged");
    expect(() => permit(at("project"), "read")).toThrow("is damaged");
    await writeFile(at("store/roots.json"), registered);
    expect(permit(at("project"))).toMatchObject({ ok: true });
    await rm(at("store/roots.json"));
    expect(permit(at("project"))).toMatchObject(VIOLATION);
  });

  test("of a store without one is made from its runs, once; places that can be no project stay out", async () => {
    const project = at("store/projects/known-000000000000");
    await mkdir(project, { recursive: true });
    const run = {
      runId: "11111111-2222-4333-8444-555555555555",
      projectId: "known-000000000000",
      packageId: "p",
      workflowRef: "w",
      activeAgentId: "a",
      phase: "completed",
      createdAt: "2026-01-01T00:00:00.000Z",
      lastUpdatedAt: "2026-01-01T00:00:00.000Z",
      bundle: {
        bundleRoot: at("other"),
        workflowPath: "{bundle-root}/w/workflow.yaml",
        sessionId: "s",
        outputRoot: at("store"),
      },
    };
    await writeFile(join(project, "runsIndex.json"), JSON.stringify([run]));
    await writeFile(join(project, "project.json"), JSON.stringify({ root: at("project") }));
    await rm(at("store/roots.json"));
    store = await reopen();
    expect(store.roots.list().map(({ path, access }) => [path, access])).toEqual([
      [at("project"), "write"],
      [at("other"), "read"],
    ]);
    await store.roots.remove(at("project"));
    store = await reopen();
    expect(permit(at("project"))).toMatchObject(VIOLATION);
  });
});
