/** Text from the bytes of a file, or what is wrong with them, as the end of a sentence that begins with the file. */
export type WrittenText = { readonly text: string } | { readonly problem: string };

/**
 * What a person has written in a file: UTF-8, without the mark of its bytes' order that editors of Windows set before it.
 * Another encoding is named with the remedy and never guessed at.
 */
export function writtenText(bytes: Uint8Array): WrittenText {
  if (isUtf16(bytes))
    return { problem: "is UTF-16 text, as some editors and shells of Windows save it: save it as UTF-8" };
  const text = utf8In(bytes);
  return text === undefined ? { problem: "is not UTF-8 text: save it in that encoding" } : { text };
}

/** The text that bytes are in UTF-8, without the mark of their order; undefined where they are none. */
export function utf8In(bytes: Uint8Array | ArrayBuffer | DataView): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Its mark, or the empty half of a first letter of ASCII. */
function isUtf16(bytes: Uint8Array): boolean {
  const [first, second] = bytes;
  if (first === undefined || second === undefined) return false;
  return (
    (first === 0xff && second === 0xfe) ||
    (first === 0xfe && second === 0xff) ||
    (first === 0) !== (second === 0)
  );
}
