import { z } from "zod";
import type { StateDiffItem } from "../core/graph-state/schemas.js";
import type { JsonObject } from "../core/json.js";
import type { Finding } from "../core/package/findings.js";
import type { WorkflowGraph } from "../core/package/graph.js";
import type { RunBelowState } from "../core/run/run-state.js";
import type { Bounded } from "./bounded.js";
import { count, id, run, sha256 } from "./question-fields.js";

/**
 * Questions for whoever shows a run piece by piece: each answer is bounded, however long the run is.
 */

/** Visits that one answer names. */
export const MAX_VISITS = 2_000;
/** Writes that one answer names. */
export const MAX_WRITES = 1_000;
/** Files that a bundle run has read, in one answer. */
export const MAX_FILES_READ = 500;
/** Characters of one text. As JSON they come to half of what the page answers at most. */
export const MAX_TEXT_CHARS = 256 * 1024;

/** Answered by JSON. */
export const visitQuestions = {
  "read.course": z.strictObject(run),
  "read.call": z.strictObject({ ...run, name: id, call: id }),
  "read.writes": z.strictObject(run),
  "read.content": z.strictObject({ ...run, sha256 }),
  "read.document": z.strictObject({ ...run, visit: count.exactOptional() }),
  "read.change": z.strictObject({ ...run, visit: count.exactOptional() }),
  "read.workflows": z.strictObject({ packageId: id }),
} as const;

/** The answers, by question. */
export interface VisitAnswers {
  "read.course": RunCourse;
  "read.call": CalledTool;
  "read.writes": { readonly writes: readonly StoredWrite[] };
  /** Null where it is not kept, or no UTF-8. */
  "read.content": { readonly text: Bounded | null };
  "read.document": StoredDocument;
  "read.change": { readonly change: StoredChange | null };
  "read.workflows": CheckedPackage;
}

interface Move {
  readonly from: string;
  readonly to: string;
  readonly count: number;
}

/** Which way a run has gone. Counts are of the whole run. */
export interface RunCourse {
  /** Those that have ended, in order: of very many the last ones. */
  readonly visits: readonly {
    readonly visit: number;
    readonly nodeId: string;
    readonly next: string;
    readonly endedAt: string;
    /** The run of the subworkflow that ran in it; absent from a worker of an earlier version. */
    readonly below?: RunBelowState;
  }[];
  readonly visitCount: number;
  /** Where it stands after the last of them. */
  readonly next: string;
  readonly moves: readonly Move[];
  /** Moves that the guard has refused. */
  readonly refused: readonly Move[];
  readonly entered: readonly { readonly nodeId: string; readonly count: number }[];
  /** What a bundle run has read of its workflow, in the order of the first time. */
  readonly filesRead: readonly { readonly path: string; readonly reads: number; readonly firstAt: string }[];
}

export interface CalledTool {
  /** As the model has spelled it. */
  readonly name: string;
  /** Its arguments as JSON, as the model has written them. */
  readonly arguments: Bounded;
  /** Its result as JSON; null where none is recorded. */
  readonly result: Bounded | null;
}

/** A file of the project that a call has written. */
export interface StoredWrite {
  readonly callId: string;
  readonly path: string;
  readonly sha256: string;
  readonly bytes?: number;
  /** What the run had written there before. */
  readonly previousSha256?: string;
  /** The content is there still. */
  readonly isKept: boolean;
}

export interface StoredDocument {
  /** After which visit; null for now. */
  readonly visit: number | null;
  /** Where the run stood then. */
  readonly nodeId: string;
  readonly text: Bounded;
  readonly variables: JsonObject;
}

/** What a visit has changed of the graph state. */
export interface StoredChange {
  readonly fromVisit: number;
  /** Null for now. */
  readonly toVisit: number | null;
  readonly added: readonly StateDiffItem[];
  readonly changed: readonly StateDiffItem[];
  readonly removed: readonly StateDiffItem[];
  /** There are more of them. */
  readonly isCut: boolean;
}

/** A package as its check sees it. */
export interface CheckedPackage {
  readonly packageId: string;
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly workflows: readonly {
    readonly id: string;
    readonly isEntry: boolean;
    readonly graph: WorkflowGraph;
  }[];
  readonly agents: readonly {
    readonly id: string;
    readonly name: string;
    readonly title: string;
    readonly icon: string;
    readonly role: Bounded;
  }[];
  readonly findings: readonly Finding[];
}
