import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { isPrintable } from "../../../src/core/printable.js";
import type { ToolResult } from "../../../src/core/tools/tool-result.js";
import type { WriteArguments } from "../../../src/core/tools/tool-specs.js";
import { endWritesBefore } from "../../../src/tools/sandbox/temporary-file.js";
import { openWorkspace } from "../../../src/tools/sandbox/workspace.js";
import type { PlannedWrite, WriteHooks } from "../../../src/tools/files/replace-file.js";
import { writeFile } from "../../../src/tools/files/write.js";
import { Scratch, codeOf, sha256, snapshot } from "../scratch.js";

let scratch: Scratch;
let results: ToolResult[];
beforeEach(() => {
  scratch = new Scratch();
  results = [];
});
afterEach(() => scratch.finish(...results));

async function write(
  path: string,
  content: string,
  args: Partial<WriteArguments> = {},
  hooks: WriteHooks = {},
): Promise<ToolResult> {
  const result = await writeFile(
    scratch.workspace,
    { path, content, ...args },
    { maxWriteBytes: 100_000 },
    hooks,
  );
  results.push(result);
  return result;
}

const mode = (path: string) => statSync(scratch.at(path)).mode & 0o777;

describe("fs.write", () => {
  test.each(["@project/f.md", "@project/new/deep/f.md", "@state/notes/f.md", "@project//./new/./f.md"])(
    "makes %s with its directories",
    async (path) => {
      const canonical = path.replace("//./", "/").replace("/./", "/");
      expect(await write(path, "é\n")).toEqual({
        ok: true,
        path: canonical,
        bytesWritten: 3,
        sha256After: sha256("é\n"),
      });
      expect(scratch.text(canonical.slice(1))).toBe("é\n");
    },
  );

  test("replaces a file, and keeps its mode; a new one gets the usual mode, a private one in @state", async () => {
    scratch.put("project/tool.sh", "old");
    chmodSync(scratch.at("project/tool.sh"), 0o751);
    await write("@project/tool.sh", "new");
    expect(scratch.text("project/tool.sh")).toBe("new");
    expect(mode("project/tool.sh")).toBe(0o751);
    await write("@project/dir/f.md", "");
    expect(mode("project/dir/f.md")).toBe(0o666 & ~process.umask());
    expect(mode("project/dir")).toBe(0o777 & ~process.umask());
    await write("@state/dir/f.md", "");
    expect(mode("state/dir/f.md")).toBe(0o600);
    expect(mode("state/dir")).toBe(0o700);
  });

  test("a name of 255 bytes can be written", async () => {
    const name = "é".repeat(127) + "a";
    expect(codeOf(await write(`@project/${name}`, "x"))).toBeUndefined();
    expect(codeOf(await write(`@project/${name}`, "y"))).toBeUndefined();
    expect(scratch.text(`project/${name}`)).toBe("y");
  });

  test("a path of 255 directories can be written, and is removed again when it must", async () => {
    const path = `@project/${"d/".repeat(254)}f`;
    const refuse = { afterCommit: () => Promise.resolve({ code: "E_INTERNAL", message: "no" } as const) };
    await write(path, "x", {}, refuse);
    expect(readdirSync(scratch.at("project"))).toEqual([]);
    expect(codeOf(await write(path, "x"))).toBeUndefined();
  });

  test("content over the limit, or not to be encoded, changes nothing", async () => {
    scratch.put("project/f", "old");
    const before = snapshot(scratch.base);
    expect(codeOf(await write("@project/f", "é".repeat(50_001)))).toBe("E_WRITE_LIMIT");
    expect(codeOf(await write("@project/a/b", "é".repeat(50_001)))).toBe("E_WRITE_LIMIT");
    expect(codeOf(await write("@project/f", "a\ud800b"))).toBe("TOOL_ARGS_INVALID");
    expect(snapshot(scratch.base)).toBe(before);
    expect(codeOf(await write("@project/f", "é".repeat(50_000)))).toBeUndefined();
  });

  test("nothing can be written on @pkg", async () => {
    scratch.put("pkg/steps/a.md", "text");
    for (const path of ["@pkg", "@pkg/x", "@pkg/steps/a.md", "@pkg/./steps//b.md", "@pkg/new/x"]) {
      expect(codeOf(await write(path, "x"))).toBe("E_SANDBOX_VIOLATION");
    }
  });

  test("the state document and the log are the runtime's, however they are spelled", async () => {
    const before = snapshot(scratch.at("state"));
    for (const path of [
      "@state/workflow.md",
      "@state/./workflow.md",
      "@state//workflow.md/",
      "@state/workflow.md/x",
      "@state/logs",
      "@state/logs/execution.jsonl",
      "@state/logs/new.txt",
      "@state/./logs/deep/new.txt",
    ]) {
      expect(codeOf(await write(path, "x"))).toBe("E_SANDBOX_VIOLATION");
    }
    rmSync(scratch.at("state/logs"), { recursive: true });
    expect(codeOf(await write("@state/logs/new.txt", "x"))).toBe("E_SANDBOX_VIOLATION");
    mkdirSync(scratch.at("state/logs"));
    scratch.put("state/logs/execution.jsonl", "");
    expect(snapshot(scratch.at("state"))).toBe(before);
    // Another name is another file where the file system says so.
    expect(codeOf(await write("@state/workflow.md.txt", "x"))).toBeUndefined();
    expect(codeOf(await write("@state/x/workflow.md", "x"))).toBeUndefined();
  });

  test("another name of the state document is the state document", async () => {
    // As a case-insensitive file system would do it, the same entry answers to two names.
    rmSync(scratch.at("state/workflow.md"));
    scratch.put("state/other.md", "x");
    linkSync(scratch.at("state/other.md"), scratch.at("state/workflow.md"));
    expect(codeOf(await write("@state/other.md", "y"))).toBe("E_SANDBOX_VIOLATION");
  });

  test("a directory, a FIFO and what lies below a file are refused and stay", async () => {
    mkdirSync(scratch.at("project/dir"));
    scratch.put("project/file", "text");
    scratch.fifo("project/fifo");
    const before = snapshot(scratch.base);
    expect(codeOf(await write("@project", "x"))).toBe("TOOL_ARGS_INVALID");
    expect(codeOf(await write("@project/dir", "x"))).toBe("TOOL_ARGS_INVALID");
    expect(codeOf(await write("@project/dir/", "x"))).toBe("TOOL_ARGS_INVALID");
    expect(codeOf(await write("@project/fifo", "x"))).toBe("E_SANDBOX_VIOLATION");
    expect(codeOf(await write("@project/file/x/y", "x"))).toBe("TOOL_ARGS_INVALID");
    expect(snapshot(scratch.base)).toBe(before);
  });

  test("through a link inside the project its target is written, and the link stays", async () => {
    scratch.put("project/real/f.md", "old");
    scratch.link("project/file", "real/f.md");
    scratch.link("project/dir", "real");
    scratch.link("project/dangling", "real/new/g.md");
    const plans: PlannedWrite[] = [];
    const remember = { beforeCommit: async (plan: PlannedWrite) => void plans.push(plan) };
    await write("@project/file", "new", {}, remember);
    await write("@project/dir/sub/h.md", "h", {}, remember);
    await write("@project/dangling", "g", {}, remember);
    expect(scratch.text("project/real/f.md")).toBe("new");
    expect(scratch.text("project/real/sub/h.md")).toBe("h");
    expect(scratch.text("project/real/new/g.md")).toBe("g");
    for (const link of ["file", "dir", "dangling"]) {
      expect(lstatSync(scratch.at(`project/${link}`)).isSymbolicLink()).toBe(true);
    }
    expect(plans.map(({ path, resolvedPath }) => [path.segments, resolvedPath.segments])).toEqual([
      [["file"], ["real", "f.md"]],
      [
        ["dir", "sub", "h.md"],
        ["real", "sub", "h.md"],
      ],
      [["dangling"], ["real", "new", "g.md"]],
    ]);
  });
});

