import type { JsonObject, JsonValue } from "../core/json.js";
import type { RunEvent } from "../core/run/run-event.js";
import type { ModelState } from "../core/run/run-state.js";
import type { Usage } from "../core/run/usage.js";
import type { VisitAnswers } from "./visit-reads.js";

/** The answers, by question. What is JSON of the store's own files is as `src/reads/` makes it. */
export interface JsonAnswers extends VisitAnswers {
  "read.store": { readonly storeId: string; readonly taskQueue: string };
  "read.runs": { readonly runs: readonly StoredRun[]; readonly damaged: readonly string[] };
  "read.run": RunFacts;
  "read.request": { readonly request: JsonObject | null; readonly place: string };
  "read.graph": { readonly graph: JsonObject | null; readonly projectRoot: string };
  "read.state": StoredGraphState;
  "read.visits": { readonly visits: readonly StoredVisit[] };
  "read.conversation": {
    readonly entries: readonly TranscriptEntry[];
    readonly total: number;
    /** Of each that `more` names. */
    readonly more?: readonly (readonly TranscriptEntry[])[];
  };
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
  /** Of a subworkflow's run: the run that has started it. */
  readonly parentRunId?: string;
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
  /** What the run has used, as the audit log says; `status` knows it as of the last change of its phase. Absent as `usageByNode` is. */
  readonly usage?: Usage;
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
