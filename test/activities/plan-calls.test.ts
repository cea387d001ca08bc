import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { planCalls } from "../../src/activities/plan-calls.js";
import type { ModelCall } from "../../src/core/tools/model-call.js";

const patch = (update: unknown, extra: object = {}) => ({
  path: "@state/workflow.md",
  patch: { operation: "updateFrontmatter", update, ...extra },
});
const recorded = (name: string, args: unknown, id = "c"): ModelCall => ({
  id,
  name,
  argumentsJson: typeof args === "string" ? args : JSON.stringify(args),
});
const plan = (name: string, args: unknown) => planCalls([recorded(name, args)])[0];
const DOCUMENT = "---\nschemaVersion: 1.1\nworkflowType: w\n---\nBody";

describe("a planned call", () => {
  test("has its id, its tool, what the timeline shows, and a key for what it repeats", () => {
    const argumentsJson = '{"path":"@project/a b.md","content":"secret"}';
    expect(planCalls([{ id: "call-1", name: "fs_write", argumentsJson }])).toEqual([
      {
        id: "call-1",
        tool: "fs.write",
        summary: "fs.write @project/a b.md",
        key: createHash("sha256").update(`fs.write\0${argumentsJson}`).digest("hex").slice(0, 32),
      },
    ]);
  });

  test("has the same key in either spelling of its tool, another for other arguments", () => {
    const keyOf = (name: string, args: string) => plan(name, args)?.key;
    expect(keyOf("fs.list", "{}")).toBe(keyOf("fs_list", "{}"));
    expect(keyOf("fs.list", "{}")).not.toBe(keyOf("fs.list", "{ }"));
    expect(keyOf("fs.list", "{}")).not.toBe(keyOf("fs.read", "{}"));
    expect(keyOf("x", "y")).not.toBe(keyOf("x\0y", ""));
  });

  test.each([
    ["an unknown tool", "rm", {}, "TOOL_NOT_AVAILABLE", "rm"],
    ["no tool", "", {}, "TOOL_NOT_AVAILABLE", ""],
    ["arguments that are no JSON", "fs_list", "{", "TOOL_ARGS_INVALID_JSON", "fs.list"],
    ["wrong arguments", "fs_list", {}, "TOOL_ARGS_INVALID", "fs.list"],
  ])("with %s has its fault", (_, name, args, code, summary) => {
    expect(plan(name, args)).toMatchObject({ fault: { code }, summary });
  });

  test("of very many values is not looked at, nor is one that has too many with those before it", () => {
    const lists = (count: number) =>
      patch({ variables: { set: { a: Array.from({ length: count }, () => 1) } } });
    const wrong = patch({ stepsCompleted: { append: Array.from({ length: 200_000 }, () => 1) } });
    const calls = [wrong, lists(30_000), lists(30_000), lists(10)].map((args) =>
      recorded("fs_apply_patch", args),
    );
    const faults = planCalls(calls).map(({ fault }) => fault?.code);
    expect(faults).toEqual(["E_WRITE_LIMIT", undefined, "E_WRITE_LIMIT", undefined]);
    expect(planCalls(calls)[0]?.fault?.message).toContain("more values than can be looked at");
  });

  test("shows one bounded line, whatever the model wrote", () => {
    for (const [name, args] of [
      ["fs_list", { path: `@project/a\n\u2028\u001b[2J${"x".repeat(5_000)}` }],
      [`evil\n\u001b[2J${"x".repeat(5_000)}`, {}],
    ] as const) {
      expect(plan(name, args)?.summary).toMatch(/^[^\p{Cc}\u2028]{1,121}$/u);
    }
    expect(plan("fs_list", { path: `@project/${"\u{1f600}".repeat(200)}` })?.summary.isWellFormed()).toBe(
      true,
    );
  });
});

