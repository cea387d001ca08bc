import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { z as older } from "zod/v3";
import type { RunFiles } from "../../../src/store/runs/run-files.js";
import { type ToolDefinition, defineTool, toolsInCode } from "../../../src/tools/external/define-tool.js";
import { runExternalCall } from "../../../src/tools/external/external-call.js";
import { ExternalTools } from "../../../src/tools/external/external-tools.js";
import { validPackage } from "../../fakes/package-fixture.js";
import { openRunWorld, valueOf } from "../../fakes/run-world.js";

/* Tools as a program may define them, by mistake or not: each is told of clearly, where it is defined or to the model. */

let files: RunFiles;
let projectRoot: string;
beforeEach(async () => {
  const world = await openRunWorld(validPackage());
  projectRoot = world.projectRoot;
  const start = { projectRoot, packageId: world.packageId, activeAgentId: "author" };
  const run = valueOf(await world.store.runs.createRun(start, new Date()));
  files = valueOf(await world.store.runs.openFiles(run.projectId, run.runId));
});
afterEach(() => vi.restoreAllMocks());

type Definition = ToolDefinition<z.ZodObject>;
type Run = Definition["run"];
const usual: Definition = {
  name: "desk.act",
  description: "Acts.",
  input: z.object({ deep: z.any().optional() }),
  effect: "once",
  run: () => "",
};
let nth = 0;

/** What the model is told of one call. */
async function told(definition: Partial<Definition>, argumentsJson = "{}") {
  const tools = new ExternalTools([toolsInCode([defineTool({ ...usual, ...definition })])], () => undefined);
  const place = { agentId: "author", allowedServers: [], projectRoot };
  const external = (await tools.offer(place)).offeredFor({ name: "desk_act" });
  if (external === undefined) throw new Error("It is not offered.");
  const call = { id: `h${(nth += 1)}`, name: "desk_act", argumentsJson, external };
  const scope = { runId: "r", nodeId: "draft", signal: new AbortController().signal };
  return (await runExternalCall(tools, files, { call, place, scope, maxResultBytes: 1_000 })).result;
}

const circular: { self?: unknown } = {};
circular.self = circular;
class Row {
  name = undefined;
}
const nameless: unknown = Object.create(null);
const nasty = Object.defineProperty(new Error("x"), "message", {
  get: () => {
    throw new Error("no message for you");
  },
});

describe("a tool that throws", () => {
  test.each<[string, unknown, string]>([
    ["a text", "no tea", "desk.act failed: no tea"],
    ["nothing", undefined, "desk.act failed: it threw undefined"],
    ["null", null, "desk.act failed: it threw null"],
    ["an object", { message: "no tea", code: 7 }, "desk.act failed: no tea"],
    ["an object without a word", { code: 7 }, 'desk.act failed: it threw {"code":7}'],
    ["an object without a prototype", nameless, "desk.act failed: it threw {}"],
    ["a circle", circular, "desk.act failed: it threw something that cannot be shown"],
    ["a symbol", Symbol("tea"), "desk.act failed: it threw Symbol(tea)"],
    ["a big number", 7n, "desk.act failed: it threw 7"],
    ["an error whose message throws", nasty, "desk.act failed: it threw something that cannot be shown"],
    [
      "an error whose message is none",
      Object.assign(new Error("x"), { message: { a: 1 } }),
      "desk.act failed: Error",
    ],
    ["an error without a message", new RangeError(), "desk.act failed: RangeError"],
    ["a very long text", "x".repeat(10_000_000), `desk.act failed: ${"x".repeat(100)}`],
    ["errors in an error", new AggregateError([new Error("a"), "b"], "several"), "desk.act failed: several"],
  ])("%s has failed, and says what it can", async (_what, thrown, words) => {
    const throwing: Run = () => {
      throw thrown; // what a program may throw
    };
    const result = await told({ run: throwing });
    expect(result).toMatchObject({ ok: false, error: { code: "TOOL_FAILED" } });
    expect(JSON.stringify(result)).toContain(JSON.stringify(words).slice(1, -1));
    expect(JSON.stringify(result).length).toBeLessThan(2_000);
  });
});

