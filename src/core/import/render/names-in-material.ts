import { OWN_FOLDER, PROJECT_ROOT } from "../source/references.js";
import type { RewriteRules } from "./rewrite.js";

/** What is read as it is. The braces of programs are their own. */
const READ = /\.(?:md|ya?ml|xml|csv|toml|txt)$/i;
const NAME = /(?<!\{)\{([\w-]{1,80})\}(?!\})/g;
const MAX_NAMES = 60;

/**
 * What a model is told of files that stay as they are, references and called skills: where their paths lead, and what their names in braces
 * stand for. `material` are the files by their places in the package.
 */
export function principlesOfMaterial(
  material: Iterable<readonly [string, string]>,
  rules: Pick<RewriteRules, "valueOf">,
): readonly string[] {
  const texts = [...material].filter(([place]) => READ.test(place));
  if (texts.length === 0) return [];
  const names = new Set<string>();
  for (const [, text] of texts) for (const [, name = ""] of text.matchAll(NAME)) names.add(name);
  const meanings = [...names].sort().flatMap((name) => {
    const meaning = OWN_FOLDER.has(name)
      ? "@pkg, or the folder of the skill"
      : PROJECT_ROOT.has(name)
        ? "@project"
        : rules.valueOf(name);
    return meaning === undefined ? [] : [`{${name}} is ${meaning}`];
  });
  return [
    `${PATHS}${texts.some(([place]) => place.startsWith("skills/")) ? OF_SKILLS : ""}.`,
    ...(meanings.length === 0 ? [] : [`In those files ${meanings.slice(0, MAX_NAMES).join(", ")}.`]),
  ];
}

const PATHS =
  "In other files of @pkg that you read, a path without a mount begins in the file's own folder or in @pkg";
const OF_SKILLS = ", and in those of a skill in @pkg/skills/<its name>";
