import type { Rehearsal } from "./contract/run.js";
import type { ModelSettings } from "./model/chat-model.js";
import { type RehearsalModel, startRehearsalModel } from "./rehearsal/server.js";

/** The scripted models of a worker: one for all runs, and one for each run that is to try a forbidden jump. */
export interface Rehearsals {
  settingsFor(runId: string, rehearsal: Rehearsal): Promise<ModelSettings>;
  close(): Promise<void>;
}

const REHEARSAL_TIMEOUT_MS = 60_000;

/** Starts each scripted model when the first run asks for it. */
export function openRehearsals(): Rehearsals {
  const models = new Map<string, Promise<RehearsalModel>>();
  return {
    async settingsFor(runId, { branches = false, forbiddenJump = false }) {
      const key = `${branches} ${forbiddenJump ? runId : ""}`;
      const model = models.get(key) ?? startRehearsalModel({ branches, forbiddenJump });
      models.set(key, model);
      const { baseUrl } = await model;
      return { model: "interlock-rehearsal", baseUrl, stream: false, timeoutMs: REHEARSAL_TIMEOUT_MS };
    },
    async close() {
      await Promise.all([...models.values()].map(async (model) => (await model).close()));
    },
  };
}
