/** Of a text's length times that of what is looked for in it: where they are more together, the engine's own search may take as long. */
const MAX_PRODUCT = 50_000_000;

/**
 * Where a text has another one, overlapping places as well. It takes as long as they are together (Knuth, Morris, Pratt): `indexOf`
 * takes their product for some.
 */
export function* placesOf(value: string, text: string): Generator<number> {
  const borders: number[] = [];
  const grown = (from: number, code: number): number => {
    let length = from;
    while (length > 0 && code !== value.charCodeAt(length)) length = borders[length - 1] ?? 0;
    return code === value.charCodeAt(length) ? length + 1 : length;
  };
  for (let at = 0, length = 0; at < value.length; at += 1) {
    if (at > 0) length = grown(length, value.charCodeAt(at));
    borders.push(length);
  }
  for (let at = 0, length = 0; at < text.length; at += 1) {
    length = grown(length, text.charCodeAt(at));
    if (length === value.length) yield at - length + 1;
  }
}

/** As `text.indexOf(value)`, in a time that does not depend on what they are. */
export function indexIn(text: string, value: string): number {
  if (text.length * value.length <= MAX_PRODUCT) return text.indexOf(value);
  for (const place of placesOf(value, text)) return place;
  return -1;
}

/** As `text.split(value)`, likewise. `value` is not empty. */
export function splitAt(text: string, value: string): readonly string[] {
  if (text.length * value.length <= MAX_PRODUCT) return text.split(value);
  const pieces: string[] = [];
  let from = 0;
  for (const place of placesOf(value, text)) {
    if (place < from) continue;
    pieces.push(text.slice(from, place));
    from = place + value.length;
  }
  return [...pieces, text.slice(from)];
}
