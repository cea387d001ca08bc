import { type ImportFindings, named } from "./findings.js";
import type { References } from "./references.js";
import type { SourceText } from "./source-text.js";

/** A text that a coding tool puts in the place of its path: of its own installation, of the user's, or of the plugin. */
const INCLUDED =
  /(?:^|[\s`(])(@~\/\.[\w-]{1,40}\/[\w./-]{1,200}\.md|@?\$\{CLAUDE_PLUGIN_ROOT\}\/[\w./-]{1,200}\.md)(?![\w/])/g;
const MAX_LINE = 4_000;

/** Says which texts a step has its reader read at once that are not at hand: what is to be done may be told there alone. */
export function tellOfIncluded(
  path: string,
  { body }: SourceText,
  references: References,
  findings: ImportFindings,
): void {
  const told = new Set<string>();
  for (const { text, number, isCode } of body) {
    if (isCode) continue;
    for (const [, name = ""] of text.slice(0, MAX_LINE).matchAll(INCLUDED)) {
      if (told.has(name) || references.resolve(name.replace(/^@?\$/, "")).kind === "file") continue;
      told.add(name);
      findings.add(
        "warning",
        path,
        number,
        `reads ${named(name)}, which is not at hand: the package is without it`,
      );
    }
  }
}
