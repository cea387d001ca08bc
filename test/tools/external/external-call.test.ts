import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import * as mini from "zod/mini";
import type { RecordedModelCall, ToolEffect } from "../../../src/core/tools/external-tool.js";
import type { RunFiles } from "../../../src/store/runs/run-files.js";
import { verifyAuditLog } from "../../../src/store/runs/audit-verify.js";
import {
  type DefinedTool,
  type ToolDefinition,
  defineTool,
  toolsInCode,
} from "../../../src/tools/external/define-tool.js";
import { recordUnknown, runExternalCall } from "../../../src/tools/external/external-call.js";
import { ExternalTools } from "../../../src/tools/external/external-tools.js";
import {
  type ExternalTool,
  Interrupted,
  NotReached,
  Reopenable,
  type ToolPlace,
  type ToolSource,
} from "../../../src/tools/external/tool-source.js";
import { validPackage } from "../../fakes/package-fixture.js";
import { type RunWorld, jsonLines, openRunWorld, valueOf } from "../../fakes/run-world.js";

let world: RunWorld;
let files: RunFiles;
let place: ToolPlace;
let calls = 0;

beforeEach(async () => {
  world = await openRunWorld(validPackage());
  const { store, projectRoot, packageId } = world;
  const run = valueOf(
    await store.runs.createRun({ projectRoot, packageId, activeAgentId: "author" }, new Date()),
  );
  files = valueOf(await store.runs.openFiles(run.projectId, run.runId));
  place = { agentId: "author", allowedServers: [], projectRoot };
});
afterEach(async () => {
  assert.deepEqual((await verifyAuditLog(files.logFile)).findings, []);
});

const input = z.strictObject({ n: z.int().optional() });
type Definition = ToolDefinition<typeof input>;

function tool(run: Definition["run"], more: Partial<Definition> = {}): DefinedTool {
  return defineTool({ name: "desk.act", description: "Acts.", input, effect: "once", run, ...more });
}

const toolsOf = (...tools: readonly DefinedTool[]) =>
  new ExternalTools([toolsInCode(tools)], () => undefined);

/** A call as a model makes it that is offered these tools. */
async function madeCall(tools: ExternalTools, argumentsJson = "{}", name = "desk_act") {
  const external = (await tools.offer(place)).offeredFor({ name });
  if (external === undefined) throw new Error("It is not offered.");
  return { id: `c${(calls += 1)}`, name, argumentsJson, external } satisfies RecordedModelCall;
}

const never = new AbortController().signal;

async function run(
  tools: ExternalTools,
  call: Awaited<ReturnType<typeof madeCall>>,
  signal = never,
  maxResultBytes = 1_000,
) {
  const scope = { runId: "r", nodeId: "draft", signal };
  const { result } = await runExternalCall(tools, files, { call, place, scope, maxResultBytes });
  return result;
}

async function called(made: DefinedTool, argumentsJson?: string) {
  const tools = toolsOf(made);
  return run(tools, await madeCall(tools, argumentsJson));
}