describe("ifMatchSha256", () => {
  test("a match replaces, anything else changes nothing", async () => {
    scratch.put("project/f", "old");
    const before = snapshot(scratch.base);
    const stale = sha256("older");
    expect(await write("@project/f", "new", { ifMatchSha256: stale })).toMatchObject({
      error: {
        code: "E_PRECONDITION_FAILED",
        details: { expectedSha256: stale, actualSha256: sha256("old") },
      },
    });
    for (const path of ["@project/none", "@project/none/deep/f"]) {
      expect(codeOf(await write(path, "new", { ifMatchSha256: stale }))).toBe("E_PRECONDITION_FAILED");
    }
    rmSync(scratch.at("locks"), { recursive: true });
    expect(snapshot(scratch.base)).toBe(before);
    expect(
      codeOf(await write("@project/f", "new", { ifMatchSha256: sha256("old").toUpperCase() })),
    ).toBeUndefined();
    expect(scratch.text("project/f")).toBe("new");
  });

  test("of eight concurrent writers one wins, whatever workspace and spelling they use", async () => {
    for (let round = 0; round < 10; round += 1) {
      scratch.put("project/a/f", `old ${round}`);
      if (round === 0) scratch.link("project/b", "a");
      const attempts = await Promise.all(
        Array.from({ length: 8 }, (_, index) =>
          writeFile(
            openWorkspace(scratch.options),
            {
              path: index % 2 === 0 ? "@project/a/f" : "@project/b/./f",
              content: `new ${index}`,
              ifMatchSha256: sha256(`old ${round}`),
            },
            { maxWriteBytes: 100 },
          ),
        ),
      );
      const winners = attempts.flatMap((attempt, index) => (attempt.ok ? [index] : []));
      expect(winners).toHaveLength(1);
      expect(attempts.filter((attempt) => codeOf(attempt) === "E_PRECONDITION_FAILED")).toHaveLength(7);
      expect(scratch.text("project/a/f")).toBe(`new ${winners[0]}`);
    }
  });

  test("without it the last of many concurrent writers wins, and a reader never sees half a file", async () => {
    const contents = Array.from({ length: 20 }, (_, index) => String(index).repeat(5000));
    const writes = Promise.all(contents.map((content) => write("@project/deep/new/f", content)));
    const progress = { settled: false };
    void writes.then(() => (progress.settled = true));
    const seen = new Set<string>();
    while (!progress.settled) {
      await new Promise((resolve) => setImmediate(resolve));
      if (existsSync(scratch.at("project/deep/new/f"))) seen.add(scratch.text("project/deep/new/f"));
    }
    expect([...seen].filter((content) => !contents.includes(content))).toEqual([]);
    expect((await writes).map(codeOf)).toEqual(contents.map(() => undefined));
    expect(readdirSync(scratch.at("project/deep/new"))).toEqual(["f"]);
    expect(readdirSync(scratch.at("locks"))).toHaveLength(1);
  });
});

