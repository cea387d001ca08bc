import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/core/json.js";
import type { EarlierRun } from "../../src/rehearsal/memory.js";
import type { ChatRequest } from "../../src/rehearsal/wire.js";
import { type TinyPackage, play, rehearsal } from "./tiny-engine.js";

const linear: TinyPackage = {
  entry: "a",
  nodes: [
    { id: "a", outputs: ["artifacts/a.md"] },
    { id: "b", outputs: ["artifacts/b.json"] },
    { id: "z", type: "end" },
  ],
  edges: [
    { from: "a", to: "b", label: "next" },
    { from: "b", to: "z", label: "next" },
  ],
};

const branching: TinyPackage = {
  entry: "a",
  nodes: [{ id: "a", type: "decision" }, { id: "b" }, { id: "c" }, { id: "z", type: "end" }],
  edges: [
    { from: "a", to: "b", label: "left" },
    { from: "a", to: "c", label: "right", isDefault: true },
    { from: "b", to: "z" },
    { from: "c", to: "z" },
  ],
};

const looping: TinyPackage = {
  entry: "draft",
  nodes: [
    { id: "draft", outputs: ["artifacts/draft.md"] },
    { id: "review", type: "decision" },
    { id: "done", type: "end" },
  ],
  edges: [
    { from: "draft", to: "review" },
    { from: "review", to: "draft", label: "again", isDefault: true },
    { from: "review", to: "done", label: "good" },
  ],
};