describe("a change of the state document", () => {
  test.each(["@state/workflow.md", "@state/./workflow.md", "@state//workflow.md"])(
    "is told by patch, at %s",
    (path) => {
      const update = { currentNodeId: { set: "b" } };
      expect(
        plan("fs_apply_patch", { ...patch(update, { ifMatchSha256: "A".repeat(64) }), path })?.change,
      ).toEqual({
        kind: "patch",
        update,
        ifMatchSha256: "a".repeat(64),
      });
    },
  );

  test("is told as a whole document, normalised", () => {
    expect(plan("fs_write", { path: "@state/./workflow.md", content: DOCUMENT })?.change).toEqual({
      kind: "document",
      frontmatter: {
        schemaVersion: "1.1",
        workflowType: "w",
        currentNodeId: "",
        stepsCompleted: [],
        decisionLog: [],
        artifacts: [],
        variables: {},
      },
    });
  });

  test.each([
    ["fs_write", { path: "@state/notes.md", content: DOCUMENT }],
    ["fs_write", { path: "@project/workflow.md", content: "text" }],
    ["fs_write", { path: "@state/../x", content: "text" }],
    ["fs_apply_patch", { ...patch({ variables: { set: {} } }), path: "@project/a" }],
    ["fs_read", { path: "@state/workflow.md" }],
    // What is no state document is refused by the tool host, which knows the agent's limits.
    ["fs_write", { path: "@state/workflow.md", content: "text" }],
    ["fs_write", { path: "@state/workflow.md", content: "---\na: 1\n---\n" }],
    ["fs_write", { path: "@state/workflow.md", content: `---\na: ${"x".repeat(140_000)}\n---\n` }],
  ])("is none for %s %j", (name, args) => {
    expect(plan(name, args)).toMatchObject({ tool: expect.any(String) });
    expect(plan(name, args)?.change).toBeUndefined();
    expect(plan(name, args)?.fault).toBeUndefined();
  });
});

describe("an answer with too much in it", () => {
  test("runs thirty-two calls; the others are told to come again", () => {
    const planned = planCalls(
      Array.from({ length: 40 }, (_, n) => recorded("fs_list", { path: "@project" }, `c${n}`)),
    );
    expect(planned.filter((call) => call.fault === undefined)).toHaveLength(32);
    expect(planned[32]).toEqual({
      id: "c32",
      tool: "fs.list",
      summary: "fs.list",
      key: planned[0]?.key,
      fault: {
        code: "TOOL_ARGS_INVALID",
        message:
          "An answer may hold at most 32 tool calls; this one was not run. Send it in your next answer.",
      },
    });
  });

  test("carries 144 KiB of state updates; those beyond are E_WRITE_LIMIT", () => {
    const big = patch({ variables: { set: { a: "x".repeat(60_000) } } });
    const planned = planCalls([
      recorded("fs_apply_patch", big),
      recorded("fs_apply_patch", big),
      recorded("fs_apply_patch", big),
    ]);
    expect(planned.map(({ fault }) => fault?.code)).toEqual([undefined, undefined, "E_WRITE_LIMIT"]);
  });

  test("counts bytes, not characters", () => {
    const big = patch({ variables: { set: { a: "\u{1f600}".repeat(20_000) } } });
    const planned = planCalls([recorded("fs_apply_patch", big), recorded("fs_apply_patch", big)]);
    expect(planned.map(({ fault }) => fault?.code)).toEqual([undefined, "E_WRITE_LIMIT"]);
  });

  test("stays below a payload's limit at its very worst", () => {
    const id = (n: number) => `${"i".repeat(77)}${n}`;
    const wrong = Object.fromEntries(
      Array.from({ length: 30 }, (_, n) => [`\u6f22${"\u5b57".repeat(150)}${n}`, 1]),
    );
    const calls = [
      recorded("fs_apply_patch", patch({ variables: { set: { a: "x".repeat(147_000) } } }), id(0)),
      ...Array.from({ length: 31 }, (_, n) =>
        recorded("fs_apply_patch", patch({ stepsCompleted: wrong, ...wrong }), id(n)),
      ),
      ...Array.from({ length: 96 }, (_, n) => recorded("\u6f22".repeat(100), "{", id(n))),
    ];
    const planned = planCalls(calls);
    expect(planned).toHaveLength(128);
    expect(planned[0]?.change).toBeDefined();
    const text = "\u6f22".repeat(8_000);
    expect(Buffer.byteLength(JSON.stringify({ calls: planned, text }))).toBeLessThan(256 * 1024);
  });

  test("says less about wrong calls, the more there are, but always what kind of wrong", () => {
    const calls = Array.from({ length: 32 }, () =>
      recorded(
        "fs_apply_patch",
        patch(Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`${"k".repeat(100)}${n}`, 1]))),
      ),
    );
    const planned = planCalls(calls);
    expect(planned[0]?.fault?.details).toBeDefined();
    expect(planned.every(({ fault }) => fault?.code === "TOOL_ARGS_INVALID")).toBe(true);
  });
});