describe("hooks", () => {
  const fault = {
    code: "E_INVALID_TRANSITION",
    message: "not recorded",
    details: { allowedNext: [] },
  } as const;

  test("are told what will be and what was, in order", async () => {
    scratch.put("project/f", "old");
    const seen: unknown[] = [];
    await write(
      "@project/./f",
      "new!",
      {},
      {
        beforeCommit: async (plan) => void seen.push(plan, scratch.text("project/f")),
        afterCommit: async (plan) => {
          seen.push(plan, scratch.text("project/f"));
          return undefined;
        },
      },
    );
    const plan = {
      path: { mount: "project", segments: ["f"] },
      resolvedPath: { mount: "project", segments: ["f"] },
      created: false,
      sha256Before: sha256("old"),
      sha256After: sha256("new!"),
      bytes: 4,
    };
    expect(seen).toEqual([plan, "old", plan, "new!"]);
  });

  test("if the first rejects, nothing is changed and the rejection is the caller's", async () => {
    scratch.put("project/f", "old");
    const before = snapshot(scratch.at("project"));
    const error = Object.assign(new Error("no"), { code: "ENOSPC", errno: -28 });
    const hooks = { beforeCommit: () => Promise.reject(error) };
    await expect(write("@project/f", "new", {}, hooks)).rejects.toBe(error);
    await expect(write("@project/a/b/c", "new", {}, hooks)).rejects.toBe(error);
    expect(snapshot(scratch.at("project"))).toBe(before);
  });

  test("a fault of the second undoes a created file and the directories made for it", async () => {
    mkdirSync(scratch.at("project/a"));
    const before = snapshot(scratch.at("project"));
    const hooks = { afterCommit: async () => fault };
    expect(await write("@project/a/b/c/d", "new", {}, hooks)).toEqual({ ok: false, error: fault });
    expect(await write("@project/a/d", "new", {}, hooks)).toEqual({ ok: false, error: fault });
    expect(snapshot(scratch.at("project"))).toBe(before);
    const rejecting = { afterCommit: () => Promise.reject(new Error("no")) };
    await expect(write("@project/a/b/c/d", "new", {}, rejecting)).rejects.toThrow("no");
    expect(snapshot(scratch.at("project"))).toBe(before);
  });

  test("a fault of the second leaves what others put there meanwhile", async () => {
    const hooks = {
      afterCommit: async () => {
        writeFileSync(scratch.at("project/a/theirs"), "x");
        rmSync(scratch.at("project/a/ours"));
        writeFileSync(scratch.at("project/a/ours"), "replaced");
        return fault;
      },
    };
    await write("@project/a/ours", "new", {}, hooks);
    expect(readdirSync(scratch.at("project/a"))).toEqual(["ours", "theirs"]);
    expect(scratch.text("project/a/ours")).toBe("replaced");
  });

  test("a fault of the second leaves an overwritten file as it is", async () => {
    scratch.put("project/f", "old");
    await write("@project/f", "new", {}, { afterCommit: async () => fault });
    expect(scratch.text("project/f")).toBe("new");
  });

  test("a change by somebody who does not know the lock is noticed before the bytes become visible", async () => {
    scratch.put("project/f", "old");
    const changes = {
      "@project/f": () => writeFileSync(scratch.at("project/f"), "theirs"),
      "@project/new": () => writeFileSync(scratch.at("project/new"), "theirs"),
      "@project/dir": () => mkdirSync(scratch.at("project/dir")),
    };
    for (const [path, change] of Object.entries(changes)) {
      const beforeCommit = async () => change() as undefined;
      const result = await write(path, "ours", {}, { beforeCommit });
      expect(codeOf(result)).toBe("E_PRECONDITION_FAILED");
    }
    expect(scratch.text("project/f")).toBe("theirs");
    expect(scratch.text("project/new")).toBe("theirs");
  });

  test("a directory that is moved away meanwhile takes the file with it", async () => {
    mkdirSync(scratch.at("project/a"));
    const move = async () => {
      renameSync(scratch.at("project/a"), scratch.at("project/b"));
      scratch.link("project/a", "../outside");
    };
    await write("@project/a/f", "x", {}, { beforeCommit: () => move().then(() => undefined) });
    expect(scratch.text("project/b/f")).toBe("x");
  });

  test("a directory that is removed meanwhile is made again", async () => {
    let removed = false;
    const remove = async () => {
      if (removed) return;
      removed = true;
      rmSync(scratch.at("project/a"), { recursive: true });
    };
    expect(
      codeOf(await write("@project/a/f", "x", {}, { beforeCommit: () => remove().then(() => undefined) })),
    ).toBeUndefined();
    expect(scratch.text("project/a/f")).toBe("x");
  });
});

