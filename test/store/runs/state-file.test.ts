import { createHash } from "node:crypto";
import { mkdir, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import {
  freshRunFrontmatter,
  openStateFile,
  parseStateDocument,
} from "../../../src/store/runs/state-file.js";
import { temporaryDirectory } from "../../fakes/package-fixture.js";

const DOCUMENT = "---\nschemaVersion: 1.1\nworkflowType: w\n---\nBody";
const hash = (text: string) => createHash("sha256").update(text).digest("hex");

let dir: string;
let path: string;
beforeEach(async () => {
  dir = await temporaryDirectory();
  path = join(dir, "workflow.md");
});

describe("reading the state document", () => {
  test("gives its version, its parts, and its frontmatter normalised", async () => {
    await writeFile(path, DOCUMENT);
    const read = await openStateFile(dir).read();
    expect(read).toMatchObject({
      ok: true,
      value: {
        sha256: hash(DOCUMENT),
        frontmatter: {
          schemaVersion: "1.1",
          workflowType: "w",
          currentNodeId: "",
          stepsCompleted: [],
          decisionLog: [],
          artifacts: [],
          variables: {},
        },
      },
    });
  });

  test.each([
    ["a missing file", undefined, "ENOENT"],
    ["no front matter", "Body", "E_INVALID_FRONTMATTER"],
    ["YAML that cannot be parsed", "---\na: [\n---\n", "E_INVALID_FRONTMATTER"],
    ["a frontmatter that breaks the schema", "---\nworkflowType: w\n---\n", "E_SCHEMA_VALIDATION"],
  ])("%s is a fault that names no path of the machine", async (_, content, code) => {
    if (content !== undefined) await writeFile(path, content);
    const read = await openStateFile(dir).read();
    expect(read).toMatchObject({ ok: false, error: { code } });
    expect(JSON.stringify(read)).not.toContain(dir);
  });

  test("front matter beyond its limit has the code of whoever asks", () => {
    const large = Buffer.from(`---\na: ${"x".repeat(140_000)}\n---\n`);
    expect(parseStateDocument(large)).toMatchObject({ error: { code: "E_INVALID_FRONTMATTER" } });
    expect(parseStateDocument(large, "E_WRITE_LIMIT")).toMatchObject({ error: { code: "E_WRITE_LIMIT" } });
  });
});

describe("a state document whose aliases say more than fits", () => {
  const text = (count: number) =>
    `---\nschemaVersion: "1.1"\nworkflowType: t\nx: &x "${"x".repeat(10_000)}"\ny: [${"*x,".repeat(count)}]\n---\n`;

  test("is refused with the size it would have", () => {
    expect(parseStateDocument(Buffer.from(text(11))).ok).toBe(true);
    const refused = parseStateDocument(Buffer.from(text(13)));
    expect(refused).toMatchObject({ error: { code: "E_INVALID_FRONTMATTER" } });
    expect(!refused.ok && refused.error.message).toMatch(/would be 1400\d\d bytes written out/);
  });
});

describe("replacing the state document", () => {
  test("states which version it replaces", async () => {
    await writeFile(path, DOCUMENT);
    const file = openStateFile(dir);
    expect(await file.replace(hash(DOCUMENT), Buffer.from("new"))).toBe(true);
    expect(await readFile(path, "utf8")).toBe("new");
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readdir(dir)).toEqual(["workflow.md"]);
  });

  test("removes what a save left that a crash cut short, and no other hidden file", async () => {
    await writeFile(path, DOCUMENT);
    for (const name of [".tmp-workflow.md-0123456789ab", ".tmp-notes", ".hidden"])
      await writeFile(join(dir, name), "");
    await openStateFile(dir).replace(hash(DOCUMENT), Buffer.from("new"));
    expect((await readdir(dir)).sort()).toEqual([".hidden", ".tmp-notes", "workflow.md"]);
  });

  test("does nothing to another version: whoever slept loses", async () => {
    await writeFile(path, "somebody else's");
    expect(await openStateFile(dir).replace(hash(DOCUMENT), Buffer.from("new"))).toBe(false);
    expect(await readFile(path, "utf8")).toBe("somebody else's");
  });

  test("rejects where there is nothing to replace, and leaves no temporary file", async () => {
    await expect(openStateFile(dir).replace(hash(""), Buffer.from("new"))).rejects.toThrow("ENOENT");
    await mkdir(path);
    await expect(openStateFile(dir).replace(hash(""), Buffer.from("new"))).rejects.toThrow("EISDIR");
    await rm(path, { recursive: true });
    expect(await readdir(dir)).toEqual([]);
  });
});

test("a fresh run's frontmatter keeps the template's keys and order, and starts everything anew", () => {
  const template = {
    schemaVersion: "1.1",
    currentNodeId: "later",
    own: { a: 1 },
    stepsCompleted: ["x"],
    workflowType: "w",
    variables: { v: 1 },
    artifacts: ["y"],
    decisionLog: [{}],
  };
  const fresh = freshRunFrontmatter(template, {
    runId: "r",
    activeAgentId: "a",
    workflowRef: "f",
    now: "2026-01-02T03:04:05.000Z",
  });
  expect(Object.entries(fresh)).toEqual([
    ["schemaVersion", "1.1"],
    ["currentNodeId", ""],
    ["own", { a: 1 }],
    ["stepsCompleted", []],
    ["workflowType", "w"],
    ["variables", {}],
    ["artifacts", []],
    ["decisionLog", []],
    ["runId", "r"],
    ["activeAgentId", "a"],
    ["workflowRef", "f"],
    ["updatedAt", "2026-01-02T03:04:05.000Z"],
  ]);
});
