import { mkdirSync, writeFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readChildren } from "../../../src/tools/sandbox/directory-children.js";
import { listDirectory } from "../../../src/tools/files/list.js";
import { searchFiles } from "../../../src/tools/files/search.js";
import { Pacer } from "../../../src/tools/sandbox/pacer.js";
import { pathPins } from "../../../src/tools/sandbox/pinned-entry.js";
import type { Workspace } from "../../../src/tools/sandbox/workspace.js";
import { turnsDuring } from "../../fakes/other-work.js";
import { Scratch, codeOf } from "../scratch.js";

describe("fs.list", () => {
  let scratch: Scratch;
  beforeEach(() => {
    scratch = new Scratch();
  });
  afterEach(() => scratch.finish());

  const list = (path: string) => listDirectory(scratch.workspace, { path });

  test("gives direct children sorted by code unit, directories with a slash", async () => {
    for (const name of ["b.txt", "a/deep/x.txt", "a.txt", "B.txt", "\u{1f600}", "\uffff", "é"]) {
      scratch.put(`project/${name}`, "x");
    }
    expect(await list("@project/")).toEqual({
      ok: true,
      path: "@project",
      entries: ["B.txt", "a.txt", "a/", "b.txt", "é", "\u{1f600}", "\uffff"],
    });
    expect(await list("@project/a")).toEqual({ ok: true, path: "@project/a", entries: ["deep/"] });
    expect(await list("@state")).toEqual({ ok: true, path: "@state", entries: ["logs/", "workflow.md"] });
  });

  test("leaves out hidden entries, links and names that are not UTF-8", async () => {
    for (const name of [".hidden", ".git/config", ".env", "seen"]) scratch.put(`project/${name}`, "x");
    scratch.link("project/link", "seen");
    scratch.link("project/out", "../outside");
    writeFileSync(Buffer.concat([Buffer.from(scratch.at("project/bad")), Buffer.from([0xff])]), "x");
    expect(await list("@project")).toEqual({ ok: true, path: "@project", entries: ["seen"] });
    expect(await list("@project/.git")).toMatchObject({ error: { code: "E_SANDBOX_VIOLATION" } });
  });

  test("an empty directory has no entries", async () => {
    expect(await list("@pkg")).toEqual({ ok: true, path: "@pkg", entries: [] });
  });

  test("beyond 200 entries the result is a preview", async () => {
    for (let index = 0; index < 200; index += 1) {
      scratch.put(`project/f${String(index).padStart(3, "0")}`, "");
    }
    expect(Object.keys(await list("@project"))).toEqual(["ok", "path", "entries"]);
    scratch.put("project/f200", "");
    const result = await list("@project");
    expect(Object.keys(result).toSorted()).toEqual(["entriesPreview", "hint", "ok", "path", "truncated"]);
    expect(result).toMatchObject({ truncated: true, hint: expect.stringContaining("201 entries") });
    expect(JSON.stringify(result)).toContain('"f199"');
    expect(JSON.stringify(result)).not.toContain('"f200"');
  });

  test("a directory of very many entries costs a bounded look", async () => {
    for (let index = 0; index < 20; index += 1) scratch.put(`project/${index}`, "");
    const directory = pathPins.root(scratch.at("project"));
    const pacer = new Pacer(1000);
    expect(await readChildren(directory, pacer, 20)).toMatchObject({ complete: true });
    const cut = await readChildren(directory, pacer, 19);
    expect(cut.complete).toBe(false);
    expect(cut.names).toHaveLength(19);
    directory.close();
  });

  test.each([
    ["listed", (workspace: Workspace) => listDirectory(workspace, { path: "@project/keys" })],
    [
      "searched",
      (workspace: Workspace) =>
        searchFiles(workspace, { path: "@project/keys", pattern: "x" }, { maxReadBytes: 1000 }),
    ],
  ])("other work goes on while very many protected names are %s", async (_, look) => {
    mkdirSync(scratch.at("project/keys"));
    for (let index = 0; index < 4000; index += 1) writeFileSync(scratch.at(`project/keys/${index}.pem`), "x");
    const turns = await turnsDuring(async () => {
      expect(await look(scratch.workspace)).toMatchObject({ ok: true });
    });
    expect(turns).toBeGreaterThan(100); // a look an entry, a pause after eight
  });

  test("a file is not listed", async () => {
    scratch.put("project/f", "x");
    expect(codeOf(await list("@project/f"))).toBe("TOOL_ARGS_INVALID");
  });
});
