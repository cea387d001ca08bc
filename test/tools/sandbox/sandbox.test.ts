import { once } from "node:events";
import {
  chmodSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parseAliasPath } from "../../../src/core/tools/alias-path.js";
import type { ToolResult } from "../../../src/core/tools/tool-result.js";
import { listDirectory } from "../../../src/tools/files/list.js";
import { descriptorPins, pathPins } from "../../../src/tools/sandbox/pinned-entry.js";
import { readFile } from "../../../src/tools/files/read.js";
import { resolve } from "../../../src/tools/sandbox/resolve.js";
import { searchFiles } from "../../../src/tools/files/search.js";
import { type Workspace, openWorkspaceWith } from "../../../src/tools/sandbox/workspace.js";
import { writeFile } from "../../../src/tools/files/write.js";
import { withoutRights } from "../../fakes/unprivileged.js";
import { Scratch, codeOf } from "../scratch.js";

const LIMITS = { maxReadBytes: 50_000, maxWriteBytes: 100_000 };

/** Every tool once on the same path. */
async function useAll(workspace: Workspace, path: string): Promise<readonly ToolResult[]> {
  return [
    await listDirectory(workspace, { path }),
    await readFile(workspace, { path }, LIMITS),
    await readFile(workspace, { path, startLine: 1, endLine: 1 }, LIMITS),
    await searchFiles(workspace, { path, pattern: "SECRET" }, LIMITS),
    await writeFile(workspace, { path, content: "PLANTED" }, LIMITS),
  ];
}

const platforms = [
  { platform: "by descriptors", pins: descriptorPins },
  { platform: "by paths", pins: pathPins },
].filter(({ pins }) => process.platform === "linux" || pins !== descriptorPins);

