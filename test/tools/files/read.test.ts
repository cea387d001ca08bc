import { truncateSync } from "node:fs";
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ReadArguments } from "../../../src/core/tools/tool-specs.js";
import { readFile } from "../../../src/tools/files/read.js";
import { Scratch, codeOf, sha256 } from "../scratch.js";

describe("fs.read", () => {
  let scratch: Scratch;
  beforeEach(() => {
    scratch = new Scratch();
  });
  afterEach(() => scratch.finish());

  function read(args: Omit<ReadArguments, "path"> = {}, maxReadBytes = 50_000) {
    return readFile(scratch.workspace, { path: "@project/f", ...args }, { maxReadBytes });
  }

  test.each([
    ["an empty file", ""],
    ["a line", "a"],
    ["a final newline", "a\n"],
    ["carriage returns", "a\r\nb\r\n"],
    ["a byte-order mark", "\ufeffa"],
    ["all planes", "aé日\u{1f600}"],
    ["control characters", "\u0001\u001b[0m\u2028"],
  ])("gives %s byte for byte", async (_, content) => {
    scratch.put("project/f", content);
    expect(await read()).toEqual({
      ok: true,
      path: "@project/f",
      bytes: Buffer.byteLength(content),
      sha256: sha256(content),
      truncated: false,
      content,
    });
  });

  test("a whole read at the limit is whole, over it a preview that names the way on", async () => {
    const content = `${"a".repeat(98)}é`;
    scratch.put("project/f", content);
    expect(await read({}, 100)).toMatchObject({ truncated: false, content });
    const preview = await read({}, 99);
    expect(preview).toEqual({
      ok: true,
      path: "@project/f",
      bytes: 100,
      sha256: sha256(content),
      truncated: true,
      contentPreview: "a".repeat(98), // the é is not split
      hint: expect.stringMatching(/fs\.search.*startLine/u),
    });
  });

  test("a cut never splits a character, whatever the limit", async () => {
    const content = "aé日\u{1f600}".repeat(3);
    scratch.put("project/f", content);
    for (let limit = 1; limit < Buffer.byteLength(content); limit += 1) {
      const result = await read({}, limit);
      if (!result.ok) throw new Error("unexpected");
      const preview = result["contentPreview"] as string;
      expect(content.startsWith(preview)).toBe(true);
      expect(Buffer.byteLength(preview)).toBeLessThanOrEqual(limit);
      expect(Buffer.byteLength(preview)).toBeGreaterThan(limit - 4);
    }
  });

  test("hash and size are the whole file's for a window, too", async () => {
    const content = Array.from({ length: 100_000 }, (_, index) => `line ${index + 1} é`).join("\n");
    scratch.put("project/f", content);
    expect(await read({ startLine: 50_000, endLine: 50_001 })).toEqual({
      ok: true,
      path: "@project/f",
      bytes: Buffer.byteLength(content),
      sha256: sha256(content),
      truncated: false,
      content: "line 50000 é\nline 50001 é",
    });
    expect(await read({ startLine: 99_999 })).toMatchObject({ content: "line 99999 é\nline 100000 é" });
    expect(await read({ startLine: 100_000, endLine: 999_999 })).toMatchObject({ content: "line 100000 é" });
    expect(await read({ endLine: 1 })).toMatchObject({ content: "line 1 é" });
  });

  test("a window is the lines between newlines", () =>
    fc.assert(
      fc.asyncProperty(
        fc
          .array(fc.constantFrom("a", "\n", "\n", "\r\n", "é"), { maxLength: 30 })
          .map((parts) => parts.join("")),
        fc.integer({ min: 1, max: 12 }),
        fc.nat({ max: 12 }),
        async (content, startLine, more) => {
          scratch.put("project/f", content);
          const lines = content.split("\n").slice(startLine - 1, startLine + more);
          const result = await read({ startLine, endLine: startLine + more });
          expect(result).toMatchObject(
            lines.length === 0 ? { error: { code: "TOOL_ARGS_INVALID" } } : { content: lines.join("\n") },
          );
        },
      ),
      { numRuns: 200, seed: 3 },
    ));

  test("a window over the limit is refused, also when the file is cut into many chunks", async () => {
    scratch.put("project/f", `${"a".repeat(600_000)}\nb\n`);
    expect(codeOf(await read({ startLine: 1, endLine: 1 }))).toBe("E_READ_LIMIT");
    expect(await read({ startLine: 2, endLine: 2 })).toMatchObject({ content: "b" });
    expect(await read({ startLine: 1, endLine: 1 }, 600_000)).toMatchObject({ truncated: false });
  });

  test("a window that does not exist is a clear error", async () => {
    scratch.put("project/f", "a\nb");
    expect(await read({ startLine: 3 })).toMatchObject({
      error: { code: "TOOL_ARGS_INVALID", message: "@project/f has 2 lines: there is no line 3." },
    });
    expect(await read({ startLine: 2, endLine: 1 })).toMatchObject({ error: { code: "TOOL_ARGS_INVALID" } });
  });

  test.each([
    ["a NUL byte", Buffer.from("a\0b")],
    ["invalid UTF-8", Buffer.from([0x61, 0xff, 0x62])],
    ["half a character at the end", Buffer.from([0x61, 0xe2, 0x82])],
    ["an encoded surrogate", Buffer.from([0xed, 0xa0, 0x80])],
    ["an overlong encoding", Buffer.from([0xc0, 0xaf])],
    ["UTF-16", Buffer.from("\ufeffabc", "utf16le")],
    ["a NUL byte far behind", Buffer.concat([Buffer.from("é".repeat(200_000)), Buffer.from([0])])],
  ])("%s makes a file binary: an error, not mojibake", async (_, bytes) => {
    scratch.put("project/f", bytes);
    expect(codeOf(await read())).toBe("TOOL_ARGS_INVALID");
    expect(codeOf(await read({ startLine: 1, endLine: 1 }))).toBe("TOOL_ARGS_INVALID");
  });

  test("a character across a chunk border is no error", async () => {
    const content = `a${"\u{1f600}".repeat(200_000)}`;
    scratch.put("project/f", content);
    expect(await read()).toMatchObject({ truncated: true, sha256: sha256(content) });
    expect(await read({}, 2_000_000)).toMatchObject({ truncated: false, content });
  });

  test("a file that is too large to hash is refused before it is read", async () => {
    scratch.put("project/f", "a");
    truncateSync(scratch.at("project/f"), 2 ** 40);
    expect(codeOf(await read())).toBe("E_READ_LIMIT");
  });

  test("a directory is not read", async () => {
    expect(codeOf(await readFile(scratch.workspace, { path: "@project" }, { maxReadBytes: 1 }))).toBe(
      "TOOL_ARGS_INVALID",
    );
  });
});
