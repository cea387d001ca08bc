import { Server } from "node:http";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import type { RunRef } from "../../src/core/run/run-ref.js";
import { openRehearsals, type Rehearsals } from "../../src/worker/rehearsals.js";
import { openStore, type Store } from "../../src/store/store.js";

let store: Store;
let rehearsals: Rehearsals;

beforeEach(async () => {
  const directory = await mkdtemp(join(tmpdir(), "interlock-rehearsals-"));
  store = await openStore(directory, "interlock");
  rehearsals = openRehearsals(store);
  onTestFinished(async () => {
    await rehearsals.close();
    await rm(directory, { recursive: true, force: true });
  });
});

function run(runId: string, rehearsal: RunRef["rehearsal"] = { branches: true }): RunRef {
  // What a rehearsal looks at; the rest of a reference is for the run's files.
  return { runId, packageId: "package", projectId: "project", rehearsal } as unknown as RunRef;
}

test("runs that rehearse branches share one port, and each has a memory of its own", async () => {
  const settings = await Promise.all(["a", "b", "c"].map((id) => rehearsals.settingsFor(run(id))));
  const plain = await rehearsals.settingsFor(run("d", {}));
  const urls = [...settings, plain].map(({ baseUrl }) => new URL(baseUrl ?? ""));
  expect(new Set(urls.map(({ port }) => port)).size).toBe(1);
  expect(new Set(urls.map(({ pathname }) => pathname)).size).toBe(4);
  for (const url of urls) expect((await fetch(`${url.href}/models`)).status).toBe(200);
  expect((await rehearsals.settingsFor(run("a"))).baseUrl).toBe(settings[0]?.baseUrl);
});

test("a rehearsal that nobody has opened is not there", async () => {
  const { baseUrl = "" } = await rehearsals.settingsFor(run("a", {}));
  const stranger = new URL(`/${"0".repeat(32)}/v1/models`, baseUrl);
  expect((await fetch(stranger)).status).toBe(404);
});

test("a start that failed is tried again", async () => {
  const listen = vi.spyOn(Server.prototype, "listen").mockImplementationOnce(function failing(this: Server) {
    process.nextTick(() => this.emit("error", new Error("no descriptors left")));
    return this;
  });
  onTestFinished(() => listen.mockRestore());
  await expect(rehearsals.settingsFor(run("a"))).rejects.toThrow("no descriptors left");
  const { baseUrl = "" } = await rehearsals.settingsFor(run("a"));
  expect((await fetch(`${baseUrl}/models`)).status).toBe(200);
});

test("nothing listens after the end", async () => {
  const { baseUrl = "" } = await rehearsals.settingsFor(run("a"));
  await rehearsals.close();
  await expect(fetch(`${baseUrl}/models`)).rejects.toThrow("fetch failed");
});
