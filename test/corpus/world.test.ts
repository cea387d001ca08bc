import { appendFileSync, closeSync, openSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { ToolResult } from "../../src/core/tools/tool-result.js";
import * as published from "../../src/index.js";
import { openStore } from "../../src/store/store.js";
import { createToolHost } from "../../src/tools/graph/tool-host.js";
import { OUTSIDE_SECRET } from "./project-tree.js";
import { World } from "./world.js";

let world: World;
beforeEach(async () => {
  world = await World.open();
  world.reset();
});
afterEach(() => world.close());

/** A host that does something more than the product's, or says something else. */
function spoil(after: (result: ToolResult) => ToolResult | undefined): void {
  const { host } = world;
  world.host = {
    ...host,
    executeToolCall: async (request) => {
      const result = await host.executeToolCall(request);
      return after(result) ?? result;
    },
  };
}

const read = () => world.call({ tool: "fs.read", args: { path: "@project/README.md" } });
const nothing = (action: () => void) => () => {
  action();
  return undefined;
};

test("the corpus runs against what the package exports", () => {
  expect([published.createToolHost, published.openStore]).toEqual([createToolHost, openStore]);
});

test("a good call passes", async () => {
  await expect(read()).resolves.toMatchObject({ result: { ok: true }, changes: [] });
});

test("a change in a mount is seen, content, time or new file", async () => {
  const at = (path: string) => join(world.base, "project", path);
  const actions: readonly [string, () => void][] = [
    ["project/notes.txt", () => appendFileSync(at("notes.txt"), "x")],
    ["project/empty.txt", () => utimesSync(at("empty.txt"), 1, 1)],
    ["project/src/new", () => writeFileSync(at("src/new"), "")],
    ["state/workflow.md", () => appendFileSync(world.at("state/workflow.md"), "x")],
  ];
  for (const [path, action] of actions) {
    world.reset();
    appendFileSync(world.at("state/workflow.md"), "");
    const { host } = world;
    spoil(nothing(action));
    expect((await read()).changes).toEqual([path]);
    world.host = host;
  }
});

test.each<[string, string, () => void]>([
  [
    "a change outside",
    "outside the mounts",
    () => appendFileSync(join(world.base, "outside/secret.txt"), "x"),
  ],
  ["a new file outside", "outside the mounts", () => writeFileSync(join(world.base, "outside/dir/new"), "")],
  ["a new file beside the project", "outside the mounts", () => writeFileSync(join(world.base, "new"), "")],
  [
    "a change in the package",
    "outside the mounts",
    () =>
      utimesSync(join(world.base, "store/packages"), 1, 1) ??
      writeFileSync(join(world.base, "store/packages/x"), ""),
  ],
  [
    "a change of the index",
    "outside the mounts",
    () => utimesSync(join(world.base, "store/store.json"), 1, 1),
  ],
  ["a temporary file", "temporary files", () => writeFileSync(join(world.base, "project/src/.il-0123"), "")],
  [
    "a note of a temporary file",
    "temporary files",
    () => writeFileSync(join(world.base, "store/locks/w.json"), ""),
  ],
  ["a file beside the state", "beside the state", () => writeFileSync(world.at("state/../x.tmp"), "")],
  [
    "a second line in the log",
    "strictly equal",
    () => appendFileSync(world.at("state/logs/execution.jsonl"), "{}\n"),
  ],
])("%s is noticed", async (_, message, action) => {
  spoil(nothing(action));
  await expect(read()).rejects.toThrow(message);
});

test("a descriptor that stays open is noticed", async () => {
  let left = -1;
  spoil(nothing(() => (left = openSync(join(world.base, "outside/secret.txt"), "r"))));
  await expect(read()).rejects.toThrow("descriptor");
  closeSync(left);
});

test.each<[string, string, () => ToolResult]>([
  ["a host path", "shown", () => ({ ok: true, path: world.base })],
  ["a descriptor's path", "shown", () => ({ ok: true, path: "/proc/self/fd/12/x" })],
  ["a secret", "shown", () => ({ ok: true, content: OUTSIDE_SECRET })],
  [
    "an unknown code",
    "unknown code",
    () => ({ ok: false, error: { code: "E_OTHER" as "ENOENT", message: "x" } }),
  ],
  ["an internal error", "E_INTERNAL", () => ({ ok: false, error: { code: "E_INTERNAL", message: "x" } })],
])("%s in a result is noticed", async (_, message, result) => {
  spoil(result);
  await expect(read()).rejects.toThrow(message);
});

test("a line that was edited is noticed", async () => {
  await read();
  const path = world.at("state/logs/execution.jsonl");
  writeFileSync(path, world.read("state/logs/execution.jsonl").toString().replace('"fs.read"', '"fs.list"'));
  await expect(world.checkChain()).rejects.toThrow("findings");
});
