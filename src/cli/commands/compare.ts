import { diffArrays } from "diff";
import { tokensInWords, about } from "../../core/run/usage.js";
import { type ComparedArtifact, compareArtifacts } from "../compare-runs.js";
import { EXIT, type ExitCode, outputWidth, print, printBlock, printJson } from "../output.js";
import { type RunOutcome, outcomeOf } from "../run-outcome.js";
import { withReader } from "../run-session.js";
import { tableLines } from "../table.js";

/** `interlock compare`: how two runs went, beside each other, and in what their artifacts differ. */
export async function compareCommand(
  oneId: string,
  otherId: string,
  options: { json?: boolean },
): Promise<ExitCode> {
  return withReader(oneId, ({ reader }) =>
    withReader(otherId, async (there) => {
      const one = { reader, outcome: await outcomeOf(reader, oneId) };
      const other = { reader: there.reader, outcome: await outcomeOf(there.reader, otherId) };
      const artifacts = await compareArtifacts(one, other);
      const runs = [one.outcome, other.outcome] as const;
      if (options.json === true) printJson({ runs: runs.map(itself), artifacts });
      else printComparison(runs, artifacts);
      return EXIT.done;
    }),
  );
}

/** What is told of each run by itself. */
function itself(outcome: RunOutcome): object {
  return { ...outcome, artifacts: outcome.artifacts.map(({ path }) => path) };
}

type Row = readonly [label: string, one: string, other: string];

/** What a cell has at most, in characters. */
const MAX_CELL = 60;
const HASH_CHARS = 12;

function printComparison(
  [one, other]: readonly [RunOutcome, RunOutcome],
  artifacts: readonly ComparedArtifact[],
): void {
  const row = (label: string, of: (outcome: RunOutcome) => string): Row => [label, of(one), of(other)];
  const rows: readonly Row[] = [
    row("run", ({ runId }) => runId),
    row("package", ({ packageId }) => packageId),
    row("forked from", ({ forkedFrom }) =>
      forkedFrom === undefined ? "" : `${forkedFrom.runId} after visit ${forkedFrom.visit}`,
    ),
    row("model", ({ model }) => model ?? ""),
    row("phase", ({ phase }) => phase),
    ...aligned("path", one.path, other.path),
    ...aligned("refused", refusalsIn(one), refusalsIn(other)),
    row("turns", ({ usage }) => String(usage.modelTurns)),
    row("tool calls", ({ usage }) => String(usage.toolCalls)),
    row("tokens", ({ usage }) => tokensInWords(usage)),
    row("cost", ({ usage }) => `${about(usage)}${usage.cost.toFixed(4)}`),
    ...artifacts.map(({ path, sha256 }): Row => [path, hash(sha256[0]), hash(sha256[1])]),
  ];
  const columns = [
    { title: "", max: 1 },
    { title: "", max: MAX_CELL, gives: true },
    { title: "", max: MAX_CELL, gives: true },
    { title: "", max: MAX_CELL, gives: true },
  ];
  const cells = rows
    .filter(([, left, right]) => left !== "" || right !== "")
    .map(([label, left, right]) => [left === right ? "" : "*", label, left, right]);
  for (const line of tableLines(columns, cells, outputWidth()).slice(1)) print(line);
  for (const artifact of artifacts) printDifference(artifact);
}

/** Two lists beside each other: what both have in the same order stands in one row. */
function aligned(label: string, one: readonly string[], other: readonly string[]): readonly Row[] {
  const rows: Row[] = [];
  let waiting: string[] = [];
  const flush = (): void => {
    for (const left of waiting) rows.push([label, left, ""]);
    waiting = [];
  };
  for (const { value, added, removed } of diffArrays([...one], [...other])) {
    if (removed) waiting.push(...value);
    else if (added) for (const right of value) rows.push([label, waiting.shift() ?? "", right]);
    else {
      flush();
      for (const both of value) rows.push([label, both, both]);
    }
  }
  flush();
  return rows.map(([, left, right], index) => [index === 0 ? label : "", left, right]);
}

function refusalsIn({ refusals }: RunOutcome): readonly string[] {
  return refusals.map(({ nodeId, tool, code }) => `${code} ${tool} at ${nodeId}`);
}

function hash(sha256: string | null): string {
  return sha256?.slice(0, HASH_CHARS) ?? "-";
}

function printDifference({ path, same, sha256, difference = [], notShown }: ComparedArtifact): void {
  if (same || sha256.includes(null)) {
    if (notShown !== undefined) print(`${path}: ${notShown}.`);
    return;
  }
  print("");
  print(`--- ${path} ${hash(sha256[0])}`);
  print(`+++ ${path} ${hash(sha256[1])}`);
  if (notShown !== undefined) print(`Not compared: ${notShown}.`);
  for (const line of difference) printBlock(line);
}
