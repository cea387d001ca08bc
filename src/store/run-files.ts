import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { AuditLog } from "./audit-log.js";
import { Blobs } from "./blobs.js";
import { Boundaries } from "./boundaries.js";
import { CallJournal } from "./call-journal.js";
import { Conversation } from "./conversation.js";
import { type HeldLock, withFileLock } from "./file-lock.js";
import { GraphStateFiles } from "./graph-state-files.js";
import { RunRequestFile } from "./run-request.js";
import { type StateFile, openStateFile } from "./state-file.js";
import { type StatusFile, openStatusFile } from "./status-file.js";

/** The files of one run (contracts §3). What lies beside `state/` has no mount. */
export class RunFiles {
  readonly dir: string;
  readonly stateDir: string;
  readonly logFile: string;
  readonly audit: AuditLog;
  readonly calls: CallJournal;
  readonly state: StateFile;
  readonly status: StatusFile;
  readonly graphState: GraphStateFiles;
  readonly boundaries: Boundaries;
  readonly request: RunRequestFile;
  readonly blobs: Blobs;
  private readonly conversations = new Map<string, Conversation>();

  constructor(dir: string) {
    this.dir = dir;
    this.stateDir = join(dir, "state");
    this.logFile = join(this.stateDir, "logs", "execution.jsonl");
    this.audit = new AuditLog(this.logFile, join(dir, "audit.lock"));
    this.calls = new CallJournal(join(dir, "calls.jsonl"), join(dir, "calls.lock"));
    this.state = openStateFile(this.stateDir);
    this.graphState = new GraphStateFiles(dir);
    this.boundaries = new Boundaries(join(dir, "boundaries.jsonl"), join(dir, "boundaries.lock"));
    this.request = new RunRequestFile(dir);
    this.blobs = new Blobs(join(dir, "blobs"));
    this.status = openStatusFile(join(dir, "status.json"), join(dir, "status.lock"));
  }

  /** A conversation of the run, by name: `visit-1`, or `run` where one is kept for the whole run. */
  conversation(name: string): Conversation {
    if (!/^[a-z]+(-\d+)?$/.test(name)) throw new Error("A conversation's name is a word and a number.");
    const known = this.conversations.get(name);
    if (known !== undefined) return known;
    const path = join(this.dir, "conversation", `${name}.jsonl`);
    const conversation = new Conversation(path, join(this.dir, "conversation.lock"));
    this.conversations.set(name, conversation);
    return conversation;
  }

  /** The highest number of a visit that has a conversation. */
  async newestVisit(): Promise<number> {
    const names = await readdir(join(this.dir, "conversation")).catch(() => []);
    return Math.max(0, ...names.map((name) => Number(/^visit-(\d+)\.jsonl$/.exec(name)?.[1] ?? 0)));
  }

  /** Runs `action` while nobody else changes the state document of this run. */
  whileStateIsMine<T>(action: (lock: HeldLock) => Promise<T>): Promise<T> {
    return withFileLock(join(this.dir, "state.lock"), action, () => this.state.takeOver());
  }
}