describe("a repeated call", () => {
  /** Runs a call up to the point where its bytes are visible, as if the process had died there. */
  async function interrupted(path: string, content: string): Promise<PlannedWrite> {
    let plan: PlannedWrite | undefined;
    await write(path, content, {}, { beforeCommit: async (write) => void (plan = write) });
    if (plan === undefined) throw new Error("not reached");
    return JSON.parse(JSON.stringify(plan)) as PlannedWrite;
  }

  test("finds its own bytes and does what was left", async () => {
    const earlierAttempt = await interrupted("@project/a/f", "new");
    const { ino } = statSync(scratch.at("project/a/f"));
    const after: PlannedWrite[] = [];
    const result = await write(
      "@project/a/f",
      "new",
      { ifMatchSha256: sha256("gone") },
      {
        earlierAttempt,
        beforeCommit: () => Promise.reject(new Error("must not plan again")),
        afterCommit: async (plan) => {
          after.push(plan);
          return undefined;
        },
      },
    );
    expect(result).toMatchObject({ ok: true, sha256After: sha256("new") });
    expect(after).toEqual([earlierAttempt]);
    expect(after[0]?.created).toBe(true);
    expect(statSync(scratch.at("project/a/f")).ino).toBe(ino);
  });

  test("undoes the file that its earlier attempt created", async () => {
    const earlierAttempt = await interrupted("@project/f", "new");
    const hooks = {
      earlierAttempt,
      afterCommit: async () => ({ code: "E_INTERNAL", message: "no" }) as const,
    };
    expect(codeOf(await write("@project/f", "new", {}, hooks))).toBe("E_INTERNAL");
    expect(existsSync(scratch.at("project/f"))).toBe(false);
  });

  test("writes when the file holds something else", async () => {
    const earlierAttempt = await interrupted("@project/f", "new");
    scratch.put("project/f", "theirs");
    const plans: PlannedWrite[] = [];
    await write(
      "@project/f",
      "new",
      {},
      { earlierAttempt, beforeCommit: async (plan) => void plans.push(plan) },
    );
    expect(plans).toMatchObject([{ created: false, sha256Before: sha256("theirs") }]);
    expect(scratch.text("project/f")).toBe("new");
  });
});

