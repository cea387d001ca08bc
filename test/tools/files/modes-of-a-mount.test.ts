import type * as fs from "node:fs";
import type * as promises from "node:fs/promises";
import { expect, test, vi } from "vitest";
import { type SessionManifest, openSessionFolder } from "../../../src/store/runs/bundle-session.js";
import { writeFile } from "../../../src/tools/files/write.js";
import { temporaryDirectory } from "../../fakes/package-fixture.js";
import { Scratch } from "../scratch.js";

/*
 * A share, or a stick, that root has mounted for all: each file has the owner and the mode of the mount, whoever makes it. Everybody may
 * write there, and nobody but root may change a mode.
 */

const denied = vi.hoisted(() => () => {
  throw Object.assign(new Error("EPERM: operation not permitted, chmod"), { code: "EPERM", errno: -1 });
});
vi.mock("node:fs", async (original) => ({
  ...(await original<typeof fs>()),
  fchmodSync: denied,
}));
vi.mock("node:fs/promises", async (original) => ({
  ...(await original<typeof promises>()),
  chmod: async () => denied(),
}));

test("a file is overwritten where modes are those of the mount", async () => {
  const scratch = new Scratch();
  const write = (content: string) =>
    writeFile(scratch.workspace, { path: "@state/notes.md", content }, { maxWriteBytes: 100 }, {});
  expect(await write("one")).toMatchObject({ ok: true });
  expect(await write("two")).toMatchObject({ ok: true }); // its mode is the one that new files have, as it is there
  expect(scratch.text("state/notes.md")).toBe("two");
  scratch.finish();
});

test("a bundle's session is made where modes are those of the mount", async () => {
  const outputRoot = await temporaryDirectory();
  const at = "2026-01-02T03:04:05.000Z";
  const session: SessionManifest = {
    sessionId: "s",
    runId: "r",
    workflow: "w",
    agent: null,
    status: "running",
    createdAt: at,
    updatedAt: at,
    outputs: [],
    files: [],
  };
  expect(await openSessionFolder({ outputRoot, sessionId: "s" }, session)).toEqual({
    ok: true,
    value: session,
  });
});