describe.each(platforms)("the sandbox, $platform", ({ pins }) => {
  let scratch: Scratch;
  let workspace: Workspace;
  let results: ToolResult[];

  beforeEach(() => {
    scratch = new Scratch();
    workspace = openWorkspaceWith(pins, scratch.options);
    results = [];
  });
  afterEach(() => scratch.finish(...results));

  /** The distinct outcomes of all tools on one path. */
  async function codesOfAll(path: string): Promise<readonly (string | undefined)[]> {
    const all = await useAll(workspace, path);
    results.push(...all);
    return [...new Set(all.map(codeOf))];
  }
  const VIOLATION = ["E_SANDBOX_VIOLATION"];

  test.each([
    ["a file", "../outside/secret.txt"],
    ["a directory", "../outside"],
    ["itself through its parent", "../project"],
    ["nothing", "../nowhere/x"],
    ["the root of the system", "/"],
    ["a process", "/proc/self/cwd"],
    ["a device", "/dev/zero"],
    ["the parent, deep down", "a/../../outside"],
  ])("a link out of the mount to %s is not followed", async (_, target) => {
    mkdirSync(scratch.at("project/a"));
    scratch.link("project/link", target);
    expect(await codesOfAll("@project/link")).toEqual(VIOLATION);
    expect(await codesOfAll("@project/link/secret.txt")).toEqual(VIOLATION);
  });

  test("an absolute link out of the mount is not followed, nor one to a directory with a longer name", async () => {
    scratch.put("project-2/x.txt", "SECRET");
    scratch.link("project/a", scratch.at("outside/secret.txt"));
    scratch.link("project/b", scratch.at("project-2/x.txt"));
    scratch.link("project/c", `${scratch.at("project")}/../outside/secret.txt`);
    expect(await codesOfAll("@project/a")).toEqual(VIOLATION);
    expect(await codesOfAll("@project/b")).toEqual(VIOLATION);
    expect(await codesOfAll("@project/c")).toEqual(VIOLATION);
  });

  test("a chain of links that ends outside is not followed", async () => {
    scratch.link("project/a", "b");
    scratch.link("project/b", "dir/c");
    scratch.link("project/dir/c", "../../outside/secret.txt");
    expect(await codesOfAll("@project/a")).toEqual(VIOLATION);
  });

  test("a loop of links ends", async () => {
    scratch.link("project/a", "b");
    scratch.link("project/b", "a");
    scratch.link("project/self", "self/self/self/self");
    expect(await codesOfAll("@project/a")).toEqual(VIOLATION);
    expect(await codesOfAll("@project/self")).toEqual(VIOLATION);
  });

  test("a long chain of links ends, a short one is followed", async () => {
    scratch.put("project/f.txt", "text");
    for (let index = 0; index < 60; index += 1) {
      scratch.link(`project/l${index}`, index === 0 ? "f.txt" : `l${index - 1}`);
    }
    expect(codeOf(await readFile(workspace, { path: "@project/l39" }, LIMITS))).toBeUndefined();
    expect(codeOf(await readFile(workspace, { path: "@project/l40" }, LIMITS))).toBe("E_SANDBOX_VIOLATION");
  });

  test.each([
    ["relative", "dir/f.txt"],
    ["through a parent", "dir/../dir/./f.txt"],
    ["to another link", "again"],
  ])("a link that stays inside the project is followed: %s", async (_, target) => {
    scratch.put("project/dir/f.txt", "text");
    scratch.link("project/again", "dir/f.txt");
    scratch.link("project/link", target);
    const result = await readFile(workspace, { path: "@project/link" }, LIMITS);
    expect(result).toMatchObject({ ok: true, path: "@project/link", content: "text" });
  });

  test("an absolute link that stays inside the project is followed, also through a linked root", async () => {
    scratch.put("project/dir/f.txt", "text");
    scratch.link("alias", "project");
    scratch.link("project/real", scratch.at("project/dir"));
    scratch.link("project/spelled", scratch.at("alias/dir"));
    scratch.link("project/itself", scratch.at("project"));
    const linked = openWorkspaceWith(pins, {
      ...scratch.options,
      roots: { ...scratch.options.roots, project: scratch.at("alias") },
    });
    for (const path of ["@project/real/f.txt", "@project/spelled/f.txt", "@project/itself/real/f.txt"]) {
      expect(await readFile(linked, { path }, LIMITS)).toMatchObject({ ok: true, content: "text" });
    }
    expect(await listDirectory(linked, { path: "@project/itself" })).toMatchObject({ entries: ["dir/"] });
  });

  test("a link whose text is not UTF-8 is not followed", async () => {
    symlinkSync(Buffer.from([0x61, 0xff]), scratch.at("project/link"));
    expect(await codesOfAll("@project/link")).toEqual(VIOLATION);
  });

  test("in @pkg and @state no link is followed, not even one that stays inside", async () => {
    for (const mount of ["pkg", "state"]) {
      scratch.put(`${mount}/dir/f.txt`, "text");
      scratch.link(`${mount}/file`, "dir/f.txt");
      scratch.link(`${mount}/sub`, "dir");
    }
    for (const path of ["@state/file", "@state/sub/f.txt", "@state/sub"]) {
      expect(await codesOfAll(path)).toEqual(VIOLATION);
    }
    for (const path of ["@pkg/file", "@pkg/sub/f.txt", "@pkg/sub"])
      expect(await codesOfAll(path)).toEqual(VIOLATION);
  });

  test("a FIFO, a socket and a device block nothing and are not opened", async () => {
    scratch.fifo("project/fifo");
    scratch.fifo("state/fifo");
    const server = createServer().listen(scratch.at("project/socket"));
    await new Promise((resolve) => server.once("listening", resolve));
    expect(await codesOfAll("@project/fifo")).toEqual(VIOLATION);
    expect(await codesOfAll("@state/fifo")).toEqual(VIOLATION);
    expect(await codesOfAll("@project/socket")).toEqual(VIOLATION);
    expect(await codesOfAll("@project/fifo/x")).toEqual(VIOLATION);
    expect(await searchFiles(workspace, { path: "@project", pattern: "x" }, LIMITS)).toMatchObject({
      ok: true,
      matches: [],
    });
    await new Promise((resolve) => server.close(resolve));
  });

  test.each([
    ".git/config",
    ".git",
    "a/.git/hooks/post-commit",
    ".GIT/config",
    ".g\u200cit/config",
    ".git./x",
  ])("M5: %j is a repository's own: neither read nor written", async (name) => {
    scratch.put(`project/${name}`, "SECRET");
    expect(await codesOfAll(`@project/${name}`)).toEqual(VIOLATION);
    expect(JSON.stringify(results)).toContain(".git");
  });

  test.each([".env", ".ENV", ".env.local", ".env.", "a/.env", "a/.Env.production/x", ".e\u200cnv", ".env/x"])(
    "%j is protected: neither read nor written, whether it exists or not",
    async (name) => {
      expect(await codesOfAll(`@project/${name}`)).toEqual(VIOLATION);
      scratch.put(`project/${name}`, "SECRET");
      expect(await codesOfAll(`@project/${name}`)).toEqual(VIOLATION);
      expect(JSON.stringify(results)).toContain(".env");
    },
  );

  test("templates are not protected, nor is ordinary work", async () => {
    for (const name of [
      ".env.example",
      ".gitignore",
      "package.json",
      ".vscode/extensions.json",
      "a/tasks.json",
    ]) {
      scratch.put(`project/${name}`, "text");
      expect(codeOf(await readFile(workspace, { path: `@project/${name}` }, LIMITS))).toBeUndefined();
      const write = { path: `@project/${name}`, content: "x" };
      expect(codeOf(await writeFile(workspace, write, LIMITS))).toBeUndefined();
    }
  });

  test.each([".vscode/tasks.json", "a/.husky/pre-commit", ".bashrc", ".GITHUB/Workflows/ci.yml"])(
    "M5: %j runs by itself: it can be read but not written",
    async (name) => {
      scratch.put(`project/${name}`, "text");
      expect(codeOf(await readFile(workspace, { path: `@project/${name}` }, LIMITS))).toBeUndefined();
      results.push(await writeFile(workspace, { path: `@project/${name}`, content: "x" }, LIMITS));
      results.push(await writeFile(workspace, { path: `@project/${name}/x`, content: "x" }, LIMITS));
      expect(results.map(codeOf)).toEqual(results.map(() => "E_SANDBOX_VIOLATION"));
      expect(scratch.text(`project/${name}`)).toBe("text");
    },
  );

  test("a link does not lead around a protected name", async () => {
    scratch.put("project/.env", "SECRET");
    scratch.put("project/.git/config", "text");
    scratch.put("project/open.txt", "text");
    scratch.link("project/to-env", ".env");
    scratch.link("project/a/to-git", "../.git");
    scratch.link("project/.env.local", "open.txt");
    expect(await codesOfAll("@project/to-env")).toEqual(VIOLATION);
    expect(await codesOfAll("@project/.env.local")).toEqual(VIOLATION);
    results.push(await writeFile(workspace, { path: "@project/a/to-git/config", content: "x" }, LIMITS));
    expect(codeOf(results.at(-1)!)).toBe("E_SANDBOX_VIOLATION");
    expect(await codesOfAll("@project/a/to-git/config")).toEqual(VIOLATION);
    scratch.put("project/.vscode/tasks.json", "text");
    scratch.link("project/settings", ".vscode");
    results.push(await writeFile(workspace, { path: "@project/settings/tasks.json", content: "x" }, LIMITS));
    results.push(await writeFile(workspace, { path: "@project/settings/mcp.json", content: "x" }, LIMITS));
    expect(results.map(codeOf)).toEqual(results.map(() => "E_SANDBOX_VIOLATION"));
  });

  test("M5: what a link hides of a protected path is in no list and no search", async () => {
    scratch.put("project/conf/live/token.txt", "SECRET");
    scratch.put("project/conf/open.txt", "open");
    scratch.link("project/way", "conf");
    const strict = openWorkspaceWith(pins, {
      ...scratch.options,
      protectedPaths: { notWritable: [], notAccessible: ["conf/live"], allowed: [] },
    });
    for (const path of ["@project", "@project/conf", "@project/way"]) {
      const found = await searchFiles(strict, { path, pattern: "SECRET" }, LIMITS);
      expect(found).toMatchObject({ ok: true, matches: [] });
    }
    expect(await listDirectory(strict, { path: "@project/way" })).toMatchObject({ entries: ["open.txt"] });
    results.push(...(await useAll(strict, "@project/way/live/token.txt")));
    expect(results.map(codeOf)).toEqual(results.map(() => "E_SANDBOX_VIOLATION"));
  });

  test("M5: a project whose own folder is the first name of a protected path does not open it", async () => {
    scratch.put("project/.config/gh/hosts.yml", "SECRET");
    scratch.put("project/.config/notes.txt", "open");
    scratch.put("project/.vscode/notes.txt", "open");
    const within = (name: string) => {
      const roots = { ...scratch.options.roots, project: scratch.at(`project/${name}`) };
      return openWorkspaceWith(pins, { ...scratch.options, roots });
    };
    const config = within(".config");
    results.push(
      ...(await useAll(config, "@project/gh/hosts.yml")),
      ...(await useAll(config, "@project/gh")),
    );
    results.push(await writeFile(within(".vscode"), { path: "@project/tasks.json", content: "x" }, LIMITS));
    expect(results.map(codeOf)).toEqual(results.map(() => "E_SANDBOX_VIOLATION"));
    expect(await listDirectory(config, { path: "@project" })).toMatchObject({ entries: ["notes.txt"] });
    expect(await searchFiles(config, { path: "@project", pattern: "SECRET" }, LIMITS)).toMatchObject({
      matches: [],
    });
    expect(await readFile(config, { path: "@project/notes.txt" }, LIMITS)).toMatchObject({ content: "open" });
  });

  test("M5: an exception opens what it covers, and no more", async () => {
    scratch.put("project/.git/HEAD", "ref");
    scratch.put("project/.git/config", "SECRET");
    const relaxed = openWorkspaceWith(pins, {
      ...scratch.options,
      protectedPaths: { notWritable: [], notAccessible: [".git"], allowed: [".git/HEAD"] },
    });
    expect(await readFile(relaxed, { path: "@project/.git/HEAD" }, LIMITS)).toMatchObject({ content: "ref" });
    results.push(...(await useAll(relaxed, "@project/.git/config")));
    expect(results.map(codeOf)).toEqual(results.map(() => "E_SANDBOX_VIOLATION"));
  });

  test("a directory that takes the place of the project between check and use is not opened", async () => {
    const { dev, ino } = statSync(scratch.at("project"), { bigint: true });
    const pinned = openWorkspaceWith(pins, { ...scratch.options, projectIdentity: { dev, ino } });
    scratch.put("project/f.txt", "own");
    expect(await readFile(pinned, { path: "@project/f.txt" }, LIMITS)).toMatchObject({ content: "own" });
    scratch.put("elsewhere/f.txt", "SECRET");
    renameSync(scratch.at("project"), scratch.at("moved"));
    symlinkSync(scratch.at("elsewhere"), scratch.at("project"));
    results.push(...(await useAll(pinned, "@project/f.txt")));
    expect(results.map(codeOf)).toEqual(results.map(() => "E_SANDBOX_VIOLATION"));
  });

  test("H1: a project that is the store is none", async () => {
    const own = openWorkspaceWith(pins, { ...scratch.options, keepOut: [scratch.at("project")] });
    results.push(...(await useAll(own, "@project/settings.json")));
    results.push(await listDirectory(own, { path: "@project" }));
    expect(results.map(codeOf)).toEqual(results.map(() => "E_SANDBOX_VIOLATION"));
  });

  test("a setting changes what is protected, in tools that walk as well", async () => {
    scratch.put("project/private/key.txt", "SECRET");
    scratch.put("project/.env", "open");
    const strict = openWorkspaceWith(pins, {
      ...scratch.options,
      protectedPaths: { notWritable: ["*.lock"], notAccessible: ["private"], allowed: [] },
    });
    results.push(...(await useAll(strict, "@project/private/key.txt")));
    results.push(await writeFile(strict, { path: "@project/a.lock", content: "x" }, LIMITS));
    expect(results.map(codeOf)).toEqual(results.map(() => "E_SANDBOX_VIOLATION"));
    expect(await listDirectory(strict, { path: "@project" })).toMatchObject({ entries: [] });
    expect(await searchFiles(strict, { path: "@project", pattern: "SECRET" }, LIMITS)).toMatchObject({
      matches: [],
    });
    expect(await readFile(strict, { path: "@project/.env" }, LIMITS)).toMatchObject({ content: "open" });
  });

  test("a store inside the project is out of reach of @project", async () => {
    for (const name of ["packages/p", "runs/r", "locks"])
      scratch.put(`project/store/${name}/f.txt`, "SECRET");
    scratch.link("project/link", "store/packages/p");
    scratch.link("project/up", "store/runs/r/..");
    const roots = {
      ...scratch.options.roots,
      pkg: scratch.at("project/store/packages/p"),
      state: scratch.at("project/store/runs/r"),
    };
    const options = { roots, lockDir: scratch.at("project/store/locks") };
    workspace = openWorkspaceWith(pins, options);
    for (const path of [
      "store/packages/p/f.txt",
      "store/runs/r/f.txt",
      "store/locks/f.txt",
      "link/f.txt",
      "up/r",
    ]) {
      expect(await codesOfAll(`@project/${path}`)).toEqual(VIOLATION);
    }
    const search = await searchFiles(workspace, { path: "@project", pattern: "SECRET" }, LIMITS);
    expect(search).toMatchObject({ matches: [] });
    expect(codeOf(await readFile(workspace, { path: "@pkg/f.txt" }, LIMITS))).toBeUndefined();
    workspace = openWorkspaceWith(pins, { ...options, keepOut: [scratch.at("project/store")] });
    expect(await codesOfAll("@project/store")).toEqual(VIOLATION);
  });

  test("a missing path is missing, also below a file", async () => {
    scratch.put("project/f.txt", "text");
    for (const path of ["@project/none", "@project/none/x", "@project/f.txt/x", "@pkg/none", "@state/none"]) {
      results.push(
        await listDirectory(workspace, { path }),
        await readFile(workspace, { path }, LIMITS),
        await searchFiles(workspace, { path, pattern: "x" }, LIMITS),
      );
    }
    expect(results.map(codeOf)).toEqual(results.map(() => "ENOENT"));
  });

  test("a mount whose directory is gone is missing", async () => {
    rmSync(scratch.at("pkg"), { recursive: true });
    results.push(await listDirectory(workspace, { path: "@pkg" }));
    expect(results.map(codeOf)).toEqual(["ENOENT"]);
  });

  test("a name is taken as it is", async () => {
    for (const name of ["%2e%2e", "．．", "..\\x", "~", "$HOME", "a ", " ", "e\u0301", "\u00e9", "*"]) {
      const path = `@project/${name}`;
      const write = await writeFile(workspace, { path, content: name }, LIMITS);
      expect(write).toMatchObject({ ok: true, path });
      expect(scratch.text(`project/${name}`)).toBe(name);
    }
    const list = await listDirectory(workspace, { path: "@project" });
    expect(list).toMatchObject({ ok: true });
    expect(Object.entries(list).find(([key]) => key === "entries")?.[1]).toHaveLength(9); // ..\\x is hidden
  });

  test("a name that a list could not show is not made", async () => {
    for (const name of ["a\nb", "a\u00adb", "\u2060", "a\u180eb", "\u{e0041}x", "x/\u202e/y", "\u001b[2J"]) {
      const write = await writeFile(workspace, { path: `@project/${name}`, content: "x" }, LIMITS);
      expect(codeOf(write)).toBe("E_SANDBOX_VIOLATION");
    }
    expect(await listDirectory(workspace, { path: "@project" })).toMatchObject({ entries: [] });
  });

  test("a hard link to a file outside is a file: a write leaves the other name alone", async () => {
    linkSync(scratch.at("outside/secret.txt"), scratch.at("project/hard.txt"));
    expect(
      codeOf(await writeFile(workspace, { path: "@project/hard.txt", content: "new" }, LIMITS)),
    ).toBeUndefined();
    expect(scratch.text("project/hard.txt")).toBe("new");
    expect(scratch.text("outside/secret.txt")).toBe("SECRET");
  });

  test("whatever links there are, what is opened lies inside", () => {
    const names = ["a", "b", "c"];
    const step = fc.constantFrom("a", "b", "c", "..", ".", "x");
    const link = fc.record({
      at: fc.array(fc.constantFrom(...names), { minLength: 1, maxLength: 3 }),
      text: fc.tuple(fc.boolean(), fc.array(step, { minLength: 1, maxLength: 5 })),
    });
    fc.assert(
      fc.property(
        fc.array(link, { maxLength: 6 }),
        fc.array(fc.constantFrom(...names), { maxLength: 4 }),
        (links, path) => {
          const base = mkdtempSync(join(tmpdir(), "interlock-links-"));
          try {
            const root = join(base, "p");
            mkdirSync(join(root, "a/b/c"), { recursive: true });
            mkdirSync(join(base, "a/b/c"), { recursive: true });
            for (const { at, text } of links) {
              try {
                mkdirSync(join(root, ...at, ".."), { recursive: true });
                symlinkSync(`${text[0] ? `${root}/` : ""}${text[1].join("/")}`, join(root, ...at));
              } catch {
                // there is something already, or the way there is a link
              }
            }
            const roots = { project: root, pkg: root, state: root };
            const box = openWorkspaceWith(pins, { roots, lockDir: join(base, "l") });
            const alias = parseAliasPath(["@project", ...path].join("/"));
            if (!alias.ok) throw new Error("a legal path");
            try {
              const trail = resolve(box, alias.value, "read");
              const real = pins.realPath(trail.entries.at(-1)!);
              trail.close();
              expect(`${real}/`.startsWith(`${root}/`)).toBe(true);
            } catch (error) {
              if (!(error instanceof Error) || !("fault" in error)) throw error;
            }
          } finally {
            rmSync(base, { recursive: true });
          }
        },
      ),
      { numRuns: 150, seed: 11 },
    );
  });
});

