import type { JsonObject } from "../json.js";
import { inlineVariables } from "./inline-variables.js";

const MAX_TAGS = 200;

/** Whether instructions ask for the elicitation task, in an older or a newer way. */
export function needsElicitation(instructions: string): boolean {
  return (
    instructions.includes("<elicit-required") ||
    /<invoke-task[^<>]{0,200}>[^<>]{0,300}adv(?:anced)?-elicit/.test(instructions)
  );
}

/**
 * The workflows that instructions invoke, as they name them: `<invoke-workflow path="…">` or the path as the tag's text,
 * the variables of the invoking workflow resolved. Left out: names that the model chooses (`{{…}}`, `{…}`), and tags in
 * prose, which name no file.
 */
export function findInvocations(instructions: string, workflow: JsonObject): readonly string[] {
  const found = new Set<string>();
  const tags = instructions.matchAll(/<invoke-workflow\b([^<>]{0,1000})>([^<>]{0,500})/g);
  for (const [, attributes = "", content = ""] of tags) {
    const named = /\bpath\s*=\s*(?:"([^"]*)"|'([^']*)')/.exec(attributes);
    const text = (named?.[1] ?? named?.[2] ?? content).trim();
    const target = withVariables(text, workflow);
    if (isPath(target, named !== null)) found.add(target);
    if (found.size === MAX_TAGS) break;
  }
  return [...found];
}

function withVariables(text: string, workflow: JsonObject): string {
  if (!text.includes("{")) return text;
  const key = "\u0000invocation"; // no key of a YAML file
  const resolved = inlineVariables({ ...workflow, [key]: text }, undefined);
  const value = resolved.ok ? resolved.value[key] : undefined;
  return typeof value === "string" ? value : text;
}

function isPath(target: string, isNamed: boolean): boolean {
  if (target === "" || /\s/.test(target)) return false;
  if (/\{(?!(?:bundle|core|project)[-_]root\}|session[-_]folder\})/.test(target)) return false;
  return isNamed || target.includes("/") || /\.ya?ml$/i.test(target);
}
