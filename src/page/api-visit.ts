import type { Bounded } from "../contract/bounded.js";
import type { StoredChange, StoredWrite } from "../contract/visit-reads.js";
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

/** A file that a call has written. What is kept, `content` has. */
export type FileWrite = StoredWrite;

/** The state document at a moment. */
export interface DocumentAt {
  /** The visit after which it was so; null for now. */
  readonly visit: number | null;
  /** Where the run stood then. */
  readonly nodeId: string;
  readonly text: Bounded;
}

/** From one state to the next, at most 500 changes of each kind. */
export type GraphStateChange = StoredChange;

/** What has come of the answer that a model gives now, since the piece before. */
export interface LivePiece {
  readonly visit: number;
  readonly turn: number;
  readonly attempt: number;
  readonly model: string;
  readonly startedAt: string;
  /** Since what was read before. */
  readonly text: string;
  /** What was read before is void. */
  readonly restarts: boolean;
  readonly thinking: number;
  readonly calls: readonly { readonly name: string; readonly bytes: number }[];
}
