// @module-tag slow
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, inject, test } from "vitest";
import { STEP_SIZES } from "../../src/core/step-size.js";
import { type ArmedBuild, readHits } from "../crash/armed-build.js";
import { openBundleStage } from "../crash/bundle-stage.js";
import { type CrashStage, answeredResult, openCrashStage } from "../crash/crash-stage.js";
import { sharedBuild } from "../crash/shared-build.js";
import { eventually } from "../fakes/eventually.js";
import { FAKE_MCP_SERVER, agentsWith } from "../fakes/mcp-world.js";
import { firstWay, mergedPackage } from "../fakes/nested-package.js";
import { writePackage } from "../fakes/package-fixture.js";
import { valueOf } from "../fakes/run-world.js";
import { call, patch } from "../fakes/scripted-model.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { nodeOf } from "../fakes/walk.js";
import { listenForWebhooks } from "../fakes/webhook-receiver.js";
import { copyRoom } from "./harness.js";

const WATCHING = fileURLToPath(new URL("../crash/watch-syncs.cjs", import.meta.url));
const address = inject("temporalAddress");
const shared = sharedBuild();

/** Workers that write down at each of their reports what a power failure could still take. */
const build: ArmedBuild = {
  ...shared,
  startWorker(environment, arming) {
    const dir = dirname(environment["INTERLOCK_STORE"] ?? "");
    const watched = {
      WATCHED_FOLDER: dir,
      WATCHED_REPORTS: `${dir}-reports`,
      NODE_OPTIONS: `--require ${WATCHING}`,
    };
    return shared.startWorker({ ...environment, ...watched }, arming);
  },
};

const WAY = [
  { calls: [patch({ stepsCompleted: { append: ["ask"] }, currentNodeId: { set: "middle" } })] },
  { calls: [patch({ stepsCompleted: { append: ["middle"] }, currentNodeId: { set: "finish" } })] },
  { calls: [patch({ stepsCompleted: { append: ["finish"] } })] },
];

async function installed({ dir, store }: CrashStage, files: Record<string, string>): Promise<string> {
  const source = await writePackage(join(dir, "source"), files);
  return valueOf(await store.packages.install(source)).packageId;
}

/** What each report of the workers has left for a power failure to take. */
function reportsOf({ dir }: { readonly dir: string }): readonly string[] {
  return readFileSync(`${dir}-reports`, "utf8").trimEnd().split("\n");
}

function expectNothingLeft(stage: { readonly dir: string }, most: number): void {
  const reports = reportsOf(stage);
  expect(reports.length).toBeGreaterThan(most);
  expect([...new Set(reports)]).toEqual(["[]"]);
}

test.each(STEP_SIZES)(
  "whatever a worker reports of a run by %s is on disk by then, bytes and names",
  async (steps) => {
    const stage = await openCrashStage({ address, build, steps });
    try {
      const worker = await stage.startVictim();
      const result = await answeredResult(stage, await stage.startRun());
      expect(result.phase).toBe("completed");
      await worker.shutDown();
      expectNothingLeft(stage, 10);
    } finally {
      await stage.close();
    }
  },
);

test.each(STEP_SIZES)(
  "so is, of runs by %s, what a tool with an effect is called by and what is told by webhook",
  async (steps) => {
    const receiver = await listenForWebhooks();
    const stage = await openCrashStage({
      address,
      build,
      onRequest: (_, index) => (index === 0 ? { calls: [call("mcp_s_act", {})] } : WAY[index - 1]),
    });
    try {
      const server = { command: process.execPath, args: [FAKE_MCP_SERVER, "plain", join(stage.dir, "log")] };
      const webhooks = { ops: { url: receiver.url, format: "slack", events: ["completed"] } };
      const settings = { mcpServers: { s: server }, notifications: { webhooks } };
      writeFileSync(join(stage.store.dir, "settings.json"), JSON.stringify(settings));
      const files = twoNodePackage({ "agents.json": agentsWith({ author: ["s"] }) });
      const packageId = await installed(stage, files);
      const worker = await stage.startVictim();
      const run = await stage.client.start({ projectRoot: stage.projectRoot, packageId, steps });
      expect((await run.result()).phase).toBe("completed");
      await eventually(() => receiver.messages.length > 0);
      await worker.shutDown();
      expect(readHits(stage.hitsFile)).toEqual(
        expect.arrayContaining(["tool.before-call", "notice.kept", "notice.sent"]),
      );
      expectNothingLeft(stage, 10);
    } finally {
      await stage.close();
      receiver.close();
    }
  },
);

test.each(STEP_SIZES)(
  "so is, of runs by %s, what a budget was raised to and that it was used up again",
  async (steps) => {
    const stage = await openCrashStage({ address, build, onRequest: (_, index) => WAY[index] });
    try {
      const worker = await stage.startVictim();
      const asked = { projectRoot: stage.projectRoot, packageId: stage.packageId, steps };
      const run = await stage.client.start({ ...asked, budget: { run: { turns: 1 } } });
      const isUsedUp = async (limit: number) => (await run.state()).question?.reached?.limit === limit;
      await eventually(() => isUsedUp(1));
      await run.raiseBudget({ add: { turns: 1 } });
      await eventually(() => isUsedUp(2));
      await run.raiseBudget({ add: { turns: 1 } });
      expect((await run.result()).phase).toBe("completed");
      await worker.shutDown();
      expectNothingLeft(stage, 10);
    } finally {
      await stage.close();
    }
  },
);

test("so is what is reported of a run, of the one below it, of a retry and of a fork in another project", async () => {
  const stage = await openCrashStage({
    address,
    build,
    onRequest: (request) =>
      nodeOf(request) === "draft" && request.messages.at(-1)?.role !== "tool"
        ? { calls: [call("fs_write", { path: "@project/artifacts/part.md", content: "part\n" })] }
        : firstWay(request),
  });
  try {
    const packageId = await installed(stage, mergedPackage());
    const worker = await stage.startVictim();
    const { client, projectRoot, store } = stage;
    const asked = { projectRoot, packageId, workflowRef: "main" };
    const run = await client.start({ ...asked, limits: { maxTurnsPerRun: 1 } });
    await expect(run.result()).rejects.toMatchObject({ code: "ENGINE_MAX_TURNS_EXCEEDED" });
    const again = await client.retry(run.runId, { limits: { maxTurnsPerRun: 20 } });
    expect((await again.result()).phase).toBe("completed");
    const runs = await store.runs.listAllRuns();
    const below = runs.find(({ parentRunId }) => parentRunId === run.runId)?.runId ?? "";
    const elsewhere = join(stage.dir, "elsewhere");
    mkdirSync(elsewhere);
    const fork = await client.fork(below, { fromNode: "ready", projectRoot: elsewhere });
    expect((await fork.result()).phase).toBe("completed");
    expect(readFileSync(join(elsewhere, "artifacts/part.md"), "utf8")).toBe("part\n");
    await worker.shutDown();
    expectNothingLeft(stage, 20);
  } finally {
    await stage.close();
  }
});

test("so is what is reported of a bundle run", async () => {
  const stage = await openBundleStage(address, build, copyRoom);
  try {
    const worker = await stage.startVictim();
    expect((await stage.run.result()).phase).toBe("completed");
    await worker.shutDown();
    expectNothingLeft(stage, 10);
  } finally {
    await stage.close();
  }
});
