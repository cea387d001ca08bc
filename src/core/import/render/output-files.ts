import type { JsonObject } from "../../json.js";
import { type RewriteRules, rewriteJson } from "./rewrite.js";
import { joinPath } from "../source/source-tree.js";

/** The keys under which a step names the file that it writes. */
export const OUTPUT_KEY = /^(?:default)?_?output_?file$/i;
export const UNFILLED = "holds a name that is filled in later";

/** The place of an output file in the project, or why it has none. */
export function outputPath(
  value: string,
  rules: RewriteRules,
): { readonly path: string; readonly problem?: never } | { readonly path?: never; readonly problem: string } {
  const plain = value.trim().replaceAll("\\", "/");
  const written = rewriteJson(plain, rules);
  const text = typeof written === "string" ? written : plain;
  if (/^[/~]|^[A-Za-z]:/.test(text)) return { problem: "is absolute" };
  if (/^\{|[*[\]<>]/.test(text)) return { problem: UNFILLED };
  const rest = text.replace(/^@project\//, "");
  const joined = joinPath("", rest);
  if (!joined.ok) return { problem: "leaves the project" };
  if (rest.startsWith("@") || joined.value === "") return { problem: "is no file of the project" };
  return { path: joined.value };
}

/** An output file's path as the model is to write it. */
export function withOutputPaths(frontmatter: JsonObject, rules: RewriteRules): JsonObject {
  const placed = Object.entries(frontmatter).map(([key, value]) => {
    const path =
      OUTPUT_KEY.test(key) && typeof value === "string" ? outputPath(value, rules).path : undefined;
    return [key, path === undefined ? value : `@project/${path}`] as const;
  });
  return Object.fromEntries(placed);
}
