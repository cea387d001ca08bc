import { z } from "zod";
import { type Fault, type Result, fail, ok } from "../core/errors.js";
import type { JsonObject, JsonValue } from "../core/json.js";
import type { RunEvent } from "../core/run/run-event.js";
import type { ModelState } from "../core/run/run-state.js";
import type { Usage } from "../core/run/usage.js";
import { schemaErrors } from "../core/schema-errors.js";
import { count, id, path, run, sha256 } from "./question-fields.js";
import { signatureSchema } from "./signed.js";
import { type VisitAnswers, visitQuestions } from "./visit-reads.js";

/**
 * What is asked of a store by whoever has nothing but Temporal (contracts §14): each question is an activity's name. An answer is
 * a text of JSON or a file's bytes; it is handed out in pages, none of which exceeds what a payload may have.
 */

/** The bytes of a page. As base64 it fits into a payload. */
export const READ_PAGE_BYTES = 176 * 1024;

/** The largest `.bmad` that is handed over in pieces. */
export const MAX_UPLOAD_BYTES = 8 * 1024 * 1024;

/** The longest a signed question is good for. */
export const READ_SIGNATURE_MS = 5 * 60_000;

/** How many tool results are asked for at once. */
export const MAX_ASKED_CALLS = 50;

/** The longest tail of an audit log that is asked for. */
export const MAX_TAIL = 100_000;

/** Answered by JSON. */
const jsonQuestions = {
  "read.store": z.strictObject({}),
  "read.runs": z.strictObject({ project: path.exactOptional() }),
  "read.run": z.strictObject(run),
  "read.request": z.strictObject(run),
  "read.graph": z.strictObject(run),
  "read.state": z.strictObject(run),
  "read.visits": z.strictObject(run),
  "read.conversation": z.strictObject({
    ...run,
    name: id,
    reasoning: z.boolean().exactOptional(),
    /** The entries from this one on, counted from 0; negative: so many from the end. */
    from: z.int().min(-1_000_000_000).max(1_000_000_000).exactOptional(),
    limit: count.exactOptional(),
  }),
  "read.results": z.strictObject({ ...run, calls: z.array(id).min(1).max(MAX_ASKED_CALLS) }),
  "read.events": z.strictObject({
    ...run,
    /** Where the answer before has ended. */
    at: z.strictObject({ offset: count, lines: count }).exactOptional(),
    /** Without `at`: from that event on. */
    seq: count.exactOptional(),
    /** Without `at`: so many lines of the log, its last ones. */
    tail: count.max(MAX_TAIL).exactOptional(),
  }),
  /** What comes of the answer that a model is giving. */
  "read.live": z.strictObject({
    ...run,
    /** What of it has been read before. */
    since: z
      .strictObject({ execution: count, visit: count, turn: count, attempt: count, offset: count })
      .exactOptional(),
  }),
  "read.artifacts": z.strictObject(run),
  "read.files": z.strictObject(run),
  "read.fork": z.strictObject({
    ...run,
    fromNode: id.exactOptional(),
    visit: count.exactOptional(),
    project: path.exactOptional(),
  }),
  "read.packages": z.strictObject({}),
  "read.package": z.strictObject({ packageId: id }),
  "read.projects": z.strictObject({}),
  ...visitQuestions,
} as const;

/** Answered by a file's bytes. */
const byteQuestions = {
  "read.artifact": z.strictObject({ ...run, path }),
  "read.file": z.strictObject({ ...run, name: path }),
} as const;

/** Asked once, and answered by JSON: they change the store. */
const changeQuestions = {
  "package.upload": z.strictObject({
    sha256,
    size: z.int().min(1).max(MAX_UPLOAD_BYTES),
    offset: count,
    base64: z.base64().max(Math.ceil(READ_PAGE_BYTES / 3) * 4),
  }),
  "package.install": z.strictObject({ sha256, size: z.int().min(1).max(MAX_UPLOAD_BYTES) }),
  "package.remove": z.strictObject({ packageId: id, closedRuns: z.array(id).max(5_000) }),
} as const;

const questions = { ...jsonQuestions, ...byteQuestions, ...changeQuestions };

export type ChangeName = keyof typeof changeQuestions;
export type ByteReadName = keyof typeof byteQuestions;
export type JsonReadName = keyof typeof jsonQuestions;
export type StoreQuestionName = keyof typeof questions;
export type StoreQuestion<N extends StoreQuestionName> = z.infer<(typeof questions)[N]>;

/** The activities that stores answer, by name. */
export const STORE_QUESTIONS = Object.keys(questions) as readonly StoreQuestionName[]; // the keys of that table

export function isStoreQuestion(name: string): name is StoreQuestionName {
  return Object.hasOwn(questions, name);
}

export function isChange(name: StoreQuestionName): name is ChangeName {
  return Object.hasOwn(changeQuestions, name);
}

/** What an activity is asked: a question, and which page of its answer. */
export interface AskedPage {
  readonly question: JsonObject;
  /** The store that is meant; absent means the queue's. */
  readonly storeId?: string;
  /** Absent means the first. `version` is that of the answer which the first page began. */
  readonly page?: { readonly offset: number; readonly version: string };
  /** Until when a signed question may be answered, as ISO time. */
  readonly until?: string;
  readonly signature?: string;
}

