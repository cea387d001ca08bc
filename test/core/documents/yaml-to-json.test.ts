import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/core/json.js";
import { parseYaml, renderYaml } from "../../../src/core/documents/yaml-to-json.js";

function parsed(text: string): JsonObject {
  const result = parseYaml(text);
  if (!result.ok) throw new Error(result.error.message);
  return result.value;
}

function refusal(text: string): string | undefined {
  const result = parseYaml(text);
  if (result.ok) return undefined;
  expect(result.error.code).toBe("E_INVALID_FRONTMATTER");
  return result.error.message;
}

const KIBIBYTES_128 = 128 * 1024;
const fill = (piece: string) => piece.repeat(Math.floor(KIBIBYTES_128 / piece.length) - 2);

describe("parseYaml", () => {
  test.each<[string, string, JsonObject]>([
    ["nothing", "", {}],
    ["only comments", "# a\n\n# b\n", {}],
    ["null", "~\n", {}],
    [
      "dates and times stay text",
      "a: 2026-01-02\nb: 2026-01-02T03:04:05Z\nc: 12:30\n",
      { a: "2026-01-02", b: "2026-01-02T03:04:05Z", c: "12:30" },
    ],
    [
      "words of YAML 1.1 stay text",
      "a: yes\nb: no\nc: on\nd: off\ne: y\n",
      { a: "yes", b: "no", c: "on", d: "off", e: "y" },
    ],
    [
      "numbers",
      "a: 1.1\nb: 0o17\nc: 0x1f\nd: 1e3\ne: -0.5\nf: 017\n",
      { a: 1.1, b: 15, c: 31, d: 1000, e: -0.5, f: 17 },
    ],
    ["what is quoted stays text", "a: \"1\"\nb: 'true'\n", { a: "1", b: "true" }],
    ["no value is null", "a:\nb: null\nc: ~\n", { a: null, b: null, c: null }],
    ["keys become text", "1: a\ntrue: b\n2.5: c\n", { "1": "a", true: "b", "2.5": "c" }],
    ["a merge key is a key", "<<: {a: 1}\n", { "<<": { a: 1 } }],
    [
      "names that every object has are keys",
      "constructor: 1\ntoString: 2\nvalueOf: {hasOwnProperty: 3}\n",
      { constructor: 1, toString: 2, valueOf: { hasOwnProperty: 3 } },
    ],
    [
      "aliases repeat the last anchor before them",
      "a: &x 1\nb: *x\nc: &x 2\nd: *x\n",
      { a: 1, b: 1, c: 2, d: 2 },
    ],
    ["an alias may be a key", "a: &x k\n*x : 1\n", { a: "k", k: 1 }],
    ["line ends of Windows", "a: 1\r\nb: |\r\n  x\r\n  y\r\n", { a: 1, b: "x\ny\n" }],
    [
      "an old version does not change the rules",
      "%YAML 1.1\n--- \na: yes\nb: 2026-01-02\n",
      { a: "yes", b: "2026-01-02" },
    ],
    ["a core tag", "a: !!str 5\n", { a: "5" }],
  ])("%s", (_, text, value) => {
    expect(parsed(text)).toEqual(value);
  });

  test("values that aliases repeat are copies", () => {
    const { a, b } = parsed("a: &x {k: 1}\nb: *x\n");
    expect(a).toEqual(b);
    expect(a).not.toBe(b);
  });

  test.each([
    [
      "a syntax error",
      "a: [1\n",
      "YAML, line 2, column 1: Flow sequence in block collection must be sufficiently indented and end with a ]",
    ],
    [
      "a tab for indentation",
      "a:\n\tb: 1\n",
      "YAML, line 2, column 1: Tabs are not allowed as indentation: use blanks",
    ],
    [
      "a title with a colon",
      "title: Gather: all of it\n",
      'YAML, line 1, column 8: Nested mappings are not allowed in compact mappings: put a text with ": " in it in quotes',
    ],
    [
      "a path that begins with @",
      "file: @project/x.md\n",
      "YAML, line 1, column 7: Plain value cannot start with reserved character @: put the whole value in double quotes",
    ],
    [
      "an apostrophe in single quotes",
      "title: 'it's'\n",
      "YAML, line 1, column 12: Unexpected scalar at node end: put the whole value in double quotes",
    ],
    [
      "a key without a blank behind its colon",
      "nodeId:gather\ntype: step\n",
      'YAML, line 1, column 1: Implicit keys need to be on a single line: write "key: value", with a blank behind the colon',
    ],
    ["a key twice", "a: 1\nb: 2\na: 3\n", 'YAML, line 3, column 1: the key "a" stands here twice.'],
    [
      "a key twice, deep",
      "a: {b: [{c: 1, c: 2}]}\n",
      'YAML, line 1, column 16: the key "c" stands here twice.',
    ],
    [
      "a key twice in two spellings",
      '"1": a\n1: b\n',
      'YAML, line 2, column 1: the key "1" stands here twice.',
    ],
    [
      "a key twice by an alias",
      "x: &k key\nkey: 1\n*k : 2\n",
      'YAML, line 3, column 1: the key "key" stands here twice.',
    ],
    [
      "__proto__",
      "__proto__: {polluted: 1}\n",
      "YAML, line 1, column 1: a key named __proto__ is not allowed.",
    ],
    [
      "__proto__, quoted and deep",
      'a: {"__proto__": 1}\n',
      "YAML, line 1, column 5: a key named __proto__ is not allowed.",
    ],
    [
      "__proto__, escaped",
      'a: {"\\u005f_proto__": 1}\n',
      "YAML, line 1, column 5: a key named __proto__ is not allowed.",
    ],
    [
      "__proto__ by an alias",
      "a: &x __proto__\nb: {*x : 1}\n",
      "YAML, line 2, column 5: a key named __proto__ is not allowed.",
    ],
    ["a cycle", "a: &x [*x]\n", "The YAML contains a cycle."],
    ["a cycle of two", "a: &x {b: &y {c: *x}}\n", "The YAML contains a cycle."],
    ["an alias without an anchor", "a: *nope\n", 'YAML, line 1, column 4: no value has the anchor "nope".'],
    [
      "an alias before its anchor",
      "a: *x\nb: &x 1\n",
      'YAML, line 1, column 4: no value has the anchor "x".',
    ],
    ["a map for a key", "? {a: 1}\n: 2\n", "YAML, line 1, column 3: a key is not a plain value."],
    [
      "infinity",
      "a: .inf\n",
      "YAML, line 1, column 4: a value such as .inf, .nan or a big integer cannot be carried as JSON.",
    ],
    [
      "not a number",
      "a: .nan\n",
      "YAML, line 1, column 4: a value such as .inf, .nan or a big integer cannot be carried as JSON.",
    ],
    [
      "a foreign tag",
      "a: !!js/function 'function(){}'\n",
      "YAML, line 1, column 4: Unresolved tag: tag:yaml.org,2002:js/function",
    ],
    [
      "a binary tag",
      "a: !!binary aGk=\n",
      "YAML, line 1, column 13: the tag tag:yaml.org,2002:binary is not allowed.",
    ],
    [
      "a timestamp tag",
      "a: !!timestamp 2026-01-02\n",
      "YAML, line 1, column 16: the tag tag:yaml.org,2002:timestamp is not allowed.",
    ],
    [
      "an ordered map",
      "a: !!omap [x: 1]\n",
      "YAML, line 1, column 11: the tag tag:yaml.org,2002:omap is not allowed.",
    ],
    ["a set", "a: !!set {x, y}\n", "YAML, line 1, column 10: the tag tag:yaml.org,2002:set is not allowed."],
    [
      "a binary key",
      "!!binary aGk= : 1\n",
      "YAML, line 1, column 10: the tag tag:yaml.org,2002:binary is not allowed.",
    ],
    ["a list at the root", "- a\n", "The front matter is not a mapping of keys to values."],
    ["a text at the root", "just words\n", "The front matter is not a mapping of keys to values."],
    ["an error, and a warning before it", "a: !x 1\nb: [\n", "YAML, line 1, column 4: Unresolved tag: !x"],
    ["the end of a document before it", "...\na: 1\n", "The front matter holds more than one YAML document."],
    [
      "what belongs to no document",
      "a: 1\n}\n",
      'YAML, line 2, column 1: Unexpected flow-map-end token in YAML stream: "}"',
    ],
    ["two documents", "a: 1\n--- \nb: 2\n", "The front matter holds more than one YAML document."],
  ])("%s is refused with a sentence", (_, text, sentence) => {
    expect(refusal(text)).toBe(sentence);
  });

  test("nothing reaches the prototype of other objects", () => {
    refusal("__proto__: {polluted: 1}\n");
    refusal("constructor: {prototype: {polluted: 1}}\n");
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  test("a hundred levels are read, one more is refused", () => {
    const nested = (levels: number) => `a: ${"[".repeat(levels)}1${"]".repeat(levels)}\n`;
    expect(refusal(nested(99))).toBeUndefined();
    expect(refusal(nested(100))).toBe("The YAML is nested deeper than 100 levels.");
  });

  test.each([
    ["nothing but commas", `a: [${",".repeat(130_000)}]`],
    ["lists in lists", `a: ${"[".repeat(100_000)}`],
    ["line ends", `a: [${"\n".repeat(130_000)}]`],
  ])("%s is refused before it is put together", (_, text) => {
    expect(parseYaml(text)).toMatchObject({
      ok: false,
      error: { message: "The YAML has more than 100000 marks, words and blanks." },
    });
  });

  test("as many values as JSON on a line of its own are none too many", () => {
    const list = Array.from({ length: 49_000 }, () => 1);
    expect(parseYaml(`a: ${JSON.stringify(list)}\n`)).toEqual({ ok: true, value: { a: list } });
  });

  test("a billion laughs end at 50,000 values, however few bytes they take", () => {
    const laughs = Array.from(
      { length: 9 },
      (_, index) => `l${index + 1}: &l${index + 1} [${`*l${index},`.repeat(9)}]`,
    );
    expect(refusal(`l0: &l0 lol\n${laughs.join("\n")}\n`)).toBe(
      "The YAML expands to more than 50000 values.",
    );
  });

  test("a long text cannot be repeated without end either", () => {
    const text = `a: &x "${"y".repeat(60_000)}"\nb: [${"*x,".repeat(1_000)}]\n`;
    expect(refusal(text)).toBe("The YAML expands to more than 1048576 characters of text.");
  });

  // Each of these took seconds to minutes in a parser that compares everything with everything.
  test.each([
    ["keys", Array.from({ length: 16_000 }, (_, index) => `k${index}:`).join("\n")],
    ["keys in a flow mapping", `a: {${Array.from({ length: 16_000 }, (_, index) => `k${index}`).join(",")}}`],
    ["aliases", `a: &a x\nb: [${fill("*a,")}]`],
    ["aliases of a late anchor", `z: [${"1,".repeat(30_000)}]\na: &a x\nb: [${"*a,".repeat(15_000)}]`],
    ["anchors", `a: [${Array.from({ length: 12_000 }, (_, index) => `&a${index} x`).join(",")}]`],
    ["opening brackets", `a: ${fill("[")}`],
    ["opening braces", `a: ${fill("{a: ")}`],
    ["dashes", fill("- ")],
    ["question marks", fill("? ")],
    ["colons", fill("a: ")],
    ["blank lines", fill("\n")],
    ["comments", fill("# c\n")],
    ["an open quote", `a: "${fill("x\n ")}`],
    ["tags", `a: ${fill("!")}`],
    ["foreign tags", `a: [${fill("!x ,")}]`],
    ["errors", `a: [${fill("@,")}]`],
    ["directives", fill("%X\n")],
    ["document ends", fill("...\n")],
  ])("128 KiB of %s are read or refused, in time", (_, text) => {
    const sentence = refusal(`${text}\n`);
    expect((sentence ?? "").length).toBeLessThan(400);
  });

  test("parsing any text ends in a value or a sentence", () => {
    const piece = fc.constantFrom(
      "a",
      "b: ",
      "- ",
      "[",
      "]",
      "{",
      "}",
      ",",
      "\n",
      "  ",
      "&x ",
      "*x",
      "|",
      ">",
      '"',
      "'",
      "!!str ",
      "---",
      "...",
      "%YAML 1.2\n",
      "\t",
      "\r\n",
      "? ",
      ": ",
      "\u0000",
      "é",
      "#",
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(piece, { maxLength: 25 }).map((pieces) => pieces.join("")),
          fc.string({ unit: "binary", maxLength: 40 }),
        ),
        (text) => {
          const result = parseYaml(text);
          expect(result.ok ? "E_INVALID_FRONTMATTER" : result.error.code).toBe("E_INVALID_FRONTMATTER");
        },
      ),
      { numRuns: 2_000, seed: 21 },
    );
  });
});

