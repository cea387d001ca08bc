import { chmodSync, lstatSync, mkdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openStore } from "../../src/store/store.js";
import { createToolHost } from "../../src/tools/graph/tool-host.js";
import { type Case, runCases, sharedWorld, that } from "./cases.js";
import { KEY_SECRET, OUTSIDE_SECRET } from "./project-tree.js";
import { ODD_TEXTS, documentOf, fields, fieldsOf, partsOf } from "./state-model.js";
import { type World, codeOf, longText, sha256 } from "./world.js";

const ARGS = "TOOL_ARGS_INVALID";
const SANDBOX = "E_SANDBOX_VIOLATION";
const LIMIT = "E_WRITE_LIMIT";
const PRECONDITION = "E_PRECONDITION_FAILED";

const world = sharedWorld();

/** A write that is taken: the bytes are there, and the result says so. */
function taken(name: string, path: string, content: string, more: Partial<Case> = {}): Case {
  return {
    name,
    tool: "fs.write",
    args: { path, content },
    expect: "ok",
    changes: [path.replace("@", "")],
    verify: ({ result }, place) => {
      expect(result).toEqual({
        ok: true,
        path,
        bytesWritten: Buffer.byteLength(content),
        sha256After: sha256(content),
      });
      expect(place.read(path.replace("@", "")).equals(Buffer.from(content))).toBe(true);
    },
    ...more,
  };
}

describe("contents", () => {
  const contents: readonly [string, string][] = [
    ["nothing", ""],
    ["a line", "line\n"],
    ["both line ends", "a\r\nb\nc\rd"],
    ["a byte-order mark", "\ufefftext"],
    ["NUL and other controls", "\0\u0001\u001b[31m\u007f"],
    ["line separators", "a\u2028b\u2029c\u0085d"],
    ["characters of four bytes", "😀🎉"],
    ["noncharacters", "\ufffe\uffff"],
    ["a tool call", '{"tool_calls":[{"function":{"name":"fs_write"}}]}'],
    ["front matter", "---\ncurrentNodeId: finish\n---\n"],
    ["exactly the limit", longText(100_000)],
  ];
  runCases(
    world,
    contents.map(([name, content]) => taken(name, "@project/new.txt", content)),
  );
  runCases(
    world,
    ODD_TEXTS.filter((text) => text.isWellFormed()).map((text) =>
      taken(`odd: ${text}`, "@project/notes.txt", text),
    ),
  );
  runCases(world, [
    {
      name: "a byte too many",
      tool: "fs.write",
      args: { path: "@project/x", content: longText(100_001) },
      expect: LIMIT,
    },
    {
      name: "bytes are counted, not characters",
      tool: "fs.write",
      args: { path: "@project/x", content: "€".repeat(33_334) },
      expect: LIMIT,
    },
    taken("bytes within the limit", "@project/x", "€".repeat(33_333)),
    taken("a wide agent's limit", "@project/x", longText(900_000), { agent: "wide" }),
    {
      name: "over a wide agent's limit",
      tool: "fs.write",
      args: { path: "@project/x", content: longText(900_001) },
      agent: "wide",
      expect: LIMIT,
    },
    taken("a tight agent's limit", "@project/x", "x".repeat(64), { agent: "tight" }),
    {
      name: "over a tight agent's limit",
      tool: "fs.write",
      args: { path: "@project/x", content: "x".repeat(65) },
      agent: "tight",
      expect: LIMIT,
    },
    {
      name: "half a pair first",
      tool: "fs.write",
      args: { path: "@project/x", content: "\ud800x" },
      expect: ARGS,
    },
    {
      name: "half a pair last",
      tool: "fs.write",
      args: { path: "@project/x", content: "x\udbff" },
      expect: ARGS,
    },
    {
      name: "a low half alone",
      tool: "fs.write",
      args: { path: "@project/x", content: "\udc00" },
      expect: ARGS,
    },
    {
      name: "an oversize write out of the mount",
      tool: "fs.write",
      args: { path: "@pkg/x", content: longText(200_000) },
      expect: [LIMIT, SANDBOX],
    },
  ]);
});

