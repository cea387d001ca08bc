import { describe, expect, test } from "vitest";
import { type Case, runCases, sharedWorld, that } from "./cases.js";
import { type Fields, GRAPH, ODD_TEXTS, documentOf, fields, transition } from "./state-model.js";
import { codeOf, longText, sha256 } from "./world.js";

const PATH = "@state/workflow.md";
const INVALID = "E_INVALID_FRONTMATTER";
const SCHEMA = "E_SCHEMA_VALIDATION";
const TRANSITION = "E_INVALID_TRANSITION";
const LIMIT = "E_WRITE_LIMIT";

const world = sharedWorld();

const write = (content: string, more: object = {}) => ({ path: PATH, content, ...more });
const probe = {
  path: PATH,
  patch: { operation: "updateFrontmatter", update: { variables: { set: { probe: 1 } } } },
};

/** A document that is taken stands on disk byte for byte, and can be changed by a patch afterwards. */
function taken(name: string, content: string, more: Partial<Case> = {}): Case {
  return {
    name,
    tool: "fs.write",
    args: write(content),
    expect: "ok",
    changes: ["state/workflow.md"],
    result: { path: PATH, bytesWritten: Buffer.byteLength(content), sha256After: sha256(content) },
    verify: (_, place) => expect(place.read("state/workflow.md").toString()).toBe(content),
    ...more,
  };
}

function refused(name: string, content: string, code: string, more: Partial<Case> = {}): Case {
  return { name, tool: "fs.write", args: write(content), expect: code, ...more };
}

const MINIMUM = 'schemaVersion: "1.1"\nworkflowType: corpus\n';
const block = (yaml: string) => `---\n${MINIMUM}${yaml}\n---\nbody\n`;

describe("fences", () => {
  const good = MINIMUM;
  runCases(world, [
    taken("LF", `---\n${good}---\nbody`),
    taken("CRLF", `---\r\n${good}---\r\nbody`),
    taken("CRLF throughout", `---\n${good}---\nbody\n`.replaceAll("\n", "\r\n")),
    taken("mixed", `---\r\n${good}---\nbody\r`),
    taken("a byte-order mark", `\ufeff---\n${good}---\nbody`),
    taken("no body", `---\n${good}---`),
    taken("no body but a line end", `---\n${good}---\n`),
    taken("a rule in the body", `---\n${good}---\n---\nx\n---\n`),
    taken("something like a fence in a value", `---\n${good}a: "---x"\nb: x---\nc: x\n  ---\n---\n`),
    refused("an empty document", "", INVALID),
    refused("text alone", "# Title\n", INVALID),
    refused("a fence alone", "---", INVALID),
    refused("an opening fence alone", "---\n", INVALID),
    refused("a fence that is never closed", `---\n${good}`, INVALID),
    refused("a fence closed by four dashes", `---\n${good}----\n`, INVALID),
    refused("a fence closed by dashes and a space", `---\n${good}--- \n`, INVALID),
    refused("a fence closed by dots", `---\n${good}...\n`, INVALID),
    refused("four dashes", `----\n${good}----\n`, INVALID),
    refused("a space before the fence", ` ---\n${good}---\n`, INVALID),
    refused("a space after the fence", `--- \n${good}---\n`, INVALID),
    refused("a tab after the fence", `---\t\n${good}---\n`, INVALID),
    refused("a blank line before the fence", `\n---\n${good}---\n`, INVALID),
    refused("two byte-order marks", `\ufeff\ufeff---\n${good}---\n`, INVALID),
    refused("a zero-width space before the fence", `\u200b---\n${good}---\n`, INVALID),
    refused("bare carriage returns", `---\r${good}---\r`, INVALID),
    refused("em dashes", `———\n${good}———\n`, INVALID),
    refused("TOML", `+++\nschemaVersion = "1.1"\n+++\n`, INVALID),
    refused("JSON", `{"schemaVersion":"1.1"}`, INVALID),
    refused("semicolons", `;;;\n{}\n;;;\n`, INVALID),
    ...["js", "javascript", "json", "yaml", "toml", "coffee", " yaml", "\0"].map((language) =>
      refused(`the language ${JSON.stringify(language)}`, `---${language}\n${good}---\n`, INVALID),
    ),
    refused("code in the language js", "---js\nprocess.exit(7)\n---\n", INVALID),
    refused(
      "code that would be evaluated",
      "---javascript\n(() => { globalThis.polluted = 1 })()\n---\n",
      INVALID,
      {
        verify: () => that(Object.hasOwn(globalThis, "polluted")).toBe(false),
      },
    ),
  ]);
});

