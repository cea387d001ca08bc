import { parseToml } from "../../documents/toml-to-json.js";
import { type JsonObject, type JsonValue, fieldOf, isList, isObject, objectOf } from "../../json.js";
import { type SourceTree, folderOf, nameOf } from "./source-tree.js";

/** Layers of configuration that were merged, the later ones over the earlier. */
export interface Layers {
  readonly tables: JsonObject;
  /** The layers that were there, in their order. */
  readonly files: readonly string[];
  readonly problems: readonly { readonly file: string; readonly line: number; readonly message: string }[];
}

/** The customisation of a skill: its own defaults, then its team's and its user's. */
export function customizationOf(tree: SourceTree, entryFile: string): Layers {
  const folder = folderOf(entryFile);
  const name = nameOf(folder);
  const own = folder === "" ? "customize.toml" : `${folder}/customize.toml`;
  if (!tree.has(own)) return { tables: {}, files: [], problems: [] };
  return merged(tree, [
    own,
    ...installed(tree, entryFile, [`custom/${name}.toml`, `custom/${name}.user.toml`]),
  ]);
}

/** The configuration of an installation: its installer's, then its team's and its user's. */
export function centralConfig(tree: SourceTree, entryFile: string): Layers {
  const names = ["config.toml", "config.user.toml", "custom/config.toml", "custom/config.user.toml"];
  return merged(tree, installed(tree, entryFile, names));
}

/** The files of these names in the `_bmad` that is nearest above a file. */
function installed(tree: SourceTree, from: string, names: readonly string[]): readonly string[] {
  for (let folder = folderOf(from); ; folder = folderOf(folder)) {
    for (const mark of ["_bmad", ".bmad", "bmad"]) {
      const root = folder === "" ? mark : `${folder}/${mark}`;
      const found = names.map((name) => `${root}/${name}`).filter((path) => tree.has(path));
      if (found.length > 0) return found;
    }
    if (folder === "") return [];
  }
}

function merged(tree: SourceTree, files: readonly string[]): Layers {
  let tables: JsonObject = {};
  const problems: { file: string; line: number; message: string }[] = [];
  for (const file of files) {
    const parsed = parseToml(tree.text(file));
    if (parsed.ok) tables = objectOf(merge(tables, parsed.value));
    else {
      const { message, details } = parsed.error;
      const line = Number(objectOf(details)["line"] ?? 1);
      problems.push({ file, line, message: `is no TOML (${message}): this layer was left out` });
    }
  }
  return { tables, files, problems };
}

/** Tables are merged, lists stand one after the other, tables in lists replace the one with their code or id; all else is replaced. */
function merge(base: JsonValue, over: JsonValue): JsonValue {
  if (isList(base) && isList(over)) return mergeLists(base, over);
  if (!isObject(base) || !isObject(over)) return over;
  const merging = new Map(Object.entries(base));
  for (const [key, value] of Object.entries(over)) {
    const known = merging.get(key);
    merging.set(key, known === undefined ? value : merge(known, value));
  }
  return Object.fromEntries(merging);
}

function mergeLists(base: readonly JsonValue[], over: readonly JsonValue[]): readonly JsonValue[] {
  const all = [...base, ...over];
  const key = ["code", "id"].find((name) => all.every((item) => typeof objectOf(item)[name] === "string"));
  if (key === undefined) return all;
  return [...new Map(all.map((item) => [objectOf(item)[key], item])).values()];
}

/** The value under a name with dots; undefined where there is none. */
export function valueUnder(tables: JsonObject, name: string): JsonValue | undefined {
  let value: JsonValue | undefined = tables;
  for (const part of name.split(".")) value = fieldOf(value, part);
  return value;
}
