import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { withFrontmatter } from "../../../src/core/documents/front-matter.js";
import { type MovedEntries, withEarlier } from "../../../src/core/state/earlier-entries.js";
import type { Frontmatter } from "../../../src/core/state/state-frontmatter.js";
import {
  allArtifacts,
  allDecisions,
  copyEarlierFiles,
  moveEarlierEntries,
} from "../../../src/store/runs/earlier-files.js";
import { RunFiles } from "../../../src/store/runs/run-files.js";
import type { StateDocument } from "../../../src/store/runs/state-file.js";
import { temporaryDirectory } from "../../fakes/package-fixture.js";
import { valueOf } from "../../fakes/run-world.js";

const AT = "2026-01-02T03:04:05.000Z";

let files: RunFiles;
let visit: number;
beforeEach(async () => {
  files = new RunFiles(await newRunDir());
  visit = 0;
});

async function newRunDir(): Promise<string> {
  const dir = await temporaryDirectory();
  await mkdir(join(dir, "state", "logs"), { recursive: true });
  await writeFile(
    join(dir, "state", "workflow.md"),
    '---\nschemaVersion: "1.1"\nworkflowType: w\n---\n# Way\n',
  );
  return dir;
}

const decision = (number: number) => ({ from: `node-${number}`, to: `node-${number + 1}`, label: "next" });
const artifact = (number: number) => `artifacts/part-${number}.md`;
const numbered = <T>(from: number, to: number, entry: (number: number) => T) =>
  Array.from({ length: to - from + 1 }, (_, index) => entry(from + index));
const documentNow = async () => valueOf(await files.state.read());
const logFiles = async () =>
  (await readdir(join(files.stateDir, "logs"))).filter((name) => name !== "execution.jsonl").toSorted();

async function save(change: Partial<Frontmatter>): Promise<void> {
  const document = await documentNow();
  const bytes = valueOf(
    withFrontmatter(document.parts, { ...document.frontmatter, ...change } as Frontmatter),
  );
  await files.state.replace(document.sha256, bytes);
}

/** A visit that logs decisions and artifacts up to these numbers ends, and its boundary is kept. */
async function endVisit(decisions: number, artifacts: number) {
  const { frontmatter } = await documentNow();
  const all = {
    decisions: valueOf(allDecisions(files.stateDir, frontmatter)),
    artifacts: valueOf(allArtifacts(files.stateDir, frontmatter)),
  };
  await save({
    decisionLog: [...frontmatter.decisionLog, ...numbered(all.decisions.length + 1, decisions, decision)],
    artifacts: [...frontmatter.artifacts, ...numbered(all.artifacts.length + 1, artifacts, artifact)],
  });
  visit += 1;
  const document = await documentNow();
  await files.boundaries.keep({ visit, nodeId: "a", next: "b", timestamp: AT, calls: 0 }, document.bytes);
  return { document, ended: { visit, documentSha256: document.sha256 } };
}

function expectWhole({ frontmatter }: StateDocument, decisions: number, artifacts: number, of = files): void {
  expect(valueOf(allDecisions(of.stateDir, frontmatter))).toEqual(numbered(1, decisions, decision));
  expect(valueOf(allArtifacts(of.stateDir, frontmatter))).toEqual(numbered(1, artifacts, artifact));
}

test("an attempt that waited while another one moved them says what was moved, as that one does", async () => {
  const { ended } = await endVisit(200, 0);
  // Both look at the document before either may touch it: a worker is stopped in between, or its task is given away.
  const attempts = await files.whileStateIsMine(() =>
    Promise.resolve([moveEarlierEntries(files, ended), moveEarlierEntries(files, ended)]),
  );
  const [first, second] = await Promise.all(attempts);
  expect(first?.sha256).toBe((await documentNow()).sha256);
  expect(second).toEqual(first);
});

