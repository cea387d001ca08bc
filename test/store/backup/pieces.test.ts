import { readdirSync } from "node:fs";
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
