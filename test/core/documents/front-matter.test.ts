import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/core/json.js";
import {
  type FrontMatterDocument,
  parseMarkdown,
  withFrontmatter,
} from "../../../src/core/documents/front-matter.js";

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString("utf8");

function parsed(document: string | Uint8Array): FrontMatterDocument {
  const result = parseMarkdown(Buffer.from(document));
  if (!result.ok) throw new Error(result.error.message);
  return result.value;
}

function refusal(document: string | Uint8Array) {
  const result = parseMarkdown(Buffer.from(document));
  return result.ok ? undefined : result.error;
}

function rewritten(document: string | Uint8Array, frontmatter: JsonObject): Buffer {
  const result = withFrontmatter(parsed(document), frontmatter);
  if (!result.ok) throw new Error(result.error.message);
  return Buffer.from(result.value);
}

const NOT_BEGUN =
  "The document does not begin with a line of exactly ---. Begin it so, with nothing before that line, and end the front matter with another.";
const NOT_CLOSED = "The front matter is not closed by a line of exactly ---. Put one below it.";

describe("cutting a document", () => {
  test.each<[string, string, JsonObject, string]>([
    ["the usual form", "---\na: 1\n---\nBody\n", { a: 1 }, "Body\n"],
    ["an empty block", "---\n---\nBody", {}, "Body"],
    ["a block of comments", "---\n# nothing\n\n---\nBody", {}, "Body"],
    ["no body", "---\na: 1\n---\n", { a: 1 }, ""],
    ["no line end after the fence", "---\na: 1\n---", { a: 1 }, ""],
    ["line ends of Windows", "---\r\na: 1\r\n---\r\nBody\r\n", { a: 1 }, "Body\r\n"],
    ["a byte-order mark", "\ufeff---\na: 1\n---\nBody", { a: 1 }, "Body"],
    ["a fence in the body", "---\na: 1\n---\nBody\n---\nb: 2\n---\n", { a: 1 }, "Body\n---\nb: 2\n---\n"],
    ["a longer line of dashes in the block", "---\na: |\n  ----\n---\nBody", { a: "----\n" }, "Body"],
    ["a line that only begins like the fence", "---\n---x: 1\nb: 2\n---\n", { "---x": 1, b: 2 }, ""],
    [
      "a fence after a comment that only begins like it",
      "---\n# c\n---x: 1\n---\nBody",
      { "---x": 1 },
      "Body",
    ],
    ["an indented fence in a text", "---\na: |\n  ---\n---\nBody", { a: "---\n" }, "Body"],
    ["NUL bytes in the body", "---\na: 1\n---\n\u0000\u0000", { a: 1 }, "\u0000\u0000"],
  ])("%s", (_, document, frontmatter, body) => {
    const parts = parsed(document);
    expect([parts.frontmatter, text(parts.body)]).toEqual([frontmatter, body]);
    expect(text(parts.head)).toBe(document.slice(0, document.indexOf("\n") + 1));
  });

  test.each([
    ["an empty file", "", NOT_BEGUN],
    ["no front matter", "# Title\n", NOT_BEGUN],
    ["a blank line first", "\n---\na: 1\n---\n", NOT_BEGUN],
    ["a space before the fence", " ---\na: 1\n---\n", NOT_BEGUN],
    ["a space after the fence", "--- \na: 1\n---\n", NOT_BEGUN],
    ["a language that would be run", "---js\nmodule.exports = process.exit()\n---\n", NOT_BEGUN],
    ["a language", "---json\n{}\n---\n", NOT_BEGUN],
    ["the language yaml", "---yaml\na: 1\n---\n", NOT_BEGUN],
    ["four dashes", "----\na: 1\n----\n", NOT_BEGUN],
    ["another fence", "+++\na = 1\n+++\n", NOT_BEGUN],
    ["two byte-order marks", "\ufeff\ufeff---\n---\n", NOT_BEGUN],
    ["only a fence", "---", NOT_CLOSED],
    ["an open block", "---\na: 1\n", NOT_CLOSED],
    ["a closing fence with a space", "---\na: 1\n--- \nBody", NOT_CLOSED],
    ["dots for the closing fence", "---\na: 1\n...\nBody", NOT_CLOSED],
    ["a closing fence that ends in a lone return", "---\na: 1\n---\r", NOT_CLOSED],
    ["a key twice", "---\na: 1\na: 2\n---\n", 'YAML, line 3, column 1: the key "a" stands here twice.'],
    ["a list", "---\n- a\n---\n", "The front matter is not a mapping of keys to values."],
  ])("%s is refused", (_, document, message) => {
    const [, line] = /line (\d+)/.exec(message) ?? [];
    const details = line === undefined ? {} : { details: { line: Number(line) } };
    expect(refusal(document)).toEqual({ code: "E_INVALID_FRONTMATTER", message, ...details });
  });

  test("bytes that are no UTF-8 are refused in the block and kept in the body", () => {
    const wild = Buffer.from([0xff, 0xfe, 0xc3]);
    expect(refusal(Buffer.concat([Buffer.from("---\na: "), wild, Buffer.from("\n---\n")]))).toEqual({
      code: "E_INVALID_FRONTMATTER",
      message: "The front matter is not valid UTF-8.",
    });
    const document = Buffer.concat([Buffer.from("---\na: 1\n---\n"), wild]);
    expect(Buffer.from(parsed(document).body)).toEqual(wild);
    expect(rewritten(document, { a: 2 }).subarray(-3)).toEqual(wild);
  });

  test("a block of 128 KiB is read, a longer one is refused with the code of whoever asks", () => {
    const document = (bytes: number) => `---\na: ${"x".repeat(bytes - 4)}\n---\n`;
    expect(refusal(document(131_072))).toBeUndefined();
    expect(refusal(document(131_073))).toEqual({
      code: "E_INVALID_FRONTMATTER",
      message: "The front matter is larger than 131072 bytes.",
    });
    const result = parseMarkdown(Buffer.from(document(131_073)), "E_WRITE_LIMIT");
    expect(result).toMatchObject({ error: { code: "E_WRITE_LIMIT" } });
  });

  test("a huge block is not parsed at all", () => {
    expect(refusal(`---\n${"[".repeat(5_000_000)}\n---\n`)?.message).toBe(
      "The front matter is larger than 131072 bytes.",
    );
  });

  test("128 KiB of blank lines take no time to speak of", () => {
    expect(parsed(`---\n${"\n \n".repeat(43_000)}a: 1\n---\n`).frontmatter).toEqual({ a: 1 });
  });

  test("the same text read twice gives two objects: what one reader does, the other does not see", () => {
    const document = "---\na: {b: 1}\n---\n";
    const first = parsed(document).frontmatter["a"] as Record<string, unknown>;
    first["b"] = 2;
    expect(parsed(document).frontmatter).toEqual({ a: { b: 1 } });
  });
});