describe("a walk", () => {
  test("goes down a line, writes every output and completes", async () => {
    const played = await play(linear);
    expect(played.phase).toBe("completed");
    expect(played.path).toEqual(["a", "b", "z"]);
    expect(played.state.stepsCompleted).toEqual(["a", "b", "z"]);
    expect(played.state.artifacts).toEqual(["artifacts/a.md", "artifacts/b.json"]);
    expect(played.state.decisionLog[0]).toEqual({ from: "a", to: "b", label: "next", reason: "rehearsal" });
    expect(played.state.variables).toEqual({});
    expect(played.refusals).toEqual([]);
    expect(played.project.get("@project/artifacts/a.md")).toMatch(
      /^> \*\*Rehearsal: no model wrote this file\.\*\*/,
    );
    expect(JSON.parse(played.project.get("@project/artifacts/b.json") ?? "")).toMatchObject({
      rehearsal: "Rehearsal: no model wrote this file.",
      node: "b",
    });
  });

  test("costs three requests for a step with outputs and two for one without", async () => {
    const played = await play(linear);
    expect(played.requests.length).toBe(3 + 3 + 2);
  });

  test("says with every text that it is a rehearsal", async () => {
    const played = await play(looping, { answer: rehearsal({ forbiddenJump: true }) });
    expect(played.turns.filter((turn) => !turn.content.startsWith("[rehearsal] "))).toEqual([]);
  });

  test("follows the default edge of a decision, whatever its place in the list", async () => {
    expect((await play(branching)).path).toEqual(["a", "c", "z"]);
  });

  test("with branches, successive runs take successive edges", async () => {
    const answer = rehearsal({ branches: true });
    const paths: unknown[] = [];
    for (const runId of ["r1", "r2", "r3"]) paths.push((await play(branching, { answer, runId })).path);
    expect(paths).toEqual([
      ["a", "c", "z"],
      ["a", "b", "z"],
      ["a", "c", "z"],
    ]);
  });

  test("with branches, a new server goes on where earlier runs ended", async () => {
    const paths: unknown[] = [];
    const earlierRuns: EarlierRun[] = [];
    for (const runId of ["r1", "r2", "r3"]) {
      const played = await play(branching, { answer: rehearsal({ branches: true, earlierRuns }), runId });
      paths.push(played.path[1]);
      earlierRuns.push({ workflow: "tiny", decisions: played.state.decisionLog });
    }
    expect(paths).toEqual(["c", "b", "c"]);
  });

  test("leaves a loop whose default edge leads back", async () => {
    const played = await play(looping);
    expect(played.phase).toBe("completed");
    expect(played.path).toEqual(["draft", "review", "draft", "review", "done"]);
    expect(played.project.size).toBe(1);
  });

  test("leaves a node that leads to itself", async () => {
    const played = await play({
      entry: "a",
      nodes: [{ id: "a" }, { id: "z", type: "end" }],
      edges: [
        { from: "a", to: "a", label: "again", isDefault: true },
        { from: "a", to: "z" },
      ],
    });
    expect(played.phase).toBe("completed");
    expect(played.state.decisionLog.map((entry) => entry.to)).toEqual(["a", "z"]);
  });

  test("completes by the status variable where a graph has no end node", async () => {
    const played = await play({ entry: "a", nodes: [{ id: "a" }], edges: [] });
    expect(played.phase).toBe("completed");
    expect(played.state).toMatchObject({ stepsCompleted: ["a"], variables: { workflowStatus: "complete" } });
  });

  test("closes a run that goes round in circles for ever", async () => {
    const played = await play({
      entry: "a",
      nodes: [{ id: "a" }, { id: "b" }],
      edges: [
        { from: "a", to: "b" },
        { from: "b", to: "a" },
      ],
    });
    expect(played.phase).toBe("completed");
    expect(played.state.variables).toEqual({ workflowStatus: "complete" });
    expect(played.turns.at(-1)?.content).toContain("no end can be reached");
  });

  test("does not walk a chain of loops exponentially often", async () => {
    const ids = Array.from({ length: 16 }, (_, index) => `n${index}`);
    const played = await play({
      entry: "n0",
      nodes: [...ids.map((id) => ({ id })), { id: "z", type: "end" }],
      edges: ids.flatMap((from, index) => [
        { from, to: "n0", label: "back", isDefault: true },
        { from, to: ids[index + 1] ?? "z", label: "on" },
      ]),
    });
    expect(played.phase).toBe("completed");
    expect(played.path.length).toBeLessThan(16 * 16 * 3);
  });

  test("is the same when the whole run's conversation is kept", async () => {
    const fresh = await play(looping);
    const kept = await play(looping, { keepConversation: true });
    expect(kept.path).toEqual(fresh.path);
    expect(kept.state).toEqual(fresh.state);
    expect(kept.requests.length).toBe(fresh.requests.length);
  });

  test("does not write over a file that no rehearsal wrote, and says so", async () => {
    const project = { "@project/artifacts/a.md": "# A real result\n", "@project/artifacts/b.json": "" };
    const played = await play(linear, { project });
    expect(played.phase).toBe("completed");
    expect(played.project.get("@project/artifacts/a.md")).toBe("# A real result\n");
    expect(played.project.get("@project/artifacts/b.json")).toContain("no model wrote this file");
    expect(played.turns.map((turn) => turn.content).join("\n")).toContain(
      "Left as it is, since no rehearsal wrote it: @project/artifacts/a.md.",
    );
  });

  test("reads declared inputs and tells a missing one in the placeholder", async () => {
    const step = "---\nnodeId: a\ninputs: [docs/epic.md, '@project/none.md', the epic]\n---\n# A\n";
    const played = await play(
      {
        ...linear,
        nodes: [{ id: "a", outputs: ["artifacts/a.md"], step }, { id: "b" }, { id: "z", type: "end" }],
      },
      { project: { "@project/docs/epic.md": "epic" } },
    );
    expect(played.phase).toBe("completed");
    const text = played.project.get("@project/artifacts/a.md");
    expect(text).toContain("- @project/docs/epic.md: read, 4 bytes");
    expect(text).toContain("- @project/none.md: ENOENT");
    expect(text).not.toContain("the epic");
  });
});