describe("a call of an external tool", () => {
  test("gets its parsed arguments and says whose it is; a value that is no text is JSON", async () => {
    const seen: unknown[] = [];
    const made = tool((args, scope) => {
      seen.push(args, { ...scope, signal: undefined });
      return { done: true };
    });
    expect(await called(made, '{"n":1}')).toEqual({ ok: true, bytes: 13, content: '{"done":true}' });
    const { projectRoot } = world;
    expect(seen).toEqual([
      { n: 1 },
      { runId: "r", nodeId: "draft", agentId: "author", callId: `c${calls}`, projectRoot, signal: undefined },
    ]);
  });

  test("gets arguments by their own names, whose spelling is another for a model", async () => {
    const made = defineTool({
      name: "desk.act",
      description: "Acts.",
      input: z.strictObject({ $filter: z.string(), "ids[]": z.array(z.int()) }),
      effect: "once",
      run: (args) => args,
    });
    const offered = (await toolsOf(made).offer(place)).functions;
    expect(offered[0]?.function.parameters).toMatchObject({
      properties: { _filter: { description: '"$filter"' }, ids__: { type: "array" } },
      required: ["_filter", "ids__"],
    });
    const content = '{"$filter":"a","ids[]":[1]}';
    expect(await called(made, '{"_filter":"a","ids__":[1]}')).toMatchObject({ ok: true, content });
    expect(await called(made, content)).toMatchObject({ ok: true, content });
  });

  test("gets arguments as another zod of its program has them, whose types are other ones", async () => {
    const made = defineTool({
      name: "desk.act",
      description: "Acts.",
      input: mini.object({ n: mini.optional(mini.int()) }),
      effect: "once",
      run: ({ n = 0 }) => `made ${n + 1}`,
    });
    expect(await called(made, '{"n":1}')).toMatchObject({ ok: true, content: "made 2" });
    expect(await called(made, '{"n":"1"}')).toMatchObject({ error: { code: "TOOL_ARGS_INVALID" } });
  });

  test("is for the tool that is meant where its name is written with _ for -, and for none where that is of two", async () => {
    const named = (name: string): ExternalTool => ({ ...tool(() => ""), name, family: "mcp.s." });
    const tools = ["mcp.s.get-it", "mcp.s.a-b_c", "mcp.s.a_b-c"].map(named);
    const source: ToolSource = { tools: () => Promise.resolve(tools), close: () => Promise.resolve() };
    const offer = await new ExternalTools([source], () => undefined).offer(place);
    const meant = (name: string) => offer.offeredFor({ name })?.name;
    expect(["mcp_s_get-it", "mcp.s.get-it", "mcp_s_get_it"].map(meant)).toEqual(
      Array(3).fill("mcp.s.get-it"),
    );
    expect(["mcp_s_a-b_c", "mcp_s_a_b_c", "mcp_s_got_it"].map(meant)).toEqual([
      "mcp.s.a-b_c",
      undefined,
      undefined,
    ]);
  });

  test("is for none where the tool is left out of what is offered, for the bound on all of them", async () => {
    const familyOf = (server: string): ToolSource => {
      const tools = Array.from({ length: 60 }, (_, nth): ExternalTool => {
        const name = `mcp.${server}.t${String(nth).padStart(2, "0")}`;
        return { ...tool(() => ""), name, family: `mcp.${server}.` };
      });
      return { tools: () => Promise.resolve(tools), close: () => Promise.resolve() };
    };
    const offer = await new ExternalTools([familyOf("a"), familyOf("b")], () => undefined).offer(place);
    const meant = (name: string) => offer.offeredFor({ name })?.name;
    expect(["mcp.b.t39", "mcp_b_t39"].map(meant)).toEqual(["mcp.b.t39", "mcp.b.t39"]);
    expect(["mcp.b.t40", "mcp_b_t40", "mcp.b.t59"].map(meant)).toEqual(Array(3).fill(undefined));
  });

  test("is made once, whoever asks for it again, with one event", async () => {
    let count = 0;
    const tools = toolsOf(tool(() => `made ${(count += 1)}`));
    const call = await madeCall(tools);
    const results = [await run(tools, call), await run(tools, call)];
    expect(results).toEqual([{ ok: true, bytes: 6, content: "made 1" }, results[0]]);
    const events = await jsonLines(files.logFile);
    expect(events.filter(({ toolCallId }) => toolCallId === call.id)).toMatchObject([
      { toolName: "desk.act", nodeId: "draft" },
    ]);
  });

  test("that is being made is not made beside it: who comes second knows that nobody knows", async () => {
    let count = 0;
    let finish: (text: string) => void = () => undefined;
    let begin: () => void = () => undefined;
    const begun = new Promise<void>((resolve) => (begin = resolve));
    const tools = toolsOf(
      tool(() => {
        count += 1;
        begin();
        return new Promise<string>((resolve) => (finish = resolve));
      }),
    );
    const call = await madeCall(tools);
    const first = run(tools, call);
    await begun;
    const second = await run(tools, call);
    expect(second).toMatchObject({ error: { code: "TOOL_OUTCOME_UNKNOWN" } });
    finish("made");
    expect(await first).toEqual(second); // what is recorded stands
    expect(count).toBe(1);
  });

  test("that an attempt had begun is made again where twice is once, and never where it is not", async () => {
    for (const effect of ["none", "idempotent", "once"] as const) {
      let count = 0;
      const tools = toolsOf(tool(() => (count += 1), { effect }));
      const call = await madeCall(tools);
      await files.calls.claim(call.id);
      const result = await run(tools, call);
      expect([effect, count]).toEqual([effect, effect === "once" ? 0 : 1]);
      expect(result.ok).toBe(effect !== "once");
    }
  });

  test("that nobody knows the end of names the tools to look with", async () => {
    const looks = tool(() => "", { name: "desk.look", effect: "none" });
    const other = tool(() => "", { name: "other.look", effect: "none" });
    const tools = toolsOf(
      tool(() => Promise.reject(new Interrupted("It is gone."))),
      looks,
      other,
    );
    const result = await run(tools, await madeCall(tools));
    expect(JSON.stringify(result)).toMatch(
      /It is gone\. Whether desk\.act has taken effect is not known.*desk\.look/,
    );
    expect(JSON.stringify(result)).not.toContain("other.look");
  });

  test("whose worker died before the run ended is known to be unknown when the run goes on", async () => {
    const tools = toolsOf(tool(() => "x"));
    const [begun, not] = [await madeCall(tools), await madeCall(tools)];
    await files.calls.claim(begun.id);
    await recordUnknown(files, begun);
    await recordUnknown(files, not);
    expect(await files.calls.find(begun.id)).toMatchObject({
      result: { error: { code: "TOOL_OUTCOME_UNKNOWN" } },
    });
    expect(await files.calls.find(not.id)).toBeUndefined();
  });

  test("is waited for no longer than it may take, whatever the tool makes of its signal", async () => {
    const hangs = { timeoutMs: 1, run: () => new Promise(() => undefined) };
    expect(await called(tool(hangs.run, { timeoutMs: 1 }))).toMatchObject({
      error: { code: "TOOL_OUTCOME_UNKNOWN" },
    });
    const read = await called(tool(hangs.run, { timeoutMs: 1, effect: "none" }));
    expect(read).toMatchObject({ error: { code: "TOOL_FAILED" } });
    expect(JSON.stringify(read)).toContain("within 0.001 seconds");
  });

  test("that changes nothing is made again when the tool goes away under it, and then given up", async () => {
    let count = 0;
    const flaky = (times: number) =>
      tool(() => ((count += 1) <= times ? Promise.reject(new Interrupted("gone")) : "there"), {
        effect: "none",
      });
    expect(await called(flaky(1))).toMatchObject({ ok: true, content: "there" });
    count = 0;
    expect(await called(flaky(9))).toMatchObject({ error: { code: "TOOL_FAILED" } });
    expect(count).toBe(2);
  });

  test("that was not reached is made again where there is a new way to the same tool, and only there", async () => {
    for (const [description, expected] of [
      ["Acts.", "there"],
      ["Deletes all.", "Nothing was done"],
    ] as const) {
      const renewed = tool(() => "there", { description });
      const ways: DefinedTool[] = [];
      const source: ToolSource = { tools: () => Promise.resolve(ways), close: () => Promise.resolve() };
      const tools = new ExternalTools([source], () => undefined);
      ways[0] = tool(() => {
        ways[0] = renewed;
        throw new Reopenable("The way there has ended.");
      });
      expect(JSON.stringify(await run(tools, await madeCall(tools)))).toContain(expected);
    }
    const lost = tool(() => Promise.reject(new Reopenable("It has ended again.")));
    expect(JSON.stringify(await called(lost))).toContain("It has ended again. Nothing was done.");
  });

  function cancelledInIt(effect: ToolEffect) {
    const cancelled = new AbortController();
    const run1 = (): Promise<never> => {
      cancelled.abort(new Error("cancelled"));
      return new Promise(() => undefined);
    };
    const tools = toolsOf(tool(run1, { effect }));
    return madeCall(tools).then((call) => run(tools, call, cancelled.signal));
  }

  test("that is cancelled is recorded as unknown where it may have an effect, else it is given back", async () => {
    expect(await cancelledInIt("once")).toMatchObject({ error: { code: "TOOL_OUTCOME_UNKNOWN" } });
    await expect(cancelledInIt("none")).rejects.toThrow("cancelled");
  });

  test("that fails says so on one line, without secrets and paths of the machine", async () => {
    const words = "no\n\u202Eway /etc/shadow api_key=abcdef123456";
    const result = JSON.stringify(await called(tool(() => Promise.reject(new Error(words)))));
    expect(result).toContain("TOOL_FAILED");
    expect(result).toContain("no \\\\u{202e}way <path> api_key=<secret>");
    expect(JSON.stringify(await called(tool(() => Promise.reject(new NotReached("Not there.")))))).toContain(
      "Nothing was done",
    );
    const text = tool(() => Promise.reject("no error")); // what a program may reject with
    expect(JSON.stringify(await called(text))).toContain("no error");
  });

  test("with arguments that do not fit does nothing, and says what was expected", async () => {
    let count = 0;
    const made = tool(() => (count += 1));
    for (const [args, code] of [
      ['{"n":"x"}', "TOOL_ARGS_INVALID"],
      ['{"m":1}', "TOOL_ARGS_INVALID"],
      ["[]", "TOOL_ARGS_INVALID"],
      ["{", "TOOL_ARGS_INVALID_JSON"],
      ['{"__proto__":{"n":1}}', "TOOL_ARGS_INVALID"],
      [`{"n":${"[".repeat(200)}${"]".repeat(200)}}`, "TOOL_ARGS_INVALID"],
    ] as const) {
      expect(await called(made, args)).toMatchObject({ error: { code } });
    }
    expect(count).toBe(0);
  });

  test("shows a bounded, printable text, in which the project is @project", async () => {
    const { projectRoot } = world;
    const result = await called(tool(() => `at ${projectRoot}/a.ts:\r\n\tx\u202Ey`));
    expect(result).toMatchObject({ ok: true, content: "at @project/a.ts:\r\n\tx\\u{202e}y" });
    const long = await called(tool(() => "é\u200B".repeat(100_000)));
    expect(long).toMatchObject({ truncated: true, bytes: 500_000 });
    const content = long.ok && typeof long["content"] === "string" ? long["content"] : "";
    expect(Buffer.byteLength(content)).toBeGreaterThan(900);
    expect(Buffer.byteLength(content)).toBeLessThanOrEqual(1_000);
    expect(content.isWellFormed()).toBe(true);
  });

  test("says of a failure that is cut what it says of a result", async () => {
    const failing = (content: string): ToolSource => ({
      tools: () =>
        Promise.resolve([{ ...tool(() => ""), run: () => Promise.resolve({ content, isError: true }) }]),
      close: () => Promise.resolve(),
    });
    const saying = async (content: string) => {
      const tools = new ExternalTools([failing(content)], () => undefined);
      return run(tools, await madeCall(tools));
    };
    expect(await saying("short")).toMatchObject({
      error: { code: "TOOL_FAILED", details: { content: "short" } },
    });
    expect(await saying("short")).not.toHaveProperty("error.details.truncated");
    expect(await saying("x".repeat(5_000))).toMatchObject({
      error: { code: "TOOL_FAILED", details: { truncated: true, bytes: 5_000, content: "x".repeat(1_000) } },
    });
  });

  test("takes no other directory for the project whose path begins or ends like the project's", async () => {
    const { projectRoot } = world;
    const others = [
      `${projectRoot}-old/a`,
      `${projectRoot}2`,
      `${projectRoot}.git/b`,
      `/mnt${projectRoot}/c`,
    ];
    const own = [`${projectRoot}.`, `(${projectRoot})`, `file://${projectRoot}/d`, projectRoot];
    const result = await called(tool(() => [...others, ...own].join("\n")));
    const shown = ["@project.", "(@project)", "file://@project/d", "@project"];
    expect(result).toMatchObject({ ok: true, content: [...others, ...shown].join("\n") });
  });

  test("shows no part of the project's path where a text is cut within it", async () => {
    const { projectRoot } = world;
    for (const part of [2, projectRoot.length - 1]) {
      const text = "x".repeat(1_000 - part) + projectRoot;
      const result = await called(tool(() => text));
      expect(result).toMatchObject({ truncated: true, content: "x".repeat(1_000 - part) });
    }
  });

  test("of a tool that is gone, or is another one by now, does nothing", async () => {
    let count = 0;
    const run1 = () => (count += 1);
    const call = await madeCall(toolsOf(tool(run1)));
    const changed = [
      toolsOf(),
      toolsOf(tool(run1, { description: "Deletes all." })),
      toolsOf(tool(run1, { effect: "none" })),
    ];
    for (const tools of changed) {
      expect(await run(tools, { ...call, id: `c${(calls += 1)}` })).toMatchObject({
        error: { code: "TOOL_NOT_AVAILABLE" },
      });
    }
    const gone: ToolSource = {
      tools: () => Promise.reject(new NotReached("Not there.")),
      close: () => Promise.resolve(),
    };
    expect(await run(new ExternalTools([gone], () => undefined), call)).toMatchObject({
      error: { code: "TOOL_FAILED" },
    });
    expect(count).toBe(0);
  });
});

