import { readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Pieces } from "../../../src/store/backup/pieces.js";
import { temporaryDirectory } from "../../fakes/package-fixture.js";

const openFiles = (): number => readdirSync("/dev/fd").length;

test("a part with more files than a process may open is made durable a few at a time", async () => {
  const pieces = new Pieces(join(await temporaryDirectory(), "part"));
  const kept = Array.from({ length: 300 }, (_, number) => pieces.keepText(String(number)));
  const before = openFiles();
  const synced = pieces.sync(); // what it opens at once is open now
  expect(openFiles() - before).toBeLessThan(100);
  await synced;
  expect(kept.every((piece) => pieces.holds(piece))).toBe(true);
});

test("a piece that is there stays the file that it is, unless it is damaged: the new one is not durable yet", async () => {
  const dir = join(await temporaryDirectory(), "part");
  const { sha256 } = new Pieces(dir).keepText("as it was");
  const path = join(dir, sha256);
  const { ino } = statSync(path);
  expect(new Pieces(dir).keepText("as it was").sha256).toBe(sha256);
  expect(statSync(path).ino).toBe(ino);
  writeFileSync(path, "\0".repeat(9));
  new Pieces(dir).keepText("as it was");
  expect(readFileSync(path, "utf8")).toBe("as it was");
  expect(readdirSync(dir)).toEqual([sha256]);
});
