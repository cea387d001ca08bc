import { mkdirSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Case, runCases, sharedWorld, that } from "./cases.js";
import { fileContent } from "./project-tree.js";
import { type World, codeOf, sha256 } from "./world.js";

const ARGS = "TOOL_ARGS_INVALID";
const world = sharedWorld();

/** Every text file of the project's tree that the agent's limit lets through whole. */
const TEXTS = [
  "README.md",
  "notes.txt",
  "no-newline.txt",
  "crlf.txt",
  "bom.txt",
  "empty.txt",
  "newlines.txt",
  "multi.txt",
  "quoted.txt",
  ".hidden.txt",
  "src/main.ts",
];

describe("a whole file", () => {
  runCases(
    world,
    TEXTS.map((path): Case => {
      const content = fileContent(path);
      return {
        name: path,
        tool: "fs.read",
        args: { path: `@project/${path}` },
        expect: "ok",
        verify: (seen) =>
          that(seen.result).toEqual({
            ok: true,
            path: `@project/${path}`,
            bytes: content.length,
            sha256: sha256(content),
            truncated: false,
            content: content.toString(),
          }),
      };
    }),
  );

  runCases(world, [
    {
      name: "a repository's settings, which may hold a token, are none",
      tool: "fs.read",
      args: { path: "@project/.git/config" },
      expect: "E_SANDBOX_VIOLATION",
    },
  ]);

  runCases(
    world,
    ["binary.bin", "latin1.txt", "cut-character.txt", "overlong.txt", "surrogate.txt"].flatMap(
      (path): Case[] => [
        { name: `${path} is no text`, tool: "fs.read", args: { path: `@project/${path}` }, expect: ARGS },
        {
          name: `${path} has no window`,
          tool: "fs.read",
          args: { path: `@project/${path}`, startLine: 1, endLine: 1 },
          expect: ARGS,
        },
        {
          name: `${path} is passed over by a search`,
          tool: "fs.search",
          args: { path: `@project/${path}`, pattern: "a" },
          expect: "ok",
          result: { matches: [], stats: { matchesFound: 0 } },
        },
      ],
    ),
  );
});

describe("a preview", () => {
  runCases(
    world,
    (
      [
        ["long.txt", "author", 50_000],
        ["long-line.txt", "author", 50_000],
        ["wide.txt", "author", 50_000],
        ["long.txt", "tight", 64],
        ["wide.txt", "tight", 64],
        ["quoted.txt", "tight", 64],
      ] as const
    ).map(([path, agent, limit]): Case => {
      const content = fileContent(path);
      let cut = limit;
      while ((content[cut] ?? 0) >= 0x80 && (content[cut] ?? 0) < 0xc0) cut -= 1;
      return {
        name: `${path} for ${agent}`,
        tool: "fs.read",
        args: { path: `@project/${path}` },
        agent,
        expect: "ok",
        verify: ({ result }) => {
          const { hint, ...rest } = result as Record<string, unknown>;
          that(rest).toEqual({
            ok: true,
            path: `@project/${path}`,
            bytes: content.length,
            sha256: sha256(content),
            truncated: true,
            contentPreview: content.subarray(0, cut).toString(),
          });
          that(hint).toContain("fs.search");
        },
      };
    }),
  );
});

describe("a window", () => {
  const bounds: readonly [number | undefined, number | undefined][] = [
    [1, 1],
    [1, 2],
    [1, undefined],
    [undefined, 1],
    [2, 2],
    [2, 3],
    [3, 3],
    [1, 1000],
    [4, 4],
    [5, 5],
    [2, 1],
    [1_000_000, 1_000_000],
  ];
  const files = [
    "notes.txt",
    "no-newline.txt",
    "crlf.txt",
    "bom.txt",
    "empty.txt",
    "newlines.txt",
    "multi.txt",
  ];
  runCases(
    world,
    files.flatMap((path) =>
      bounds.map(([startLine, endLine]): Case => {
        const content = fileContent(path);
        const lines = content.toString().split("\n");
        const start = startLine ?? 1;
        const isThere = start <= lines.length && (endLine === undefined || endLine >= start);
        return {
          name: `${path} ${startLine}–${endLine}`,
          tool: "fs.read",
          args: { path: `@project/${path}`, startLine, endLine },
          expect: isThere ? "ok" : ARGS,
          verify: ({ result }) => {
            if (!isThere) return;
            that(result).toEqual({
              ok: true,
              path: `@project/${path}`,
              bytes: content.length,
              sha256: sha256(content),
              truncated: false,
              content: lines.slice(start - 1, endLine).join("\n"),
            });
          },
        };
      }),
    ),
  );
  runCases(world, [
    {
      name: "over the limit",
      tool: "fs.read",
      args: { path: "@project/long.txt", startLine: 1, endLine: 4000 },
      expect: "E_READ_LIMIT",
    },
    {
      name: "of one line over the limit",
      tool: "fs.read",
      args: { path: "@project/long-line.txt", startLine: 1, endLine: 1 },
      expect: "E_READ_LIMIT",
    },
    {
      name: "over a tight agent's limit",
      tool: "fs.read",
      args: { path: "@project/long.txt", startLine: 1, endLine: 5 },
      agent: "tight",
      expect: "E_READ_LIMIT",
    },
    {
      name: "just within it",
      tool: "fs.read",
      args: { path: "@project/long.txt", startLine: 3, endLine: 6 },
      agent: "tight",
      expect: "ok",
      result: { content: Array.from({ length: 4 }, () => "0123456789abcde").join("\n"), truncated: false },
    },
    {
      name: "deep in a large file",
      tool: "fs.read",
      args: { path: "@project/long.txt", startLine: 3999, endLine: 4001 },
      expect: "ok",
      result: { content: "0123456789abcde\n0123456789abcde\n" },
    },
  ]);
});