test.each([
  ["at its end, after lines with both", "a: 1\r\nb: two\r\n\r", { a: 1, b: "two" }],
  ["between its lines", "a: 1\rb:\r  - x\r  - y\r", { a: 1, b: ["x", "y"] }],
  ["in a block of text", "a: |\r  one\r  two\r", { a: "one\ntwo\n" }],
  ["in a quoted text", 'a: "one\r  two"\r', { a: "one two" }],
])("a lone carriage return %s is the end of a line, as YAML 1.2 (§5.4) has it", (_, text, value) => {
  expect(parseYaml(text)).toEqual({ ok: true, value });
});

test("a mistake after lone carriage returns is told with its line", () => {
  const parsed = parseYaml("a: 1\rb: [\r");
  expect(parsed.ok ? "" : parsed.error.message).toMatch(/^YAML, line [23], /);
});

describe("renderYaml", () => {
  test("writes one JSON value per line and key, keys in order", () => {
    expect(
      renderYaml({
        z: "é\n",
        a: [1, { b: null }],
        "two words": true,
        true: 1,
        "": [],
        "1.1": "1.1",
        "a:b": "#",
      }),
    ).toBe('z: "é\\n"\na: [1,{"b":null}]\n"two words": true\n"true": 1\n"": []\n"1.1": "1.1"\n"a:b": "#"\n');
  });

  test("escapes what would end a line or a YAML text", () => {
    expect(renderYaml({ a: "\u2028\u2029\u0085\u007f\ufeff\uffff\ud800\u0000" })).toBe(
      'a: "\\u2028\\u2029\\u0085\\u007f\\ufeff\\uffff\\ud800\\u0000"\n',
    );
  });

  test("a key that YAML would not take as a simple one is written in the long form", () => {
    const key = "k".repeat(5_000);
    expect(renderYaml({ [key]: 1 })).toBe(`? "${key}"\n: 1\n`);
    expect(parsed(renderYaml({ [key]: 1, b: { [key]: [{ [key]: 2 }] } }))).toEqual({
      [key]: 1,
      b: { [key]: [{ [key]: 2 }] },
    });
  });

  test.each([
    "---",
    "...",
    "- a",
    "? a",
    "# a",
    "%YAML",
    "@a",
    "`a",
    "&a",
    "*a",
    "!a",
    "|",
    ">",
    "'",
    '"',
    "{",
    "[",
    ",",
    "~",
    "null",
    ".inf",
    "0x1",
    "<<",
    "=",
    "a: b",
    " a ",
    "\t",
  ])("the key and the text %j survive", (text) => {
    expect(parsed(renderYaml({ [text]: text, list: [text] }))).toEqual({ [text]: text, list: [text] });
  });

  test("what is rendered is read back equal, for any JSON object", () => {
    const key = fc.string({ unit: "binary", maxLength: 8 }).filter((text) => text !== "__proto__");
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: "small" },
        fc.string({ unit: "binary", maxLength: 12 }),
        fc
          .double({ noNaN: true, noDefaultInfinity: true })
          .map((number) => (Object.is(number, -0) ? 0 : number)),
        fc.integer(),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie("value"), { maxLength: 4 }),
        fc.dictionary(key, tie("value"), { maxKeys: 4, noNullPrototype: true }),
      ),
    }));
    const object = fc.dictionary(key, value, {
      maxKeys: 6,
      noNullPrototype: true,
    }) as fc.Arbitrary<JsonObject>;
    fc.assert(
      fc.property(object, (json) => {
        const text = renderYaml(json);
        const back = parsed(text);
        expect(back).toEqual(json);
        expect(Object.keys(back)).toEqual(Object.keys(json));
        expect(text.split("\n")).toHaveLength(Object.keys(json).length + 1);
      }),
      { numRuns: 1_000, seed: 31 },
    );
  });
});

