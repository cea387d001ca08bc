import { linesInFrontMatter } from "../../core/documents/front-matter-lines.js";
import { linesInJson } from "../../core/json-text.js";
import { type Finding, placeOf } from "../../core/package/findings.js";

/** Findings with the line that each is about, where their file was read and has such a place. */
export function withLines(
  findings: readonly Finding[],
  texts: ReadonlyMap<string, Uint8Array>,
): readonly Finding[] {
  const lines = new Map<Finding, number>();
  for (const [file, bytes] of texts) {
    const inFile = findings.filter((finding) => finding.file === file);
    if (inFile.length === 0) continue;
    const places = inFile.map(({ path }) => placeOf(path));
    const found = file.endsWith(".md")
      ? linesInFrontMatter(bytes, places)
      : linesInJson(Buffer.from(bytes).toString("utf8"), places);
    for (const [index, finding] of inFile.entries()) {
      const line = found[index];
      if (line !== undefined) lines.set(finding, line);
    }
  }
  return findings.map((finding) => {
    const line = lines.get(finding);
    return line === undefined ? finding : { ...finding, line };
  });
}
