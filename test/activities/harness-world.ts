import type { Context } from "@temporalio/activity";
import { onTestFinished } from "vitest";
import { type ModelTurnDeps, newTurnMemory } from "../../src/activities/model-turn.js";
import type { ActivityDeps } from "../../src/activities/create-activities.js";
import { openRun } from "../../src/activities/open-run.js";
import { graphHarness, bundleHarness } from "../../src/activities/agent-harness.js";
import type { ModelTurnInput } from "../../src/contract/activities.js";
import type { OpenedRun } from "../../src/core/run/opened-run.js";
import type { ModelSettings } from "../../src/model/chat.js";
import { createChatModel } from "../../src/model/chat-model.js";
import type { RunFiles } from "../../src/store/runs/run-files.js";
import { createBundleHost } from "../../src/tools/bundle/bundle-host.js";
import { createToolHost } from "../../src/tools/graph/tool-host.js";
import type { PackageFixture } from "../fakes/package-fixture.js";
import { type RunWorld, openRunWorld, valueOf } from "../fakes/run-world.js";
import { type Script, ScriptedModel } from "../fakes/scripted-model.js";
import { twoNodePackage } from "../fakes/two-node-package.js";

export const RUN_ID = "11111111-2222-4333-8444-555555555555";

/** An opened run with a scripted model behind real HTTP, and what the activities work with. */
export interface ActivityScene {
  readonly world: RunWorld;
  readonly opened: OpenedRun;
  readonly files: RunFiles;
  readonly model: ScriptedModel;
  readonly deps: ActivityDeps & ModelTurnDeps;
  readonly context: Context;
  readonly turn: (changes?: Partial<ModelTurnInput>) => ModelTurnInput;
}

export async function openScene(
  script: Script,
  files: PackageFixture = twoNodePackage(),
  settings: Partial<ModelSettings> = {},
): Promise<ActivityScene> {
  const world = await openRunWorld(files);
  const { store, projectRoot, packageId } = world;
  const bundles = createBundleHost({ store });
  const toolHost = createToolHost({ store });
  const opened = await openRun(
    { store, bundles },
    { kind: "graph", input: { runId: RUN_ID, projectRoot, packageId } },
  );
  const model = await ScriptedModel.start(script);
  onTestFinished(() => model.close());
  return {
    world,
    opened,
    files: valueOf(await store.runs.openFiles(opened.run.projectId, RUN_ID)),
    model,
    deps: {
      store,
      toolHost,
      bundles,
      harnesses: { graph: graphHarness(store, toolHost), bundle: bundleHarness(bundles) },
      model: createChatModel(),
      memory: newTurnMemory(),
      modelSettingsFor: async () => ({
        model: "scripted",
        baseUrl: model.baseUrl,
        apiKey: "test-key",
        stream: false,
        timeoutMs: 10_000,
        ...settings,
      }),
    },
    // All that these activities ask of Temporal's context.
    context: {
      cancellationSignal: new AbortController().signal,
      info: { startToCloseTimeoutMs: 600_000, attempt: 1 },
    } as Context,
    turn: (changes = {}) => ({
      run: opened.run,
      visit: 1,
      turn: 1,
      nodeId: "ask",
      agentId: "author",
      intent: "start",
      autopilot: false,
      conversation: "visit-1",
      ...changes,
    }),
  };
}
