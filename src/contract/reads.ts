import { z } from "zod";
import { type Failed, type Fault, type Result, fail, ok } from "../core/errors.js";
import type { JsonObject } from "../core/json.js";
import { schemaErrors } from "../core/schema-errors.js";
import { count, id, path, run, sha256 } from "./question-fields.js";
import type { JsonAnswers } from "./read-answers.js";
import { signatureSchema } from "./signed.js";
import { visitQuestions } from "./visit-reads.js";

export type * from "./read-answers.js";

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

/** How many more conversations are asked for at once, each to its end. */
export const MAX_MORE_CONVERSATIONS = 49;

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
    /** Others of the run, each to its end: a worker of an earlier version refuses the question. */
    more: z.array(id).min(1).max(MAX_MORE_CONVERSATIONS).exactOptional(),
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

export const NOT_UNDERSTOOD = "The store's worker answers in a way that this version does not understand.";

/** What an activity has returned, parsed once: it may be a worker of another version. */
export function parseAnswer(answer: unknown): Result<AnswerPage> {
  const parsed = answerSchema.safeParse(answer);
  if (parsed.success) return parsed.data as Result<AnswerPage>; // a fault's code is one of ours, or shown as it is
  return fail("E_INTERNAL", NOT_UNDERSTOOD);
}

function refused(errors: ReturnType<typeof schemaErrors>): Failed {
  const [first] = errors;
  return fail(
    "E_SCHEMA_VALIDATION",
    `A store cannot be asked that: ${first?.path || "the question"}: ${first?.message ?? "is not valid"}.`,
  );
}

/** Reads a store, wherever it is: what it says is the same. */
export interface StoreReader {
  /** Its store is on this machine: a question costs Temporal nothing. From elsewhere each is some 30 ms of the server's CPU. */
  readonly isAtHand: boolean;
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