test("planning is pure: the same calls give the same plan", () => {
  const calls = [recorded("fs_write", { path: "@state/workflow.md", content: DOCUMENT }), recorded("x", "{")];
  expect(planCalls(calls)).toEqual(planCalls(calls));
  expect(planCalls([])).toEqual([]);
});

describe("a planned record", () => {
  test("is handed over as it is, and the timeline shows its gates", () => {
    const args = { gateDecisions: { qaGate: "FAIL", codeReview: "PASS" }, routingFlags: { escalate: true } };
    expect(plan("state_record", args)).toMatchObject({
      tool: "state.record",
      summary: 'state.record qaGate="FAIL" codeReview="PASS"',
      record: args,
    });
    expect(plan("state_record", args)).not.toHaveProperty("change");
  });

  test.each([
    ["no gates", { evidenceRefs: [], routingFlags: {} }, "state.record evidenceRefs routingFlags"],
    ["nothing", {}, "state.record"],
    ["gates of a wrong shape", { gateDecisions: null, x: 1 }, "state.record gateDecisions x"],
    ["a gate that is a tree", { gateDecisions: { qaGate: { a: "\n" } } }, 'state.record qaGate={"a":"\\n"}'],
  ])("with %s is named by what it has, and judged later", (_, args, summary) => {
    expect(plan("state.record", args)).toMatchObject({ summary, record: args });
  });

  test("shows one bounded line, whatever the model wrote", () => {
    const args = { gateDecisions: { ["x\n\u2028".repeat(5_000)]: "\u001b[2J".repeat(500) } };
    expect(plan("state_record", args)?.summary).toMatch(/^[^\p{Cc}\u2028]{1,121}$/u);
  });

  test("counts among the updates of its answer", () => {
    const large = recorded("state_record", { x: "y".repeat(50_000) });
    const planned = planCalls(Array.from({ length: 20 }, () => large));
    expect(planned[0]).toHaveProperty("record");
    expect(planned.at(-1)).toMatchObject({ fault: { code: "E_WRITE_LIMIT" } });
    expect(planned.at(-1)).not.toHaveProperty("record");
  });
});

test("state documents of one answer are parsed up to a bound together, however little they say", () => {
  const content = `---\nschemaVersion: 1.1\nworkflowType: w\n${"# nothing\n".repeat(6_000)}---\n`;
  const write = (id: string) => recorded("fs_write", { path: "@state/workflow.md", content }, id);
  const planned = planCalls(Array.from({ length: 8 }, (_, index) => write(`c${index}`)));
  expect(planned.map(({ change }) => change !== undefined)).toEqual([true, true, ...Array(6).fill(false)]);
  expect(planned.slice(2).map(({ fault }) => fault?.code)).toEqual(Array(6).fill("E_WRITE_LIMIT"));
});

test("what is no state document runs as asked after more of them than an answer may hold", () => {
  const content = `---\nschemaVersion: 1.1\nworkflowType: w\n${"# nothing\n".repeat(8_000)}---\n`;
  const write = recorded("fs_write", { path: "@state/workflow.md", content });
  const others = [
    recorded("fs_read", { path: "@project/a.md" }),
    recorded("fs_write", { path: "@project/b.md", content: "b" }),
    recorded("fs_apply_patch", patch({ variables: { set: { a: 1 } } })),
  ];
  const planned = planCalls([write, write, ...others, write]);
  const codes = planned.map(({ fault }) => fault?.code);
  expect(codes).toEqual([undefined, "E_WRITE_LIMIT", undefined, undefined, undefined, "E_WRITE_LIMIT"]);
});
