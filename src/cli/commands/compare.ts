import { ended } from "../../core/text.js";
import { type ComparedArtifact, compareArtifacts } from "../report/compare-runs.js";
import { type OutcomeRow, printOutcomes, shortHash } from "../report/outcome-table.js";
import { EXIT, type ExitCode, print, printBlock, printJson } from "../terminal/output.js";
import { type RunOutcome, outcomeOf } from "../report/run-outcome.js";
import { withReader } from "../session/run-session.js";
import type { JsonChoice } from "../options/common-options.js";

/** `interlock compare`: how two runs went, beside each other, and in what their artifacts differ. */
export async function compareCommand(oneId: string, otherId: string, options: JsonChoice): Promise<ExitCode> {
  return withReader(oneId, ({ reader }) =>
    withReader(otherId, async (there) => {
      const one = { reader, outcome: await outcomeOf(reader, oneId) };
      const other = { reader: there.reader, outcome: await outcomeOf(there.reader, otherId) };
      const artifacts = await compareArtifacts(one, other);
      const runs = [one.outcome, other.outcome];
      if (options.json === true) printJson({ runs: runs.map(itself), artifacts });
      else {
        printOutcomes(originRows(runs), runs);
        for (const artifact of artifacts) printDifference(artifact);
      }
      return EXIT.done;
    }),
  );
}

/** What is told of each run by itself. */
function itself(outcome: RunOutcome): object {
  return { ...outcome, artifacts: outcome.artifacts.map(({ path }) => path) };
}

/** Which runs they are. */
function originRows(runs: readonly RunOutcome[]): readonly OutcomeRow[] {
  const row = (label: string, of: (outcome: RunOutcome) => string): OutcomeRow => ({
    label,
    cells: runs.map(of),
  });
  return [
    row("run", ({ runId }) => runId),
    row("package", ({ packageId }) => packageId),
    row("forked from", ({ forkedFrom }) =>
      forkedFrom === undefined ? "" : `${forkedFrom.runId} after visit ${forkedFrom.visit}`,
    ),
    row("model", ({ model }) => model ?? ""),
  ];
}

function printDifference({ path, same, sha256, difference = [], notShown }: ComparedArtifact): void {
  if (same || sha256.includes(null)) {
    if (notShown !== undefined) print(`${path}: ${ended(notShown)}`);
    return;
  }
  print("");
  print(`--- ${path} ${shortHash(sha256[0])}`);
  print(`+++ ${path} ${shortHash(sha256[1])}`);
  if (notShown !== undefined) print(`Not compared: ${ended(notShown)}`);
  for (const line of difference) printBlock(line);
}
