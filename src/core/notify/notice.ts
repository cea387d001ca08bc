import { z } from "zod";
import { CANCELLED } from "../run/run-result.js";
import type { Fault } from "../errors.js";
import { publishedSchema } from "../published-schema.js";
import { RUN_PHASES, type RunPhase } from "../run/phase.js";
import { asksForBudget } from "../run/question.js";

/** What somebody can be told of a run. */
export const WEBHOOK_EVENTS = [
  "started",
  "running",
  "question",
  "paused",
  "completed",
  "failed",
  "cancelled",
] as const;
/** The last is what `interlock notify test` says. */
const NOTICE_EVENTS = [...WEBHOOK_EVENTS, "test"] as const;
export type NoticeEvent = (typeof NOTICE_EVENTS)[number];

/** The version of a notice's data. What is added keeps it; what is taken away or means something else does not. */
const NOTICE_SCHEMA_VERSION = "1.0";

const noticeDataSchema = z.object({
  schemaVersion: z.literal(NOTICE_SCHEMA_VERSION).describe("The version of the notices."),
  event: z.enum(NOTICE_EVENTS).describe("What has happened."),
  runId: z.string().describe("The run it happened in."),
  workflowId: z.string().describe("Temporal's id of the run's workflow."),
  change: z.int().min(0).describe("Which change of the run's phase it is, from 1; 0 is its start."),
  phase: z.enum(RUN_PHASES).describe("The run's phase since then."),
  package: z.string().describe("The package's id."),
  workflow: z.string().describe("Which workflow of it."),
  projectId: z.string().describe("The project's id in the store."),
  project: z.string().describe("The name of the project's directory."),
  node: z.string().describe("The node it happened at."),
  question: z
    .object({
      id: z.string().optional().describe("The question's id, <visit>.<turn>."),
      text: z.string().describe("The question, printable, on several lines."),
      code: z.string().optional().describe("Why the engine asks, where it does."),
    })
    .optional()
    .describe("What the run asks."),
  failure: z
    .object({
      code: z.string().describe("An error code."),
      message: z.string().describe("A sentence."),
    })
    .optional()
    .describe("Why the run has failed."),
  rehearsal: z.boolean().optional().describe("A scripted model answers instead of a real one."),
  command: z.string().optional().describe("The command that goes on from here."),
  webUrl: z
    .string()
    .optional()
    .describe("The run's page in Temporal's Web UI, where the worker knows its address."),
});

const noticeSchema = z.object({
  type: z.string().describe("`run.` and the event."),
  timestamp: z.string().describe("When it happened, UTC, ISO 8601."),
  data: noticeDataSchema.describe("The run, and what is to be done."),
});

/** One thing that has happened in a run, as somebody far from it is told. Its JSON is what a webhook of format `json` is sent. */
export type Notice = z.infer<typeof noticeSchema>;
export type NoticeData = z.infer<typeof noticeDataSchema>;

/** A notice that was written down; undefined where it cannot be understood. */
export function parseNotice(value: unknown): Notice | undefined {
  return noticeSchema.safeParse(value).data;
}

export function toNotice(data: Omit<NoticeData, "schemaVersion">, at: Date): Notice {
  return {
    type: `run.${data.event}`,
    timestamp: at.toISOString(),
    data: { schemaVersion: NOTICE_SCHEMA_VERSION, ...data },
  };
}

/** What a change of phase is, to somebody who is told of it. */
export interface PhaseChange {
  /** Counts the run's phase changes from 1; 0 is its start. */
  readonly change: number;
  readonly phase: RunPhase;
  readonly paused?: boolean;
  /** A pause, its end or a larger budget is recorded; the phase is what it was. */
  readonly again?: boolean;
  readonly fault?: Fault;
}

/** Undefined where nobody needs to be told: the same question still waits, or nothing has begun. */
export function eventOf({ change, phase, paused, again, fault }: PhaseChange): NoticeEvent | undefined {
  if (change === 0) return "started";
  if (again === true && paused === true) return "paused";
  if (phase === "waiting-user") return again === true ? undefined : "question";
  if (phase === "failed") return isCancelled(fault) ? "cancelled" : "failed";
  return phase === "idle" ? undefined : phase;
}

function isCancelled(fault: Fault | undefined): boolean {
  return fault?.code === CANCELLED.code && fault.message === CANCELLED.message;
}

/** The command that goes on from there. */
export function commandOf({ event, runId, question }: Pick<NoticeData, "event" | "runId" | "question">) {
  if (event === "question") {
    if (asksForBudget(question)) {
      return `interlock budget ${runId} --add-turns|--add-tokens|--add-cost <n>`;
    }
    return `interlock answer ${runId}${question?.id === undefined ? "" : ` --question ${question.id}`}`;
  }
  if (event === "paused") return `interlock resume ${runId}`;
  if (event === "failed" || event === "cancelled") return `interlock retry ${runId}`;
  return event === "completed" ? `interlock artifacts ${runId}` : `interlock watch ${runId}`;
}

/** What webhooks of format `json` are sent, as a JSON Schema by file name. Generated into `schemas/`. */
export function noticeJsonSchemas(): ReadonlyMap<string, object> {
  const title = "A notice of a run, as webhooks of format json are sent it";
  const id = `notices:${NOTICE_SCHEMA_VERSION}`;
  return new Map([publishedSchema(noticeSchema, { name: "notices", id, title })]);
}