describe("YAML that section 5 forbids", () => {
  const bomb = [
    "a: &a [x, x, x, x, x, x, x, x, x]",
    ..."bcdefgh".split("").map((name, index) => {
      const before = "abcdefg"[index];
      return `${name}: &${name} [${Array.from({ length: 9 }, () => `*${before}`).join(", ")}]`;
    }),
  ].join("\n");
  runCases(
    world,
    (
      [
        ["a key twice", "a: 1\na: 1"],
        ["a key twice in quotes", 'a: 1\n"a": 2'],
        ["a key twice by escape", 'a: 1\n"\\x61": 2'],
        ["a known key twice", "currentNodeId: ask\ncurrentNodeId: middle"],
        ["the first keys again", MINIMUM],
        ["a key twice deep down", "a: { b: { c: 1, c: 2 } }"],
        ["a key twice in a list", "a:\n  - b: 1\n    b: 2"],
        ["a number and its text as keys", 'a: { 1: x, "1": y }'],
        ["two spellings of a number as keys", "a: { 1: x, 0x1: y }"],
        ["null and its text as keys", 'a: { null: x, "null": y }'],
        ["true and its text as keys", 'a: { true: x, "true": y }'],
        ["a prototype", "__proto__: { polluted: 1 }"],
        ["a prototype in quotes", '"__proto__": { polluted: 1 }'],
        ["a prototype by escape", '"__pr\\u006fto__": 1'],
        ["a prototype deep down", "variables: { a: [ { __proto__: 1 } ] }"],
        ["a prototype by alias", "a: &p __proto__\nb: { *p : 1 }"],
        ["an explicit prototype", "? __proto__\n: 1"],
        ["a cycle", "a: &a [*a]"],
        ["a cycle through a map", "a: &a { b: *a }"],
        ["a long cycle", "a: &a { b: { c: [*a] } }"],
        ["a bomb", bomb],
        [
          "a bomb of long texts",
          `a: &a "${"x".repeat(30_000)}"\nb: [${Array.from({ length: 200 }, () => "*a").join(", ")}]`,
        ],
        ["an alias of nothing", "a: *nowhere"],
        ["an alias before its anchor", "a: *x\nb: &x 1"],
        ["nesting of 120 in flow", `a: ${"[".repeat(120)}${"]".repeat(120)}`],
        ["nesting of 120 in maps", `a: ${"{b: ".repeat(120)}1${"}".repeat(120)}`],
        [
          "nesting of 120 in blocks",
          `a:\n${Array.from({ length: 120 }, (_, level) => `${" ".repeat(level + 1)}b:`).join("\n")}`,
        ],
        ["nesting of 120 in lists", `a:\n${"- ".repeat(120)}x`],
        ["nesting of 40,000", `a: ${"[".repeat(40_000)}`],
        ["a set", "a: !!set { x }"],
        ["a binary", "a: !!binary aGVsbG8="],
        ["a timestamp by tag", "a: !!timestamp 2024-01-01"],
        ["an ordered map", "a: !!omap [ x: 1 ]"],
        ["pairs", "a: !!pairs [ x: 1 ]"],
        ["a function", 'a: !!js/function "function () { return 1 }"'],
        ["a regular expression", "a: !!js/regexp /x/"],
        ["undefined", "a: !!js/undefined ''"],
        ["a Python object", 'a: !!python/object/apply:os.system ["id"]'],
        ["a Ruby object", "a: !ruby/object:Gem::Installer {}"],
        ["a Java object", "a: !!javax.script.ScriptEngineManager []"],
        ["a local tag", "a: !mine x"],
        ["a tag by URI", "a: !<tag:example.org,2000:x> y"],
        ["infinity", "a: .inf"],
        ["less than anything", "a: -.INF"],
        ["not a number", "a: .nan"],
        ["a number beyond all", "a: 1e999"],
        ["a list as a key", "? [a, b]\n: 1"],
        ["a map as a key", "? { a: 1 }\n: 1"],
        ["a map as a key in flow", "x: { { a: 1 }: 2 }"],
        ["broken flow", "a: [1, 2"],
        ["a stray bracket", "a: ]"],
        ["a tab as indentation", "a:\n\tb: 1"],
        ["a broken escape", 'a: "\\q"'],
        ["a text that is not closed", 'a: "x'],
        ["a bad indentation", "a:\n    b: 1\n  c: 2"],
        ["text after a map", "a: 1\nb"],
        ["a reserved character", "a: @x"],
        ["a reserved backtick", "a: `x`"],
        ["a directive", "%YAML 1.1"],
        ["an unknown directive", "%TAG ! tag:example.org,2000:"],
        ["another document", "...\nb: 1"],
      ] as const
    ).map(([name, yaml]) => refused(name, block(yaml), INVALID)),
  );

  runCases(
    world,
    (
      [
        ["a list", "---\n- a\n- b\n---\n"],
        ["a text", "---\njust text\n---\n"],
        ["a number", "---\n42\n---\n"],
        ["two maps", "---\n{a: 1}\n{b: 2}\n---\n"],
      ] as const
    ).map(([name, document]) => refused(`at the root, ${name}`, document, INVALID)),
  );
});

