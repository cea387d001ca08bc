import { readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Finding } from "./finding.js";
import type { ChaosPlan } from "./plan.js";

/** Everything the checker looks at beside the store and the projects: it needs no process that took part. */
export interface Evidence {
  readonly plan: ChaosPlan;
  readonly operations: readonly RunOperations[];
  readonly requests: readonly ModelRequest[];
  readonly workers: readonly WorkerLife[];
  readonly figures: Figures;
  readonly notices: readonly ReceivedNotice[];
  /** How often each call outside was made, by what it is known by there. */
  readonly ledger: Readonly<Record<string, number>>;
  readonly packages: readonly InstalledVersions[];
  /** The ids of the runs that were pruned. */
  readonly pruned: readonly string[];
  /** What was wrong with stores that were restored from backups. */
  readonly ofBackups: readonly Finding[];
  /** What was kept of them before: for each a directory like its project's in the store, with this one run in it. */
  readonly keptDir: string;
  /** Where the store is. */
  readonly storeDir: string;
  /** The directory of the projects. */
  readonly projectsDir: string;
  /** Temporal's histories as JSON, one file for each execution: `<runId>.<number>.json`. */
  readonly historiesDir: string;
}

/** What somebody was told of a run. */
export interface ReceivedNotice {
  readonly id: string;
  readonly body: string;
}

/** The ids of a package's versions. The runs are of one, and a newer and an older one are there that nobody asked for. */
export interface InstalledVersions {
  readonly workflow: string;
  readonly oldest: string;
  readonly own: string;
  readonly newest: string;
}

/** What the operator did for a run. */
export interface RunOperations {
  readonly runId: string;
  readonly projectId: string;
  /** What Temporal said of it last. */
  readonly status: string;
  /** The codes it failed with before it was retried; `ENGINE_ABORTED` where it was cancelled. */
  readonly failures: readonly string[];
  readonly pauses: readonly Pause[];
  readonly raises: readonly Raise[];
  readonly answers: readonly { readonly answerId: string; readonly nodeId: string; readonly text: string }[];
}

/** From when to when a run was paused for sure. */
export interface Pause {
  /** When the operator was told so. */
  readonly from: number;
  /** When it first asked for the pause's end; absent when it never did. */
  readonly to?: number;
}

/** What was added to a budget. */
export interface Raise {
  readonly raiseId: string;
  /** When it was sent first. */
  readonly at: number;
  readonly scope: "run" | "node";
  readonly turns: number;
  /** The run has said that it took it. */
  readonly isAccepted: boolean;
}

/** A request as the model saw it. Times are those of one clock, in milliseconds. */
export interface ModelRequest {
  readonly runId: string;
  readonly turn: string;
  readonly worker: string;
  readonly at: number;
  /** What its answer says of its model: whoever acts on the answer has written this down. */
  readonly name: string;
  readonly fault?: string;
  readonly deviation?: string;
  /** When the worker had the whole answer. */
  answeredAt?: number;
}

/** What happened to a worker. */
export interface WorkerLife {
  readonly name: string;
  /** It may have been stopped at any time: a failpoint was set to do so. */
  readonly mayPause: boolean;
  readonly events: readonly {
    readonly at: number;
    readonly what: "started" | "stopped" | "woken" | "ended";
  }[];
}

/** What was done to the processes, by kind. */
export interface Figures {
  readonly faults: Readonly<Record<string, number>>;
  /** How often each failpoint was passed. */
  readonly hits: Readonly<Record<string, number>>;
  /** How often a process was killed or stopped there. */
  readonly struck: Readonly<Record<string, number>>;
}

const FILE = "evidence.json";

export async function writeEvidence(dir: string, evidence: Evidence): Promise<void> {
  await writeFile(join(dir, FILE), JSON.stringify(evidence));
}

export async function readEvidence(dir: string): Promise<Evidence> {
  return JSON.parse(await readFile(join(dir, FILE), "utf8")) as Evidence; // written above
}

/** The histories of a run, oldest execution first. */
export async function readHistories(dir: string, runId: string): Promise<readonly string[]> {
  const names = (await readdir(dir).catch(() => [])).filter((name) => name.startsWith(`${runId}.`));
  const place = (name: string) => Number(name.split(".").at(-2));
  const inOrder = names.sort((a, b) => place(a) - place(b));
  return Promise.all(inOrder.map((name) => readFile(join(dir, name), "utf8")));
}
