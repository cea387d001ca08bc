import type { JsonObject } from "../json.js";
import { installed } from "./bundle-path.js";
import { textInliner } from "./inline-variables.js";

const TAG = /<invoke-workflow\b([^<>]{0,1000})>([^<>]{0,500})/g;
/** More tags than this are not looked at. */
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
  const inline = textInliner(workflow);
  let looked = 0;
  for (const [, attributes = "", content = ""] of instructions.matchAll(TAG)) {
    looked += 1;
    if (looked > MAX_TAGS) break;
    const named = /\bpath\s*=\s*(?:"([^"]*)"|'([^']*)')/.exec(attributes);
    const text = (named?.[1] ?? named?.[2] ?? content).trim();
    const target = installed(inline(text));
    if (isPath(target, named !== null)) found.add(target);
  }
  return [...found];
}

function isPath(target: string, isNamed: boolean): boolean {
  if (target === "" || /\s/.test(target)) return false;
  if (/\{(?!(?:bundle|core|project)[-_]root\}|session[-_]folder\})/.test(target)) return false;
  return isNamed || target.includes("/") || /\.ya?ml$/i.test(target);
}