describe("fs.write with append", () => {
  const append = (
    path: string,
    content: string,
    args: Partial<WriteArguments> = {},
    hooks: WriteHooks = {},
  ) => write(path, content, { append: true, ...args }, hooks);

  test("adds to what is there, byte for byte, and makes what is not", async () => {
    const wholes: string[] = [];
    const written = (bytes: Uint8Array) => void wholes.push(Buffer.from(bytes).toString());
    expect(await append("@project/doc.md", "# é\n", {}, { written })).toMatchObject({
      ok: true,
      bytesWritten: 5,
    });
    expect(await append("@project/doc.md", "two", {}, { written })).toEqual({
      ok: true,
      path: "@project/doc.md",
      bytesWritten: 3,
      sha256After: sha256("# é\ntwo"),
    });
    expect(scratch.text("project/doc.md")).toBe("# é\ntwo");
    expect(wholes).toEqual(["# é\n", "# é\ntwo"]);
    expect(codeOf(await append("@project/doc.md", "x", { ifMatchSha256: sha256("two") }))).toBe(
      "E_PRECONDITION_FAILED",
    );
    await append("@project/doc.md", "!", { ifMatchSha256: sha256("# é\ntwo") });
    expect(scratch.text("project/doc.md")).toBe("# é\ntwo!");
  });

  test("many at once lose nothing", async () => {
    await Promise.all(["a", "b", "c", "d", "e"].map((letter) => append("@project/doc.md", letter)));
    expect(scratch.text("project/doc.md").split("").sort()).toEqual(["a", "b", "c", "d", "e"]);
  });

  test("refuses what would be too much as a whole, and what is no text", async () => {
    scratch.put("project/doc.md", "x".repeat(99_999));
    expect(codeOf(await append("@project/doc.md", "yz"))).toBe("E_WRITE_LIMIT");
    writeFileSync(scratch.at("project/image"), Uint8Array.of(0xff, 0xfe));
    expect(codeOf(await append("@project/image", "x"))).toBe("TOOL_ARGS_INVALID");
    expect(codeOf(await append("@pkg/doc.md", "x"))).toBe("E_SANDBOX_VIOLATION");
    expect(scratch.text("project/doc.md")).toHaveLength(99_999);
  });

  test("a repetition after a crash does not append again", async () => {
    scratch.put("project/doc.md", "one ");
    let earlierAttempt: PlannedWrite | undefined;
    await append(
      "@project/doc.md",
      "two",
      {},
      { beforeCommit: async (plan) => void (earlierAttempt = plan) },
    );
    if (earlierAttempt === undefined) throw new Error("not reached");
    const wholes: string[] = [];
    const repeated = await append(
      "@project/doc.md",
      "two",
      {},
      {
        earlierAttempt,
        beforeCommit: () => Promise.reject(new Error("must not plan again")),
        written: (bytes) => void wholes.push(Buffer.from(bytes).toString()),
      },
    );
    expect(repeated).toMatchObject({ ok: true, sha256After: sha256("one two") });
    expect(scratch.text("project/doc.md")).toBe("one two");
    expect(wholes).toEqual(["one two"]);
    scratch.put("project/doc.md", "one "); // it had not come to the rename
    await append("@project/doc.md", "two", {}, { earlierAttempt });
    expect(scratch.text("project/doc.md")).toBe("one two");
  });
});

const fileName = fc
  .string({ unit: "binary", minLength: 1, maxLength: 20 })
  .map((text) => text.replaceAll(/[/\0]/gu, "_"))
  .filter(isPrintable);

