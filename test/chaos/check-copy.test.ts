import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { backupStore } from "../../src/store/backup/backup-store.js";
import { restoreStore } from "../../src/store/backup/restore-store.js";
import { removeTree } from "../../src/store/packages/package-tree.js";
import { checkCopy, compareCopy } from "./check-copy.js";
import type { Evidence } from "./evidence.js";
import { walkByHand } from "./hand-made-store.js";
import { planChaos } from "./plan.js";

let dir: string;
let walked: Evidence;
let restored: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "interlock-copy-"));
  walked = await walkByHand(dir, planChaos("copy", 2));
  await backupStore(walked.storeDir, join(dir, "backup"));
  restored = join(dir, "restored");
  await restoreStore(join(dir, "backup"), restored);
});
afterAll(() => removeTree(dir));

describe("the check of a restored store", () => {
  /** Of the plan's first run, in the store that was restored. */
  const fileOfRun = (name: string): string => {
    const [operations] = walked.operations;
    const { projectId = "", runId = "" } = operations ?? {};
    return join(restored, "projects", projectId, "runs", runId, name);
  };
  const kindsOf = (findings: readonly { readonly kind: string }[]) => findings.map(({ kind }) => kind);

  test("finds nothing in one that is as the store was", async () => {
    expect(await checkCopy(restored)).toEqual([]);
    expect(await compareCopy(walked.storeDir, restored)).toEqual([]);
  });

  test.each([
    ["an audit log without a line in its middle", "state/logs/execution.jsonl", dropLine(1), "lost"],
    ["an audit log without its newest turn", "state/logs/execution.jsonl", dropLine(-3, 3), "lost"],
    ["calls that are older than the audit log", "calls.jsonl", dropLine(-1), "lost"],
    ["a boundary whose document is another", "boundaries.jsonl", spoilDocument, "lost"],
  ] as const)("finds %s", async (_what, name, spoil, kind) => {
    const file = fileOfRun(name);
    const kept = join(dir, "kept");
    await cp(file, kept);
    await writeFile(file, spoil(await readFile(file, "utf8")));
    const found = [await checkCopy(restored), await compareCopy(walked.storeDir, restored)];
    await cp(kept, file);
    expect(kindsOf(found[0] ?? [])).toContain(kind);
    expect(found[1]).not.toEqual([]);
  });

  test("finds nothing in one whose audit log ends within a line, as a full disk leaves it until the next one is written", async () => {
    const file = fileOfRun("state/logs/execution.jsonl");
    const text = await readFile(file, "utf8");
    await writeFile(file, `${text}{"ts":"2026`);
    const found = await checkCopy(restored);
    await writeFile(file, text);
    expect(found).toEqual([]);
  });

  test("finds a run whose package was not restored", async () => {
    const packages = join(restored, "packages");
    await cp(packages, join(dir, "packages-kept"), { recursive: true });
    await removeTree(packages);
    expect(kindsOf(await checkCopy(restored))).toContain("lost");
    await rm(packages, { recursive: true, force: true });
    await cp(join(dir, "packages-kept"), packages, { recursive: true });
  });
});

function dropLine(at: number, count = 1): (text: string) => string {
  return (text) => {
    const lines = text.split("\n").slice(0, -1);
    lines.splice(at, count);
    return lines.map((line) => `${line}\n`).join("");
  };
}

function spoilDocument(text: string): string {
  return text.replaceAll("stepsCompleted", "stepsConcluded");
}
