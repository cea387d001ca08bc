import type { RunRef } from "../core/run/run-ref.js";
import type { ChatModel, ModelSettings } from "../model/chat.js";
import { type RehearsalModel, startRehearsalModel } from "../rehearsal/server.js";
import { allDecisions } from "../store/runs/earlier-files.js";
import type { Store } from "../store/store.js";

/** The scripted models of a worker, behind one port: one for all plain rehearsals, one for each run that asks for more. */
export interface Rehearsals {
  settingsFor(run: RunRef): Promise<ModelSettings>;
  close(): Promise<void>;
}

const REHEARSAL_MODEL = "interlock-rehearsal";
const REHEARSAL_TIMEOUT_MS = 60_000;

/** Rehearsals that remember something of their run; one that is forgotten starts again from what the store says. */
const REMEMBERED_RUNS = 256;

/** Listens, at one port, once the first run asks for it. */
export function openRehearsals(store: Store): Rehearsals {
  let listening: Promise<RehearsalModel> | undefined;
  const runs = new Map<string, Promise<{ readonly baseUrl: string; forget(): void }>>();

  /** A start that failed is tried again by the next who asks. */
  async function listen(): Promise<RehearsalModel> {
    listening ??= startRehearsalModel();
    try {
      return await listening;
    } catch (error) {
      listening = undefined;
      throw error;
    }
  }

  async function rehearse(run: RunRef) {
    const { branches = false, forbiddenJump = false } = run.rehearsal ?? {};
    const earlierRuns = branches ? { earlierRuns: await decisionsOfEarlierRuns(store, run) } : {};
    return (await listen()).rehearse({ branches, forbiddenJump, ...earlierRuns });
  }

  async function ofRun(run: RunRef): Promise<{ readonly baseUrl: string }> {
    if (run.rehearsal?.branches !== true && run.rehearsal?.forbiddenJump !== true) return listen();
    const known = runs.get(run.runId) ?? rehearse(run);
    runs.delete(run.runId);
    runs.set(run.runId, known); // the last one asked for is the last one forgotten
    try {
      const rehearsal = await known;
      await forgetOldest();
      return rehearsal;
    } catch (error) {
      if (runs.get(run.runId) === known) runs.delete(run.runId);
      throw error;
    }
  }

  async function forgetOldest(): Promise<void> {
    const [oldest] = runs;
    if (oldest === undefined || runs.size <= REMEMBERED_RUNS) return;
    runs.delete(oldest[0]);
    (await oldest[1]).forget();
  }

  return {
    async settingsFor(run) {
      const { baseUrl } = await ofRun(run);
      return {
        model: REHEARSAL_MODEL,
        price: { inputPerMillion: 0, outputPerMillion: 0 },
        baseUrl,
        dialect: "openai",
        stream: false,
        timeoutMs: REHEARSAL_TIMEOUT_MS,
      };
    },
    async close() {
      await (await listening?.catch(() => undefined))?.close();
    },
  };
}

/** A program's own model, and for rehearsals the scripted one behind its endpoint. */
export function besideRehearsals(own: ChatModel, ofRehearsals: ChatModel): ChatModel {
  return {
    complete: (request) =>
      (request.settings.model === REHEARSAL_MODEL ? ofRehearsals : own).complete(request),
  };
}

/** Which branches earlier runs of the same package took: the next run takes those that were taken least. */
async function decisionsOfEarlierRuns(store: Store, run: RunRef) {
  const known = await store.runs.listAllRuns();
  const same = known.filter(({ packageId, runId }) => packageId === run.packageId && runId !== run.runId);
  const logs = await Promise.all(
    same.map(async ({ projectId, runId, workflowRef }) => {
      const files = await store.runs.openFiles(projectId, runId);
      if (!files.ok) return [];
      const document = await files.value.state.read();
      if (!document.ok) return [];
      const decisions = allDecisions(files.value.stateDir, document.value.frontmatter);
      return decisions.ok ? [{ workflow: workflowRef, decisions: decisions.value }] : [];
    }),
  );
  return logs.flat();
}
