import type { Bounded } from "../contract/bounded.js";
import type { StateDiffItem } from "../core/graph-state/schemas.js";
import type { JsonValue } from "../core/json.js";

/* What the API says of a visit: what was said, called, written and changed in it. */

/** What a call was made with, or came to: JSON where it is short, else its text. */
export type Shown = { readonly json: JsonValue } | { readonly text: Bounded };

export interface ConversationPage {
  /** The first entry of this page, counted from 0, and how many there are in all. */
  readonly from: number;
  readonly total: number;
  readonly entries: readonly ConversationEntry[];
}

/** What was said, in order. Texts of models and users. */
export type ConversationEntry =
  | { readonly type: "begin"; readonly visit: number }
  /** The conversation had grown too long: from here on the model does not see the results of so many calls. */
  | { readonly type: "fold"; readonly visit: number; readonly turn: number; readonly calls: number }
  | { readonly type: "user"; readonly nodeId: string; readonly text: Bounded; readonly by?: string }
  /** What the engine has told the model. */
  | { readonly type: "correction"; readonly visit: number; readonly turn: number; readonly text: Bounded }
  | {
      readonly type: "assistant";
      readonly visit: number;
      readonly turn: number;
      /** Markdown. */
      readonly text: Bounded;
      readonly model: string;
      readonly calls: readonly ConversationCall[];
      readonly reasoning?: Bounded;
    };

export interface ConversationCall {
  readonly id: string;
  /** As the model has spelled it. */
  readonly name: string;
  /** The path it is about, or the start of its arguments. */
  readonly summary: string;
  /** `ok` or a code; absent where nothing is recorded. */
  readonly outcome?: string;
}

export interface CallFacts {
  readonly id: string;
  readonly name: string;
  readonly arguments: Shown;
  /** What the model was shown; absent where the call is not recorded. */
  readonly result?: Shown;
}

/** A file that a call has written. */
export interface FileWrite {
  readonly callId: string;
  /** `@project/…`. */
  readonly path: string;
  readonly sha256: string;
  /** What this run had written there before; absent for the first time. */
  readonly previousSha256?: string;
  /** Of the new content; absent where the call does not say it. */
  readonly bytes?: number;
  /** Whether the contents are still kept, for `content`. */
  readonly isKept: boolean;
}

/** The state document at a moment. */
export interface DocumentAt {
  /** The visit after which it was so; null for now. */
  readonly visit: number | null;
  /** Where the run stood then. */
  readonly nodeId: string;
  readonly text: Bounded;
}

/** From one state to the next; values of very many items are cut to the first 500. */
export interface GraphStateChange {
  readonly fromVisit: number;
  /** Null for now. */
  readonly toVisit: number | null;
  readonly added: readonly StateDiffItem[];
  readonly changed: readonly StateDiffItem[];
  readonly removed: readonly StateDiffItem[];
  readonly isCut: boolean;
}

/** What has come of the answer that a model gives now. */
export interface LivePiece {
  readonly visit: number;
  readonly turn: number;
  readonly attempt: number;
  readonly model: string;
  readonly startedAt: string;
  /** What has come since the piece before. */
  readonly text: string;
  /** What came before is void: `text` is all that counts. */
  readonly restarts: boolean;
  /** Characters it has thought so far. */
  readonly thinking: number;
  /** Calls under way, and the bytes of their arguments so far. */
  readonly calls: readonly { readonly name: string; readonly bytes: number }[];
}
