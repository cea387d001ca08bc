/** One element of a text that looks like XML and need not be any. */
export interface Element {
  readonly name: string;
  /** By their names in small letters. */
  readonly attributes: ReadonlyMap<string, string>;
  /** What stands between its tags, as it is written. */
  readonly inner: string;
}

const MAX_ELEMENTS = 500;
const MAX_ATTRIBUTES = 50;

/**
 * The elements of a name, in order, not those inside one another. A tag that is never closed ends where the next of its
 * name begins, else with the text. One pass for each name, linear in the text's length.
 */
export function findElements(text: string, name: string): readonly Element[] {
  const found: Element[] = [];
  let from = 0;
  while (found.length < MAX_ELEMENTS) {
    const tag = nextTag(text, name, from);
    if (tag === undefined) return found;
    from = tag.end;
    if (tag.isEmpty) found.push({ name, attributes: tag.attributes, inner: "" });
    else {
      const close = closingTag(text, name, tag.end);
      const next = close.isClosed ? undefined : nextTag(text, name, tag.end);
      const end = next?.start ?? close.start;
      found.push({ name, attributes: tag.attributes, inner: text.slice(tag.end, end) });
      from = next?.start ?? close.end;
    }
  }
  return found;
}

/** A text without its comments; one that is never closed ends with the text. */
export function withoutComments(text: string): string {
  return text
    .split("<!--")
    .map((part, index) => (index === 0 ? part : part.split("-->").slice(1).join("-->")))
    .join("");
}

export function findElement(text: string, name: string): Element | undefined {
  return findElements(text, name)[0];
}

/** The text of an element: without tags, entities read, white space as one space. */
export function plainText(markup: string): string {
  return markup
    .replaceAll(/<\/?[A-Za-z][^<>]{0,500}>/g, " ")
    .replaceAll(/&(lt|gt|amp|quot|apos);/g, (_whole, name: string) => ENTITIES.get(name) ?? "")
    .replaceAll(/\s+/g, " ")
    .trim();
}

const ENTITIES: ReadonlyMap<string, string> = new Map([
  ["lt", "<"],
  ["gt", ">"],
  ["amp", "&"],
  ["quot", '"'],
  ["apos", "'"],
]);

interface Tag {
  readonly start: number;
  readonly end: number;
  readonly attributes: ReadonlyMap<string, string>;
  readonly isEmpty: boolean;
}

function nextTag(text: string, name: string, from: number): Tag | undefined {
  const open = `<${name}`;
  for (let start = text.indexOf(open, from); start !== -1; start = text.indexOf(open, start + 1)) {
    const after = text[start + open.length] ?? "";
    if (!/[\s/>]/.test(after)) continue;
    const end = endOfTag(text, start + open.length);
    if (end === undefined) return undefined;
    const body = text.slice(start + open.length, end - 1);
    const isEmpty = body.endsWith("/");
    return { start, end, attributes: readAttributes(body), isEmpty };
  }
  return undefined;
}

/** Just after the `>` that ends a tag; quotes may hold one. */
function endOfTag(text: string, from: number): number | undefined {
  let quote = "";
  for (let index = from; index < text.length; index += 1) {
    const char = text[index] ?? "";
    if (quote !== "") {
      if (char === quote) quote = "";
    } else if (char === '"' || char === "'") quote = char;
    else if (char === ">") return index + 1;
  }
  return undefined;
}

function closingTag(text: string, name: string, from: number) {
  const close = `</${name}>`;
  const start = text.indexOf(close, from);
  if (start === -1) return { start: text.length, end: text.length, isClosed: false };
  return { start, end: start + close.length, isClosed: true };
}

const MAX_TAG_CHARS = 8192;

function readAttributes(tag: string): ReadonlyMap<string, string> {
  const attributes = new Map<string, string>();
  const body = tag.slice(0, MAX_TAG_CHARS);
  for (const [, written = "", double, single, bare] of body.matchAll(
    /([A-Za-z][\w:.-]{0,63})\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'=<>`]+))/g,
  )) {
    const name = written.toLowerCase();
    if (attributes.size < MAX_ATTRIBUTES && !attributes.has(name)) {
      attributes.set(name, plainText(double ?? single ?? bare ?? ""));
    }
  }
  return attributes;
}