describe("YAML that is taken", () => {
  runCases(
    world,
    (
      [
        ["comments", "# a comment\na: 1 # another"],
        ["blank lines", "\n\na: 1\n\n"],
        ["anchors and aliases", "a: &x { y: 1 }\nb: *x\nc: [*x, *x]"],
        ["an anchor used again", "a: &x 1\nb: &x 2\nc: *x"],
        ["an alias as a key", "a: &k key\nb: { *k : 1 }"],
        ["a merge key is a key like any other", "a: &x { y: 1 }\nb: { <<: *x }"],
        ["block texts", "a: |\n  one\n  two\nb: >-\n  folded\n  text"],
        ["core tags", 'a: !!str 1\nb: !!int "2"\nc: !!float 3.0\nd: !!null ""\ne: !!bool "true"'],
        ["dates stay texts", "date: 2024-01-01\na: 2024-01-01T00:00:00Z"],
        ["old truths stay texts", "a: yes\nb: no\nc: on\nd: off"],
        ["old numbers", "a: 0o17\nb: 0x1F\nc: 017\nd: 1_000\ne: 12:30:45"],
        ["explicit keys", "? a\n: 1\n? b\n: 2"],
        ["a long explicit key", `? ${"k".repeat(2000)}\n: 1`],
        ["a long simple key", `${"k".repeat(1000)}: 1`],
        ["empty values", "a:\nb: ''\nc: []\nd: {}"],
        ["numbers as keys", "a: { 1: x, 2: y }"],
        ["inherited names as keys", "constructor: 1\ntoString: 2\nhasOwnProperty: 3\nprototype: 4"],
        ["Unicode", "ключ: значение\n鍵: 値\n😀: 🎉"],
        ["control characters in quotes", 'a: "\\0\\a\\e\\x7f\\N\\L\\P"'],
        ["the version unquoted", ""],
      ] as const
    ).map(([name, yaml]) =>
      taken(
        name,
        name === "the version unquoted"
          ? "---\nschemaVersion: 1.1\nworkflowType: corpus\n---\n"
          : block(yaml),
      ),
    ),
  );

  test("each of them can be changed by a patch", async () => {
    for (const yaml of [
      "a: &x [1]\nb: *x",
      `? ${"k".repeat(2000)}\n: 1`,
      "1: x\ntrue: y\nnull: z",
      "a: |\n  x\n # c",
    ]) {
      world().reset();
      expect(codeOf((await world().call({ tool: "fs.write", args: write(block(yaml)) })).result)).toBe("ok");
      for (const _ of [1, 2]) {
        expect(codeOf((await world().call({ tool: "fs.apply_patch", args: probe })).result)).toBe("ok");
      }
    }
  });
});

