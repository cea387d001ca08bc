import { chmod, mkdir, readdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { checkRoots } from "../../src/doctor/check-roots.js";
import { keepsInodes } from "../../src/store/roots/root-places.js";
import { checkStore, judgeSpace } from "../../src/doctor/check-store.js";
import type { Finding } from "../../src/doctor/finding.js";
import { FileLock } from "../../src/embedded/server-lock.js";
import { StartSignatures } from "../../src/store/start-signatures.js";
import { openStore } from "../../src/store/store.js";
import { withoutRights } from "../fakes/unprivileged.js";
import { newStoreDir } from "./places.js";

const named = (findings: readonly Finding[], name: string): Finding => {
  const finding = findings.find((other) => other.name === name);
  if (finding === undefined) throw new Error(`no finding ${name}`);
  return finding;
};
const troubles = (findings: readonly Finding[]) =>
  findings.filter(({ status }) => status !== "ok").map(({ name, status }) => `${name} ${status}`);

/** A store as the service makes it, in a directory that is ours. */
async function newStore() {
  const dir = await newStoreDir();
  return openStore(join(dir, "store"));
}

describe("a store", () => {
  test("as it is made is in order, and looking at it changes nothing", async () => {
    const { dir } = await newStore();
    const before = await readdir(dir);
    expect(troubles(await checkStore(dir, "open"))).toEqual([]);
    expect(await readdir(dir)).toEqual(before);
  });

  test("that is not there would be made, and is not", async () => {
    const dir = await newStoreDir();
    const findings = await checkStore(join(dir, "deep", "store"), "open");
    expect(troubles(findings)).toEqual([]);
    expect(named(findings, "store").found).toContain("is not there yet");
    expect(await readdir(dir)).toEqual([]);
  });

  test("that has lost its store.json is one, where it holds runs", async () => {
    const { dir } = await newStore();
    await rm(join(dir, "store.json"));
    expect(named(await checkStore(dir, "open"), "store").found).toContain("holds no store yet");
    await mkdir(join(dir, "projects", "shop-1"), { recursive: true });
    await writeFile(join(dir, "projects", "shop-1", "runs.jsonl"), "");
    expect(named(await checkStore(dir, "open"), "store").found).toContain("has lost its store.json");
  });

  test("that is a file is none", async () => {
    const path = join(await newStoreDir(), "store");
    await writeFile(path, "");
    expect(named(await checkStore(path, "open"), "store")).toMatchObject({ status: "failed" });
  });

  test("that is open to others is said, with the files", async () => {
    const { dir } = await newStore();
    await chmod(dir, 0o755);
    await chmod(join(dir, "store.json"), 0o644);
    const finding = named(await checkStore(dir, "open"), "store modes");
    expect(finding).toMatchObject({ status: "warning" });
    expect(finding.found).toBe("open to others: the directory 0755, store.json 0644");
    expect(finding.remedy).toBe(`chmod go= ${dir} ${join(dir, "store.json")}`);
  });

  test("of another user is theirs", async () => {
    const { dir } = await newStore();
    const finding = named(await checkStore(dir, "open", 4_001), "store");
    expect(finding).toMatchObject({ status: "failed" });
    expect(finding.found).toContain("and we are 4001");
  });

  test("whose identity is damaged says so", async () => {
    const { dir } = await newStore();
    await writeFile(join(dir, "store.json"), "{");
    const finding = named(await checkStore(dir, "open"), "store");
    expect(finding).toMatchObject({ status: "failed" });
    expect(finding.found).toContain("store.json is damaged");
  });

  test("whose lock a hanging process holds says who waits", async () => {
    const { dir } = await newStore();
    const lock = new FileLock(join(dir, "store.lock"));
    onTestFinished(() => lock.close());
    expect(lock.tryExclusive()).toBe(true);
    const finding = named(await checkStore(dir, "open"), "locks");
    expect(finding).toMatchObject({ status: "failed" });
    expect(finding.remedy).toContain("lsof");
  });

  test("with an index that cannot be read names it", async () => {
    const { dir } = await newStore();
    await mkdir(join(dir, "projects", "p1"), { recursive: true, mode: 0o700 });
    await writeFile(join(dir, "projects", "p1", "runsIndex.json"), "[{]");
    const finding = named(await checkStore(dir, "open"), "run index");
    expect(finding).toMatchObject({ status: "failed" });
    expect(finding.found).toContain(join("p1", "runsIndex.json"));
  });

  test("in which folders of projects or runs are another user's names them, and says nothing of their indexes", async () => {
    const { dir } = await newStore();
    const closed = join(dir, "projects", "closed");
    const run = join(dir, "projects", "open", "runs", "4ef912d7-5414-491d-8168-41f33846d283");
    for (const path of [closed, run]) await mkdir(path, { recursive: true, mode: 0o700 });
    await writeFile(join(closed, "runsIndex.json"), "[]");
    await withoutRights(dirname(dir), async () => {
      for (const path of [closed, run]) await chmod(path, 0o000);
      const findings = await checkStore(dir, "open");
      for (const path of [closed, run]) await chmod(path, 0o700);
      expect(troubles(findings).filter((trouble) => trouble.startsWith("run "))).toEqual([
        "run folders failed",
      ]);
      const finding = named(findings, "run folders");
      expect(finding.found).toContain(`${closed}, ${run}`);
      expect(finding.remedy).toContain(`${closed} ${run}, or run Interlock as the user whose they are.`);
    });
  });

  test("whose secret others can read starts nothing, and the secret is not shown", async () => {
    const store = await newStore();
    await StartSignatures.open(store);
    expect(named(await checkStore(store.dir, "signed"), "starts")).toMatchObject({
      status: "ok",
      found: "signed",
    });
    await chmod(join(store.dir, "starts.secret"), 0o640);
    expect(named(await checkStore(store.dir, "signed"), "starts")).toMatchObject({ status: "failed" });
    await writeFile(join(store.dir, "starts.secret"), "0123abcd", { mode: 0o600 });
    await chmod(join(store.dir, "starts.secret"), 0o600);
    const damaged = named(await checkStore(store.dir, "signed"), "starts");
    expect(damaged).toMatchObject({ status: "failed" });
    expect(damaged.found).not.toContain("0123abcd");
  });

  test.each([
    [2 * 1024 ** 3, "ok"],
    [1024 ** 3 - 1, "warning"],
    [1024 ** 2, "failed"],
  ])("with %d bytes of room is %s", (free, status) => {
    expect(judgeSpace(free, Number.POSITIVE_INFINITY, "/srv")).toMatchObject({ status });
  });

  test.each([
    [10_000, "ok", "2048 MiB free at /srv"],
    [9_999, "warning", "2048 MiB free at /srv, and room for 9999 files (df -i)"],
    [1, "failed", "2048 MiB free at /srv, and room for 1 file (df -i)"],
  ])("with room for %d files is %s, however many bytes are free", (files, status, found) => {
    expect(judgeSpace(2 * 1024 ** 3, files, "/srv")).toMatchObject({ status, found });
  });
});

describe("roots", () => {
  async function storeWith(...names: readonly string[]) {
    const store = await newStore();
    const base = await newStoreDir();
    const dirs = names.map((name) => join(base, name));
    for (const dir of dirs) {
      await mkdir(dir);
      await store.roots.add(dir, "write");
    }
    return { dir: store.dir, dirs: dirs as [string, ...string[]] };
  }

  test("that are there are counted", async () => {
    const { dir } = await storeWith("one", "two");
    expect(await checkRoots(dir, {})).toEqual([{ name: "roots", status: "ok", found: "2 usable" }]);
  });

  test("that were removed or exchanged are named, with what to do", async () => {
    const { dir, dirs } = await storeWith("gone", "other", "fine");
    const [gone, other = ""] = dirs;
    await rm(gone, { recursive: true });
    await rename(other, `${other}-moved`);
    await mkdir(other);
    const findings = await checkRoots(dir, {});
    const isSeen = keepsInodes(other);
    const exchanged = `${other}: another directory lies there than the one that was registered`;
    expect(findings.map(({ status, found }) => [status, found])).toEqual([
      ["ok", isSeen ? "1 usable" : "2 usable"],
      ["failed", `${gone} is not there any more`],
      ...(isSeen ? [["failed", exchanged]] : []),
    ]);
    expect(findings[1]?.remedy).toContain(`interlock project remove ${gone}`);
    expect(findings.at(-1)?.remedy).toContain(isSeen ? `interlock project add ${other}` : gone);
  });

  test("of the settings are looked at too", async () => {
    const { dir } = await newStore();
    const projectRoots = [join(dir, "..", "nowhere")];
    const [finding] = await checkRoots(dir, { projectRoots });
    expect(finding).toMatchObject({ status: "failed" });
    expect(finding?.remedy).toContain("INTERLOCK_PROJECT_ROOTS");
    await symlink("/", join(dir, "all"));
    const [all] = await checkRoots(dir, { projectRoots: [join(dir, "all")] });
    expect(all).toMatchObject({
      status: "failed",
      found: expect.stringContaining("leads to the root of the file"),
    });
  });

  test("whose list is damaged are none", async () => {
    const { dir } = await newStore();
    await writeFile(join(dir, "roots.json"), "nothing");
    expect(await checkRoots(dir, {})).toMatchObject([{ name: "roots", status: "failed" }]);
  });
});
