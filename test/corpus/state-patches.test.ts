import { describe, expect, test } from "vitest";
import { createToolHost } from "../../src/tools/graph/tool-host.js";
import { type Case, runCases, sharedWorld, that } from "./cases.js";
import {
  type Fields,
  GRAPH,
  ODD_TEXTS,
  type Update,
  applied,
  documentOf,
  effective,
  fields,
  fieldsOf,
  partsOf,
  transition,
} from "./state-model.js";
import { type World, codeOf, sha256 } from "./world.js";

const PATH = "@state/workflow.md";
const ARGS = "TOOL_ARGS_INVALID";
const SCHEMA = "E_SCHEMA_VALIDATION";
const TRANSITION = "E_INVALID_TRANSITION";
const PRECONDITION = "E_PRECONDITION_FAILED";
const LIMIT = "E_WRITE_LIMIT";

const world = sharedWorld();

const patchOf = (update: unknown, more: object = {}) => ({
  path: PATH,
  patch: { operation: "updateFrontmatter", update, ...more },
});

/** A patch that is taken: the document then holds what the model of it says, byte for byte around it. */
async function takes(before: Fields, update: Update): Promise<void> {
  const document = Buffer.from(documentOf(before));
  world().reset(document);
  const { result, changes } = await world().call({ tool: "fs.apply_patch", args: patchOf(update) });
  expect(result).toEqual({
    ok: true,
    path: PATH,
    sha256Before: sha256(document),
    sha256After: sha256(world().read("state/workflow.md")),
  });
  expect(changes).toEqual(["state/workflow.md"]);
  checkDocument(world(), document, applied(before, update), update);
}

/** What was taken can be read again, and changed again. */
async function takesAndGoesOn(before: Fields, update: Update): Promise<void> {
  await takes(before, update);
  const { result } = await world().call({
    tool: "fs.apply_patch",
    args: patchOf({ variables: { set: { probe: 1 } } }),
  });
  expect(codeOf(result)).toBe("ok");
}

function checkDocument(place: World, before: Buffer, expected: Fields, update: Update): void {
  const after = place.read("state/workflow.md");
  expect(partsOf(after)).toMatchObject({ head: partsOf(before).head, tail: partsOf(before).tail });
  const { updatedAt, ...rest } = fieldsOf(after);
  const { updatedAt: _, ...expectedRest } = expected;
  expect(rest).toEqual(expectedRest);
  expect(Object.keys(rest)).toEqual(Object.keys(expectedRest));
  if (update.updatedAt !== undefined) expect(updatedAt).toBe(update.updatedAt.set);
  else expect(new Date(updatedAt as string).toISOString()).toBe(updatedAt);
}

describe("every step of the graph, and every step it does not have", () => {
  const ids = [...GRAPH.nodes.map((node) => node.id), ""];
  const targets = [
    ...ids,
    " ask ",
    "\nmiddle\t",
    "Ask",
    "nowhere",
    "__proto__",
    "constructor",
    "steps/0.md",
    "ask→middle",
    "*",
    "../ask",
    "m".repeat(5000),
  ];
  const steps = ids.flatMap((from) => targets.map((to) => ({ from, to, expected: transition(from, to) })));

  test.each(steps)("$from → $to: $expected", async ({ from, to, expected }) => {
    const before = fields({ currentNodeId: from });
    const update = { currentNodeId: { set: to } };
    if (expected === "ok") return takes(before, update);
    world().reset(documentOf(before));
    const { result, changes } = await world().call({ tool: "fs.apply_patch", args: patchOf(update) });
    expect(changes).toEqual([]);
    const out = GRAPH.edges.filter((edge) => edge.from === effective(from)).map((edge) => edge.to);
    expect(result).toMatchObject({ ok: false, error: { code: TRANSITION } });
    if (result.ok) return;
    const { message, details } = result.error;
    if (to.length < 100) that(message).toContain(`${effective(from)} → ${effective(to)}`);
    expect(details).toMatchObject({ from: effective(from), allowedNext: out.map((id) => ({ to: id })) });
    expect(details).not.toHaveProperty("removedSteps");
  });
});