describe("the forbidden jump", () => {
  test("is tried once in a server's life, refused, told, and followed by a legal move", async () => {
    const answer = rehearsal({ forbiddenJump: true });
    const played = await play(linear, { answer });
    expect(played.refusals).toEqual(["jump a → z: E_INVALID_TRANSITION"]);
    expect(played.path).toEqual(["a", "b", "z"]);
    const told = played.turns.map((turn) => turn.content);
    const at = told.findIndex((content) => content.includes("On purpose"));
    expect(told[at]).toContain("jump from a to z");
    expect(told[at + 1]).toContain(
      "The jump was refused, as it had to be (E_INVALID_TRANSITION); allowed: b.",
    );
    const again = await play(linear, { answer, runId: "run-2" });
    expect(again.refusals).toEqual([]);
  });

  test("is not tried again by a process that takes the run over", async () => {
    const first = rehearsal({ forbiddenJump: true });
    const second = rehearsal({ forbiddenJump: true });
    let turns = 0;
    const answer: typeof first = (request) => {
      turns += 1;
      return (turns <= 6 ? first : second)(request);
    };
    const played = await play(linear, { answer });
    expect(played.refusals).toEqual(["jump a → z: E_INVALID_TRANSITION"]);
    expect(played.path).toEqual(["a", "b", "z"]);
  });

  test("waits for a node from which some node is not next", async () => {
    const pack: TinyPackage = {
      entry: "a",
      nodes: [{ id: "a" }, { id: "b" }, { id: "c", type: "end" }],
      edges: [
        { from: "a", to: "b", isDefault: true },
        { from: "a", to: "c" },
        { from: "b", to: "c" },
      ],
    };
    const played = await play(pack, { answer: rehearsal({ forbiddenJump: true }) });
    expect(played.refusals).toEqual(["jump b → a: E_INVALID_TRANSITION"]);
  });

  test("is not tried where every node is next", async () => {
    const pack: TinyPackage = {
      entry: "a",
      nodes: [{ id: "a" }, { id: "b", type: "end" }],
      edges: [
        { from: "a", to: "b" },
        { from: "b", to: "a" },
      ],
    };
    const played = await play(pack, { answer: rehearsal({ forbiddenJump: true }) });
    expect(played.refusals).toEqual([]);
    expect(played.phase).toBe("completed");
  });

  test("is tried by one of two runs that reach it at the same time", () => {
    const graph = JSON.stringify({ nodes: [{ id: "a" }, { id: "b" }, { id: "z" }], edges: [] });
    const request = (runId: string): ChatRequest => {
      const files = [
        ["@pkg/a.md", "# A"],
        ["@state/workflow.md", `---\nrunId: ${runId}\n---\n`],
        ["@pkg/g.json", graph],
      ] as const;
      const shells = [
        "RUN_DIRECTIVE\n- graph: @pkg/g.json",
        "NODE_BRIEF\n- currentNodeId: a\n- stepFile: @pkg/a.md\n- allowedNext:\n  - b",
      ];
      return {
        model: "m",
        tools: ["fs_read", "fs_apply_patch"].map((name) => ({ function: { name } })),
        messages: [
          ...shells.map((content) => ({ role: "user" as const, content })),
          {
            role: "assistant",
            tool_calls: files.map(([path]) => ({
              id: path,
              function: { name: "fs_read", arguments: JSON.stringify({ path }) },
            })),
          },
          ...files.map(([path, content]) => ({
            role: "tool" as const,
            tool_call_id: path,
            content: JSON.stringify({ ok: true, content }),
          })),
        ],
      };
    };
    const server = rehearsal({ forbiddenJump: true });
    expect(server(request("r1")).content).toContain("On purpose");
    expect(server(request("r2")).content).not.toContain("On purpose");
  });

  test("is repeated when its request is repeated, and not on a later visit", async () => {
    const server = rehearsal({ forbiddenJump: true });
    const twice: typeof server = (request) => {
      const first = server(request);
      expect(server(request)).toEqual(first);
      return first;
    };
    const played = await play(looping, { answer: twice, keepConversation: true });
    expect(played.refusals).toEqual(["jump draft → done: E_INVALID_TRANSITION"]);
    expect(played.phase).toBe("completed");
  });
});