describe("the schema", () => {
  const without = (key: string): Fields => {
    const { [key]: _, ...rest } = fields();
    return rest;
  };
  const decision = { from: "a", to: "b", label: "c" };
  const broken: readonly [string, Fields, string][] = [
    ["nothing at all", {}, "schemaVersion"],
    ["no version", without("schemaVersion"), "schemaVersion"],
    ["no type", without("workflowType"), "workflowType"],
    ["another version", fields({ schemaVersion: "1.2" }), "schemaVersion"],
    ["a version like it", fields({ schemaVersion: "1.10" }), "schemaVersion"],
    ["a version with more", fields({ schemaVersion: "1.1.0.1" }), "schemaVersion"],
    ["a version with a line end", fields({ schemaVersion: "1.1\n" }), "schemaVersion"],
    ["a version that is another number", fields({ schemaVersion: 1.2 }), "schemaVersion"],
    ["a version that is a list", fields({ schemaVersion: ["1.1"] }), "schemaVersion"],
    ["an empty type", fields({ workflowType: "" }), "workflowType"],
    ["a type that is a number", fields({ workflowType: 1 }), "workflowType"],
    ["a node that is null", fields({ currentNodeId: null }), "currentNodeId"],
    ["a node that is a number", fields({ currentNodeId: 1 }), "currentNodeId"],
    ["a node that is a list", fields({ currentNodeId: ["ask"] }), "currentNodeId"],
    ["a node that is true", fields({ currentNodeId: true }), "currentNodeId"],
    ["steps that are null", fields({ stepsCompleted: null }), "stepsCompleted"],
    ["steps that are a text", fields({ stepsCompleted: "ask" }), "stepsCompleted"],
    ["steps that are an object", fields({ stepsCompleted: { ask: true } }), "stepsCompleted"],
    ["a step that is a number", fields({ stepsCompleted: ["ask", 1] }), "stepsCompleted.1"],
    ["variables that are a list", fields({ variables: [] }), "variables"],
    ["variables that are a text", fields({ variables: "x" }), "variables"],
    ["variables that are null", fields({ variables: null }), "variables"],
    ["a log that is an object", fields({ decisionLog: {} }), "decisionLog"],
    ["a decision without a label", fields({ decisionLog: [{ from: "a", to: "b" }] }), "decisionLog.0.label"],
    ["a decision with more", fields({ decisionLog: [{ ...decision, by: 1 }] }), "decisionLog.0"],
    ["a decision that is a text", fields({ decisionLog: ["a → b"] }), "decisionLog.0"],
    [
      "a decision with a number",
      fields({ decisionLog: [{ ...decision, reason: 1 }] }),
      "decisionLog.0.reason",
    ],
    ["artifacts that are a text", fields({ artifacts: "x" }), "artifacts"],
    ["an artifact that is null", fields({ artifacts: [null] }), "artifacts.0"],
    ["a time without a zone", fields({ updatedAt: "2025-01-31T09:30:00" }), "updatedAt"],
    ["a time that is a date", fields({ updatedAt: "2025-01-31" }), "updatedAt"],
    ["a time that is a number", fields({ updatedAt: 0 }), "updatedAt"],
    ["a run id that is a number", fields({ runId: 1 }), "runId"],
    ["a project that is a list", fields({ project_name: [] }), "project_name"],
    ["a user that is null", fields({ user_name: null }), "user_name"],
    ["a date that is a number", fields({ date: 2024 }), "date"],
  ];
  runCases(
    world,
    broken.map(([name, content, path]) =>
      refused(name, documentOf(content), SCHEMA, {
        result: {
          error: { details: { errors: expect.arrayContaining([{ path, message: expect.any(String) }]) } },
        },
      }),
    ),
  );
  runCases(world, [
    refused("front matter without a field", "---\n---\n", SCHEMA),
    refused("front matter that is only a comment", "---\n# nothing\n---\n", SCHEMA),
    refused("before the transition", documentOf(fields({ currentNodeId: "nowhere", updatedAt: 1 })), SCHEMA),
    taken("what may be missing", `---\n${MINIMUM}---\n`),
    taken("a patch version", documentOf(fields({ schemaVersion: "1.1.7" }))),
    taken("more fields than the schema knows", documentOf(fields({ mine: { deep: [1] }, other: null }))),
    taken("a time with a zone", documentOf(fields({ updatedAt: "2025-01-31T09:30:00+02:00" }))),
    refused("a broken document before a broken schema", "---\na: [\n---\n", INVALID),
  ]);

  test("a report on a document with a thousand faults is short", async () => {
    const many = fields({ stepsCompleted: Array.from({ length: 1000 }, () => 1) });
    const { result } = await world().call({ tool: "fs.write", args: write(documentOf(many)) });
    expect(codeOf(result)).toBe(SCHEMA);
    expect(JSON.stringify(result).length).toBeLessThan(10_000);
  });
});

