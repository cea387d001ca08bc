import { LineCounter, isMap, isNode, isScalar, isSeq, parseDocument } from "yaml";
import { parseMarkdown } from "./front-matter.js";

/** The fence before the front matter. */
const LINES_BEFORE = 1;

/**
 * The 1-based line of each place in a document's front matter, given by keys and indexes; of the nearest place around it
 * where there is none. Undefined for the front matter as a whole, and where it cannot be read.
 */
export function linesInFrontMatter(
  bytes: Uint8Array,
  places: readonly (readonly string[])[],
): readonly (number | undefined)[] {
  const parsed = parseMarkdown(bytes);
  if (!parsed.ok) return places.map(() => undefined);
  const { head, tail } = parsed.value;
  const block = new TextDecoder().decode(bytes.subarray(head.length, bytes.length - tail.length));
  return linesInYaml(block, places).map((line) => (line === undefined ? line : line + LINES_BEFORE));
}

/** The same of a text that is YAML as a whole. */
export function linesInYaml(
  text: string,
  places: readonly (readonly string[])[],
): readonly (number | undefined)[] {
  const lineCounter = new LineCounter();
  const { contents } = parseDocument(text, { lineCounter, logLevel: "silent", uniqueKeys: false });
  return places.map((place) => {
    const offset = offsetOf(contents, place);
    return offset === undefined ? undefined : lineCounter.linePos(offset).line;
  });
}

function offsetOf(root: unknown, place: readonly string[]): number | undefined {
  let node = root;
  let offset: number | undefined;
  for (const name of place) {
    let found: unknown;
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === name);
      found = pair?.key;
      node = pair?.value;
    } else if (isSeq(node)) {
      found = node.items[Number(name)];
      node = found;
    }
    if (!isNode(found)) return offset;
    offset = found.range?.[0] ?? offset;
  }
  return offset;
}