describe("a tool that returns", () => {
  const toJson = {
    toJSON: () => {
      throw new Error("never");
    },
  };
  test.each<[string, unknown, string]>([
    ["nothing", undefined, ""],
    ["null", null, "null"],
    ["a function", () => 1, ""],
    ["a symbol", Symbol("x"), ""],
    ["a big number", { n: 12345678901234567890n }, '{"n":"12345678901234567890"}'],
    ["a map and a set", { a: new Map([["k", 1]]), b: new Set([1, 2]) }, '{"a":{"k":1},"b":[1,2]}'],
    ["a map of other keys", new Map([[{ a: 1 }, 2]]), '[[{"a":1},2]]'],
    ["an error", new RangeError("too much"), '{"name":"RangeError","message":"too much"}'],
    ["a file that was not decoded", Buffer.from("tea é"), "tea é"],
    [
      "bytes",
      { a: Buffer.from("é"), b: new Uint8Array([255]).buffer },
      '{"a":"é","b":"[1 bytes that are no text]"}',
    ],
    [
      "ten million bytes",
      { all: new Uint8Array(10_000_000).fill(255) },
      '{"all":"[10000000 bytes that are no text]"}',
    ],
    ["a list of numbers", new Float64Array([1.5, 2]), "[1.5,2]"],
    ["a map of nothing", new Map(), "{}"],
    ["a row without values", new Row(), "{}"],
    ["what says itself that it is nothing", Object.create({ toJSON: () => ({}) }), "{}"],
    ["what is bytes as JSON", { toJSON: () => new Uint8Array([255]) }, '"[1 bytes that are no text]"'],
    ["a date", new Date(0), '"1970-01-01T00:00:00.000Z"'],
  ])("%s shows it as JSON", async (_what, value, content) => {
    expect(await told({ run: () => value })).toMatchObject({ ok: true, content });
  });

  test.each<[string, unknown]>([
    ["a circle", circular],
    ["what refuses to be JSON", toJson],
    ["a promise of a circle", Promise.resolve(circular)],
    ["an answer of HTTP", new Response("tea")],
    ["a stream", new Blob(["tea"]).stream()],
  ])("%s has run, and the model is told so", async (_what, value) => {
    const result = await told({ run: () => value });
    expect(result).toMatchObject({ ok: true });
    expect(JSON.stringify(result)).toContain("It has run. What it returned cannot be shown as JSON");
  });

  test("more than can be shown shows the beginning of it", async () => {
    const result = await told({ run: () => Array.from({ length: 300_000 }, (_, index) => ({ index })) });
    expect(result).toMatchObject({ ok: true, truncated: true });
    expect(JSON.stringify(result).length).toBeLessThan(3_000);
  });

  test.each(["once", "none"] as const)("never is given up, with effect %s", async (effect) => {
    const signals: AbortSignal[] = [];
    const result = await told({
      effect,
      timeoutMs: 5,
      run: (_input, { signal }) => {
        signals.push(signal);
        return new Promise(() => undefined);
      },
    });
    const code = effect === "once" ? "TOOL_OUTCOME_UNKNOWN" : "TOOL_FAILED";
    expect(result).toMatchObject({ ok: false, error: { code } });
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });

  test("late, and fails then, harms nobody", async () => {
    let fail: (reason: unknown) => void = () => undefined;
    await told({ timeoutMs: 5, run: () => new Promise((_resolve, reject) => (fail = reject)) });
    fail(new Error("too late"));
    expect(await told({ run: () => "still here" })).toMatchObject({ ok: true, content: "still here" });
  });
});

test("a tool that changes what it is given changes nothing of the call", async () => {
  const seen: string[] = [];
  const args = '{"deep":{"list":[1]}}';
  const run: Run = (input) => {
    seen.push(JSON.stringify(input));
    (input["deep"] as { list: number[] }).list.push(2); // as the call has it
    return "";
  };
  const definition = defineTool({ ...usual, run });
  const given: unknown = JSON.parse(args);
  const scope = {
    runId: "r",
    nodeId: "n",
    agentId: "a",
    callId: "c",
    projectRoot,
    signal: new AbortController().signal,
  };
  await definition.run(given as { deep: { list: [1] } }, scope); // as written above
  expect(JSON.stringify(given)).toBe(args);
  await told({ run }, args);
  expect(seen).toEqual([args, args]);
});