describe("a document whose lists grow", () => {
  test("stays short, names the files that it goes back to, and all entries are there", async () => {
    let held: Frontmatter = (await documentNow()).frontmatter;
    for (let step = 1; step <= 60; step += 1) {
      const { document, ended } = await endVisit(step * 20, step * 30);
      held = { ...document.frontmatter };
      const moved = await moveEarlierEntries(files, ended);
      // What a run holds becomes what the document says.
      if (moved !== undefined) held = withEarlier(held, moved.earlier);
      const now = await documentNow();
      expect(now.frontmatter).toEqual(held);
      expect(now.sha256).toBe(moved?.sha256 ?? document.sha256);
      expect(now.bytes.length).toBeLessThan(17 * 1024);
    }
    const document = await documentNow();
    expectWhole(document, 1_200, 1_800);
    const text = Buffer.from(document.bytes).toString();
    expect(text).toContain('earlierEntries: {"decisionLog":{"count":');
    expect(
      (await logFiles()).every((name) =>
        /^(decisionLog|artifacts)\.\d{6}-\d{6}\.[0-9a-f]{8}\.jsonl$/.test(name),
      ),
    ).toBe(true);
    // Each boundary's document has the lists that it had then.
    for (const at of [10, 30, 60]) {
      const then = files.boundaries.documentAt(at);
      await writeFile(join(files.stateDir, "workflow.md"), then);
      expectWhole(await documentNow(), at * 20, at * 30);
    }
  });

  test("is not touched while they are short", async () => {
    const { document, ended } = await endVisit(30, 30);
    expect(await moveEarlierEntries(files, ended)).toBeUndefined();
    expect((await documentNow()).sha256).toBe(document.sha256);
    expect(await logFiles()).toEqual([]);
  });

  test("has one that is listed again once", async () => {
    await moveEarlierEntries(files, (await endVisit(1, 500)).ended);
    const { frontmatter } = await documentNow();
    await save({ artifacts: [...frontmatter.artifacts, artifact(1)] });
    const now = await documentNow();
    expect(valueOf(allArtifacts(files.stateDir, now.frontmatter))).toEqual(numbered(1, 500, artifact));
  });
});

describe("moving entries once more", () => {
  async function movedTwice(between: () => Promise<void>): Promise<readonly (MovedEntries | undefined)[]> {
    const { ended } = await endVisit(500, 500);
    const first = await moveEarlierEntries(files, ended);
    const names = await logFiles();
    await between();
    const second = await moveEarlierEntries(new RunFiles(files.dir), ended);
    await expect(logFiles()).resolves.toEqual(names);
    return [first, second];
  }

  test("after the document was replaced comes to the same", async () => {
    const [first, second] = await movedTwice(async () => undefined);
    expect(first?.earlier.artifacts?.count).toBeGreaterThan(300);
    expect(second).toEqual(first);
    expectWhole(await documentNow(), 500, 500);
  });

  test("before it was replaced comes to the same", async () => {
    const restore = () => writeFile(join(files.stateDir, "workflow.md"), files.boundaries.documentAt(1));
    const [first, second] = await movedTwice(restore);
    expect(second).toEqual(first);
    expectWhole(await documentNow(), 500, 500);
  });

  test("where somebody has changed the document since moves nothing", async () => {
    const [, second] = await movedTwice(() => save({ variables: { colour: "blue" } }));
    expect(second).toBeUndefined();
    expectWhole(await documentNow(), 500, 500);
  });
});

describe("a file that a document goes back to", () => {
  test.each([
    ["missing", (path: string) => rm(path)],
    ["another one", (path: string) => writeFile(path, "{}\n")],
  ])("and that is %s is named, and no list is made up", async (_, spoil) => {
    await moveEarlierEntries(files, (await endVisit(500, 500)).ended);
    await moveEarlierEntries(files, (await endVisit(1_000, 1_000)).ended);
    const [first = ""] = (await logFiles()).filter((name) => name.startsWith("artifacts"));
    await spoil(join(files.stateDir, "logs", first));
    const { frontmatter } = await documentNow();
    expect(allArtifacts(files.stateDir, frontmatter)).toMatchObject({
      ok: false,
      error: { code: "E_INTERNAL", message: expect.stringContaining(first) as string },
    });
    expect(valueOf(allDecisions(files.stateDir, frontmatter))).toHaveLength(1_000);
  });

  test("lies beside a fork's document as well: those of its moment and no others", async () => {
    await moveEarlierEntries(files, (await endVisit(500, 500)).ended);
    const then = await documentNow();
    await moveEarlierEntries(files, (await endVisit(1_000, 1_000)).ended);
    const fork = new RunFiles(await newRunDir());
    valueOf(await copyEarlierFiles(files, fork, then.frontmatter));
    expectWhole(then, 500, 500, fork);
    const names = (await readdir(join(fork.stateDir, "logs"))).filter((name) => name !== "execution.jsonl");
    expect(names).toHaveLength(2);
    expect(await readFile(join(fork.stateDir, "logs", names[0] ?? ""), "utf8")).toContain('"from":1');
    valueOf(await copyEarlierFiles(files, fork, then.frontmatter)); // as an attempt that is repeated does
    await rm(join(files.stateDir, "logs", names[0] ?? ""));
    expect(await copyEarlierFiles(files, fork, then.frontmatter)).toMatchObject({ ok: false });
  });
});
