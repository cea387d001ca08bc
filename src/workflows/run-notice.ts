import { ApplicationFailure, proxyActivities } from "@temporalio/workflow";
import { NOTICE_ACTIVITY, type NoticeRef, parseNoticeRef } from "../contract/notice.js";
import type { ErrorCode } from "../core/errors.js";

/**
 * A receiver that is down is tried again for a day: after 1, 3, 9 … seconds, then every hour. A longer wait that it asks for takes the
 * place of that.
 */
const activities = proxyActivities<Record<typeof NOTICE_ACTIVITY, (asked: NoticeRef) => Promise<unknown>>>({
  startToCloseTimeout: "15 seconds",
  scheduleToCloseTimeout: "1 day",
  retry: {
    initialInterval: "1 second",
    backoffCoefficient: 3,
    maximumInterval: "1 hour",
    maximumAttempts: 30,
  },
});

/** Delivers one notice of a run to one webhook. That it fails is nothing to the run. */
export async function runNotice(...args: readonly unknown[]): Promise<unknown> {
  const ref = parseNoticeRef(args[0]);
  if (ref === undefined) {
    const code: ErrorCode = "E_SCHEMA_VALIDATION";
    throw ApplicationFailure.nonRetryable("This names no notice of a run.", code);
  }
  return activities[NOTICE_ACTIVITY].executeWithOptions({ summary: ref.webhook }, [ref]);
}