describe("a refused call", () => {
  test("is corrected with a shorter placeholder when a write is too large", async () => {
    const played = await play(linear, {
      refuse: (tool, _path, attempt) =>
        tool === "fs.write" && attempt === 1 ? { code: "E_WRITE_LIMIT", message: "Too large." } : undefined,
    });
    expect(played.phase).toBe("completed");
    expect(played.project.get("@project/artifacts/a.md")).toBe("> Rehearsal: no model wrote this file.\n");
    expect(JSON.parse(played.project.get("@project/artifacts/b.json") ?? "")).toEqual({
      rehearsal: "Rehearsal: no model wrote this file.",
    });
  });

  test("is answered by reading again when a precondition failed", async () => {
    const played = await play(linear, {
      refuse: (tool, _path, attempt) =>
        tool === "fs.apply_patch" && attempt === 1
          ? { code: "E_PRECONDITION_FAILED", message: "Changed." }
          : undefined,
    });
    expect(played.phase).toBe("completed");
    const names = played.turns.flatMap((turn) => turn.calls.map((call) => call.name));
    const patch = names.indexOf("fs_apply_patch");
    expect(names.slice(patch, patch + 3)).toEqual(["fs_apply_patch", "fs_read", "fs_apply_patch"]);
  });

  test("is asked about after two corrections, and the answer lets the node go on", async () => {
    const refuse = (tool: string, _path: string, attempt: number) =>
      tool === "fs.apply_patch" && attempt <= 3 ? { code: "E_INTERNAL", message: "Disk." } : undefined;
    const waiting = await play(linear, { refuse });
    expect(waiting.phase).toBe("waiting");
    expect(waiting.question).toContain("E_INTERNAL: Disk.");
    expect(waiting.refusals.length).toBe(3);
    expect((await play(linear, { refuse, answers: ["go on"] })).phase).toBe("completed");
  });

  test("is asked about at once when nothing can correct it, and the answer leaves the file out", async () => {
    const pack: TinyPackage = {
      entry: "a",
      nodes: [
        { id: "a", outputs: ["../outside.md", "artifacts/a.md"] },
        { id: "z", type: "end" },
      ],
      edges: [{ from: "a", to: "z" }],
    };
    const waiting = await play(pack);
    expect(waiting.phase).toBe("waiting");
    expect(waiting.question).toContain("fs.write @project/../outside.md was refused (E_SANDBOX_VIOLATION");
    const played = await play(pack, { answers: ["leave it out"] });
    expect(played.phase).toBe("completed");
    expect(played.state.artifacts).toEqual(["artifacts/a.md"]);
    expect(played.turns.map((turn) => turn.content).join("\n")).toContain(
      "Not written: @project/../outside.md.",
    );
  });

  test("never makes a run endless, whatever is refused", async () => {
    const codes = ["E_INTERNAL", "E_PRECONDITION_FAILED", "E_INVALID_TRANSITION", "E_WRITE_LIMIT", "?"];
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...codes, "TOOL_NOT_AVAILABLE", "E_SCHEMA_VALIDATION", "ENOENT"),
        fc.constantFrom("fs.read", "fs.list", "fs.write", "fs.apply_patch"),
        fc.nat(3),
        async (code, refused, from) => {
          const played = await play(linear, {
            refuse: (tool, _path, attempt) =>
              tool === refused && attempt > from ? { code, message: "No." } : undefined,
          });
          expect(played.phase).not.toBe("too-long");
          expect(played.turns.length).toBeLessThan(30);
        },
      ),
    );
  });
});

describe("conditions that the runtime evaluates", () => {
  const approvedStep = "---\nsetsVariables: [{ name: approved, type: boolean, default: false }]\n---\n";
  const pack: TinyPackage = {
    entry: "review",
    nodes: [{ id: "review", step: approvedStep }, { id: "rework" }, { id: "z", type: "end" }],
    edges: [
      {
        from: "review",
        to: "rework",
        isDefault: true,
        open: (variables) => variables["approved"] === false,
      },
      { from: "review", to: "z", open: (variables) => variables["approved"] === true },
      { from: "rework", to: "review" },
    ],
  };

  test("an edge that is closed is not chosen, and changing values leave the loop", async () => {
    const played = await play(pack);
    expect(played.phase).toBe("completed");
    expect(played.path).toEqual(["review", "rework", "review", "z"]);
  });

  const loopUntil = (again: JsonObject, done: JsonObject): TinyPackage => ({
    entry: "draft",
    nodes: [{ id: "draft" }, { id: "review" }, { id: "z", type: "end" }],
    edges: [
      { from: "draft", to: "review" },
      { from: "review", to: "draft", isDefault: true, conditionExpr: again },
      { from: "review", to: "z", conditionExpr: done },
    ],
  });
  const score = { var: "variables.score" };
  const BINDING = { evaluateConditions: true } as const;

  test.each<[string, JsonObject, JsonObject]>([
    ["a number", { "<": [score, 8] }, { ">=": [score, 8] }],
    ["a flag", { "!": { var: "variables.ok" } }, { var: "variables.ok" }],
    [
      "a part of a variable",
      { "!=": [{ var: "variables.r.s" }, "ok"] },
      { "==": [{ var: "variables.r.s" }, "ok"] },
    ],
    [
      "two at once",
      { "!": [{ var: "variables.a" }] },
      { and: [{ var: "variables.a" }, { "==": [score, 3] }] },
    ],
  ])("a loop that waits for %s ends, since the edge's variables are set", async (_name, again, done) => {
    const played = await play(loopUntil(again, done), BINDING);
    expect(played.phase).toBe("completed");
    expect(played.path).toEqual(["draft", "review", "draft", "review", "z"]);
    expect(played.refusals).toEqual([]);
  });

  test("a value that the step declares yields to what the edge needs", async () => {
    const step = "---\nsetsVariables: [score]\n---\n";
    const pack = loopUntil({ "<": [score, 8] }, { ">=": [score, 8] });
    const played = await play(
      {
        ...pack,
        nodes: pack.nodes.map((node) => (node.id === "review" ? { ...node, step } : node)),
      },
      BINDING,
    );
    expect(played.phase).toBe("completed");
    expect(played.state.variables).toMatchObject({ score: 8 });
  });

  test("a loop that nothing opens is walked a few rounds, not to the limit of turns, and then asked about", async () => {
    const never = { and: [{ ">": [score, 8] }, { "<": [score, 2] }] };
    const played = await play(loopUntil({ "<": [score, 8] }, never), BINDING);
    expect(played.phase).toBe("waiting");
    expect(played.question).toContain("no variables open a way to an end");
    expect(played.path.length).toBeLessThan(12);
    const again = await play(loopUntil({ "<": [score, 8] }, never), {
      ...BINDING,
      answers: ["go on", "go on"],
    });
    expect(again.phase).toBe("waiting");
  });

  test("a run heads for an end over edges that can open", async () => {
    const shut = { "==": [score, 1] };
    const played = await play(
      {
        entry: "a",
        nodes: [{ id: "a" }, { id: "trap" }, { id: "b" }, { id: "c" }, { id: "z", type: "end" }],
        edges: [
          { from: "a", to: "trap", isDefault: true },
          { from: "trap", to: "a" },
          { from: "trap", to: "z", conditionExpr: { and: [shut, { "!": shut }] } },
          { from: "a", to: "b" },
          { from: "b", to: "a", isDefault: true },
          { from: "b", to: "c" },
          { from: "c", to: "a", isDefault: true },
          { from: "c", to: "z" },
        ],
      },
      BINDING,
    );
    expect(played.phase).toBe("completed");
  });

  test("where no edge is open and no variable can open one, the user is asked", async () => {
    const played = await play({
      entry: "a",
      nodes: [{ id: "a" }, { id: "z", type: "end" }],
      edges: [{ from: "a", to: "z", open: () => false }],
    });
    expect(played.phase).toBe("waiting");
    expect(played.question).toContain("no edge out of it is open now (z)");
  });
});

