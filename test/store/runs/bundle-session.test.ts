import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  type SessionManifest,
  markSessionFolder,
  readManifest,
  recordSessionFile,
  sessionDir,
} from "../../../src/store/runs/bundle-session.js";
import { NO_LOCK } from "../../../src/store/disk/fenced-lock.js";

const AT = "2026-01-02T03:04:05.000Z";
const file = (name: string) => ({
  path: `${name}/${"x".repeat(4_080)}`,
  size: 1,
  sha256: "0".repeat(64),
  savedAt: AT,
});

test("a session whose files have very long names stays one that can be read", async () => {
  const outputRoot = mkdtempSync(join(tmpdir(), "session-"));
  const place = { outputRoot, sessionId: "s" };
  const manifest: SessionManifest = {
    sessionId: "s",
    runId: "r",
    workflow: "w",
    agent: null,
    status: "running",
    createdAt: AT,
    updatedAt: AT,
    outputs: [],
    files: Array.from({ length: 960 }, (_, index) => file(String(index))),
  };
  mkdirSync(join(outputRoot, "s"));
  writeFileSync(join(outputRoot, "s", "manifest.json"), `${JSON.stringify(manifest, undefined, 2)}\n`);
  const codes: (string | undefined)[] = [];
  for (let index = 960; index < 1_000; index += 1) {
    const recorded = await recordSessionFile(sessionDir(place), file(String(index)), NO_LOCK);
    codes.push(recorded.ok ? undefined : recorded.error.code);
  }
  expect(codes.at(-1)).toBe("E_WRITE_LIMIT");
  expect(new Set(codes)).toEqual(new Set([undefined, "E_WRITE_LIMIT"]));
  expect(await readManifest(sessionDir(place))).toMatchObject({ ok: true });
  expect(await markSessionFolder(sessionDir(place), "complete", new Date(AT), NO_LOCK)).toMatchObject({
    ok: true,
  });
  rmSync(outputRoot, { recursive: true });
});

test.each([
  ["a link", (path: string) => symlinkSync("/etc/hostname", path)],
  ["longer than one may be", (path: string) => writeFileSync(path, Buffer.alloc(5 * 1024 * 1024, " "))],
  ["a folder", (path: string) => mkdirSync(path)],
])("a manifest that is %s is damaged, by its place in the session", async (_, put) => {
  const outputRoot = mkdtempSync(join(tmpdir(), "session-"));
  mkdirSync(join(outputRoot, "s"));
  put(join(outputRoot, "s", "manifest.json"));
  expect(await readManifest(join(outputRoot, "s"))).toMatchObject({
    error: { code: "E_INTERNAL", message: "{session-folder}/manifest.json is missing or damaged." },
  });
  rmSync(outputRoot, { recursive: true });
});