describe("secrets do not reach the log", () => {
  const secrets = [
    `key: ${KEY_SECRET}`,
    `${"x".repeat(50)} ${KEY_SECRET}`,
    `${"x".repeat(55)} ${KEY_SECRET}`,
    `${OUTSIDE_SECRET.slice(0, 3)} ${longText(300)}`,
    `{"api_key":"${KEY_SECRET}"}`,
    `export OPENAI_API_KEY=${KEY_SECRET}`,
    `Authorization: Bearer ${KEY_SECRET}`,
  ];
  runCases(
    world,
    secrets.flatMap((content): Case[] => [
      taken(`in a file: ${content.slice(0, 30)}`, "@project/notes.txt", content),
      {
        name: `in a variable: ${content.slice(0, 30)}`,
        tool: "fs.apply_patch",
        args: {
          path: "@state/workflow.md",
          patch: {
            operation: "updateFrontmatter",
            update: { variables: { set: { note: content, list: [content] } } },
          },
        },
        expect: "ok",
        changes: ["state/workflow.md"],
      },
      {
        name: `in a path: ${content.slice(0, 30)}`,
        tool: "fs.read",
        args: { path: `@project/${content.replaceAll("/", "")}`.slice(0, 200) },
        expect: ["ENOENT", ARGS],
      },
    ]),
  );
});

describe("host paths in arguments come back in no result", () => {
  test("whatever argument they stand in", async () => {
    expect.hasAssertions();
    const { base } = world();
    const calls = [
      { tool: "fs.read", args: { path: `${base}/outside/secret.txt` } },
      { tool: "fs.read", args: { path: `@project/${base}/outside/secret.txt` } },
      { tool: "fs.list", args: { path: base } },
      { tool: "fs.search", args: { path: `${base}/project`, pattern: "x" } },
      { tool: "fs.search", args: { path: "@project/README.md", pattern: base.slice(1) } },
      { tool: "fs.search", args: { path: "@project/README.md", pattern: `/${base}/` } },
      { tool: "fs.write", args: { path: `${base}/project/x`, content: base } },
      { tool: "fs.write", args: { path: "@project/x", content: "x", ifMatchSha256: base } },
      { tool: "fs.read", args: { path: "@project/README.md", [base]: 1 } },
      { tool: base, args: { path: "@project" } },
    ];
    for (const call of calls) {
      const { result } = await world().call(call);
      if (call.tool !== "fs.search") that(result.ok, JSON.stringify(call)).toBe(false);
    }
  });
});

describe("the version that a write names", () => {
  const current = (place: World) => sha256(place.read("project/notes.txt"));
  test.each<[string, (place: World) => string, string, string]>([
    ["the current one", current, "notes.txt", "ok"],
    ["the current one in capitals", (place) => current(place).toUpperCase(), "notes.txt", "ok"],
    ["another", () => sha256("x"), "notes.txt", PRECONDITION],
    ["an empty text", () => "", "notes.txt", PRECONDITION],
    ["a word", () => "none", "notes.txt", PRECONDITION],
    ["a hash with spaces", (place) => ` ${current(place)}`, "notes.txt", PRECONDITION],
    ["the hash of nothing for a file that is missing", () => sha256(""), "missing.txt", PRECONDITION],
    ["a file in a directory that is missing", () => sha256(""), "no/such/dir/x.txt", PRECONDITION],
    ["the hash of nothing for an empty file", () => sha256(""), "empty.txt", "ok"],
    ["a binary file", (place) => sha256(place.read("project/binary.bin")), "binary.bin", "ok"],
    ["through a link", current, "in-file", "ok"],
    ["a directory", () => sha256(""), "src", ARGS],
    ["a fifo", () => sha256(""), "fifo", SANDBOX],
  ])("%s", async (_, version, file, expected) => {
    const args = { path: `@project/${file}`, content: "new\n", ifMatchSha256: version(world()) };
    const { result, changes } = await world().call({ tool: "fs.write", args });
    expect(codeOf(result)).toBe(expected);
    expect(changes.length).toBe(expected === "ok" ? 1 : 0);
  });

  test("of eight writers at once with the same version, one wins", async () => {
    const ifMatchSha256 = current(world());
    const results = await world().callAtOnce(
      Array.from({ length: 8 }, (_, index) => ({
        id: `racer-${index}`,
        tool: "fs.write",
        args: { path: "@project/notes.txt", content: `writer ${index}`, ifMatchSha256 },
      })),
    );
    const codes = results.map(codeOf);
    expect(codes.filter((code) => code === "ok")).toHaveLength(1);
    expect(codes.filter((code) => code === PRECONDITION)).toHaveLength(7);
    expect(world().read("project/notes.txt").toString()).toBe(`writer ${codes.indexOf("ok")}`);
  });

  test("of eight patches at once with the same version, one wins", async () => {
    const ifMatchSha256 = sha256(world().initialState);
    const results = await world().callAtOnce(
      Array.from({ length: 8 }, (_, index) => ({
        id: `patcher-${index}`,
        tool: "fs.apply_patch",
        args: {
          path: "@state/workflow.md",
          patch: {
            operation: "updateFrontmatter",
            update: { variables: { set: { by: index } } },
            ifMatchSha256,
          },
        },
      })),
    );
    const codes = results.map(codeOf);
    expect(codes.filter((code) => code === "ok")).toHaveLength(1);
    expect(fieldsOf(world().read("state/workflow.md"))["variables"]).toEqual({ by: codes.indexOf("ok") });
  });
});

