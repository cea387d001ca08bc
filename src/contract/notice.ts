import { z } from "zod";
import { isRunId } from "../core/run/run-id.js";

/**
 * The delivery of one notice to one webhook (contracts §14): a workflow of its own, so that a run neither waits for it nor ends by it.
 * It is told where the notice lies, never what it says.
 */
export const NOTICE_WORKFLOW = "runNotice";
/** Sends it, once. */
export const NOTICE_ACTIVITY = "notice.send";

/** A worker that comes back after a week says nothing of what happened before. */
export const LONGEST_DELIVERY_MS = 7 * 24 * 60 * 60_000;

const noticeRefSchema = z.strictObject({
  storeId: z.string().min(1).max(100),
  projectId: z.string().min(1).max(100),
  runId: z.string().refine(isRunId, "must be a run's id"),
  /** Which change of the run's phase it tells of; 0 is its start. */
  change: z.int().min(0),
  /** The webhook's name in the settings. */
  webhook: z.string().regex(/^[a-z0-9][a-z0-9-]{0,39}$/),
});
export type NoticeRef = z.infer<typeof noticeRefSchema>;

/** Undefined where it names no notice. */
export function parseNoticeRef(value: unknown): NoticeRef | undefined {
  return noticeRefSchema.safeParse(value).data;
}

/** The workflow that delivers it, and what receivers know it by: the same however often it is begun, and sent. */
export function noticeIdOf({ runId, change, webhook }: NoticeRef): string {
  return `notice-${runId}-${change}-${webhook}`;
}