describe("what an agent is offered", () => {
  test("tools that are its own or everybody's, in the order of their names", async () => {
    const tools = toolsOf(
      tool(() => "", { name: "b" }),
      tool(() => "", { name: "a", agents: ["author"] }),
      tool(() => "", { name: "c", agents: ["other"] }),
    );
    expect((await tools.offer(place)).functions.map((offered) => offered.function.name)).toEqual(["a", "b"]);
  });

  test("tools whose definition was looked at once: a server may describe many, at each turn and each call", async () => {
    let looks = 0;
    const described = tool(() => "", { name: "a" });
    const { parameters } = described;
    Object.defineProperty(described, "parameters", {
      enumerable: true,
      get() {
        looks += 1;
        return parameters;
      },
    });
    const tools = toolsOf(described);
    await tools.offer(place);
    const once = looks;
    await tools.offer(place);
    expect(await tools.find(place, "a")).toBeDefined();
    expect(once).toBeGreaterThan(0);
    expect(looks).toBe(once);
  });

  test("no more tools than a request may hold; the operator is told once of all that are left out, and what helps", async () => {
    const notes: string[] = [];
    const many = Array.from({ length: 120 }, (_, index) => tool(() => "", { name: `t${100 + index}` }));
    const external = new ExternalTools([toolsInCode(many)], (sentence) => notes.push(sentence));
    await external.offer(place);
    expect((await external.offer(place)).functions).toHaveLength(100);
    expect(notes).toHaveLength(1);
    expect(notes[0]).toContain("100 of 120 tools");
    expect(notes[0]).toContain("left out: t200, t201, t202, t203, t204, and 15 more");
    expect(notes[0]).toContain("tools of its server in the settings");
    await external.close();
  });

  test("of too many tools it is the largest family that lacks some", async () => {
    const large = Array.from({ length: 120 }, (_, index) => tool(() => "", { name: `a.t${100 + index}` }));
    const small = ["m.one", "z.one", "z.two"].map((name) => tool(() => "", { name }));
    const external = new ExternalTools([toolsInCode([...large, ...small])], () => undefined);
    const offer = await external.offer(place);
    const { functions } = offer;
    expect(functions).toHaveLength(100);
    for (const { name } of small) expect(offer.offeredFor({ name })?.name).toBe(name);
    expect(functions.map((each) => each.function.name)).toEqual(
      functions.map((each) => each.function.name).toSorted(),
    );
    await external.close();
  });
});

describe("defineTool", () => {
  test.each([
    "fs.read",
    "fs_write",
    "fs.edit",
    "state.record",
    "mcp.a.b",
    "A",
    "a b",
    "",
    "a..b",
    "x".repeat(65),
  ])("refuses the name %j", (name) => {
    expect(() => tool(() => "", { name })).toThrow(/needs another name/);
  });

  test("refuses timeouts that are none, and two tools of one name", () => {
    for (const timeoutMs of [0, 1.5, Number.NaN, 3_600_001])
      expect(() => tool(() => "", { timeoutMs })).toThrow(/timeoutMs/);
    expect(() => toolsInCode([tool(() => ""), tool(() => "")])).toThrow(/desk\.act/);
  });
});