describe("the file that is written", () => {
  test("keeps its mode, and a new one has that of its mount", async () => {
    const mode = (path: string) => statSync(world().at(path)).mode & 0o777;
    chmodSync(join(world().base, "project/notes.txt"), 0o755);
    world().arranged();
    for (const path of ["@project/README.md", "@project/notes.txt", "@project/new.txt", "@state/new/x.md"]) {
      const { result } = await world().call({ tool: "fs.write", args: { path, content: "x" } });
      expect(result.ok).toBe(true);
    }
    expect([mode("project/README.md"), mode("project/notes.txt")]).toEqual([0o640, 0o755]);
    expect(mode("project/new.txt") & 0o111).toBe(0);
    expect([mode("state/new/x.md"), mode("state/new")]).toEqual([0o600, 0o700]);
  });

  test("is the one that a link leads to, and the link stays a link", async () => {
    const { changes } = await world().call({
      tool: "fs.write",
      args: { path: "@project/in-file", content: "x" },
    });
    expect(changes).toEqual(["project/notes.txt"]);
    expect(lstatSync(join(world().base, "project/in-file")).isSymbolicLink()).toBe(true);
  });

  test("takes the place of a hard link without changing what lies outside", async () => {
    const { changes, result } = await world().call({
      tool: "fs.write",
      args: { path: "@project/hard.txt", content: "x" },
    });
    expect([result.ok, changes]).toEqual([true, ["project/hard.txt"]]);
  });
});