describe("writing it back", () => {
  test.each([
    ["the usual form", "---\na: 1\n---\nBody\n", '---\nb: "x"\n---\nBody\n'],
    ["no final newline", "---\na: 1\n---\nBody", '---\nb: "x"\n---\nBody'],
    ["no body", "---\na: 1\n---", '---\nb: "x"\n---'],
    ["line ends of Windows", "---\r\na: 1\r\n---\r\nBody\r\nx", '---\r\nb: "x"\n---\r\nBody\r\nx'],
    ["a byte-order mark", "\ufeff---\na: 1\n---\nBody", '\ufeff---\nb: "x"\n---\nBody'],
    ["an empty block", "---\n---\n\n\nBody", '---\nb: "x"\n---\n\n\nBody'],
  ])("%s keeps everything but the block", (_, document, expected) => {
    expect(text(rewritten(document, { b: "x" }))).toBe(expected);
  });

  test("a block of 128 KiB is written, a longer one is E_WRITE_LIMIT", () => {
    const write = (bytes: number) => withFrontmatter(parsed("---\n---\n"), { a: "x".repeat(bytes - 6) });
    expect(write(131_072).ok).toBe(true);
    expect(write(131_073)).toEqual({
      ok: false,
      error: {
        code: "E_WRITE_LIMIT",
        message:
          "The front matter would be 131073 bytes; at most 131072 are allowed. Keep large values in files.",
      },
    });
  });

  test("the limit counts bytes, not characters", () => {
    expect(withFrontmatter(parsed("---\n---\n"), { a: "é".repeat(70_000) }).ok).toBe(false);
  });

  test("what could not be read back is not written: a document never locks its run out", () => {
    const nested = (depth: number): unknown => JSON.parse(`${"[".repeat(depth)}${"]".repeat(depth)}`);
    for (const value of [Array.from({ length: 60_000 }, () => 1), nested(150)]) {
      expect(withFrontmatter(parsed("---\n---\n"), { a: value } as JsonObject)).toMatchObject({
        error: { code: "E_WRITE_LIMIT" },
      });
    }
  });

  test("any body survives any update byte for byte", () => {
    const body = fc.uint8Array({ maxLength: 60 });
    const head = fc.constantFrom("", "\ufeff");
    const end = fc.constantFrom("\n", "\r\n");
    const variables = fc.dictionary(fc.string(), fc.string({ unit: "binary" }), {
      maxKeys: 3,
      noNullPrototype: true,
    });
    fc.assert(
      fc.property(head, end, body, variables, (mark, lineEnd, bytes, values) => {
        fc.pre(!Object.hasOwn(values, "__proto__"));
        const document = Buffer.concat([
          Buffer.from(`${mark}---${lineEnd}a: 1${lineEnd}---${lineEnd}`),
          bytes,
        ]);
        const next = rewritten(document, { values });
        expect(Buffer.from(parsed(next).body)).toEqual(Buffer.from(bytes));
        expect(parsed(next).frontmatter).toEqual({ values });
        expect(rewritten(next, { values })).toEqual(next);
      }),
      { numRuns: 500, seed: 41 },
    );
  });
});