describe("an input that", () => {
  test.each<[string, z.ZodObject, string, unknown]>([
    ["transforms", z.object({ n: z.string().transform(Number) }), '{"n":"7"}', { n: 7 }],
    ["looks things up", z.object({ n: z.int().refine((n) => Promise.resolve(n < 9)) }), '{"n":7}', { n: 7 }],
    ["has defaults", z.object({ n: z.int().default(7) }), "{}", { n: 7 }],
  ])("%s is parsed before the tool runs", async (_what, input, args, parsed) => {
    expect(await told({ input, run: (given) => given }, args)).toMatchObject({
      content: JSON.stringify(parsed),
    });
  });

  test("refers to itself is offered", async () => {
    const Node: z.ZodObject = z.object({
      name: z.string(),
      get below() {
        return z.array(Node).optional();
      },
    });
    const args = '{"name":"a","below":[{"name":"b"}]}';
    expect(await told({ input: Node, run: (given) => given }, args)).toMatchObject({ content: args });
    expect(await told({ input: Node }, '{"name":"a","below":[{}]}')).toMatchObject({
      error: { code: "TOOL_ARGS_INVALID" },
    });
  });

  test("throws where it is parsed is a failure of the tool", async () => {
    const input = z.object({
      n: z.string().transform(() => {
        throw new Error("no number");
      }),
    });
    expect(await told({ input }, '{"n":"7"}')).toMatchObject({ ok: false, error: { code: "TOOL_FAILED" } });
  });

  test.each<[string, Partial<Record<keyof Definition, unknown>>, RegExp]>([
    ["is no object", { input: z.string() }, /desk\.act.*input.*an object/],
    ["is no schema", { input: { type: "object" } }, /desk\.act.*input.*an object/],
    [
      "cannot be JSON Schema",
      { input: z.object({ d: z.date() }) },
      /desk\.act.*input cannot be shown to a model/,
    ],
    [
      "is larger than can be shown",
      {
        input: z.object(
          Object.fromEntries(Array.from({ length: 900 }, (_, n) => [`field_number_${n}`, z.string()])),
        ),
      },
      /desk\.act.*schema/,
    ],
    ["hides something", { input: z.object({ "a\u202Eb": z.string() }) }, /desk\.act.*not printable/],
  ])("%s is refused where the tool is defined", (_what, change, problem) => {
    expect(() => defineTool({ ...usual, ...change } as Definition)).toThrow(problem); // as a program without types may
  });
});

test.each<[string, Partial<Record<keyof Definition, unknown>>, RegExp]>([
  ["no text", { name: 7 }, /needs another name/],
  ["a letter that looks like another", { name: "d\u0435sk.act" }, /needs another name/],
  ["a line break", { name: "desk.act\n" }, /needs another name/],
  ["what objects have", { name: "__proto__" }, /needs another name/],
  ["a built-in one as a model sees it", { name: "fs_apply_patch" }, /needs another name/],
])("a tool whose name is %s is refused", (_what, change, problem) => {
  expect(() => defineTool({ ...usual, ...change } as Definition)).toThrow(problem); // as a program without types may
});

test.each<[string, Partial<Record<keyof Definition, unknown>>, RegExp]>([
  [
    "input",
    { input: { id: "string" } },
    /input must be an object of zod 4, such as z\.strictObject\({ … }\)\.$/,
  ],
  ["input, of zod 3,", { input: older.object({}) }, /; this one is of zod 3: take z from "zod\/v4", or/],
  ["effect", { effect: "twice" }, /effect must be "none", "idempotent" or "once"/],
  ["description", { description: undefined }, /description must be a text/],
  ["run", { run: "act" }, /run must be a function/],
  ["agents", { agents: "author" }, /agents must be a list of ids/],
])("a tool whose %s is another thing is refused", (_what, change, problem) => {
  expect(() => defineTool({ ...usual, ...change } as Definition)).toThrow(problem); // as a program without types may
});

test("what a tool prints is its program's, and no part of its answer", async () => {
  const written: unknown[] = [];
  vi.spyOn(process.stdout, "write").mockImplementation((text) => {
    written.push(text);
    return true;
  });
  const run: Run = () => {
    process.stdout.write("to the terminal\n");
    return "to the model";
  };
  expect(await told({ run })).toEqual({ ok: true, bytes: 12, content: "to the model" });
  expect(written).toEqual(["to the terminal\n"]);
});
