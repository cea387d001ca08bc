import { withFrontmatter } from "../../src/core/documents/front-matter.js";
import { allDecisions, moveEarlierEntries } from "../../src/store/runs/earlier-files.js";
import type { RunFiles } from "../../src/store/runs/run-files.js";
import { valueOf } from "./run-world.js";

export const DECISIONS = 500;

/** Makes a run's decision log so long that most of it is moved out of the document. */
export async function makeLongList(files: RunFiles): Promise<void> {
  const { sha256, parts, frontmatter } = valueOf(await files.state.read());
  const decisionLog = Array.from({ length: DECISIONS }, (_, index) => ({
    from: "a",
    to: "b",
    label: `${index}`,
  }));
  await files.state.replace(sha256, valueOf(withFrontmatter(parts, { ...frontmatter, decisionLog })));
  const document = valueOf(await files.state.read());
  const at = { visit: 1, nodeId: "a", next: "b", timestamp: "2026-03-04T05:06:07.000Z", calls: 0 };
  await files.boundaries.keep(at, document.bytes);
  const moved = await moveEarlierEntries(files, { visit: 1, documentSha256: document.sha256 });
  if (moved === undefined) throw new Error("Nothing was moved.");
}

/** How many decisions the run has noted, those that were moved as well. */
export async function lengthOfList(files: RunFiles): Promise<number> {
  const { frontmatter } = valueOf(await files.state.read());
  return valueOf(allDecisions(files.stateDir, frontmatter)).length;
}