describe("what an update may hold", () => {
  const decision = (label: string) => ({ from: "ask", to: "middle", label });
  const updates: readonly [string, Fields, Update][] = [
    ["one step", {}, { stepsCompleted: { append: ["ask"] } }],
    ["no step", {}, { stepsCompleted: { append: [] } }],
    ["a step that is there", { stepsCompleted: ["ask"] }, { stepsCompleted: { append: ["ask"] } }],
    ["a step twice", {}, { stepsCompleted: { append: ["ask", "ask", "x", "ask"] } }],
    ["steps in order", { stepsCompleted: ["b"] }, { stepsCompleted: { append: ["c", "a", "b"] } }],
    ["a step that is no node", {}, { stepsCompleted: { append: ["anything-at-all"] } }],
    [
      "a step that an older document lists",
      { stepsCompleted: ["any thing"] },
      { stepsCompleted: { append: ["x"] } },
    ],
    ["artifacts", { artifacts: ["a"] }, { artifacts: { append: ["b", "a", "b"] } }],
    ["a decision", {}, { decisionLog: { append: [decision("x")] } }],
    [
      "the same decision again",
      { decisionLog: [decision("x")] },
      { decisionLog: { append: [decision("x")] } },
    ],
    [
      "a decision with all there is",
      {},
      { decisionLog: { append: [{ ...decision("x"), reason: "y", decidedAt: "2025-01-01T00:00:00Z" }] } },
    ],
    ["a variable", {}, { variables: { set: { a: 1 } } }],
    ["no variable", { variables: { a: 1 } }, { variables: { set: {} } }],
    ["a variable over another", { variables: { a: 1, b: 2 } }, { variables: { set: { a: null } } }],
    ["a shallow merge", { variables: { a: { x: 1 } } }, { variables: { set: { a: { y: 2 } } } }],
    ["values of every kind", {}, { variables: { set: { a: [1, -1.5, 1e21, true, null, "x", { y: [] }] } } }],
    ["an update's own time", {}, { updatedAt: { set: "2025-01-31T09:30:00Z" } }],
    ["a time with a zone", {}, { updatedAt: { set: "2025-01-31T09:30:00.123+02:00" } }],
    [
      "everything at once",
      { stepsCompleted: ["x"] },
      {
        stepsCompleted: { append: ["ask"] },
        artifacts: { append: ["artifacts/a.md"] },
        decisionLog: { append: [decision("onwards")] },
        variables: { set: { a: 1 } },
        currentNodeId: { set: "middle" },
        updatedAt: { set: "2025-01-31T09:30:00Z" },
      },
    ],
    [
      "fields that are the author's own are kept",
      { mine: { x: [1, "two"] }, other: null },
      { variables: { set: { a: 1 } } },
    ],
    ["keys with odd names are kept", { "a b": 1, "---": 2, "#": 3 }, { variables: { set: { a: 1 } } }],
  ];
  test.each(updates)("%s", async (_, before, update) => {
    expect.hasAssertions();
    await takesAndGoesOn(fields(before), update);
  });

  test("the body of any kind survives byte for byte", async () => {
    const bodies = [
      "",
      "\n",
      "\r\n",
      "\nend",
      "\r\nend\r\n",
      "\n---\n---\n",
      "\n\ufefftext\u2028\n\n\n",
      "\n\u0000\u0001",
    ];
    for (const body of bodies) {
      const document = Buffer.from(`\ufeff${documentOf(fields(), body)}`);
      world().reset(document);
      await world().call({ tool: "fs.apply_patch", args: patchOf({ variables: { set: { a: 1 } } }) });
      expect(partsOf(world().read("state/workflow.md"))).toMatchObject({
        head: partsOf(document).head,
        tail: partsOf(document).tail,
      });
    }
  });

  test("a body that is not UTF-8 survives byte for byte, and so do fences that end in CRLF", async () => {
    const front = documentOf(fields(), "").replaceAll("\n", "\r\n");
    const document = Buffer.concat([
      Buffer.from(`${front}\r\n`),
      Buffer.from([0xff, 0x00, 0xc3, 0x0d, 0x80]),
    ]);
    world().reset(document);
    await world().call({ tool: "fs.apply_patch", args: patchOf({ variables: { set: { a: 1 } } }) });
    expect(partsOf(world().read("state/workflow.md"))).toMatchObject({
      head: "---\r\n",
      tail: partsOf(document).tail,
    });
  });
});

describe("texts that YAML could take for something else", () => {
  const places: readonly [string, (text: string) => Update][] = [
    ["a value", (text) => ({ variables: { set: { a: text, list: [text], deep: { x: { y: text } } } } })],
    ["a key", (text) => ({ variables: { set: { [text]: 1, deep: { [text]: { [text]: 2 } } } } })],
    ["a list item", (text) => ({ variables: { set: { list: [[text], text] } } })],
    [
      "a decision",
      (text) => ({ decisionLog: { append: [{ from: text, to: text, label: text, reason: text }] } }),
    ],
  ];
  const cases = places.flatMap(([place, update]) =>
    ODD_TEXTS.map((text) => ({ place, text, update: update(text) })),
  );
  test.each(cases)("$place: $text", async ({ update }) => {
    expect.hasAssertions();
    await takes(fields({ variables: { before: 1 } }), update);
  });
});

