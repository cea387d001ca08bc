import { diffArrays } from "diff";
import { about, tokensInWords } from "../../core/run/usage.js";
import { outputWidth, print } from "../terminal/output.js";
import type { RunOutcome } from "./run-outcome.js";
import { tableLines } from "../terminal/table.js";

/** What is said of each run, in the order of the runs. */
export interface OutcomeRow {
  readonly label: string;
  readonly cells: readonly string[];
}

/** What a cell has at most, in characters. */
const MAX_CELL = 60;
const HASH_CHARS = 12;

/** Runs beside each other, a column for each, under their own rows; `*` marks the rows in which they differ. */
export function printOutcomes(own: readonly OutcomeRow[], outcomes: readonly RunOutcome[]): void {
  const of = (label: string, cell: (outcome: RunOutcome) => string): OutcomeRow => ({
    label,
    cells: outcomes.map(cell),
  });
  const rows = [
    ...own,
    of("phase", ({ phase }) => phase),
    ...listRows(
      "path",
      outcomes.map(({ path }) => path),
    ),
    ...listRows("refused", outcomes.map(refusalsIn)),
    of("turns", ({ usage }) => String(usage.modelTurns)),
    of("tool calls", ({ usage }) => String(usage.toolCalls)),
    of("tokens", ({ usage }) => tokensInWords(usage)),
    of("cost", ({ usage }) => `${about(usage)}${usage.cost.toFixed(4)}`),
    ...artifactRows(outcomes),
  ].filter(({ cells }) => cells.some((cell) => cell !== ""));
  const columns = [
    { title: "", max: 1 },
    ...["", ...outcomes].map(() => ({ title: "", max: MAX_CELL, gives: true })),
  ];
  const lines = rows.map(({ label, cells }) => {
    const isSame = cells.every((cell) => cell === cells[0]);
    return [isSame ? "" : "*", label, ...cells];
  });
  for (const line of tableLines(columns, lines, outputWidth()).slice(1)) print(line);
}

/** The beginning of a hash. */
export function shortHash(sha256: string | null | undefined): string {
  return sha256?.slice(0, HASH_CHARS) ?? "-";
}

function artifactRows(outcomes: readonly RunOutcome[]): readonly OutcomeRow[] {
  const made = outcomes.map(({ artifacts }) => new Map(artifacts.map(({ path, sha256 }) => [path, sha256])));
  const paths = [...new Set(made.flatMap((artifacts) => [...artifacts.keys()]))].toSorted();
  return paths.map((path) => ({
    label: path,
    cells: made.map((artifacts) => shortHash(artifacts.get(path))),
  }));
}

function refusalsIn({ refusals }: RunOutcome): readonly string[] {
  return refusals.map(({ nodeId, tool, code }) => `${code} ${tool} at ${nodeId}`);
}

/** Lists beside each other, an item in a row. */
function listRows(label: string, lists: readonly (readonly string[])[]): readonly OutcomeRow[] {
  const [one = [], other = [], ...more] = lists;
  const rows = more.length === 0 && lists.length === 2 ? aligned(one, other) : sideBySide(lists);
  return rows.map((cells, index) => ({ label: index === 0 ? label : "", cells }));
}

function sideBySide(lists: readonly (readonly string[])[]): readonly (readonly string[])[] {
  const length = Math.max(...lists.map((list) => list.length));
  return Array.from({ length }, (_, index) => lists.map((list) => list[index] ?? ""));
}

/** What both lists have in the same order stands in one row. */
function aligned(one: readonly string[], other: readonly string[]): readonly (readonly string[])[] {
  const rows: (readonly string[])[] = [];
  let waiting: string[] = [];
  const flush = (): void => {
    for (const left of waiting) rows.push([left, ""]);
    waiting = [];
  };
  for (const { value, added, removed } of diffArrays([...one], [...other])) {
    if (removed) waiting.push(...value);
    else if (added) for (const right of value) rows.push([waiting.shift() ?? "", right]);
    else {
      flush();
      for (const both of value) rows.push([both, both]);
    }
  }
  flush();
  return rows;
}
