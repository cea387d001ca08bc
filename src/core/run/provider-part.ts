import type { JsonObject, JsonValue } from "../json.js";

/** What of an assistant message is its provider's own: it goes back there, to the same model, as it came, and nowhere else. */
export interface ProviderPart {
  /** Where the message comes from. */
  readonly endpoint: string;
  readonly dialect: string;
  /** The model, as it was asked for: signed and encrypted thoughts are those of one model. Absent in older files. */
  readonly model?: string;
  /** The fields of the message beside `role`, `content` and `tool_calls`. */
  readonly message?: JsonObject;
  /** The content, where it is no text. */
  readonly content?: JsonValue;
  /** What each call has beside its id, its name and its arguments; of a call that is no function call, all of it. */
  readonly calls?: readonly JsonObject[];
}