/** What a list may hold of them, said apart from the code: an id is ASCII, a path is relative and all of it can be seen. */
const isStep = (text: string) => /^[A-Za-z0-9][A-Za-z0-9._:-]*$/.test(text);
const isArtifact = (text: string) =>
  text.trim() !== "" &&
  !/^[A-Za-z]:/.test(text) && // a drive
  !/[\\\p{C}\u2028\u2029]/u.test(text) &&
  text.split("/").every((name) => name !== ".." && Buffer.byteLength(name) <= 255);

describe("odd texts in a list", () => {
  const cases = (["stepsCompleted", "artifacts"] as const).flatMap((field) =>
    ODD_TEXTS.map((text) => ({ field, text, may: field === "artifacts" ? isArtifact(text) : isStep(text) })),
  );
  test.each(cases)("$field: $text", async ({ field, text, may }) => {
    expect.hasAssertions();
    if (may) return takes(fields(), { [field]: { append: [text] } });
    world().reset(documentOf(fields()));
    const args = patchOf({ [field]: { append: ["ok", text] } });
    const { result, changes } = await world().call({ tool: "fs.apply_patch", args });
    expect({ code: codeOf(result), changes }).toEqual({ code: SCHEMA, changes: [] });
    expect(result).toMatchObject({ error: { details: { errors: [{ path: `${field}.1` }] } } });
  });
});

describe("an update of another shape", () => {
  const decision = { from: "a", to: "b", label: "c" };
  const updates: readonly [string, unknown][] = [
    ["nothing", {}],
    ["null", null],
    ["a list", []],
    ["a text", "currentNodeId: middle"],
    ["an unknown field", { status: { set: "done" } }],
    ["an unknown field beside a known one", { variables: { set: {} }, status: { set: 1 } }],
    ["the run's id", { runId: { set: "x" } }],
    ["the schema's version", { schemaVersion: { set: "1.1" } }],
    ["steps as a list", { stepsCompleted: ["ask"] }],
    ["steps to be set", { stepsCompleted: { set: [] } }],
    ["steps to be removed", { stepsCompleted: { remove: ["ask"] } }],
    ["steps both ways", { stepsCompleted: { append: ["ask"], set: [] } }],
    ["a step that is no text", { stepsCompleted: { append: [1] } }],
    ["a step that is null", { stepsCompleted: { append: [null] } }],
    ["steps that are no list", { stepsCompleted: { append: "ask" } }],
    ["steps as an object", { stepsCompleted: { append: { 0: "ask" } } }],
    ["artifacts to be set", { artifacts: { set: [] } }],
    ["an artifact that is no text", { artifacts: { append: [{}] } }],
    ["a decision that is no object", { decisionLog: { append: ["x"] } }],
    ["a decision without a label", { decisionLog: { append: [{ from: "a", to: "b" }] } }],
    ["a decision with more", { decisionLog: { append: [{ ...decision, by: "x" }] } }],
    ["a decision with a number", { decisionLog: { append: [{ ...decision, from: 1 }] } }],
    ["a decision log to be set", { decisionLog: { set: [] } }],
    ["variables as they are", { variables: { a: 1 } }],
    ["variables as a list", { variables: { set: [1] } }],
    ["variables as a text", { variables: { set: "a" } }],
    ["variables that are null", { variables: { set: null } }],
    ["variables to be appended", { variables: { append: [] } }],
    ["a node as a text", { currentNodeId: "middle" }],
    ["a node that is null", { currentNodeId: { set: null } }],
    ["a node that is a number", { currentNodeId: { set: 1 } }],
    ["a node that is a list", { currentNodeId: { set: ["middle"] } }],
    ["a node to be appended", { currentNodeId: { append: "middle" } }],
    ["a time that is a number", { updatedAt: { set: 0 } }],
    ["the node under its wire name", { current_node_id: { set: "middle" } }],
    ["an inherited name", { constructor: { set: 1 } }],
  ];
  const cases: Case[] = updates.map(([name, update]) => ({
    name,
    tool: "fs.apply_patch",
    args: patchOf(update),
    expect: ARGS,
  }));
  const patches: readonly [string, unknown][] = [
    ["no patch", undefined],
    ["a patch that is null", null],
    ["a patch as JSON text", JSON.stringify(patchOf({}).patch)],
    ["a list of patches", [patchOf({ variables: { set: {} } }).patch]],
    ["no operation", { update: { variables: { set: {} } } }],
    ["another operation", { operation: "replace", update: { variables: { set: {} } } }],
    ["another case", { operation: "updatefrontmatter", update: { variables: { set: {} } } }],
    ["a unified diff", "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n"],
    ["more than a patch", { ...patchOf({ variables: { set: {} } }).patch, force: true }],
    ["a version that is a number", { ...patchOf({ variables: { set: {} } }).patch, ifMatchSha256: 1 }],
    ["a version that is null", { ...patchOf({ variables: { set: {} } }).patch, ifMatchSha256: null }],
  ];
  cases.push(
    ...patches.map(([name, patch]) => ({
      name,
      tool: "fs.apply_patch",
      args: { path: PATH, patch },
      expect: ARGS,
    })),
  );
  const raw: readonly [string, string][] = [
    ["a prototype among the variables", '{"variables":{"set":{"__proto__":{"polluted":1}}}}'],
    ["an escaped prototype", '{"variables":{"set":{"\\u005f_proto__":{"polluted":1}}}}'],
    ["a prototype deep down", '{"variables":{"set":{"a":[{"__proto__":1}]}}}'],
    ["a prototype as a field", '{"__proto__":{"set":1},"variables":{"set":{}}}'],
    ["a number without end", '{"variables":{"set":{"a":1e400}}}'],
    ["a negative number without end", '{"variables":{"set":{"a":[-1e999]}}}'],
    ["nesting of 120", `{"variables":{"set":{"a":${"[".repeat(120)}${"]".repeat(120)}}}}`],
    ["nesting of 100,000", `{"variables":{"set":{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}}}`],
  ];
  cases.push(
    ...raw.map(([name, update]) => ({
      name,
      tool: "fs.apply_patch",
      raw: `{"path":"${PATH}","patch":{"operation":"updateFrontmatter","update":${update}}}`,
      expect: ARGS,
      verify: () => that(({} as Record<string, unknown>)["polluted"]).toBeUndefined(),
    })),
  );
  runCases(world, cases);
});

