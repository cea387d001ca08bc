import type { RunRef } from "./contract/run.js";
import type { ModelSettings } from "./model/chat-model.js";
import { type RehearsalModel, startRehearsalModel } from "./rehearsal/server.js";
import type { Store } from "./store/store.js";

/** The scripted models of a worker: one for all plain rehearsals, one of its own for each run that asks for more. */
export interface Rehearsals {
  settingsFor(run: RunRef): Promise<ModelSettings>;
  close(): Promise<void>;
}

const REHEARSAL_TIMEOUT_MS = 60_000;

/** Starts each scripted model when the first run asks for it. */
export function openRehearsals(store: Store): Rehearsals {
  const models = new Map<string, Promise<RehearsalModel>>();

  async function start(run: RunRef): Promise<RehearsalModel> {
    const { branches = false, forbiddenJump = false } = run.rehearsal ?? {};
    return startRehearsalModel({
      branches,
      forbiddenJump,
      ...(branches ? { earlierRuns: await decisionsOfEarlierRuns(store, run) } : {}),
    });
  }

  return {
    async settingsFor(run) {
      const isPlain = run.rehearsal?.branches !== true && run.rehearsal?.forbiddenJump !== true;
      const key = isPlain ? "" : run.runId;
      const model = models.get(key) ?? start(run);
      models.set(key, model);
      const { baseUrl } = await model;
      return {
        model: "interlock-rehearsal",
        price: { inputPerMillion: 0, outputPerMillion: 0 },
        baseUrl,
        dialect: "openai",
        stream: false,
        timeoutMs: REHEARSAL_TIMEOUT_MS,
      };
    },
    async close() {
      await Promise.all([...models.values()].map(async (model) => (await model).close()));
    },
  };
}

/** Which branches earlier runs of the same package took: the next run takes those that were taken least. */
async function decisionsOfEarlierRuns(store: Store, run: RunRef) {
  const known = await store.runs.listAllRuns();
  const same = known.filter(({ packageId, runId }) => packageId === run.packageId && runId !== run.runId);
  const logs = await Promise.all(
    same.map(async ({ projectId, runId, workflowRef }) => {
      const files = await store.runs.openFiles(projectId, runId);
      const document = files.ok ? await files.value.state.read() : files;
      return document.ok
        ? [{ workflow: workflowRef, decisions: document.value.frontmatter.decisionLog }]
        : [];
    }),
  );
  return logs.flat();
}
