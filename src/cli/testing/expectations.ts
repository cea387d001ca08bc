import { RE2JS } from "re2js";
import type { ExpectedArtifact, PackageTest } from "../../core/package/package-test.js";
import { excerpt, listSome } from "../../core/text.js";
import type { RunOutcome } from "../report/run-outcome.js";

/** What came of a test's run. */
export interface TestedRun {
  readonly outcome: RunOutcome;
  /** What the run asked its user. */
  readonly questions: readonly string[];
  /** Why it failed. */
  readonly failure?: { readonly code: string; readonly message: string };
  /** The text of an artifact; undefined where it is not there, or no text. */
  readonly textOf: (path: string) => Promise<string | undefined>;
}

/** What came otherwise than a test expects, each in a sentence that says both. */
export async function unmet(expected: PackageTest["expect"], run: TestedRun): Promise<readonly string[]> {
  const { outcome, failure } = run;
  const why = failure === undefined ? "" : ` (${failure.code}: ${failure.message})`;
  const problems: string[] = [];
  if (outcome.phase !== expected.phase) {
    problems.push(`phase: expected ${expected.phase}, came ${outcome.phase}${why}`);
  }
  const codes = outcome.refusals.map(({ code }) => code);
  problems.push(...otherList("path", expected.path, outcome.path, " → "));
  problems.push(...otherList("refusals", expected.refusals, codes, ", "));
  problems.push(...otherQuestions(expected.questions, run.questions));
  for (const artifact of expected.artifacts ?? []) problems.push(...(await otherArtifact(artifact, run)));
  return problems;
}

function otherList(
  what: string,
  expected: readonly string[] | undefined,
  came: readonly string[],
  between: string,
): readonly string[] {
  const words = (list: readonly string[]): string => (list.length === 0 ? "none" : list.join(between));
  if (expected === undefined || words(expected) === words(came)) return [];
  return [`${what}: expected ${words(expected)}, came ${words(came)}`];
}

function otherQuestions(expected: readonly string[] | undefined, came: readonly string[]): readonly string[] {
  if (expected === undefined) return [];
  if (expected.length !== came.length) {
    const asked =
      came.length === 0
        ? ""
        : `: ${listSome(
            came.map((text) => `"${excerpt(text)}"`),
            5,
          )}`;
    return [`questions: expected ${expected.length}, came ${came.length}${asked}`];
  }
  return came.flatMap((text, index) => {
    const part = expected[index] ?? "";
    return text.includes(part)
      ? []
      : [`questions: expected one with "${excerpt(part)}" as number ${index + 1}, came "${excerpt(text)}"`];
  });
}

async function otherArtifact(
  { path, contains, matches, sha256 }: ExpectedArtifact,
  { outcome, textOf }: TestedRun,
): Promise<readonly string[]> {
  const known = outcome.artifacts.find((artifact) => artifact.path === path);
  if (known === undefined) {
    const came = listSome(outcome.artifacts.map((artifact) => artifact.path)) || "none";
    return [`artifacts: expected ${path}, came ${came}`];
  }
  const problems: string[] = [];
  if (sha256 !== undefined && known.sha256 !== sha256) {
    problems.push(`${path}: expected SHA-256 ${sha256}, came ${known.sha256 ?? known.problem ?? "none"}`);
  }
  const parts = typeof contains === "string" ? [contains] : (contains ?? []);
  if (parts.length === 0 && matches === undefined) return problems;
  const text = await textOf(path);
  if (text === undefined) return [...problems, `${path}: expected a text, came a file that holds none`];
  for (const part of parts) {
    if (!text.includes(part))
      problems.push(`${path}: expected "${excerpt(part)}" in it, came ${begins(text)}`);
  }
  if (matches !== undefined && !expressionOf(matches).matcher(text).find()) {
    problems.push(`${path}: expected a match of /${excerpt(matches)}/, came ${begins(text)}`);
  }
  return problems;
}

/** `^` and `$` stand for the ends of lines. Throws for what is no expression of RE2. */
export function expressionOf(pattern: string): RE2JS {
  return RE2JS.compile(pattern, RE2JS.MULTILINE);
}

function begins(text: string): string {
  return text === "" ? "an empty file" : `a text that begins "${excerpt(text)}"`;
}