describe("what is JSON line by line is read without the library, and as the library reads it", () => {
  /** A comment leaves the whole text to the library. */
  const byLibrary = (text: string) => parseYaml(`${text.replace(/\r?\n?$/u, "")}\n# comment\n`);

  test("whatever is rendered", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ minLength: 1 }), fc.jsonValue(), { noNullPrototype: true }),
        (value) => {
          const json = JSON.parse(JSON.stringify(value)) as JsonObject;
          if (Object.hasOwn(json, "__proto__")) return;
          const text = renderYaml(json);
          expect(parseYaml(text)).toEqual(byLibrary(text));
        },
      ),
      { numRuns: 300, seed: 3 },
    );
  });

  test.each([
    "a: 1\nb: 2\n",
    'a: 1\r\nb: [1, {"c": null}]\r\n',
    "a: 1\na: 2\n",
    "a: -0\nb: 1e3\nc: 1E400\n",
    "a: 12345678901234567890\n",
    'a: "\\/ \\u0041 \\ud83d\\ude00"\n',
    'a: {"b": 1, "b": 2}\n',
    'a: {"__proto__": 1}\n',
    "__proto__: 1\n",
    "null: 1\nTrue: 2\n",
    "a: [1,\n2]\n",
    "a: [1]  \n\n\nb: true\n",
    "a:  1\n",
    'a: {"k" : 1}\n',
    'a: "x" # not JSON\n',
    "a: 1\tx\n",
    "a: nul\n",
    "a: 01\n",
    "a: \n",
    "---\na: 1\n",
    '"a b": 1\n"true": 2\n"": 3\n"\\u00e9\\n": [4]\n',
    '"a":1\n',
    '"a" : 1\n',
    '"a": 1\na: 2\n',
    '"__proto__": 1\n',
    '"\\u005f_proto__": 1\n',
    '"a\\x": 1\n',
    '"a": 1, "b": 2\n',
    "'a': 1\n",
    `"${"\\u0041".repeat(200)}": 1\n`,
    "  \na: 1\n \n\nb: 2\n   \n",
    "a: 1\n\u00a0\nb: 2\n",
    "null: 1\n",
    "nullable: 1\n",
    "a: 1\n  b: 2\n",
  ])("%j", (text) => {
    expect(parseYaml(text)).toEqual(byLibrary(text));
  });
});
