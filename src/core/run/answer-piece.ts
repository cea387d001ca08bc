/** What has come of an answer while a model gives it, piece by piece. */
export type AnswerPiece =
  /** Text of the answer. It is the model's: not printable as it is. */
  | { readonly type: "text"; readonly text: string }
  /** What the texts so far were after all: thoughts. */
  | { readonly type: "restart" }
  /** Characters thought since the last piece. */
  | { readonly type: "thinking"; readonly characters: number }
  /** A tool call, counted from 0, and the bytes of its arguments so far. */
  | { readonly type: "call"; readonly index: number; readonly name: string; readonly bytes: number };
