import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { DEFAULT_PROTECTED_PATHS } from "../../../src/core/tools/name-rules.js";
import type { RunFiles } from "../../../src/store/runs/run-files.js";
import { sha256 } from "../../../src/store/disk/sha256.js";
import { type ForkPlace, compareFiles, restoreFiles } from "../../../src/tools/files/fork-files.js";
import { openRunWorld, valueOf } from "../../fakes/run-world.js";
import { twoNodePackage } from "../../fakes/two-node-package.js";

interface Source {
  readonly files: RunFiles;
  /** What it had written by its nth call. */
  readonly by: (calls: number) => Promise<Parameters<typeof compareFiles>[0]>;
  readonly place: ForkPlace;
  readonly at: (path: string) => string;
  /** Records that the run has written a file, and keeps its content. */
  write(path: string, content: string): Promise<void>;
}

async function openSource(): Promise<Source> {
  const { dir, store, projectRoot, packageId } = await openRunWorld(twoNodePackage());
  const run = valueOf(await store.runs.createRun({ projectRoot, packageId, activeAgentId: "author" }));
  const files = valueOf(await store.runs.openFiles(run.projectId, run.runId));
  const target = join(dir, "target");
  mkdirSync(join(target, "artifacts"), { recursive: true });
  writeFileSync(join(dir, "secret.txt"), "SECRET");
  let calls = 0;
  return {
    files,
    async by(nth) {
      const written = [...(await files.calls.filesWritten(nth))];
      return {
        files,
        written: new Map(written.map(([alias, hash]) => [alias, { sha256: hash, blobs: files.blobs }])),
      };
    },
    place: {
      projectRoot: target,
      lockDir: store.lockDir,
      keepOut: [store.dir],
      protectedPaths: DEFAULT_PROTECTED_PATHS,
    },
    at: (path) => join(target, path),
    async write(path, content) {
      files.blobs.keep(Buffer.from(content));
      calls += 1;
      const result = { ok: true, path: `@project/${path}`, sha256After: sha256(content) } as const;
      await files.calls.record(`call-${calls}`, { result });
    },
  };
}

async function statuses(source: Source, calls = 99) {
  const files = await compareFiles(await source.by(calls), source.place);
  return Object.fromEntries(files.map(({ path, status }) => [path, status]));
}

describe("the files of a fork", () => {
  test("are those of the moment, each by its last content", async () => {
    const source = await openSource();
    await source.write("artifacts/a.md", "one");
    await source.write("artifacts/b.md", "two");
    await source.write("artifacts/a.md", "three");
    writeFileSync(source.at("artifacts/a.md"), "one");
    expect(await statuses(source, 2)).toEqual({ "artifacts/a.md": "same", "artifacts/b.md": "missing" });
    expect(await statuses(source)).toEqual({ "artifacts/a.md": "differs", "artifacts/b.md": "missing" });
    expect(await statuses(source, 0)).toEqual({});
  });

  test("are restored byte for byte where they are missing; again nothing happens", async () => {
    const source = await openSource();
    await source.write("artifacts/deep/ü.md", "\uFEFFa\r\nb");
    await source.write("artifacts/mine.md", "theirs");
    writeFileSync(source.at("artifacts/mine.md"), "mine");
    const restored = await restoreFiles(await source.by(99), source.place);
    expect(restored.map(({ status }) => status)).toEqual(["restored", "differs"]);
    expect(readFileSync(source.at("artifacts/deep/ü.md"))).toEqual(Buffer.from("\uFEFFa\r\nb"));
    expect(readFileSync(source.at("artifacts/mine.md"), "utf8")).toBe("mine");
    const again = await restoreFiles(await source.by(99), source.place);
    expect(again.map(({ status }) => status)).toEqual(["same", "differs"]);
  });

  test("that somebody makes while they are restored stay as they are, and are not missing", async () => {
    const source = await openSource();
    await source.write("artifacts/a.md", "of the source");
    await source.write("artifacts/b.md", "of both");
    const { written, files } = await source.by(99);
    /** Between the comparison and the write of it, each file is made by another attempt whose run has gone on. */
    const meanwhile = new Map(
      [...written].map(([alias, { sha256: hash, blobs }]) => {
        let reads = 0;
        const read: typeof blobs.read = (asked) => {
          reads += 1;
          const made = alias.endsWith("a.md") ? "of the run" : "of both";
          if (reads === 2) writeFileSync(source.at(alias.slice("@project/".length)), made);
          return blobs.read(asked);
        };
        return [
          alias,
          { sha256: hash, blobs: Object.assign(Object.create(blobs) as typeof blobs, { read }) },
        ];
      }),
    );
    const restored = await restoreFiles({ files, written: meanwhile }, source.place);
    expect(readFileSync(source.at("artifacts/a.md"), "utf8")).toBe("of the run");
    expect(restored.map(({ status }) => status)).toEqual(["differs", "same"]);
  });

  test("whose content is no longer kept are lost", async () => {
    const source = await openSource();
    await source.write("artifacts/a.md", "text");
    writeFileSync(join(source.files.dir, "blobs", sha256("text")), "te");
    expect(await statuses(source)).toEqual({ "artifacts/a.md": "lost" });
    const [file] = await restoreFiles(await source.by(99), source.place);
    expect(file?.status).toBe("lost");
  });

  test("lead nowhere outside: links, protected names and things that are no files stay as they are", async () => {
    const source = await openSource();
    const outside = join(source.place.projectRoot, "..");
    await source.write("out/pwned.txt", "x");
    await source.write("link.txt", "x");
    await source.write("dangling.txt", "x");
    await source.write(".git/hooks/pre-commit", "x");
    await source.write(".env", "x");
    await source.write("artifacts/dir", "x");
    await source.write("file/inside.md", "x");
    symlinkSync(outside, source.at("out"));
    symlinkSync(join(outside, "secret.txt"), source.at("link.txt"));
    symlinkSync(join(outside, "made.txt"), source.at("dangling.txt"));
    mkdirSync(source.at("artifacts/dir"));
    writeFileSync(source.at("file"), "a file");
    const restored = await restoreFiles(await source.by(99), source.place);
    expect(restored.filter(({ status }) => status === "restored" || status === "same")).toEqual([]);
    expect(readFileSync(join(outside, "secret.txt"), "utf8")).toBe("SECRET");
    expect(() => readFileSync(join(outside, "pwned.txt"))).toThrow("ENOENT");
    expect(() => readFileSync(join(outside, "made.txt"))).toThrow("ENOENT");
    expect(() => readFileSync(source.at(".env"))).toThrow("ENOENT");
    expect(readFileSync(source.at("file"), "utf8")).toBe("a file");
  });

  test("a link inside the project is followed, as it is for the model", async () => {
    const source = await openSource();
    await source.write("docs/a.md", "x");
    mkdirSync(source.at("real"));
    symlinkSync("real", source.at("docs"));
    await restoreFiles(await source.by(99), source.place);
    expect(readFileSync(source.at("real/a.md"), "utf8")).toBe("x");
  });

  test("hostile names in the journal are no paths", async () => {
    const source = await openSource();
    await source.write("../escaped.txt", "x");
    await source.write("a\u0000b", "x");
    await source.write("artifacts/..\\x", "kept");
    const restored = await restoreFiles(await source.by(99), source.place);
    expect(restored.map(({ status }) => status)).toEqual(["differs", "differs", "restored"]);
    expect(readFileSync(source.at("artifacts/..\\x"), "utf8")).toBe("kept");
  });
});
