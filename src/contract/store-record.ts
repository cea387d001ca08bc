import { z } from "zod";

/**
 * What a store says of itself (contracts §14): the workers of a store keep one small workflow, so that people find the store by a
 * name. Its id and its task queue are said by Temporal, not by the record.
 */
export const STORE_WORKFLOW = "storeRecord";
export const STORE_SEEN_SIGNAL = "seen";

/** Fields of its memo. The workers are apart, for they change all the time and the rest does not. */
export const STORE_MEMO = "interlockStore";
export const STORE_WORKERS_MEMO = "interlockWorkers";

/** A store that nobody has worked on for that long is no longer known. */
export const STORE_RECORD_DAYS = 30;
export const MAX_STORE_PROJECTS = 100;
export const MAX_STORE_WORKERS = 32;
export const MAX_PROJECT_ROOT_CHARS = 300;

const SHORT = 100;
const short = z.string().min(1).max(SHORT);

const projectSchema = z.strictObject({
  projectId: short,
  /** The name of its directory. */
  name: short,
  /** Its path on the store's hosts: what a run of it is started with. */
  root: z.string().min(1).max(MAX_PROJECT_ROOT_CHARS),
});
export type StoreProject = z.infer<typeof projectSchema>;

/** What all workers of a store say alike. */
export const storeNoteSchema = z.strictObject({
  name: short,
  projects: z.array(projectSchema).max(MAX_STORE_PROJECTS),
});
export type StoreNote = z.infer<typeof storeNoteSchema>;

const workerSchema = z.strictObject({
  /** Of one worker, and of no other. */
  instance: short,
  host: short,
  version: short,
});

/** One worker, as it was seen last. */
export const storeWorkersSchema = z
  .array(workerSchema.extend({ seenAt: z.iso.datetime() }))
  .max(MAX_STORE_WORKERS);
export type StoreWorkers = z.infer<typeof storeWorkersSchema>;

/** What a worker says: at its start, when something has changed, every few minutes, and when it ends. */
export const storeSeenSchema = z.strictObject({
  worker: workerSchema,
  /** Absent where it is as it was. */
  note: storeNoteSchema.exactOptional(),
  left: z.literal(true).exactOptional(),
});
export type StoreSeen = z.infer<typeof storeSeenSchema>;

/** What the record begins with. */
export const storeRecordSchema = z.strictObject({ note: storeNoteSchema, workers: storeWorkersSchema });
export type StoreRecordInput = z.infer<typeof storeRecordSchema>;

/** The workflow in which a store is recorded. */
export function storeWorkflowIdOf(storeId: string): string {
  return `store-${storeId}`;
}

/** The store that a workflow id of that form names; undefined for any other one. */
export function storeIdIn(workflowId: string): string | undefined {
  const [, storeId = ""] = /^store-(.{36})$/.exec(workflowId) ?? [];
  return z.uuid().safeParse(storeId).success ? storeId : undefined;
}
