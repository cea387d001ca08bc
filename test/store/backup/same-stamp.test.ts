import { type BigIntStats, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Pieces } from "../../../src/store/backup/pieces.js";
import { takePart } from "../../../src/store/backup/take-part.js";
import { temporaryDirectory } from "../../fakes/package-fixture.js";

/** All within one tick of the clock of the file system: before Linux 6.13 they take 4 ms, and a test cannot hold them. */
const tick = vi.hoisted(() => ({ ms: 1_800_000_000_004 }));

vi.mock("node:fs", async (importOriginal) => {
  const original: Record<string, unknown> = await importOriginal();
  const withTick = (name: string): unknown => {
    const stat = original[name] as (...rest: unknown[]) => BigIntStats | undefined;
    return (...rest: unknown[]) => {
      const entry = stat(...rest);
      if (typeof entry?.ctimeNs === "bigint") entry.ctimeNs = BigInt(tick.ms) * 1_000_000n;
      return entry;
    };
  };
  return { ...original, fstatSync: withTick("fstatSync"), lstatSync: withTick("lstatSync") };
});

beforeEach(() => {
  tick.ms = 1_800_000_000_004;
  vi.useFakeTimers({ toFake: ["Date"], now: tick.ms });
});
afterEach(() => vi.useRealTimers());

test("a file that was replaced twice within one tick of the clock is taken as it stands", async () => {
  const dir = await temporaryDirectory();
  const path = join(dir, "state.md");
  let looks = 0;
  const source = {
    dir,
    isLog: () => false,
    list() {
      looks += 1;
      if (looks <= 2) writeFileSync(path, `text ${looks}`); // keeps its inode, as a second replacement gets it again
      return { files: ["state.md"], folders: [] };
    },
  };
  const pieces = new Pieces(join(await temporaryDirectory(), "part"));
  const { files } = await takePart(source, [], pieces);
  expect(files.flatMap((file) => file.pieces.map((piece) => pieces.readText(piece)))).toEqual(["text 2"]);
});

test.each([0, 1_999])(
  "where ticks take whole seconds, the next backup takes it too: %i ms after its tick",
  async (ms) => {
    tick.ms = 1_800_000_000_000;
    vi.setSystemTime(tick.ms + ms);
    const dir = await temporaryDirectory();
    const path = join(dir, "state.md");
    const source = { dir, isLog: () => false, list: () => ({ files: ["state.md"], folders: [] }) };
    const pieces = new Pieces(join(await temporaryDirectory(), "part"));
    writeFileSync(path, "text 1");
    const first = await takePart(source, [], pieces);
    writeFileSync(path, "text 2");
    vi.setSystemTime(tick.ms + 3_600_000);
    const { files } = await takePart(source, first.files, pieces);
    expect(files.flatMap((file) => file.pieces.map((piece) => pieces.readText(piece)))).toEqual(["text 2"]);
  },
);

test("a file that has rested since the tick it was changed in is not copied again", async () => {
  for (const [at, ms] of [
    [1_800_000_000_000, 2_100],
    [1_800_000_000_004, 100],
  ] as const) {
    tick.ms = at;
    vi.setSystemTime(at + ms);
    const dir = await temporaryDirectory();
    writeFileSync(join(dir, "state.md"), "text 1");
    const source = { dir, isLog: () => false, list: () => ({ files: ["state.md"], folders: [] }) };
    const pieces = new Pieces(join(await temporaryDirectory(), "part"));
    const { files } = await takePart(source, [], pieces);
    expect(files.map(({ stamp }) => stamp)).toEqual([expect.any(String)]);
  }
});