const askedSchema = z.strictObject({
  // Its own schema says what may be in it.
  question: z.record(z.string(), z.unknown()),
  storeId: id.exactOptional(),
  page: z.strictObject({ offset: count, version: id }).exactOptional(),
  until: z.iso.datetime().exactOptional(),
  signature: signatureSchema.exactOptional(),
});

const pageSchema = z.strictObject({
  storeId: id,
  /** Of the whole answer, in bytes. */
  size: count,
  /** The same for every page of one answer. */
  version: id,
  offset: count,
  base64: z.base64(),
});

/** A piece of an answer. */
export type AnswerPage = z.infer<typeof pageSchema>;

const answerSchema = z.union([
  z.strictObject({ ok: z.literal(true), value: pageSchema }),
  z.strictObject({
    ok: z.literal(false),
    error: z.object({ code: z.string(), message: z.string(), details: z.unknown().optional() }),
  }),
]);

/** What an activity is given, parsed once. Fault: `E_SCHEMA_VALIDATION` with the field. */
export function parseAsked(argument: unknown): Result<AskedPage> {
  const parsed = askedSchema.safeParse(argument);
  if (!parsed.success) return refused(schemaErrors(parsed.error.issues));
  const { question, ...rest } = parsed.data;
  return ok({ ...rest, question: question as JsonObject }); // Temporal has decoded it from JSON
}

/** A question of that name, parsed once. Fault: `E_SCHEMA_VALIDATION` with the field. */
export function parseQuestion<N extends StoreQuestionName>(
  name: N,
  question: unknown,
): Result<StoreQuestion<N>> {
  const parsed = questions[name].safeParse(question);
  if (!parsed.success) return refused(schemaErrors(parsed.error.issues));
  return ok(parsed.data as StoreQuestion<N>); // by the schema of that name
}

/** What an activity has returned, parsed once: it may be a worker of another version. */
export function parseAnswer(answer: unknown): Result<AnswerPage> {
  const parsed = answerSchema.safeParse(answer);
  if (parsed.success) return parsed.data as Result<AnswerPage>; // a fault's code is one of ours, or shown as it is
  return fail("E_INTERNAL", "The store's worker answers in a way that this version does not understand.");
}

function refused(errors: ReturnType<typeof schemaErrors>): Result<never> {
  const [first] = errors;
  return fail(
    "E_SCHEMA_VALIDATION",
    `A store cannot be asked that: ${first?.path || "the question"}: ${first?.message ?? "is none"}.`,
  );
}

/** The answers, by question. What is JSON of the store's own files is as `src/reads/` makes it. */
export interface JsonAnswers extends VisitAnswers {
  "read.store": { readonly storeId: string; readonly taskQueue: string };
  "read.runs": { readonly runs: readonly StoredRun[]; readonly damaged: readonly string[] };
  "read.run": RunFacts;
  "read.request": { readonly request: JsonObject | null; readonly place: string };
  "read.graph": { readonly graph: JsonObject | null; readonly projectRoot: string };
  "read.state": StoredGraphState;
  "read.visits": { readonly visits: readonly StoredVisit[] };
  "read.conversation": { readonly entries: readonly TranscriptEntry[]; readonly total: number };
  "read.results": { readonly results: readonly { readonly id: string; readonly result: JsonValue }[] };
  "read.events": StoredEvents;
  /** Null while none is given. */
  "read.live": { readonly answer: JsonObject | null };
  "read.artifacts": { readonly artifacts: readonly StoredArtifact[] };
  "read.files": { readonly files: readonly StoredFile[] };
  "read.fork": StoredForkPoint;
  "read.packages": { readonly packages: readonly StoredPackage[] };
  "read.package": ShownPackage;
  "read.projects": { readonly roots: readonly ShownRoot[]; readonly configured: readonly string[] };
  "package.upload": { readonly received: number };
  "package.install": StoredPackage & { readonly findings: readonly JsonObject[] };
  "package.remove": { readonly packageId: string };
}

/** `exchanged`: what lies there is not what was registered. */
export interface ShownRoot {
  readonly path: string;
  readonly access: string;
  readonly registeredAt: string;
  readonly state: "ok" | "missing" | "exchanged";
}

/** What the index says of a run. */
export interface StoredRun {
  readonly runId: string;
  readonly workflowId?: string;
  readonly projectId: string;
  readonly packageId: string;
  readonly workflowRef: string;
  readonly activeAgentId: string;
  readonly phase: "idle" | "running" | "waiting-user" | "completed" | "failed";
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  readonly forkedFrom?: { readonly runId: string; readonly visit: number };
  readonly bundle?: JsonObject;
}

