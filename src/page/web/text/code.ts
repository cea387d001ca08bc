import highlighter from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import go from "highlight.js/lib/languages/go";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import markdown from "highlight.js/lib/languages/markdown";
import python from "highlight.js/lib/languages/python";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";

const LANGUAGES = {
  bash,
  css,
  diff,
  go,
  java,
  javascript,
  json,
  markdown,
  python,
  rust,
  sql,
  typescript,
  xml,
  yaml,
};
for (const [name, language] of Object.entries(LANGUAGES)) highlighter.registerLanguage(name, language);

/** Beyond this a text is shown as it is: colours are not worth a page that stands still. */
const MAX_HIGHLIGHTED = 60_000;
/** The same of what is made for no reader: of long lines and wide gaps the highlighter takes the square of their length, and more. */
const LONG_LINE_OR_GAP = /[^\n]{300}|\s{100}/;
/** Of this one it does not, and values have long lines. */
const BOUNDED_LANGUAGE = "json";

/** Code as HTML with the highlighter's classes; as escaped text where the language is unknown or the text too long. */
export function codeHtml(text: string, language: string): string {
  const isKnown = text.length <= MAX_HIGHLIGHTED && highlighter.getLanguage(language) !== undefined;
  if (!isKnown || (language !== BOUNDED_LANGUAGE && LONG_LINE_OR_GAP.test(text))) return escaped(text);
  return highlighter.highlight(text, { language, ignoreIllegals: true }).value;
}

/** What a file's name says of its language; an empty text where it says nothing. */
export function languageOf(path: string): string {
  const end = /\.([a-z0-9]+)$/i.exec(path)?.[1]?.toLowerCase() ?? "";
  return highlighter.getLanguage(end) === undefined ? "" : end;
}

export function escaped(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");
}