describe("artifacts", () => {
  const artifactsOf = (place: World) => fieldsOf(place.read("state/workflow.md"))["artifacts"];
  const cases: readonly [string, string, readonly string[], readonly string[]][] = [
    [
      "a new one is recorded",
      "@project/artifacts/new.md",
      ["project/artifacts/new.md"],
      ["artifacts/new.md"],
    ],
    [
      "dot segments are left out",
      "@project/./artifacts//./new.md",
      ["project/artifacts/new.md"],
      ["artifacts/new.md"],
    ],
    [
      "one deep down, with its directories",
      "@project/artifacts/a/b/new.md",
      ["project/artifacts/a", "project/artifacts/a/b", "project/artifacts/a/b/new.md"],
      ["artifacts/a/b/new.md"],
    ],
    ["one with an odd name", "@project/artifacts/é ~.md", ["project/artifacts/é ~.md"], ["artifacts/é ~.md"]],
    ["a hidden one", "@project/artifacts/.x", ["project/artifacts/.x"], ["artifacts/.x"]],
  ];
  runCases(
    world,
    cases.map(([name, path, changes, artifacts]): Case => ({
      name,
      tool: "fs.write",
      args: { path, content: "x" },
      expect: "ok",
      changes: [...changes, "state/workflow.md"],
      verify: (_, place) => {
        that(artifactsOf(place)).toEqual(artifacts);
        that(partsOf(place.read("state/workflow.md")).tail).toBe(partsOf(place.initialState).tail);
      },
    })),
  );
  runCases(
    world,
    ["\u2028 é\t.md", "a\u202e.md", "\u200b/a.md", "a\n.md"].map((name): Case => ({
      name: `one with a name that a list cannot show, ${JSON.stringify(name)}, is not made`,
      tool: "fs.write",
      args: { path: `@project/artifacts/${name}`, content: "x" },
      expect: "E_SANDBOX_VIOLATION",
    })),
  );
  const unrecorded: readonly [string, string, readonly string[]][] = [
    ["one that is rewritten", "@project/artifacts/old.md", ["project/artifacts/old.md"]],
    ["a file elsewhere", "@project/other/new.md", ["project/other", "project/other/new.md"]],
    ["a file beside", "@project/artifacts.md", ["project/artifacts.md"]],
    [
      "a directory of that name elsewhere",
      "@project/src/artifacts/x",
      ["project/src/artifacts", "project/src/artifacts/x"],
    ],
    ["another case", "@project/Artifacts/x", ["project/Artifacts", "project/Artifacts/x"]],
    ["a file of the state", "@state/artifacts/x", ["state/artifacts", "state/artifacts/x"]],
  ];
  runCases(
    world,
    unrecorded.map(([name, path, changes]): Case => ({
      name: `${name} is not recorded`,
      tool: "fs.write",
      args: { path, content: "x" },
      expect: "ok",
      changes,
    })),
  );

  const failing: readonly [string, string, string][] = [
    ["front matter that is full", documentOf(fields({ variables: { a: "x".repeat(130_900) } })), LIMIT],
    ["a document that is broken", "no front matter", "E_INVALID_FRONTMATTER"],
    ["a document that is not valid", "---\n---\n", "E_SCHEMA_VALIDATION"],
    [
      "a document that stands at no node",
      documentOf(fields({ currentNodeId: "gone" })),
      "E_INVALID_TRANSITION",
    ],
  ];
  runCases(
    world,
    failing.flatMap(([name, state, expected]): Case[] => [
      {
        name: `nothing stays behind ${name}`,
        tool: "fs.write",
        args: { path: "@project/artifacts/a/b/c.md", content: "x" },
        state: () => state,
        expect: expected,
      },
      {
        name: `an old one can be written in spite of ${name}`,
        tool: "fs.write",
        args: { path: "@project/artifacts/old.md", content: "x" },
        state: () => state,
        expect: "ok",
        changes: ["project/artifacts/old.md"],
      },
    ]),
  );

  test("are recorded once, also when a file is made again or listed already", async () => {
    world().reset(documentOf(fields({ artifacts: ["artifacts/new.md"] })));
    const write = () =>
      world().call({ tool: "fs.write", args: { path: "@project/artifacts/new.md", content: "x" } });
    expect((await write()).result.ok).toBe(true);
    rmSync(join(world().base, "project/artifacts/new.md"));
    expect((await write()).result.ok).toBe(true);
    expect(fieldsOf(Buffer.from(documentOf(fields())))).toBeDefined();
    expect(
      world()
        .read("state/workflow.md")
        .toString()
        .match(/artifacts\/new\.md/g),
    ).toHaveLength(1);
  });

  test("twenty at once are all recorded, each once", async () => {
    const names = Array.from({ length: 20 }, (_, index) => `artifacts/at-once/${index}.md`);
    const results = await world().callAtOnce(
      names.map((name) => ({
        id: name,
        tool: "fs.write",
        args: { path: `@project/${name}`, content: name },
      })),
    );
    expect(results.every((result) => result.ok)).toBe(true);
    expect([...(artifactsOf(world()) as string[])].sort()).toEqual([...names].sort());
  });

  test("under a root that is a link out of the project are not written", async () => {
    rmSync(join(world().base, "project/artifacts"), { recursive: true });
    symlinkSync("../outside", join(world().base, "project/artifacts"));
    world().arranged();
    const { result, changes } = await world().call({
      tool: "fs.write",
      args: { path: "@project/artifacts/new.md", content: "x" },
    });
    expect([codeOf(result), changes]).toEqual([SANDBOX, []]);
  });
});