describe("any valid graph", () => {
  const graphs = fc
    .integer({ min: 1, max: 8 })
    .chain((size) =>
      fc.record({
        size: fc.constant(size),
        links: fc.array(
          fc.record({ from: fc.nat(size - 1), to: fc.nat(size - 1), isDefault: fc.boolean() }),
          { maxLength: 16 },
        ),
        ends: fc.uniqueArray(fc.nat(size - 1), { maxLength: 2 }),
        outputs: fc.boolean(),
      }),
    )
    .map(({ size, links, ends, outputs }): TinyPackage => {
      const defaults = new Set<number>();
      return {
        entry: "n0",
        nodes: Array.from({ length: size }, (_, index) => ({
          id: `n${index}`,
          type: ends.includes(index) ? "end" : "step",
          outputs: outputs ? [`artifacts/n${index}.md`] : [],
        })),
        edges: links.map(({ from, to, isDefault }) => {
          const first = isDefault && !defaults.has(from);
          if (first) defaults.add(from);
          return { from: `n${from}`, to: `n${to}`, isDefault: first };
        }),
      };
    });

  test("is walked to completion within a bound of turns, without a refusal", async () => {
    await fc.assert(
      fc.asyncProperty(graphs, fc.boolean(), fc.boolean(), async (pack, branches, keepConversation) => {
        const played = await play(pack, { answer: rehearsal({ branches }), keepConversation });
        expect(played.phase).toBe("completed");
        expect(played.refusals).toEqual([]);
        // At most three free rounds per edge, each followed by the way to an end; five turns a visit.
        const visits = 3 * (pack.edges.length + 1) * (pack.nodes.length + 1);
        expect(played.turns.length).toBeLessThanOrEqual(5 * visits);
      }),
      { numRuns: 300 },
    );
  });

  test("is covered edge by edge by repeated runs with branches", async () => {
    const answer = rehearsal({ branches: true });
    const taken = new Set<string>();
    const pack: TinyPackage = {
      entry: "a",
      nodes: ["a", "b", "c", "d", "e"].map((id) => ({ id })),
      edges: ["ab", "ac", "bd", "be", "cd", "ce"].map(([from, to]) => ({ from: from!, to: to! })),
    };
    for (let run = 0; run < 4; run += 1) {
      const { state } = await play(pack, { answer, runId: `run-${run}` });
      for (const { from, to } of state.decisionLog) taken.add(from + to);
    }
    expect([...taken].sort()).toEqual(["ab", "ac", "bd", "be", "cd", "ce"]);
  });
});