test("whatever names are written, each file is where its name says", () =>
  fc.assert(
    fc.asyncProperty(fc.uniqueArray(fileName, { maxLength: 4, minLength: 1 }), async (names) => {
      const path = names.join("/");
      fc.pre(!names.some((name) => name === "." || name === ".." || /^\.(git|env)/iu.test(name)));
      expect(codeOf(await write(`@project/${path}`, path))).toBeUndefined();
      expect(readFileSync(scratch.at("project") + "/" + path, "utf8")).toBe(path);
      rmSync(scratch.at("project"), { recursive: true });
      mkdirSync(scratch.at("project"));
    }),
    { numRuns: 100, seed: 5 },
  ));

describe("a new execution of a run", () => {
  const WRITER = { runId: "run", execution: 2 };
  const temporaries = () => readdirSync(scratch.at("project")).filter((name) => name.startsWith(".il-"));

  test("ends the writes of the older ones, and nobody else's", async () => {
    const workspace = openWorkspace({ ...scratch.options, writer: WRITER });
    const { pins, lockDir } = workspace;
    let checks = 0;
    const written = writeFile(
      workspace,
      { path: "@project/f", content: "late" },
      { maxWriteBytes: 100 },
      {
        // The stop comes after the last check before the rename.
        assertOurs() {
          checks += 1;
          if (checks > 2) throw new Error("over");
        },
        beforeCommit: async () => {
          for (const other of [WRITER, { runId: "run", execution: 1 }, { runId: "other", execution: 3 }]) {
            endWritesBefore(pins, lockDir, other);
            expect(temporaries()).toHaveLength(1);
          }
          endWritesBefore(pins, lockDir, { runId: "run", execution: 3 });
          expect(temporaries()).toEqual([]);
        },
      },
    );
    await expect(written).rejects.toThrow("over");
    expect(existsSync(scratch.at("project/f"))).toBe(false);
  });

  test("leaves alone a note that it cannot read, or whose write names no run", async () => {
    const { pins, lockDir } = scratch.workspace;
    endWritesBefore(pins, scratch.at("none"), WRITER);
    await write(
      "@project/f",
      "mine",
      {},
      {
        beforeCommit: async () => {
          writeFileSync(`${lockDir}/write-zz.json`, "not a note");
          writeFileSync(`${lockDir}/write-00.json`, "{");
          endWritesBefore(pins, lockDir, { runId: "run", execution: 9 });
          expect(readFileSync(`${lockDir}/write-00.json`, "utf8")).toBe("{");
          for (const name of ["write-zz.json", "write-00.json"]) rmSync(`${lockDir}/${name}`);
        },
      },
    );
    expect(scratch.text("project/f")).toBe("mine");
  });
});

describe("what a power failure leaves of a write", () => {
  const names = () => readdirSync(scratch.at("project")).filter((name) => name.startsWith(".il-"));
  let left: string;
  let planned: PlannedWrite;
  beforeEach(async () => {
    const hooks = {
      beforeCommit: async (write: PlannedWrite) => {
        [left = ""] = names();
        planned = write;
      },
    };
    await write("@project/f", "new", {}, hooks as WriteHooks);
    rmSync(scratch.at("project/f"));
    scratch.put(`project/${left}`, "");
  });
  const isLock = (name: string) => name.endsWith(".lock");
  const noteFile = () =>
    scratch.at(`locks/${readdirSync(scratch.at("locks")).find(isLock)}`).replace(/lock$/, "json");

  test.each(["", "\0\0\0", '{"directory":"/'])(
    "is removed by who writes it again, the note being %j",
    async (note) => {
      writeFileSync(noteFile(), note);
      expect(codeOf(await write("@project/f", "new"))).toBeUndefined();
      expect(names()).toEqual([]);
    },
  );

  test("is removed where the plan alone is left", async () => {
    const again = await write("@project/f", "new", {}, { earlierAttempt: planned });
    expect(codeOf(again)).toBeUndefined();
    expect(names()).toEqual([]);
  });

  test("is left alone by who writes under another lock: it may be just being written", async () => {
    const ours = noteFile();
    for (let other = 1; readdirSync(scratch.at("locks")).filter(isLock).length === 1; other += 1) {
      scratch.put(`project/${left}`, "");
      writeFileSync(ours, "");
      const result = await write(`@project/other-${other}`, "x", {}, { earlierAttempt: planned });
      expect(codeOf(result)).toBeUndefined();
    }
    expect(names()).toEqual([left]);
    expect(codeOf(await write("@project/f", "new"))).toBeUndefined();
    expect(names()).toEqual([]);
  });
});
