import { within } from "./bounded-body.js";

/**
 * The data of server-sent events, in time linear in their bytes however they are cut into chunks: a line's pieces are
 * put together once, at its end. Comments and other fields are passed over.
 */
export async function* eventData(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let begun: string[] = []; // pieces of a line that has not ended
  let data: string[] = []; // lines of an event that has not ended
  let endedWithReturn = false;
  for await (const chunk of chunks) {
    let text = decoder.decode(chunk, { stream: true });
    if (endedWithReturn && text.startsWith("\n")) text = text.slice(1);
    if (text === "") continue;
    endedWithReturn = text.endsWith("\r");
    const pieces = text.split(/\r\n|\n|\r/);
    const last = pieces.pop() ?? "";
    for (const piece of pieces) {
      const line = begun.length === 0 ? piece : [...begun, piece].join("");
      begun = [];
      if (line === "" && data.length > 0) {
        yield data.join("\n");
        data = [];
      }
      for (const more of dataOf(line)) {
        if (data.length === 1 && isAnother(data[0], more)) yield data.splice(0).join("");
        data.push(more);
      }
    }
    if (last !== "") begun.push(last);
  }
  // Some servers end without the empty line that ends an event.
  const [more] = dataOf(begun.join(""));
  if (data.length === 1 && isAnother(data[0], more)) yield data.splice(0).join("");
  if (more !== undefined) data.push(more);
  if (data.length > 0) yield data.join("\n");
}

/** Some servers leave the empty lines out: two whole objects are two events. */
function isAnother(before = "", more = ""): boolean {
  return /^\s*\{/.test(before) && /\}\s*$/.test(before.slice(-8)) && /^\s*(?:\{|\[DONE\])/.test(more);
}

/** The data in a line; what llama.cpp's server has called an error stands in a field of that name. */
function dataOf(line: string): readonly string[] {
  if (line.startsWith("data:")) return [line.slice(line[5] === " " ? 6 : 5)];
  return line.startsWith("error:") ? [`{"error":${line.slice(6)}}`] : [];
}

/** The events of a stream, of which more is waited for so long behind what may be the end: a count of tokens, or that it is the end. Once it may be over, a silence and a break are its end as well: some servers leave the connection open. */
export async function* untilSilent(
  events: AsyncIterable<string>,
  mayBeOver: () => boolean,
  { leave, lastWordsMs }: { readonly leave: () => void; readonly lastWordsMs: number },
): AsyncGenerator<string> {
  const iterator = events[Symbol.asyncIterator]();
  let isLeft = false;
  try {
    for (;;) {
      const next = mayBeOver()
        ? await within(lastWordsMs, iterator.next()).catch(() => undefined)
        : await iterator.next();
      isLeft = next === undefined;
      if (next === undefined) leave();
      if (next === undefined || next.done === true) return;
      yield next.value;
    }
  } finally {
    if (!isLeft) await iterator.return?.(undefined);
  }
}