describe("an update that breaks the schema", () => {
  const cases: Case[] = [
    "",
    "now",
    "2025-01-31",
    "2025-13-01T00:00:00Z",
    "2025-01-31T09:30:00",
    "1738315800",
  ].map((time) => ({
    name: `updatedAt ${JSON.stringify(time)}`,
    tool: "fs.apply_patch",
    args: patchOf({ updatedAt: { set: time } }),
    expect: SCHEMA,
    result: { error: { details: { errors: [{ path: "updatedAt", message: expect.any(String) }] } } },
  }));
  cases.push({
    name: "the schema is checked before the transition",
    tool: "fs.apply_patch",
    args: patchOf({ updatedAt: { set: "now" }, currentNodeId: { set: "nowhere" } }),
    expect: SCHEMA,
  });
  runCases(world, cases);
});

describe("the version that an update names", () => {
  const update = { variables: { set: { a: 1 } } };
  const current = (place: World) => sha256(place.initialState);
  test.each<[string, (place: World) => string, string]>([
    ["the current one", current, "ok"],
    ["the current one in capitals", (place) => current(place).toUpperCase(), "ok"],
    ["another one", () => sha256("other"), PRECONDITION],
    ["zeros", () => "0".repeat(64), PRECONDITION],
    ["an empty text", () => "", PRECONDITION],
    ["a word", () => "latest", PRECONDITION],
    ["a star", () => "*", PRECONDITION],
    ["the beginning of the current one", (place) => current(place).slice(0, 32), PRECONDITION],
    ["the current one with a space", (place) => `${current(place)} `, PRECONDITION],
    ["the current one as a digest", (place) => `sha256:${current(place)}`, PRECONDITION],
  ])("%s", async (_, version, expected) => {
    const args = patchOf(update, { ifMatchSha256: version(world()) });
    const { result, changes } = await world().call({ tool: "fs.apply_patch", args });
    expect(codeOf(result)).toBe(expected);
    expect(changes).toEqual(expected === "ok" ? ["state/workflow.md"] : []);
  });
});