describe("equal and different calls at once", () => {
  test("equal ids are one call", async () => {
    const results = await world().callAtOnce(
      Array.from({ length: 6 }, (_, index) => ({
        id: "the-same-write",
        tool: "fs.write",
        args: { path: "@project/notes.txt", content: `content ${index}` },
      })),
    );
    expect(new Set(results.map((result) => JSON.stringify(result))).size).toBe(1);
    const content = world().read("project/notes.txt").toString();
    expect(results[0]).toMatchObject({ ok: true, sha256After: sha256(content) });
  });

  test("equal ids of reads give one result, whatever happens in between", async () => {
    const path = join(world().base, "project/notes.txt");
    const first = await world().call({
      id: "the-same-read",
      tool: "fs.read",
      args: { path: "@project/notes.txt" },
    });
    writeFileSync(path, "changed\n");
    world().arranged();
    const again = await world().call(
      { id: "the-same-read", tool: "fs.read", args: { path: "@project/notes.txt" } },
      0,
    );
    expect(again.result).toEqual(first.result);
  });

  test("an id that was refused stays refused", async () => {
    const bad = await world().call({ id: "refused-once", tool: "fs.write", raw: "{" });
    const good = await world().call(
      { id: "refused-once", tool: "fs.write", args: { path: "@project/notes.txt", content: "x" } },
      0,
    );
    expect(good.result).toEqual(bad.result);
    expect(good.changes).toEqual([]);
  });

  test("an id keeps its result in a new host", async () => {
    const args = { path: "@project/notes.txt", content: "first" };
    const first = await world().call({ id: "kept", tool: "fs.write", args });
    const place = world();
    const host = place.host;
    place.host = createToolHost({ store: await openStore(join(place.base, "store")) });
    const again = await place.call({ id: "kept", tool: "fs.write", args: { ...args, content: "second" } }, 0);
    place.host = host;
    expect(again.result).toEqual(first.result);
    expect(again.changes).toEqual([]);
  });

  test("readers see whole files while somebody writes", async () => {
    expect.hasAssertions();
    const sizes = [1, 5000, 40_000];
    const writes = sizes.flatMap((size, round) =>
      Array.from({ length: 4 }, (_, index) => ({
        id: `whole-write-${round}-${index}`,
        tool: "fs.write",
        args: { path: "@project/notes.txt", content: String(index).repeat(size) },
      })),
    );
    const reads = Array.from({ length: 24 }, (_, index) => ({
      id: `whole-read-${index}`,
      tool: "fs.read",
      args: { path: "@project/notes.txt" },
    }));
    const results = await world().callAtOnce(
      reads.flatMap((read, index) => (writes[index] === undefined ? [read] : [read, writes[index]])),
    );
    for (const result of results) {
      that(result.ok, JSON.stringify(result)).toBe(true);
      if (result.ok && "content" in result) {
        const content = result["content"] as string;
        that(/^(?:(.)\1*|alpha\nbeta\ngamma\n)$/.test(content)).toBe(true);
        that(result).toMatchObject({ bytes: Buffer.byteLength(content), sha256: sha256(content) });
      }
    }
  });

  test("a file that becomes a directory, or the reverse, is an ordinary error", async () => {
    mkdirSync(join(world().base, "project/flip"));
    world().arranged();
    const results = await world().callAtOnce([
      { id: "flip-1", tool: "fs.write", args: { path: "@project/flip/a/b", content: "x" } },
      { id: "flip-2", tool: "fs.write", args: { path: "@project/flip/a", content: "x" } },
      { id: "flip-3", tool: "fs.write", args: { path: "@project/flip/a/b/c", content: "x" } },
    ]);
    expect(results.filter((result) => result.ok)).toHaveLength(1);
  });
});

