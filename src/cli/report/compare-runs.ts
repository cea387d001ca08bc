import { structuredPatch } from "diff";
import { ReadRefused, type StoreReader } from "../../contract/reads.js";
import { wholeFile } from "../../client/stores/store-reader.js";
import { utf8In } from "../../core/written-text.js";
import { read } from "../session/run-folder.js";
import type { OutcomeArtifact, RunOutcome } from "./run-outcome.js";

/** One of two runs that are compared. */
export interface ComparedRun {
  readonly reader: StoreReader;
  readonly outcome: RunOutcome;
}

/** An artifact of two runs. A hash is null where a run has not made it, or where it cannot be read. */
export interface ComparedArtifact {
  readonly path: string;
  readonly sha256: readonly [string | null, string | null];
  readonly same: boolean;
  /** The lines that differ, as a unified difference has them; absent where there are none to show. */
  readonly difference?: readonly string[];
  /** Why no lines are shown of files that differ. */
  readonly notShown?: string;
}

/** Longer texts, or such that differ in more, are not compared line by line. */
const MAX_CHARS = 400_000;
const MAX_EDITS = 4_000;
const MAX_LINES = 2_000;

/** The artifacts of two runs, by their paths, with the lines in which texts differ. */
export async function compareArtifacts(
  one: ComparedRun,
  other: ComparedRun,
): Promise<readonly ComparedArtifact[]> {
  const left = byPath(one.outcome);
  const right = byPath(other.outcome);
  const compared: ComparedArtifact[] = [];
  for (const path of [...new Set([...left.keys(), ...right.keys()])].toSorted()) {
    const before = left.get(path);
    const after = right.get(path);
    const sha256 = [before?.sha256 ?? null, after?.sha256 ?? null] as const;
    const same = sha256[0] !== null && sha256[0] === sha256[1];
    const isInBoth = sha256[0] !== null && sha256[1] !== null;
    const shown =
      same || !isInBoth || before === undefined || after === undefined
        ? whyNot(before, after)
        : differenceOf(await textOf(one, before), await textOf(other, after));
    compared.push({ path, sha256, same, ...shown });
  }
  return compared;
}

function byPath({ artifacts }: RunOutcome): ReadonlyMap<string, OutcomeArtifact> {
  return new Map(artifacts.map((artifact) => [artifact.path, artifact]));
}

type Shown = Pick<ComparedArtifact, "difference" | "notShown">;

function whyNot(before: OutcomeArtifact | undefined, after: OutcomeArtifact | undefined): Shown {
  const notShown = before?.problem ?? after?.problem;
  return notShown === undefined ? {} : { notShown };
}

/** The text of an artifact, or why it is not at hand. */
type Text = { readonly text: string } | { readonly notShown: string };

function differenceOf(before: Text, after: Text): Shown {
  if ("notShown" in before) return before;
  if ("notShown" in after) return after;
  const patch =
    before.text.length + after.text.length > MAX_CHARS
      ? undefined
      : structuredPatch("", "", before.text, after.text, "", "", { context: 3, maxEditLength: MAX_EDITS });
  if (patch === undefined) return { notShown: "the two are too different, or too long, to be compared" };
  const lines = patch.hunks.flatMap(({ oldStart, oldLines, newStart, newLines, lines: changed }) => [
    `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`,
    ...changed,
  ]);
  if (lines.length <= MAX_LINES) return { difference: lines };
  return { difference: [...lines.slice(0, MAX_LINES), `… ${lines.length - MAX_LINES} lines more`] };
}

/** As the run has written it, if that is kept; else as it lies there, if it is that still. */
async function textOf(
  { reader, outcome: { runId: run } }: ComparedRun,
  artifact: OutcomeArtifact,
): Promise<Text> {
  const { path, sha256 } = artifact;
  if (sha256 === null) return { notShown: "it cannot be read" };
  const kept = read(run, await reader.ask("read.content", { run, sha256 })).text;
  if (kept !== null) return kept.isCut ? { notShown: "it is too long to be compared" } : { text: kept.text };
  const { artifacts } = read(run, await reader.ask("read.artifacts", { run }));
  const now = artifacts.find((known) => known.path === path);
  if (now?.sha256 !== sha256) return { notShown: "what the run has written is no longer kept" };
  if ((now.bytes ?? 0) > MAX_CHARS) return { notShown: "it is too long to be compared" };
  try {
    const text = utf8In(await wholeFile(reader.bytes("read.artifact", { run, path })));
    return text === undefined ? { notShown: "it is no text" } : { text };
  } catch (error) {
    if (error instanceof ReadRefused) return { notShown: error.message };
    throw error;
  }
}
