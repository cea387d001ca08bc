import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { basename } from "node:path";
import { Client, type ClientOptions } from "@temporalio/client";
import { Runtime } from "@temporalio/worker";
import { WORKFLOW_TASK_TIMEOUT } from "../contract/names.js";
import { QUEUE_REMEDY, queueTrouble } from "../client/stores/stores.js";
import {
  MAX_PROJECT_ROOT_CHARS,
  MAX_STORE_PROJECTS,
  STORE_MEMO,
  STORE_RECORD_DAYS,
  STORE_SEEN_SIGNAL,
  STORE_WORKERS_MEMO,
  STORE_WORKFLOW,
  type StoreNote,
  type StoreProject,
  type StoreRecordInput,
  type StoreSeen,
  storeWorkflowIdOf,
} from "../contract/store-record.js";
import { excerpt } from "../core/text.js";
import { within } from "../within.js";
import { resolveProject } from "../store/runs/project-id.js";
import { type Store, readStoreName } from "../store/store.js";
import { version } from "./version.js";

/** How often it is looked whether the store has changed. */
const LOOK_MS = 15_000;
/** How often a worker says that it is there. */
const SAY_MS = 5 * 60_000;
/** At its end, a worker waits no longer than that for Temporal to take its leave. */
const LEAVE_MS = 2_000;
const MAX_CHARS = 80;

export interface Announcement {
  /** Says that the worker ends. Never throws. */
  leave(): Promise<void>;
  /** Ends what is being said. */
  stop(): Promise<void>;
}

/**
 * Makes a store known through Temporal for as long as a worker works on it: its name, its projects and this worker. That it
 * cannot be said is no failure: runs do not depend on it, and it is tried again.
 */
export function announceStore(temporal: ClientOptions, store: Store): Announcement {
  const client = new Client(temporal);
  const worker = { instance: randomUUID(), host: short(hostname()), version: short(version()) };
  let said = { note: "", at: 0 };
  let isOver = false;
  const told = new Set<string>();

  async function say(left: boolean): Promise<void> {
    const note = await noteOf(store);
    const text = JSON.stringify(note);
    const isNews = text !== said.note;
    if (!left && !isNews && performance.now() - said.at < SAY_MS) return;
    const word: StoreSeen = { worker, ...(isNews ? { note } : {}), ...(left ? { left } : {}) };
    const queue = await tell(client, store, note, word);
    said = { note: text, at: performance.now() };
    if (queue !== store.taskQueue) {
      warnOnce(
        `${storeWorkflowIdOf(store.storeId)} is a workflow of somebody else's: this store is not found by its name. Terminate it, and start the worker again.`,
      );
    }
    const trouble = left ? undefined : await queueTrouble(client, store);
    if (trouble !== undefined) warnOnce(`${trouble}. ${QUEUE_REMEDY}`);
  }
  function warnOnce(words: string): void {
    if (told.has(words)) return;
    told.add(words);
    Runtime.instance().logger.warn(words);
  }
  const quietly = (left: boolean): Promise<void> => say(left).catch(() => undefined);

  let saying = quietly(false);
  const timer = setInterval(() => {
    saying = saying.then(() => (isOver ? undefined : quietly(false)));
  }, LOOK_MS);
  timer.unref();
  return {
    async leave() {
      isOver = true;
      clearInterval(timer);
      saying = saying.then(() => quietly(true));
      await within(LEAVE_MS, saying);
    },
    async stop() {
      isOver = true;
      clearInterval(timer);
      await within(LEAVE_MS, saying);
    },
  };
}

/** Returns the queue of the workflow that was told. */
async function tell(client: Client, store: Store, note: StoreNote, word: StoreSeen): Promise<string> {
  const seenAt = new Date().toISOString();
  const record: StoreRecordInput = { note, workers: [{ ...word.worker, seenAt }] };
  const handle = await client.workflow.signalWithStart(STORE_WORKFLOW, {
    workflowId: storeWorkflowIdOf(store.storeId),
    taskQueue: store.taskQueue,
    args: [record],
    signal: STORE_SEEN_SIGNAL,
    signalArgs: [word],
    memo: { [STORE_MEMO]: note, [STORE_WORKERS_MEMO]: record.workers },
    // Begun anew every few hundred words: a store that nobody works on any more is forgotten by Temporal itself.
    workflowRunTimeout: `${STORE_RECORD_DAYS} days`,
    workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT,
    staticSummary: `Store ${note.name}`,
  });
  return (await handle.describe()).taskQueue;
}

async function noteOf(store: Store): Promise<StoreNote> {
  const projects = new Map<string, StoreProject>();
  const add = (projectId: string, root: string): void => {
    const name = short(basename(root));
    if (name === "" || root.length > MAX_PROJECT_ROOT_CHARS) return;
    projects.delete(projectId);
    projects.set(projectId, { projectId, name, root });
  };
  for (const { path, access } of store.roots.list()) {
    const project = access === "write" ? await resolveProject(path) : undefined;
    if (project?.ok === true) add(project.value.projectId, project.value.root);
  }
  const { runs } = await store.runs.surveyRuns();
  for (const { projectId } of runs) {
    const root = await store.runs.projectRoot(projectId);
    if (root.ok) add(projectId, root.value);
  }
  const name = short(await readStoreName(store.dir));
  return { name, projects: [...projects.values()].slice(-MAX_STORE_PROJECTS) };
}

function short(text: string): string {
  return excerpt(text, MAX_CHARS);
}