describe("the transition", () => {
  const ids = [...GRAPH.nodes.map((node) => node.id), ""];
  const steps = ids.flatMap((from) =>
    [...ids, " middle ", "nowhere", "__proto__"].map((to) => ({ from, to, expected: transition(from, to) })),
  );
  test.each(steps)("$from → $to: $expected", async ({ from, to, expected }) => {
    world().reset(documentOf(fields({ currentNodeId: from })));
    const content = documentOf(fields({ currentNodeId: to }), "\nanother body");
    const { result, changes } = await world().call({ tool: "fs.write", args: write(content) });
    expect(codeOf(result)).toBe(expected);
    expect(changes).toEqual(expected === "ok" ? ["state/workflow.md"] : []);
  });
});

describe("steps that were completed", () => {
  const before = fields({ stepsCompleted: ["ask", "middle"] });
  const state = () => documentOf(before);
  const details = (removedSteps: readonly string[]) => ({
    error: {
      code: TRANSITION,
      details: { from: "ask", to: "ask", allowedNext: expect.any(Array), removedSteps },
    },
  });
  const after = (stepsCompleted: Fields[string]) => documentOf(fields({ stepsCompleted }));
  runCases(world, [
    refused("cannot be taken back", after([]), TRANSITION, { state, result: details(["ask", "middle"]) }),
    refused("cannot be taken back one by one", after(["ask"]), TRANSITION, {
      state,
      result: details(["middle"]),
    }),
    refused("cannot be renamed", after(["ask", "Middle"]), TRANSITION, {
      state,
      result: details(["middle"]),
    }),
    refused("cannot be lost by leaving out the field", `---\n${MINIMUM}---\n`, TRANSITION, {
      state,
      result: details(["ask", "middle"]),
    }),
    refused("cannot be hidden behind spaces", after([" ask", "middle "]), TRANSITION, { state }),
    refused(
      "the transition is checked before them",
      documentOf(fields({ currentNodeId: "nowhere", stepsCompleted: [] })),
      TRANSITION,
      {
        state,
        result: { error: { details: that.not.objectContaining({ removedSteps: that.anything() }) } },
      },
    ),
    taken("may change places", after(["middle", "ask"]), { state }),
    taken("may be repeated", after(["ask", "middle", "ask"]), { state }),
    taken("may grow", after(["ask", "middle", "more"]), { state }),
  ]);
});

