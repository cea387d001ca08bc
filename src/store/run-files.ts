import { join } from "node:path";
import { AuditLog } from "./audit-log.js";
import { CallJournal } from "./call-journal.js";
import { Conversation } from "./conversation.js";
import { type HeldLock, withFileLock } from "./file-lock.js";
import { type StateFile, openStateFile } from "./state-file.js";
import { type StatusFile, openStatusFile } from "./status-file.js";

/** The files of one run (contracts §3). What lies beside `state/` has no mount. */
export class RunFiles {
  readonly stateDir: string;
  readonly logFile: string;
  readonly audit: AuditLog;
  readonly calls: CallJournal;
  readonly state: StateFile;
  readonly status: StatusFile;
  private readonly dir: string;
  private readonly conversations = new Map<string, Conversation>();

  constructor(dir: string) {
    this.dir = dir;
    this.stateDir = join(dir, "state");
    this.logFile = join(this.stateDir, "logs", "execution.jsonl");
    this.audit = new AuditLog(this.logFile, join(dir, "audit.lock"));
    this.calls = new CallJournal(join(dir, "calls.jsonl"), join(dir, "calls.lock"));
    this.state = openStateFile(this.stateDir);
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

  /** Runs `action` while nobody else changes the state document of this run. */
  whileStateIsMine<T>(action: (lock: HeldLock) => Promise<T>): Promise<T> {
    return withFileLock(join(this.dir, "state.lock"), action, () => this.state.takeOver());
  }
}
