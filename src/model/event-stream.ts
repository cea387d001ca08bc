import { objectsIn } from "../http/answer-json.js";
import { EventLines } from "../http/event-lines.js";
import { within } from "../within.js";

/** The data of server-sent events. Comments and other fields are passed over. */
export async function* eventData(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const lines = new EventLines();
  const events = new Events();
  for await (const chunk of chunks) {
    for (const line of lines.endingIn(chunk)) yield* events.endedBy(line);
  }
  // Some servers end without the empty line that ends an event.
  const last = lines.unended();
  if (last !== "") yield* events.endedBy(last);
  yield* events.endedBy("");
}

/** What the lines of a stream say, event by event. */
class Events {
  /** Lines of an event that has not ended. */
  private data: string[] = [];
  /** These lines are in no field: gateways put an error as JSON between the events, often one that is spread over lines. */
  private isBare = false;

  /** The events that a line ends, which may be the beginning of another one. */
  *endedBy(line: string): Generator<string> {
    const more = dataOf(line);
    const isFirst = more === undefined ? !this.isBare && /^\s*[{[]/.test(line) : this.isBare;
    if (line === "" || isFirst || (this.data.length === 1 && isAnother(this.data[0], more))) {
      if (this.data.length > 0) yield* objectsIn(this.data.splice(0).join("\n"));
      this.isBare = isFirst && more === undefined;
    }
    if (more !== undefined) this.data.push(more);
    else if (this.isBare && line !== "" && !PASSED_OVER.test(line)) this.data.push(line);
  }
}

/** Comments, and fields that are none of data. */
const PASSED_OVER = /^(?::|(?:event|id|retry):)/;

/** Some servers leave the empty lines out: two whole objects are two events. */
function isAnother(before = "", more = ""): boolean {
  return /^\s*\{/.test(before) && /\}\s*$/.test(before.slice(-8)) && /^\s*(?:\{|\[DONE\])/.test(more);
}

/** The data in a line; what llama.cpp's server has called an error stands in a field of that name. */
function dataOf(line: string): string | undefined {
  const field = line.trimStart().replace(/^(?:data: ?){2,9}/, "data: "); // gateways put their own before another's
  if (field.startsWith("data:")) return field.slice(field[5] === " " ? 6 : 5);
  return field.startsWith("error:") ? `{"error":${field.slice(6)}}` : undefined;
}

/** The events of a stream. Behind what may be the end more is waited for so long as `patience` says: a count of tokens, or that it is the end. There a silence and a break are its end as well: some servers leave the connection open. */
export async function* untilSilent(
  events: AsyncIterable<string>,
  patience: () => number | undefined,
  leave: () => void,
): AsyncGenerator<string> {
  const iterator = events[Symbol.asyncIterator]();
  let isLeft = false;
  try {
    for (;;) {
      const waitMs = patience();
      const next =
        waitMs === undefined
          ? await iterator.next()
          : await within(waitMs, iterator.next()).catch(() => undefined);
      isLeft = next === undefined;
      if (next === undefined) leave();
      if (next === undefined || next.done === true) return;
      yield next.value;
    }
  } finally {
    if (!isLeft) await iterator.return?.(undefined);
  }
}
