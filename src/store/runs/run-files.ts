import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { NewestKept } from "../../core/newest-kept.js";
import { AuditLog, type AuditObserver } from "./audit-log.js";
import { Blobs } from "./blobs.js";
import { Boundaries } from "./boundaries.js";
import { CallJournal } from "./call-journal.js";
import { Conversation, takeOverConversations } from "./conversation.js";
import { Executions } from "./executions.js";
import { FencedLock, type HeldLock, NO_LOCK } from "../disk/fenced-lock.js";
import { GraphStateFiles } from "./graph-state-files.js";
import { standsThere } from "../disk/own-file.js";
import { Notices } from "./notices.js";
import { RunRequestFile } from "./run-request.js";
import { type StateFile, openStateFile } from "./state-file.js";
import { SpentFile } from "./spent-file.js";
import { type StatusFile, openStatusFile } from "./status-file.js";

/** A run has a conversation for each visit: the last ones are known, others are read again where somebody asks. */
const KNOWN_CONVERSATIONS = 16;

/**
 * The files of one run (contracts §3). What lies beside `state/` has no mount. Opened for an execution of the run, they are
 * changed only until a newer one takes over.
 */
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
  readonly executions: Executions;
  readonly notices: Notices;
  readonly spent: SpentFile;
  /** The claim of the execution that the files are opened for. */
  readonly claim: HeldLock;
  private readonly stateLock: FencedLock;
  private readonly conversationLock: FencedLock;
  private readonly conversations = new NewestKept<string, Conversation>(KNOWN_CONVERSATIONS);

  constructor(dir: string, execution?: number, onRecorded?: AuditObserver) {
    this.dir = dir;
    this.executions = new Executions(dir);
    this.claim = execution === undefined ? NO_LOCK : this.executions.claimOf(execution);
    this.stateDir = join(dir, "state");
    this.logFile = join(this.stateDir, "logs", "execution.jsonl");
    this.audit = new AuditLog(this.logFile, join(dir, "audit.lock"), this.claim, onRecorded);
    this.calls = new CallJournal(join(dir, "calls.jsonl"), join(dir, "calls.lock"), this.claim);
    this.state = openStateFile(this.stateDir);
    this.stateLock = new FencedLock(join(dir, "state.lock"), () => this.state.takeOver(), this.claim);
    this.conversationLock = new FencedLock(
      join(dir, "conversation.lock"),
      (lock) => takeOverConversations(join(dir, "conversation"), lock),
      this.claim,
    );
    this.graphState = new GraphStateFiles(dir, this.claim);
    this.boundaries = new Boundaries(join(dir, "boundaries.jsonl"), join(dir, "boundaries.lock"), this.claim);
    this.request = new RunRequestFile(dir, this.claim);
    this.blobs = new Blobs(join(dir, "blobs"));
    this.notices = new Notices(join(dir, "notices"), join(dir, "notices.lock"));
    this.spent = new SpentFile(join(dir, "spent.json"), join(dir, "spent.lock"), this.claim);
    this.status = openStatusFile(join(dir, "status.json"), join(dir, "status.lock"), this.claim);
  }

  /** A conversation of the run, by name: `visit-1`, or `run` where one is kept for the whole run. */
  conversation(name: string): Conversation {
    if (!/^[a-z]+(-\d+)?$/.test(name)) throw new Error("A conversation's name is a word and a number.");
    const known = this.conversations.get(name);
    if (known !== undefined) return known;
    const path = join(this.dir, "conversation", `${name}.jsonl`);
    const conversation = new Conversation(path, join(this.dir, "conversation.lock"), this.claim);
    this.conversations.set(name, conversation);
    return conversation;
  }

  /** The highest number of a visit that has a conversation. Throws what the system says. */
  async newestVisit(): Promise<number> {
    const dir = join(this.dir, "conversation");
    const names = standsThere(dir) ? await readdir(dir) : [];
    return Math.max(0, ...names.map((name) => Number(/^visit-(\d+)\.jsonl$/.exec(name)?.[1] ?? 0)));
  }

  /** Runs `action` while nobody else changes the state document of this run. */
  whileStateIsMine<T>(action: (lock: HeldLock) => Promise<T>): Promise<T> {
    return this.stateLock.hold(action);
  }

  /** Ends what older executions of the run may still be about to write. Whoever opens a new one calls it before it reads. */
  async fence(): Promise<void> {
    const { audit, calls, boundaries, graphState, status, request, stateLock, conversationLock } = this;
    const written = [audit, calls, boundaries, graphState, status, request, stateLock, conversationLock];
    await Promise.all(written.map((each) => each.fence()));
  }
}