describe("limits of the front matter", () => {
  const set = (variables: object) => patchOf({ variables: { set: variables } });
  const cases: Case[] = [
    {
      name: "one text over 128 KiB",
      tool: "fs.apply_patch",
      args: set({ a: "x".repeat(131_100) }),
      expect: LIMIT,
    },
    {
      name: "bytes are counted, not characters",
      tool: "fs.apply_patch",
      args: set({ a: "€".repeat(45_000) }),
      expect: LIMIT,
    },
    {
      name: "more values than are ever read back",
      tool: "fs.apply_patch",
      args: set({ a: Array.from({ length: 55_000 }, () => 0) }),
      expect: LIMIT,
    },
    {
      name: "as many keys",
      tool: "fs.apply_patch",
      args: set(Object.fromEntries(Array.from({ length: 30_000 }, (_, index) => [index.toString(36), 0]))),
      expect: LIMIT,
    },
    {
      name: "arguments over half a megabyte",
      tool: "fs.apply_patch",
      args: set({ a: "x".repeat(600_000) }),
      expect: LIMIT,
    },
    {
      name: "text that JSON writes in six characters each",
      tool: "fs.apply_patch",
      args: set({ a: "\u0001".repeat(60_000) }),
      expect: LIMIT,
    },
  ];
  runCases(world, cases);

  test("just below all of them is taken, and can be changed again", async () => {
    expect.hasAssertions();
    await takesAndGoesOn(fields(), { variables: { set: { a: "x".repeat(120_000) } } });
    await takesAndGoesOn(fields(), { variables: { set: { a: Array.from({ length: 45_000 }, () => 0) } } });
    const keys = Array.from({ length: 9_000 }, (_, index) => [`key${index}`, 0] as const);
    await takesAndGoesOn(fields(), { variables: { set: Object.fromEntries(keys) } });
    const deep = (levels: number): Fields => (levels === 0 ? {} : { a: deep(levels - 1) });
    await takesAndGoesOn(fields(), { variables: { set: deep(90) } });
  });
});

describe("conditions of edges", () => {
  const cases: readonly [string, Fields, Update, string][] = [
    ["one that does not hold", {}, {}, TRANSITION],
    ["one that holds", { open: true }, {}, "ok"],
    ["one that the update itself makes hold", {}, { variables: { set: { open: "yes" } } }, "ok"],
    ["one that the update itself undoes", { open: true }, { variables: { set: { open: 0 } } }, TRANSITION],
    ["an empty list is false", { open: [] }, {}, TRANSITION],
    ["what is inherited is not there", { "": 1 }, { variables: { set: { constructor: 1 } } }, TRANSITION],
  ];
  test.each(cases)("%s", async (_, variables, more, expected) => {
    const place = world();
    const guidanceOnly = place.host;
    for (const [host, code] of [
      [createToolHost({ store: place.store, evaluateConditions: true }), expected],
      [guidanceOnly, "ok"],
    ] as const) {
      place.reset(documentOf(fields({ variables })));
      place.host = host;
      const args = patchOf({ ...more, currentNodeId: { set: "gate" } });
      const { result } = await place.call({ tool: "fs.apply_patch", args });
      place.host = guidanceOnly;
      expect(codeOf(result)).toBe(code);
    }
  });

  test("are told of, edge by edge", async () => {
    const place = world();
    const guidanceOnly = place.host;
    place.host = createToolHost({ store: place.store, evaluateConditions: true });
    const args = patchOf({ currentNodeId: { set: "gate" } });
    const { result } = await place.call({ tool: "fs.apply_patch", args });
    place.host = guidanceOnly;
    const allowedNext = [
      { to: "middle", satisfied: true },
      { to: "gate", satisfied: false },
    ];
    expect(result).toMatchObject({ error: { details: { allowedNext } } });
  });
});

describe("a document that somebody else has damaged", () => {
  const update = patchOf({ variables: { set: { a: 1 } } });
  const cases: Case[] = (
    [
      ["an empty file", "", "E_INVALID_FRONTMATTER"],
      ["no front matter", "# text\n", "E_INVALID_FRONTMATTER"],
      ["broken YAML", "---\na: [1\n---\n", "E_INVALID_FRONTMATTER"],
      ["a language", "---js\n({})\n---\n", "E_INVALID_FRONTMATTER"],
      ["no fields", "---\n---\n", SCHEMA],
      ["a node that is a list", documentOf(fields({ currentNodeId: ["ask"] })), SCHEMA],
    ] as const
  ).map(([name, document, expected]) => ({
    name,
    tool: "fs.apply_patch",
    args: update,
    state: () => document,
    expect: expected,
  }));
  cases.push({
    name: "a node that the graph does not have can be left by no update",
    tool: "fs.apply_patch",
    args: patchOf({ currentNodeId: { set: "ask" } }),
    state: () => documentOf(fields({ currentNodeId: "gone" })),
    expect: TRANSITION,
    result: { error: { details: { from: "gone", to: "ask", allowedNext: [] } } },
  });
  runCases(world, cases);
});
