import { type Fields, fieldsOf, listOf, objectsOf } from "../http/answer-json.js";

/**
 * What stands in other choices than the first, though one alone was asked for. Some gateways make a choice of each block of an answer,
 * with one end for all (LiteLLM, of Bedrock's), some put the calls into one of their own (Copilot). Others give alternatives.
 */
export class OtherChoices {
  private readonly pieces: { readonly index: unknown; readonly delta: Fields }[] = [];
  private readonly ended = new Set<unknown>();

  /** The choices of one event of a stream, beside the one that counts. */
  add(fields: Fields, first: unknown): void {
    for (const { index, delta, finish_reason: reason } of objectsOf(fields["choices"])) {
      if (index === undefined || index === null || index === first) continue;
      if (reason !== undefined && reason !== null && reason !== "") this.ended.add(index);
      const piece = fieldsOf(delta);
      if (piece !== undefined) this.pieces.push({ index, delta: piece });
    }
  }

  /** What of them belongs to the answer: blocks, which have no end of their own; else the calls of one, where the first has none. */
  ofAnswer(hasCalls: boolean): readonly Fields[] {
    const blocks = this.pieces.filter(({ index }) => !this.ended.has(index));
    if (blocks.length > 0 || hasCalls) return blocks.map(({ delta }) => delta);
    const calling = this.pieces.find(({ delta }) => callsOf(delta) !== undefined)?.index;
    return this.pieces
      .filter(({ index, delta }) => index === calling && callsOf(delta) !== undefined)
      .map(({ delta }) => ({ tool_calls: callsOf(delta) }));
  }
}

/** The message of a whole answer's first choice, with the calls of another one where it has none. */
export function withCallsBeside(message: Fields, fields: Fields): Fields {
  if (callsOf(message) !== undefined) return message;
  const calls = objectsOf(fields["choices"])
    .map((choice) => callsOf(fieldsOf(choice["message"]) ?? {}))
    .find((found) => found !== undefined);
  return calls === undefined ? message : { ...message, tool_calls: calls };
}

function callsOf(message: Fields): readonly unknown[] | undefined {
  const calls = listOf(message["tool_calls"]);
  return calls.length > 0 ? calls : undefined;
}