/** What a run's files say of it. */
export interface RunFacts {
  readonly metadata: StoredRun;
  readonly projectRoot: string | null;
  /** As `status.json` has it. */
  readonly status: JsonObject | null;
  readonly standing: {
    readonly currentNodeId: string;
    readonly stepsCompleted: readonly string[];
    readonly variables: JsonObject;
    readonly artifacts: readonly string[];
    /** What of the files is missing or broken. */
    readonly problem?: string;
  };
  /** The artifacts that were there before the run, and that it has written; absent from a worker of an earlier version. */
  readonly writtenAgain?: readonly string[];
  /** What each node has used, as the audit log says; of many the last ones. Absent where the log cannot be read. */
  readonly usageByNode?: readonly { readonly nodeId: string; readonly usage: Usage }[];
  /** Which models the run uses, where it knows. */
  readonly model?: ModelState;
  /** On the store's machine. */
  readonly places: {
    readonly stateFile: string | null;
    readonly logFile: string | null;
    readonly sessionFolder: string | null;
  };
}

export interface StoredGraphState {
  readonly isBundle: boolean;
  /** Absent for a run without a story. */
  readonly held?: { readonly state: JsonObject; readonly initial: JsonObject };
  readonly snapshots: readonly {
    readonly visit: number;
    readonly nodeId: string;
    readonly timestamp: string;
    readonly state: JsonObject;
  }[];
}

/** What has happened in a run, a page of it. */
export interface StoredEvents {
  readonly runId: string;
  readonly phase: StoredRun["phase"];
  /** When the run was made, ISO time. */
  readonly createdAt: string;
  readonly events: readonly RunEvent[];
  /** Where the next page begins. */
  readonly next: { readonly offset: number; readonly lines: number };
  /** There is more already. */
  readonly more: boolean;
}

/** A conversation of a run. */
export interface StoredVisit {
  /** What `read.conversation` is asked for. */
  readonly name: string;
  /** Where the run stood then, as far as its log tells. */
  readonly nodeId: string | null;
  readonly bytes: number;
}

/** What was said, in order. */
export type TranscriptEntry =
  | { readonly type: "begin"; readonly visit: number }
  /** The conversation had grown too long: from here on the model did not see the results of so many calls. */
  | { readonly type: "fold"; readonly visit: number; readonly turn: number; readonly calls: number }
  | {
      readonly type: "user";
      readonly id: string;
      readonly nodeId: string;
      readonly text: string;
      /** Who has said it, where the run knows. */
      readonly by?: string;
    }
  | { readonly type: "correction"; readonly visit: number; readonly turn: number; readonly text: string }
  | {
      readonly type: "assistant";
      readonly visit: number;
      readonly turn: number;
      readonly text: string;
      readonly model: string;
      readonly calls: readonly TranscriptCall[];
      /** What the model has thought aloud, where it was asked for. */
      readonly reasoning?: string;
    };

export interface TranscriptCall {
  readonly id: string;
  readonly name: string;
  /** The start of what it was called with. */
  readonly summary: string;
  /** What it came to: `ok` or a code; absent where nothing is recorded. */
  readonly outcome?: string;
}

export interface StoredArtifact {
  /** Relative to the project, or to the session folder of a bundle run. */
  readonly path: string;
  /** Null for a file that cannot be read; `problem` says why. */
  readonly bytes: number | null;
  readonly sha256: string | null;
  readonly nodeId: string | null;
  readonly problem?: string;
}

/** A file of a run's folder. */
export interface StoredFile {
  readonly name: string;
  readonly bytes: number;
  /** ISO time. */
  readonly modifiedAt: string;
}

export interface StoredForkPoint {
  readonly runId: string;
  readonly visit: number;
  readonly nodeId: string;
  readonly projectRoot: string;
  readonly isElsewhere: boolean;
  readonly files: readonly {
    readonly path: string;
    readonly sha256: string;
    readonly status: "same" | "differs" | "missing" | "lost" | "restored";
  }[];
}

export interface StoredPackage {
  readonly packageId: string;
  readonly name: string;
  readonly version: string;
}

export interface ShownPackage extends StoredPackage {
  /** Of its content; absent where the store's worker is of an earlier version. */
  readonly sha256?: string;
  readonly description: string;
  readonly workflows: readonly {
    readonly id: string;
    readonly isEntry: boolean;
    readonly nodes: readonly string[];
  }[];
  readonly agents: readonly { readonly id: string; readonly name: string; readonly title: string }[];
}

/** Reads a store, wherever it is: what it says is the same. */
export interface StoreReader {
  /** Faults: those of the question; `E_PRECONDITION_FAILED` where nobody who has the store answers. */
  ask<N extends JsonReadName | ChangeName>(
    name: N,
    question: StoreQuestion<N>,
  ): Promise<Result<JsonAnswers[N]>>;
  /** A file's bytes, a page at a time. Throws a `ReadRefused`. */
  bytes<N extends ByteReadName>(name: N, question: StoreQuestion<N>): AsyncGenerator<Uint8Array, void>;
}

/** A file could not be read, or not to its end. */
export class ReadRefused extends Error {
  readonly fault: Fault;

  constructor(fault: Fault) {
    super(fault.message);
    this.name = "ReadRefused";
    this.fault = fault;
  }
}

/** One page of an answer, from wherever the store is. */
export type PageSource = (name: StoreQuestionName, asked: AskedPage) => Promise<Result<AnswerPage>>;