describe("limits", () => {
  const front = (bytes: number) => {
    const start = `${documentOf(fields(), "").slice(0, -3)}a: "`;
    return `${start}${"x".repeat(bytes - (start.length - 4) - 2)}"\n---\n`;
  };
  const KIB128 = 128 * 1024;
  runCases(world, [
    refused("content over the agent's limit", `${block("")}${longText(100_000)}`, LIMIT),
    refused("a tight agent's limit", block("a: 1234567890"), LIMIT, { agent: "tight" }),
    refused("bytes are counted, not characters", `${block("")}${"€".repeat(33_400)}`, LIMIT),
    taken("content at the agent's limit", block("").padEnd(100_000, "x")),
    refused("front matter over 128 KiB", front(KIB128 + 1), LIMIT, { agent: "wide" }),
    taken("front matter of 128 KiB", front(KIB128), { agent: "wide" }),
    taken("a body larger than front matter may be", `${block("")}${"x".repeat(300_000)}`, { agent: "wide" }),
    refused("more than 50,000 values", block(`a: [${"0,".repeat(50_100)}]`), INVALID, { agent: "wide" }),
    refused("half a surrogate pair", `${block("")}\ud800`, "TOOL_ARGS_INVALID"),
  ]);

  test("what takes long to compare or to resolve ends", async () => {
    expect.hasAssertions();
    const keys = Array.from({ length: 10_000 }, (_, index) => `k${index}: 0`).join("\n");
    const aliases = `a: &x 1\nb: [${"*x,".repeat(30_000)}]`;
    const anchors = Array.from({ length: 8_000 }, (_, index) => `k${index}: &x ${index}`).join("\n");
    const blanks = "\n".repeat(90_000);
    for (const yaml of [keys, aliases, `${anchors}\nb: *x`, blanks, `a: "${"\\n".repeat(40_000)}"`]) {
      world().reset();
      const { result } = await world().call({ tool: "fs.write", args: write(block(yaml)), agent: "wide" });
      that(result, JSON.stringify([yaml.slice(0, 40), result])).toMatchObject({ ok: true });
    }
  });
});

describe("the version that a write names", () => {
  const content = block("a: 1");
  test.each<[string, (current: string) => string, string]>([
    ["the current one", (current) => current, "ok"],
    ["in capitals", (current) => current.toUpperCase(), "ok"],
    ["another one", () => sha256("x"), "E_PRECONDITION_FAILED"],
    ["of the new content", () => sha256(content), "E_PRECONDITION_FAILED"],
    ["no hash", () => "latest", "E_PRECONDITION_FAILED"],
  ])("%s", async (_, version, expected) => {
    const ifMatchSha256 = version(sha256(world().initialState));
    const { result } = await world().call({ tool: "fs.write", args: write(content, { ifMatchSha256 }) });
    expect(codeOf(result)).toBe(expected);
  });
});

describe("odd texts in every field that takes one", () => {
  const texts = ODD_TEXTS.filter((text) => text !== "" && text.length < 1000 && text.isWellFormed());
  test.each(texts.map((text) => ({ text })))("$text", async ({ text }) => {
    const content = documentOf(
      fields({
        workflowType: text,
        variables: { [text]: { [text]: [text] } },
        decisionLog: [{ from: text, to: text, label: text, reason: text }],
        [text]: text,
      }).valueOf() as Fields,
    );
    const { result } = await world().call({ tool: "fs.write", args: write(content) });
    expect(codeOf(result)).toBe("ok");
    expect(codeOf((await world().call({ tool: "fs.apply_patch", args: probe })).result)).toBe("ok");
    const read = await world().call({ tool: "fs.read", args: { path: PATH } });
    expect(codeOf(read.result)).toBe("ok");
  });

  test.each(
    (["stepsCompleted", "artifacts"] as const).flatMap((field) =>
      [
        ...texts.filter((text) => /[\\\p{C}\u2028\u2029]/u.test(text)),
        "../x",
        "a/../../x",
        "/etc/passwd",
      ].map((text) => ({ field, text })),
    ),
  )("$field may not list $text, and nothing is written", async ({ field, text }) => {
    const content = documentOf(fields({ [field]: ["ok", text] }));
    const { result, changes } = await world().call({ tool: "fs.write", args: write(content) });
    expect({ code: codeOf(result), changes }).toEqual({ code: SCHEMA, changes: [] });
  });
});
