import { existsSync, readFileSync, statSync, chmodSync, truncateSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ToolResult } from "../../../src/core/tools/tool-result.js";
import type { EditArguments } from "../../../src/core/tools/tool-specs.js";
import { editFile } from "../../../src/tools/files/edit.js";
import type { PlannedWrite, WriteHooks } from "../../../src/tools/files/replace-file.js";
import { writeFile } from "../../../src/tools/files/write.js";
import { Scratch, codeOf, sha256 } from "../scratch.js";

let scratch: Scratch;
let results: ToolResult[];
beforeEach(() => {
  scratch = new Scratch();
  results = [];
});
afterEach(() => scratch.finish(...results));

async function edit(
  args: Omit<EditArguments, "path"> & { readonly path?: string },
  hooks: WriteHooks = {},
  maxWriteBytes = 1_000,
): Promise<ToolResult> {
  const result = await editFile(
    scratch.workspace,
    { path: "@project/f.ts", ...args },
    { maxWriteBytes },
    hooks,
  );
  results.push(result);
  return result;
}

const text = () => scratch.text("project/f.ts");

describe("fs.edit", () => {
  test("replaces the one place, byte for byte, and keeps the file's mode, mark and line ends", async () => {
    scratch.put("project/f.ts", "\uFEFFlet a = 1;\r\nlet é = $&;\n");
    chmodSync(scratch.at("project/f.ts"), 0o741);
    const after = "\uFEFFlet a = 1;\r\nlet $1 = $$;\n";
    expect(await edit({ oldText: "é = $&;", newText: "$1 = $$;" })).toEqual({
      ok: true,
      path: "@project/f.ts",
      replacements: 1,
      bytesWritten: Buffer.byteLength(after),
      sha256After: sha256(after),
    });
    expect(text()).toBe(after);
    expect(statSync(scratch.at("project/f.ts")).mode & 0o777).toBe(0o741);
  });

  test("a text that is not there changes nothing, and says so; white space alone is told apart", async () => {
    scratch.put("project/f.ts", "if (x) {\r\n\ty();\r\n}\n");
    const absent = await edit({ oldText: "z();", newText: "" });
    expect(codeOf(absent)).toBe("TOOL_ARGS_INVALID");
    expect(JSON.stringify(absent)).toContain("0 matches");
    expect(JSON.stringify(absent)).not.toContain("white space");
    expect(JSON.stringify(await edit({ oldText: "{\n  y();", newText: "" }))).toContain("other white space");
    expect(text()).toBe("if (x) {\r\n\ty();\r\n}\n");
  });

  test("a long text that is almost there at each place is looked for in a moment", async () => {
    scratch.put("project/f.ts", "a".repeat(2_000_000));
    const half = "a".repeat(500_000);
    const absent = await edit({ oldText: `${half}b${half}`, newText: "" }, {}, 4_000_000);
    expect(JSON.stringify(absent)).toContain("0 matches");
  });

  test("a text that is there several times is refused with its lines, and replaced everywhere only on demand", async () => {
    scratch.put("project/f.ts", "a\nb a\n\na\n");
    const refused = await edit({ oldText: "a\n", newText: "c\n" });
    expect(refused).toMatchObject({
      error: { code: "TOOL_ARGS_INVALID", details: { matches: 3, lines: [1, 2, 4] } },
    });
    expect(JSON.stringify(refused)).toContain("3 times, at lines 1, 2, 4");
    expect(await edit({ oldText: "a\n", newText: "c\n", replaceAll: true })).toMatchObject({
      replacements: 3,
    });
    expect(text()).toBe("c\nb c\n\nc\n");
    scratch.put("project/f.ts", "x\n".repeat(50));
    expect(JSON.stringify(await edit({ oldText: "x", newText: "" }))).toContain("9, 10 and others");
  });

  test("a file that is not there is ENOENT, and no directory is made for it", async () => {
    for (const path of ["@project/none.ts", "@project/new/none.ts"]) {
      expect(codeOf(await edit({ path, oldText: "a", newText: "b" }))).toBe("ENOENT");
    }
    expect(existsSync(scratch.at("project/new"))).toBe(false);
  });

  test("an edit of a version that is gone is refused", async () => {
    scratch.put("project/f.ts", "new");
    const stale = await edit({ oldText: "new", newText: "x", ifMatchSha256: sha256("old") });
    expect(codeOf(stale)).toBe("E_PRECONDITION_FAILED");
    expect(text()).toBe("new");
    expect((await edit({ oldText: "new", newText: "x", ifMatchSha256: sha256("new") })).ok).toBe(true);
  });

  test("neither a long file nor a long outcome is made up in memory", async () => {
    scratch.put("project/f.ts", "a".repeat(900));
    const all = { oldText: "a", newText: "b".repeat(500), replaceAll: true };
    expect(codeOf(await edit(all))).toBe("E_WRITE_LIMIT");
    scratch.put("project/f.ts", "a".repeat(2_000));
    expect(codeOf(await edit({ oldText: "a".repeat(1_500), newText: "" }))).toBe("E_WRITE_LIMIT");
    expect(text()).toBe("a".repeat(2_000));
  });

  test("what is no text is not edited", async () => {
    scratch.put("project/f.ts", Buffer.from([0x61, 0xff, 0x62]));
    expect(codeOf(await edit({ oldText: "a", newText: "c" }))).toBe("TOOL_ARGS_INVALID");
  });

  test.each([
    "@pkg/step.md",
    "@state/workflow.md",
    "@state/logs/execution.jsonl",
    "@project/.env",
    "@project/.git/config",
  ])("%s is as closed as it is to fs.write", async (path) => {
    scratch.put(path.slice(1), "secret");
    expect(codeOf(await edit({ path, oldText: "secret", newText: "open" }))).toBe("E_SANDBOX_VIOLATION");
    expect(scratch.text(path.slice(1))).toBe("secret");
  });

  test("a repetition finds what an attempt cut short has written, and edits nothing twice", async () => {
    scratch.put("project/f.ts", "one");
    let planned: PlannedWrite | undefined;
    const cutShort: WriteHooks = {
      beforeCommit: async (write) => {
        planned = write;
      },
      afterCommit: () => Promise.reject(new Error("killed")),
    };
    await edit({ oldText: "one", newText: "one one" }, cutShort).catch(() => undefined);
    expect(text()).toBe("one one");
    const again = await edit(
      { oldText: "one", newText: "one one" },
      { earlierAttempt: planned as PlannedWrite },
    );
    expect(again).toMatchObject({ ok: true, sha256After: sha256("one one") });
    expect(text()).toBe("one one");
  });
});

describe.runIf(process.platform === "linux")("a file of more than may be written", () => {
  /** The bytes that this process has read so far. */
  const bytesRead = () => Number(/^rchar: (\d+)$/m.exec(readFileSync("/proc/self/io", "utf8"))?.[1]);
  const limits = { maxWriteBytes: 1_000 };

  test.each([
    ["edited", () => edit({ oldText: "a", newText: "b" })],
    [
      "added to",
      () => writeFile(scratch.workspace, { path: "@project/f.ts", content: "b", append: true }, limits),
    ],
  ])("is not read when it is to be %s", async (_, change) => {
    scratch.put("project/f.ts", "");
    truncateSync(scratch.at("project/f.ts"), 64 * 1024 * 1024);
    const before = bytesRead();
    expect(codeOf(await change())).toBe("E_WRITE_LIMIT");
    expect(bytesRead() - before).toBeLessThan(1024 * 1024);
  });
});
