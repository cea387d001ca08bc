import { type JsonObject, type JsonValue, isList } from "../../json.js";
import { OWN_FOLDER, PROJECT_ROOT, type Target, folderIn, tokensOf } from "../source/references.js";

/** What a text of the source is rewritten with. */
export interface RewriteRules {
  /** Where a token of this file leads. */
  resolve(token: string): Target;
  /** Where a file or folder of the source lies in the package; nothing for one that is not in it. */
  placeOf(target: Target): string | undefined;
  /** What a `{name}` is filled with. */
  valueOf(name: string): string | undefined;
}

/** Without a path it is any skill's: one that is written, looked through, handed on. */
const ANY_SKILL = "SKILL.md";

/** A line with its paths on mounts and its config filled in; all else stays as it is. */
export function rewriteLine(line: string, rules: RewriteRules): string {
  if (line.length > 4_000) return line;
  let written = "";
  let at = 0;
  for (const token of tokensOf(line)) {
    const place = placeOf(token.text, rules, isMarked(line, token.at) && token.text !== ANY_SKILL);
    if (place === undefined) continue;
    const isVariable = line[token.at - 1] === "$" && token.text.startsWith("{"); // `${CLAUDE_SKILL_DIR}/x`
    written += line.slice(at, isVariable ? token.at - 1 : token.at) + place;
    at = token.at + token.text.length;
  }
  return fillIn(written + line.slice(at), rules);
}

function placeOf(token: string, rules: RewriteRules, marked: boolean): string | undefined {
  if (/^\{\{?[\w-]{1,80}\}?\}$/.test(token)) return undefined;
  if (!token.includes("/") && !marked) return undefined;
  const named = folderIn(token);
  const target = rules.resolve(named?.folder ?? token);
  const place = rules.placeOf(target);
  if (place === undefined) return undefined;
  const pattern = target.kind === "folder" ? (named?.pattern ?? "") : "";
  return place === "" && pattern !== "" ? `@pkg${pattern}` : `@pkg/${place}${pattern}`;
}

/** A bare name counts as a path only where it stands as code, in quotes or in brackets. */
function isMarked(line: string, at: number): boolean {
  return /[`'"[(:]/.test(line[at - 1] ?? "");
}

/** `${CLAUDE_SKILL_DIR}` with its mark. */
const IN_BRACES = /(?:\$(?=\{CLAUDE_))?\{\{?(\.?[\w-]{1,80}(?:\.[\w-]{1,80}){0,8})\}?\}/g;

/** The mounts for the project's folders, and the config's values. */
function fillIn(text: string, rules: RewriteRules): string {
  return text.replaceAll(IN_BRACES, (whole, name: string) => {
    if (PROJECT_ROOT.has(name)) return "@project";
    if (OWN_FOLDER.has(name)) return "@pkg";
    const isTemplate = whole.startsWith("{{");
    if (isTemplate !== whole.endsWith("}}")) return whole;
    return rules.valueOf(name) ?? whole;
  });
}

/** The same in every text of a front matter. */
export function rewriteJson(value: JsonValue, rules: RewriteRules): JsonValue {
  if (typeof value === "string") return rewriteValue(value, rules);
  if (value === null || typeof value !== "object") return value;
  if (isList(value)) return value.map((item) => rewriteJson(item, rules));
  return rewriteObject(value, rules);
}

export function rewriteObject(object: JsonObject, rules: RewriteRules): JsonObject {
  const valueOf = (key: string, item: JsonValue): JsonValue =>
    OWN_FOLDER.has(key) ? "@pkg" : rewriteJson(item, rules);
  return Object.fromEntries(Object.entries(object).map(([key, item]) => [key, valueOf(key, item)]));
}

/** A value that is one path is a path, however it is spelt. */
function rewriteValue(value: string, rules: RewriteRules): string {
  const [token] = tokensOf(value);
  const place = token?.text === value ? placeOf(value, rules, true) : undefined;
  return (
    place ??
    value
      .split("\n")
      .map((line) => rewriteLine(line, rules))
      .join("\n")
  );
}
