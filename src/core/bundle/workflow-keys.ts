import { indexIn } from "../find-text.js";
import { type JsonObject, type JsonValue, fieldOf, isList, isObject } from "../json.js";

/** A text and the file it is from; of one that stands in the YAML the empty name. */
export interface NamedText {
  readonly name: string;
  readonly text: string;
}

/** Instructions for one of several ways. */
export const BRANCH = /^instructions[_-]/;
/** Keys of templates but `template`. */
export const OTHER_TEMPLATE = /^templates$|^template_|_template$/;

/** Whether instructions name a file: they say when it is to be read. */
export function names(instructions: string, file: string | undefined): boolean {
  const name = file?.split("/").at(-1)?.trim() ?? "";
  return name !== "" && indexIn(instructions, name) !== -1;
}

/** The file names of a value: one, or those of a list or a mapping. */
export function fileNames(value: JsonValue | undefined): readonly string[] {
  const values = isList(value) ? value : isObject(value) ? Object.values(value) : [value];
  return values.filter((item) => typeof item === "string").filter(isFileName);
}

/** One text as it is, several each after the name of its file. */
export function joined(texts: readonly NamedText[]): string | undefined {
  return texts.length <= 1 ? texts[0]?.text : marked(texts);
}

/** Texts, each after the name of its file. */
export function marked(texts: readonly NamedText[]): string {
  return texts.map(({ name, text }) => (name === "" ? text : `<!-- file: ${name} -->\n${text}`)).join("\n\n");
}

/** Whether a value names a file, and is none of the texts that may stand in its place. */
export function isFileName(text: string): boolean {
  return !text.includes("\n") && /\.[A-Za-z]{2,5}$/.test(text.trim()) && !/[.!?] /.test(text);
}

export function textAt(object: JsonObject, key: string): string | undefined {
  const value = fieldOf(object, key);
  return typeof value === "string" && value.trim() !== "" ? value : undefined;
}
