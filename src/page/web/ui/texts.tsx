import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Bounded } from "../../../contract/bounded.js";
import type { Shown } from "../../api-visit.js";
import { codeHtml } from "../text/code.js";
import { markdownFragment } from "../text/markdown.js";
import { safeFragment } from "../text/safe-html.js";
import { startOf, visibleText } from "../visible.js";
import { useDoing } from "../use-asked.js";
import { bytes } from "../words.js";
import { Fault } from "./parts.js";
import { useScrolling } from "./scrolling.js";

/** Texts from models, packages and projects. None of them comes into the page by another way than these. */

/** How much of a text is shown at once, and how much more each time. */
const FIRST_CHARS = 4_000;
const MORE_CHARS = 200_000;

interface TextProps {
  readonly text: string | Bounded;
  /** `markdown`; else a language to highlight, or nothing. */
  readonly form?: string;
  /** Where more of a text that comes cut can be had. */
  readonly more?: () => Promise<Bounded>;
}

/** A text as it is read: cut where it is huge, with a button for the rest. */
export function SafeText({ text: given, form = "", more }: TextProps) {
  const [longer, setLonger] = useState<Bounded>();
  const doing = useDoing();
  const text = longer ?? given;
  const fetchMore = async (fetch: () => Promise<Bounded>) => {
    setLonger(await fetch());
    setLimit((before) => before + MORE_CHARS);
  };
  const {
    text: whole,
    isCut,
    bytes: size,
  } = typeof text === "string" ? { text, isCut: false, bytes: 0 } : text;
  const [limit, setLimit] = useState(FIRST_CHARS);
  const start = startOf(whole, limit);
  return (
    <>
      {form === "markdown" ? (
        <Markdown text={start ?? whole} />
      ) : (
        <Code text={start ?? whole} language={form} />
      )}
      {start !== undefined && (
        <p class="muted small">
          Here are the first {start.length.toLocaleString()} of {whole.length.toLocaleString()} characters.{" "}
          <button type="button" class="plain" onClick={() => setLimit(limit + MORE_CHARS)}>
            Show more
          </button>
        </p>
      )}
      {start === undefined && isCut && (
        <p class="muted small">
          The text goes on: it has {bytes(size)} in all.{" "}
          {more !== undefined && longer === undefined && (
            <button type="button" class="plain" onClick={() => void doing.run(() => fetchMore(more))}>
              Show more
            </button>
          )}
        </p>
      )}
      <Fault error={doing.error} />
    </>
  );
}

function Markdown({ text }: { readonly text: string }) {
  const make = () => markdownFragment(text);
  return <Filled make={make} text={text} tag="div" class="markdown" boxes="pre, table" />;
}

function Code({ text, language }: { readonly text: string; readonly language: string }) {
  const visible = useMemo(() => visibleText(text), [text]);
  if (language === "") return <Words text={visible} />;
  const make = () => safeFragment(codeHtml(visible, language));
  return <Filled make={make} text={`${language} ${visible}`} tag="pre" class="box" />;
}

/** What it is called while it scrolls. */
const SCROLLING = "Text that can be scrolled";

function Words({ text }: { readonly text: string }) {
  const place = useRef<HTMLPreElement>(null);
  useScrolling(place, SCROLLING, text);
  return (
    <pre class="box words" ref={place}>
      {text}
    </pre>
  );
}

interface FilledProps {
  readonly make: () => DocumentFragment;
  /** What it is made of: only when this changes it is made anew. */
  readonly text: string;
  readonly tag: "div" | "pre";
  readonly class: string;
  /** Selects what scrolls in it; absent: it does itself. */
  readonly boxes?: string;
}

function Filled({ make, text, tag: Tag, class: name, boxes }: FilledProps) {
  const place = useRef<HTMLDivElement & HTMLPreElement>(null);
  useLayoutEffect(() => place.current?.replaceChildren(make()), [text]);
  useScrolling(place, SCROLLING, text, boxes);
  return <Tag class={name} ref={place} />;
}

/** A value of a call: JSON as it is read, else its text. */
export function ShownValue({ shown }: { readonly shown: Shown }) {
  if ("text" in shown) return <SafeText text={shown.text} />;
  return <SafeText text={JSON.stringify(shown.json, null, 2)} form="json" />;
}
