import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { buildPage } from "../../../scripts/build-page.mjs";

const MAX_COMPRESSED_BYTES = 300_000;

let dir: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "interlock-page-"));
  await buildPage(dir);
});
afterAll(() => rm(dir, { recursive: true, force: true }));

test("a browser fetches less than 300 KB for the page", async () => {
  const files = await readdir(dir);
  expect(files.toSorted()).toEqual(["icon.svg", "index.html", "licenses.txt", "page.css", "page.js"]);
  const sizes = await Promise.all(
    files.map(async (file) => gzipSync(await readFile(join(dir, file))).length),
  );
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(MAX_COMPRESSED_BYTES);
});

test("nothing in the page is inline, evaluated, or of another host", async () => {
  const page = await readFile(join(dir, "index.html"), "utf8");
  expect(page).not.toMatch(/<script>|<style|\son\w+=|\sstyle=|https?:/);
  const script = await readFile(join(dir, "page.js"), "utf8");
  expect(script).not.toMatch(/\beval\(|new Function\(/);
  expect(await readFile(join(dir, "page.css"), "utf8")).not.toMatch(/@import|url\(/);
});

test("the licences of all that is in the bundle come with it", async () => {
  const licenses = await readFile(join(dir, "licenses.txt"), "utf8");
  for (const name of ["preact", "@dagrejs/dagre", "marked", "dompurify", "highlight.js", "diff"]) {
    expect(licenses).toMatch(new RegExp(`^${name} \\d`, "m"));
  }
});