describe("a directory", () => {
  const notUtf8 = ({ base }: World) =>
    Buffer.concat([Buffer.from(join(base, "project/empty-dir/")), Buffer.from([0x66, 0xff])]);
  const many = (count: number) => (place: World) => {
    for (let index = 0; index < count; index += 1) {
      writeFileSync(join(place.base, `project/empty-dir/f${String(index).padStart(5, "0")}`), "");
    }
  };
  runCases(world, [
    {
      name: "is listed sorted, directories with a slash, without what is hidden or a link",
      tool: "fs.list",
      args: { path: "@project" },
      expect: "ok",
      verify: ({ result }) => {
        const entries = (result as { entries?: string[] }).entries ?? [];
        that(entries).toEqual([...entries].sort());
        that(entries).toEqual(
          expect.arrayContaining(["README.md", "src/", "empty-dir/", " lead", "-rf", "C:", "😀.txt"]),
        );
        that(entries.filter((name) => name.startsWith("."))).toEqual([]);
        that(entries.filter((name) => /^(?:in|out|to|loop|chain|dangling)-|^parent$/.test(name))).toEqual([]);
      },
    },
    {
      name: "that is empty",
      tool: "fs.list",
      args: { path: "@project/empty-dir" },
      expect: "ok",
      verify: ({ result }) => that(result).toEqual({ ok: true, path: "@project/empty-dir", entries: [] }),
    },
    {
      name: "shows direct children only",
      tool: "fs.list",
      args: { path: "@project/src/" },
      expect: "ok",
      verify: ({ result }) =>
        that(result).toEqual({ ok: true, path: "@project/src", entries: ["deep/", "fifo", "main.ts"] }),
    },
    {
      name: "of the package",
      tool: "fs.list",
      args: { path: "@pkg" },
      expect: "ok",
      result: {
        entries: ["agents.json", "assets/", "bmad.json", "steps/", "workflow.graph.json", "workflow.md"],
      },
    },
    {
      name: "of the state, without what lies beside it",
      tool: "fs.list",
      args: { path: "@state" },
      expect: "ok",
      result: { entries: ["logs/", "workflow.md"] },
    },
    {
      name: "of 200 is shown whole",
      tool: "fs.list",
      args: { path: "@project/empty-dir" },
      arrange: many(200),
      expect: "ok",
      verify: ({ result }) => {
        that(result).toMatchObject({ entries: expect.any(Array) });
        that(Object.keys(result).sort()).toEqual(["entries", "ok", "path"]);
      },
    },
    {
      name: "of 201 is a preview",
      tool: "fs.list",
      args: { path: "@project/empty-dir" },
      arrange: many(201),
      expect: "ok",
      verify: ({ result }) => {
        that(Object.keys(result).sort()).toEqual(["entriesPreview", "hint", "ok", "path", "truncated"]);
        that(result).toMatchObject({ truncated: true, hint: expect.stringContaining("201") });
      },
    },
    {
      name: "with a name that is not UTF-8",
      tool: "fs.list",
      args: { path: "@project/empty-dir" },
      arrange: (place) => {
        writeFileSync(notUtf8(place), "");
        writeFileSync(join(place.base, "project/empty-dir/good"), "");
      },
      expect: "ok",
      result: { entries: ["good"] },
      verify: (_, place) => unlinkSync(notUtf8(place)),
    },
  ]);

  test("a link put in place of the mount's own directories is not followed", async () => {
    mkdirSync(join(world().stateDir, "sub"));
    writeFileSync(join(world().stateDir, "sub/x.txt"), "x");
    symlinkSync("sub/x.txt", join(world().stateDir, "link.txt"));
    symlinkSync("sub", join(world().stateDir, "linked"));
    world().arranged();
    for (const path of ["@state/link.txt", "@state/linked", "@state/linked/x.txt"]) {
      for (const [tool, more] of [
        ["fs.list", {}],
        ["fs.read", {}],
        ["fs.search", { pattern: "x" }],
        ["fs.write", { content: "y" }],
      ] as const) {
        const { result } = await world().call({ tool, args: { path, ...more } });
        expect(codeOf(result), `${tool} ${path}`).toBe("E_SANDBOX_VIOLATION");
      }
    }
  });
});