describe("names that a setting protects", () => {
  test("take the place of the usual ones", async () => {
    const place = world();
    const usual = place.host;
    const protectedPaths = {
      notWritable: ["*.lock", "src"],
      notAccessible: ["sub", "*secret*"],
      allowed: ["no.lock"],
    };
    place.host = createToolHost({ store: place.store, protectedPaths });
    const rows: readonly [string, string, string][] = [
      ["@project/a.lock", "ENOENT", SANDBOX],
      ["@project/deep/A.LOCK", "ENOENT", SANDBOX],
      ["@project/no.lock", "ENOENT", "ok"],
      ["@project/src/main.ts", "ok", SANDBOX],
      ["@project/in-dir/main.ts", "ok", SANDBOX],
      ["@project/sub/visible.txt", SANDBOX, SANDBOX],
      ["@project/my-secret.txt", SANDBOX, SANDBOX],
      ["@project/.git/config", "ok", "ok"],
      ["@state/x.lock", "ENOENT", "ok"],
    ];
    for (const [path, read, write] of rows) {
      const first = await place.call({ tool: "fs.read", args: { path } });
      const second = await place.call({ tool: "fs.write", args: { path, content: "x" } });
      expect([path, codeOf(first.result), codeOf(second.result)]).toEqual([path, read, write]);
    }
    const listed = await place.call({ tool: "fs.list", args: { path: "@project" } });
    place.host = usual;
    expect((listed.result as { entries?: string[] }).entries).not.toContain("sub/");
  });
});

describe("who is calling", () => {
  test("a run, a package, a workflow or an agent that is not there", async () => {
    const place = world();
    const context = {
      projectRoot: join(place.base, "project"),
      packageId: place.packageId,
      workflowId: "corpus",
      runId: place.runId,
      agentId: "author",
    };
    const call = async (id: string, change: Partial<typeof context>) => {
      const result = await place.host.executeToolCall({
        toolCallId: id,
        name: "fs.read",
        argumentsJson: '{"path":"@state/workflow.md"}',
        context: { ...context, ...change },
      });
      place.checkNothingShown(JSON.stringify(result));
      return codeOf(result);
    };
    const none = "00000000-0000-4000-8000-000000000000";
    for (const runId of [
      none,
      "",
      "..",
      "../../x",
      "/etc",
      "\0",
      "x".repeat(5000),
      place.runId.toUpperCase(),
    ]) {
      that(await call("who-run", { runId }), runId).toBe("E_RUN_NOT_FOUND");
    }
    for (const projectRoot of [
      "",
      "nowhere",
      join(place.base, "nowhere"),
      join(place.base, "secret.txt"),
      "\0",
    ]) {
      that(await call("who-root", { projectRoot }), projectRoot).toBe("E_PROJECT_INVALID");
    }
    place.expectLine("who-root"); // the run is there: it has its log
    expect(await call("who-other", { projectRoot: join(place.base, "project-2") })).toBe("E_RUN_NOT_FOUND");
    place.reset();
    for (const [id, change, code] of [
      ["who-1", { packageId: "nowhere" }, "E_PACKAGE_NOT_FOUND"],
      ["who-2", { packageId: "../.." }, "E_PACKAGE_NOT_FOUND"],
      ["who-3", { packageId: "" }, "E_PACKAGE_NOT_FOUND"],
      ["who-4", { workflowId: "nowhere" }, "E_WORKFLOW_NOT_FOUND"],
      ["who-5", { workflowId: "__proto__" }, "E_WORKFLOW_NOT_FOUND"],
      ["who-6", { agentId: "nobody" }, "E_AGENT_NOT_FOUND"],
      ["who-7", { agentId: "__proto__" }, "E_AGENT_NOT_FOUND"],
    ] as const) {
      expect(await call(id, change)).toBe(code);
      place.expectLine(id);
    }
  });

  test("secrets of the environment file do not come by another way", async () => {
    for (const tool of ["fs.read", "fs.search"]) {
      const { result } = await world().call({
        tool,
        args: { path: "@project/sub/.env", pattern: "ENVFILE" },
      });
      expect(result.ok).toBe(false);
    }
  });
});
