import { type Payload, defaultPayloadConverter } from "@temporalio/common";
import { z } from "zod";
import { UNOPENED_METADATA } from "../../contract/sealed.js";
import type { AuditHead } from "../../core/run/audit-head.js";
import { InterlockError } from "../temporal/interlock-error.js";

const headSchema = z.object({ lines: z.number(), sha256: z.string() });
const namedSchema = z.object({ audit: headSchema }).transform(({ audit }) => audit);
const carriedSchema = z.object({ carried: namedSchema }).transform(({ carried }) => carried);
const schema = z.union([headSchema, namedSchema, carriedSchema]);

/** The parts of a history that hold results of activities, local ones included, and what an execution that goes on was handed. */
interface History {
  readonly events?:
    | readonly {
        readonly workflowExecutionStartedEventAttributes?: {
          readonly continuedExecutionRunId?: string | null;
          readonly input?: Payloads | null;
        } | null;
        readonly activityTaskCompletedEventAttributes?: { readonly result?: Payloads | null } | null;
        readonly markerRecordedEventAttributes?: {
          readonly details?: Record<string, Payloads> | null;
        } | null;
      }[]
    | null;
}
interface Payloads {
  readonly payloads?: readonly Payload[] | null;
}

/**
 * The audit head with the most lines among the results of a history's activities, and in what it was handed by an execution that is forgotten by
 * now: where a run has continued as new in a wait, nothing else names one for as long as that lasts. Throws `E_PRECONDITION_FAILED` where a result after it
 * is sealed and was not opened: that may hold a later one.
 */
export function newestAuditHead(history: History): AuditHead | undefined {
  let newest: AuditHead | undefined;
  let unopened: string | undefined;
  for (const event of history.events ?? []) {
    const started = event.workflowExecutionStartedEventAttributes;
    const results = [
      started?.continuedExecutionRunId ? started.input : undefined,
      event.activityTaskCompletedEventAttributes?.result,
      event.markerRecordedEventAttributes?.details?.["result"],
    ];
    for (const payload of results.flatMap((result) => result?.payloads ?? [])) {
      const why = payload.metadata?.[UNOPENED_METADATA];
      const head = schema.safeParse(why ? undefined : toValue(payload));
      if (why) unopened = Buffer.from(why).toString("utf8");
      else if (head.success && head.data.lines >= (newest?.lines ?? 0)) {
        newest = head.data;
        unopened = undefined;
      }
    }
  }
  if (unopened !== undefined) throw new InterlockError({ code: "E_PRECONDITION_FAILED", message: unopened });
  return newest;
}

function toValue(payload: Payload): unknown {
  try {
    return defaultPayloadConverter.fromPayload(payload);
  } catch {
    return undefined; // another encoding: not one of ours
  }
}
