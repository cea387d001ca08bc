import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import type { JsonObject } from "../../core/json.js";
import type { ModelRefusal } from "../../core/run/model-refusal.js";
import type { AnsweredBy } from "../../core/run/run-model.js";
import type { ProviderPart } from "../../core/run/provider-part.js";
import type { TurnUsage } from "../../core/run/usage.js";
import type { RecordedModelCall } from "../../core/tools/external-tool.js";
import { AppendLog, parseLine, replaceByCopy } from "../disk/append-log.js";
import type { LinePosition } from "../disk/line-index.js";
import type { HeldLock } from "../disk/fenced-lock.js";
import { isOwnFolder } from "../disk/own-file.js";
import { someAtOnce } from "../../core/some-at-once.js";

/** A message of a conversation that is not derived from anything else. Tool results are in the call journal. */
export type ConversationEntry =
  | { readonly type: "begin"; readonly visit: number; readonly messages: readonly PlainMessage[] }
  | UserEntry
  | { readonly type: "correction"; readonly visit: number; readonly turn: number; readonly text: string }
  | FoldEntry
  | AssistantEntry;

/** What the user said. */
export interface UserEntry {
  readonly type: "user";
  readonly id: string;
  readonly nodeId: string;
  readonly text: string;
  /** Who said it, as they say. Absent where nobody said so. */
  readonly by?: string;
}

/**
 * From this turn on the results of these calls are left out of requests: the conversation has grown too long for the model's
 * context. Written down before the first request without them, so that whoever asks again asks the same.
 */
export interface FoldEntry {
  readonly type: "fold";
  readonly visit: number;
  readonly turn: number;
  /** Counts the folds of a turn from 1. */
  readonly nth: number;
  /** The model that is asked, and the tokens of its context. */
  readonly model: string;
  readonly contextTokens: number;
  /** Who says so. */
  readonly by: "settings" | "provider";
  /** Calls whose results are replaced by a line that says what was there. */
  readonly calls: readonly string[];
  /** Calls of the newest answer: the model is told that their results do not fit. */
  readonly withheld: readonly string[];
}

export interface PlainMessage {
  readonly role: "system" | "user";
  readonly content: string;
}

export interface AssistantEntry {
  readonly type: "assistant";
  readonly visit: number;
  readonly turn: number;
  readonly content: string;
  readonly calls: readonly RecordedModelCall[];
  /** The external tools that the model had, by the names it was shown, where they are others than at the answer before. */
  readonly offered?: readonly string[];
  readonly finishReason: string;
  readonly usage: TurnUsage;
  /** What attempts at this turn have used beside it whose answer was none. Absent where they have used nothing. */
  readonly spent?: TurnUsage;
  /** What the request was estimated at, in tokens. Absent in older files. */
  readonly sentTokens?: number;
  /** How many results were left out before it. */
  readonly folded?: number;
  readonly model: string;
  /** What the provider's message holds beside that, to go back as it came. Absent in older files, and where it held none. */
  readonly provider?: ProviderPart;
  readonly refusal?: ModelRefusal;
  /** Which of the run's models it is; `model` is what that one calls itself. Absent where the run knew none. */
  readonly answeredBy?: AnsweredBy;
}

/** The conversations of a run share a lock: whoever takes it over puts copies in the place of all of them. */
export async function takeOverConversations(dir: string, lock: HeldLock): Promise<void> {
  if (!isOwnFolder(dir)) return;
  const names = readdirSync(dir).filter((name) => name.endsWith(".jsonl") && !name.startsWith("."));
  await someAtOnce(names, COPIES_AT_ONCE, (name) => replaceByCopy(join(dir, name), lock));
}

const COPIES_AT_ONCE = 8;

/** One conversation of a run on disk: what was said, in order, each thing once. */
export class Conversation {
  private readonly log: AppendLog;
  private readonly positions: LinePosition[] = [];
  private readonly known = new Map<string, LinePosition>();
  /** Where the answer is that holds a call, by the call's id. */
  private readonly answersOfCalls = new Map<string, LinePosition>();

  constructor(path: string, lockFile: string, owner: HeldLock) {
    const onLine = (line: Buffer, position: LinePosition): void => {
      const entry = parseLine(line);
      if (entry === undefined || !isKnown(entry)) return;
      this.positions.push(position);
      this.index(entry as unknown as ConversationEntry, position); // written by `append`
    };
    const takeOver = (lock: HeldLock): Promise<void> => takeOverConversations(dirname(path), lock);
    this.log = new AppendLog(path, lockFile, onLine, { owner, takeOver });
  }

  /** All entries, in the order they were written; those from one on and before another, where it is said. */
  async entries(from = 0, to?: number): Promise<readonly ConversationEntry[]> {
    await this.log.refresh();
    return this.log.readAt(this.positions.slice(from, to)) as unknown as readonly ConversationEntry[]; // written by `append`
  }

  /** How many entries there are. */
  async count(): Promise<number> {
    await this.log.refresh();
    return this.positions.length;
  }

  /** The answer of one model turn, where it is written down. */
  async findAnswer(visit: number, turn: number): Promise<AssistantEntry | undefined> {
    await this.log.refresh();
    return this.answerAt(this.known.get(`assistant:${visit}:${turn}`));
  }

  /** A tool call by its id. */
  async findCall(callId: string): Promise<RecordedModelCall | undefined> {
    if (!this.answersOfCalls.has(callId)) await this.log.refresh();
    return this.answerAt(this.answersOfCalls.get(callId))?.calls.find(({ id }) => id === callId);
  }

  private answerAt(position: LinePosition | undefined): AssistantEntry | undefined {
    if (position === undefined) return undefined;
    return this.log.readAt([position])[0] as unknown as AssistantEntry; // indexed as one
  }

  private index(entry: ConversationEntry, position: LinePosition): void {
    const identity = identityOf(entry);
    if (!this.known.has(identity)) this.known.set(identity, position);
    if (entry.type !== "assistant") return;
    for (const { id } of entry.calls) this.answersOfCalls.set(id, position);
  }

  /**
   * Appends entries, leaving out those that are there. Returns false, and appends nothing, when the last of
   * them is there already: somebody else has said it.
   */
  async append(entries: readonly ConversationEntry[]): Promise<boolean> {
    let appended = false;
    await this.log.append(() => {
      const last = entries.at(-1);
      if (last === undefined || this.known.has(identityOf(last))) return [];
      appended = true;
      return entries.filter((entry) => !this.known.has(identityOf(entry))) as unknown as JsonObject[]; // plain JSON
    });
    return appended;
  }
}

/** What a later version has said in another way is passed over. */
function isKnown({ type, calls }: JsonObject): boolean {
  return typeof type === "string" && TYPES.has(type) && (type !== "assistant" || Array.isArray(calls));
}

const TYPES: ReadonlySet<string> = new Set<ConversationEntry["type"]>([
  "begin",
  "user",
  "correction",
  "fold",
  "assistant",
]);

function identityOf(entry: ConversationEntry): string {
  switch (entry.type) {
    case "begin":
      return `begin:${entry.visit}`;
    case "user":
      return `user:${entry.id}`;
    case "fold":
      return `fold:${entry.visit}:${entry.turn}:${entry.nth}`;
    case "correction":
    case "assistant":
      return `${entry.type}:${entry.visit}:${entry.turn}`;
  }
}