describe.runIf(process.platform === "linux")("the sandbox against a second thread of control", () => {
  /** Exchanges two names atomically, again and again, so that one of both is always there. */
  const EXCHANGE = `
    const { workerData, parentPort } = require("node:worker_threads");
    const { swapSync } = require(workerData.native);
    let swaps = 0;
    parentPort.postMessage("started");
    for (; Atomics.load(workerData.stop, 0) === 0; swaps += 1) swapSync(workerData.a, workerData.b);
    if (swaps % 2 === 1) swapSync(workerData.a, workerData.b);`;

  async function whileExchanging(a: string, b: string, action: () => Promise<void>): Promise<void> {
    const stop = new Int32Array(new SharedArrayBuffer(4));
    const native = createRequire(import.meta.url).resolve("fs-native-extensions");
    const worker = new Worker(EXCHANGE, { eval: true, workerData: { a, b, stop, native } });
    try {
      await once(worker, "message");
      await action();
    } finally {
      Atomics.store(stop, 0, 1);
      await once(worker, "exit");
    }
  }

  test("exchanging a directory for a link between check and use gains nothing", async () => {
    const scratch = new Scratch();
    scratch.put("project/dir/secret.txt", "inside");
    scratch.put("project/dir/deep/secret.txt", "inside");
    scratch.link("project/other", "../outside");
    const results: ToolResult[] = [];
    await whileExchanging(scratch.at("project/dir"), scratch.at("project/other"), async () => {
      for (let round = 0; round < 60; round += 1) {
        for (const path of [
          "@project/dir",
          "@project/dir/secret.txt",
          `@project/dir/deep/new/${round % 3}.txt`,
        ]) {
          results.push(...(await useAll(scratch.workspace, path)));
        }
      }
    });
    const codes = new Set(results.map(codeOf));
    for (const code of codes) {
      expect([undefined, "E_SANDBOX_VIOLATION", "ENOENT", "TOOL_ARGS_INVALID"]).toContain(code);
    }
    expect(codes).toContain(undefined); // the race was lost and won
    expect(codes).toContain("E_SANDBOX_VIOLATION");
    expect(JSON.stringify(results)).not.toContain("SECRET");
    scratch.finish(...results);
  });

  test("exchanging a file for a link to one outside, or for a FIFO, gains nothing", async () => {
    const scratch = new Scratch();
    scratch.put("project/dir/f.txt", "inside");
    scratch.fifo("project/fifo");
    scratch.link("project/link", scratch.at("outside/secret.txt"));
    const results: ToolResult[] = [];
    for (const other of ["project/link", "project/fifo"]) {
      await whileExchanging(scratch.at("project/dir/f.txt"), scratch.at(other), async () => {
        for (let round = 0; round < 60; round += 1) {
          results.push(await readFile(scratch.workspace, { path: "@project/dir/f.txt" }, LIMITS));
          results.push(await searchFiles(scratch.workspace, { path: "@project/dir", pattern: "." }, LIMITS));
        }
      });
    }
    expect(new Set(results.map(codeOf))).toEqual(new Set([undefined, "E_SANDBOX_VIOLATION"]));
    expect(JSON.stringify(results)).not.toContain("SECRET");
    scratch.finish(...results);
  });
});

test("a permission that the system denies is a sentence, not its error", async () => {
  const scratch = new Scratch();
  scratch.put("project/f.txt", "text");
  chmodSync(scratch.at("project/f.txt"), 0);
  const result = await withoutRights(scratch.base, () =>
    readFile(scratch.workspace, { path: "@project/f.txt" }, LIMITS),
  );
  expect(codeOf(result)).toBe("E_SANDBOX_VIOLATION");
  scratch.finish(result);
});
