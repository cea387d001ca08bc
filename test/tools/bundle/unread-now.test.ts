import { execFileSync } from "node:child_process";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { EARLIER_ENTRIES } from "../../../src/core/state/earlier-entries.js";
import type { Frontmatter } from "../../../src/core/state/state-frontmatter.js";
import { sha256 } from "../../../src/store/disk/sha256.js";
import { Blobs } from "../../../src/store/runs/blobs.js";
import { allArtifacts } from "../../../src/store/runs/earlier-files.js";
import { loadAgent } from "../../../src/tools/bundle/bundle-agent-file.js";
import { BundleWorld, INTAKE } from "../../fakes/bundle-world.js";
import { valueOf } from "../../fakes/run-world.js";

/** Which calls of the file system fail, and with what: a machine that lacks it for a moment cannot be had otherwise. */
const machine = vi.hoisted(() => {
  const state: { trouble: { readonly path: string; readonly code: string } | undefined } = {
    trouble: undefined,
  };
  const refuse = (path: unknown): void => {
    const { trouble } = state;
    if (trouble === undefined || !String(path).includes(trouble.path)) return;
    throw Object.assign(new Error(`${trouble.code}: injected`), { code: trouble.code });
  };
  return { state, refuse };
});

function refusing(
  original: Record<string, unknown>,
  names: readonly string[],
  run: (call: () => unknown) => unknown = (call) => call(),
): Record<string, unknown> {
  const calls = names.map((name) => {
    const call = original[name] as (path: unknown, ...rest: unknown[]) => unknown;
    return [
      name,
      (path: unknown, ...rest: unknown[]) => run(() => (machine.refuse(path), call(path, ...rest))),
    ];
  });
  return { ...original, ...Object.fromEntries(calls) };
}

vi.mock("node:fs/promises", async (importOriginal) =>
  refusing(await importOriginal(), ["lstat", "realpath", "open"], (call) => Promise.resolve().then(call)),
);
vi.mock("node:fs", async (importOriginal) => refusing(await importOriginal(), ["openSync"]));

let world: BundleWorld;
beforeEach(async () => {
  world = await BundleWorld.open();
});
afterEach(() => {
  machine.state.trouble = undefined;
});

const PASSING = ["EMFILE", "EIO", "ESTALE"];

test.each(PASSING)(
  "an agent file that cannot be read now (%s) is not said to be none, and is read later",
  async (code) => {
    const file = world.at("room/bmad/desk/agents/iris.md");
    machine.state.trouble = { path: "iris.md", code };
    const message: unknown = expect.stringContaining(`iris.md cannot be read now (${code})`);
    expect(await loadAgent(file)).toMatchObject({ error: { code: "E_INTERNAL", message } });
    machine.state.trouble = undefined;
    expect(await loadAgent(file)).toMatchObject({ ok: true });
  },
);

test("an agent file that this user may not read is not tried again", async () => {
  machine.state.trouble = { path: "iris.md", code: "EACCES" };
  const error = { code: "E_AGENT_NOT_FOUND" };
  expect(await loadAgent(world.at("room/bmad/desk/agents/iris.md"))).toMatchObject({ error });
});

test.each(PASSING)("a bundle whose folder cannot be found now (%s) is looked for again", async (code) => {
  machine.state.trouble = { path: "bmad/desk", code };
  const message: unknown = expect.stringContaining(`cannot be read now (${code})`);
  expect(await world.createRun()).toMatchObject({ error: { code: "E_INTERNAL", message } });
  machine.state.trouble = undefined;
  expect(await world.createRun()).toMatchObject({ ok: true });
});

test.each([
  ["module.yaml", "module.yaml"],
  ["project/artifacts", "{session-folder}"],
])("%s that cannot be read now is not said to be another than it is", async (path, shown) => {
  world.put("room/bmad/desk/module.yaml", "code: bureau\n");
  const run = await world.openRun();
  const read = () =>
    run.call("read_file", { file_path: "{project-root}/bmad/bureau/workflows/intake/workflow.yaml" });
  for (const code of PASSING) {
    machine.state.trouble = { path, code };
    const message: unknown = expect.stringContaining(`${shown} cannot be read now (${code})`);
    expect(await read()).toMatchObject({ success: false, error: message });
    machine.state.trouble = undefined;
    expect(await read()).toMatchObject({ success: true });
  }
});

test("a module.yaml that is a pipe has nothing to say, and nobody waits for it", async () => {
  execFileSync("sh", ["-c", 'mkfifo "$0"', world.at("room/bmad/desk/module.yaml")]);
  const run = await world.openRun();
  expect(await run.call("read_file", { file_path: INTAKE })).toMatchObject({ success: true });
});

test.each(PASSING)("what a run has written is not said to be lost while it cannot be read (%s)", (code) => {
  const blobs = new Blobs(world.at("blobs"));
  const hash = sha256(Buffer.from("kept"));
  blobs.keep(Buffer.from("kept"));
  machine.state.trouble = { path: hash, code };
  expect(() => blobs.read(hash)).toThrow(code);
  machine.state.trouble = undefined;
  expect(blobs.read(hash)?.toString()).toBe("kept");
});

test.each(PASSING)(
  "earlier entries that cannot be read now (%s) are not said to be damaged",
  async (code) => {
    const run = valueOf(await world.createRun());
    const { stateDir } = valueOf(await world.store.runs.openFiles(run.projectId, run.runId));
    const file = "@state/logs/artifacts.000001-000002.00000000.jsonl";
    const frontmatter = {
      artifacts: [],
      [EARLIER_ENTRIES]: { artifacts: { count: 2, file, sha256: "0".repeat(64) } },
    } as unknown as Frontmatter; // what is read of it
    machine.state.trouble = { path: join(dirname(stateDir), "state", "logs"), code };
    const message: unknown = expect.stringContaining(`cannot be read now (${code})`);
    expect(allArtifacts(stateDir, frontmatter)).toMatchObject({ error: { code: "E_INTERNAL", message } });
    machine.state.trouble = undefined;
    const damaged: unknown = expect.stringContaining("is missing or damaged");
    expect(allArtifacts(stateDir, frontmatter)).toMatchObject({ error: { message: damaged } });
  },
);
