import { linesInYaml } from "../../core/documents/front-matter-lines.js";
import { parseYaml } from "../../core/documents/yaml-to-json.js";
import { projectFile } from "../../core/package/artifact-types.js";
import { checkShape } from "../../core/package/check-shape.js";
import { type Finding, errorFinding, faultFinding, jsonPath, placeOf } from "../../core/package/findings.js";
import {
  checkPathCollisions,
  normalizePackagePath,
  packagePathProblem,
} from "../../core/package/package-path.js";
import { type PackageTest, TESTS_FOLDER, packageTestSchema } from "../../core/package/package-test.js";
import { excerpt } from "../../core/text.js";
import { canonicalToolName } from "../../core/tools/tool-specs.js";
import { writtenText } from "../../core/written-text.js";
import {
  PackageFileRefused,
  type PackageListing,
  readPackageFile,
} from "../../store/packages/package-files.js";
import { expressionOf } from "./expectations.js";

const MAX_TEST_BYTES = 4 * 1024 * 1024;

/** A test that can be run. */
export interface FoundTest {
  readonly name: string;
  /** Relative to the package. */
  readonly file: string;
  readonly test: PackageTest;
}

/** The tests of a package, in the order of their files, and what is wrong with those that are none. */
export async function readTests(
  listing: PackageListing,
): Promise<{ readonly tests: readonly FoundTest[]; readonly findings: readonly Finding[] }> {
  const files = listing.files.filter(({ path }) => TEST_FILE.test(path));
  const tests: FoundTest[] = [];
  const findings: Finding[] = [];
  for (const { path: file } of files) {
    const read = await readTest(listing, file);
    if ("findings" in read) findings.push(...read.findings);
    else if (tests.some(({ name }) => name === read.name)) {
      findings.push(errorFinding(file, "$.name", `there is another test "${read.name}": call one otherwise`));
    } else tests.push(read);
  }
  return { tests, findings };
}

/** Files deeper down are what tests work with. */
const TEST_FILE = new RegExp(`^${TESTS_FOLDER}/[^/]+\\.ya?ml$`, "i");

async function readTest(
  listing: PackageListing,
  file: string,
): Promise<FoundTest | { readonly findings: readonly Finding[] }> {
  let bytes: Uint8Array;
  try {
    bytes = await readPackageFile(listing.root, file, MAX_TEST_BYTES);
  } catch (error) {
    if (error instanceof PackageFileRefused) return { findings: [error.finding] };
    throw error;
  }
  const written = writtenText(bytes);
  if ("problem" in written) return { findings: [errorFinding(file, "$", written.problem)] };
  const { text } = written;
  const parsed = parseTest(file, text);
  if ("findings" in parsed) return parsed;
  const problems = [
    ...placesProblems(file, parsed.test, listing),
    ...patternProblems(file, parsed.test),
    ...toolProblems(file, parsed.test),
  ];
  return problems.length === 0 ? parsed : { findings: withLines(problems, text) };
}

/** A test's text, held against its schema. */
export function parseTest(file: string, text: string): FoundTest | { readonly findings: readonly Finding[] } {
  const parsed = parseYaml(text, "The test");
  if (!parsed.ok) return { findings: [faultFinding(file, parsed.error)] };
  const { value, findings } = checkShape(file, packageTestSchema, parsed.value);
  if (value === undefined) return { findings: withLines(findings, text) };
  return { name: value.name ?? stemOf(file), file, test: inPlainPaths(value) };
}

/** A test whose files and artifacts are named as those of a run are: `@project/a` and `./a` as `a`. */
function inPlainPaths(test: PackageTest): PackageTest {
  const { files, expect } = test;
  const plain = (path: string): string => projectFile(path) ?? path;
  return {
    ...test,
    ...(files && {
      files: Object.fromEntries(Object.entries(files).map(([path, text]) => [plain(path), text])),
    }),
    expect: {
      ...expect,
      ...(expect.artifacts && {
        artifacts: expect.artifacts.map((artifact) => ({ ...artifact, path: plain(artifact.path) })),
      }),
    },
  };
}

/** What a test is called that does not say it. */
function stemOf(file: string): string {
  return file.slice(TESTS_FOLDER.length + 1).replace(/\.ya?ml$/i, "");
}

/** The folder that a test's project is copied from, as the listing has it. */
export function projectFolder(project: string): string {
  return `${TESTS_FOLDER}/${project.replace(/\/+$/, "")}/`;
}

function placesProblems(
  file: string,
  { project, files = {} }: PackageTest,
  { files: listed }: PackageListing,
) {
  const problems: Finding[] = [];
  if (project !== undefined && !listed.some(({ path }) => path.startsWith(projectFolder(project)))) {
    const sentence = `there is no folder ${TESTS_FOLDER}/${project} with files in it: make it, or name another`;
    problems.push(errorFinding(file, "$.project", sentence));
  }
  for (const path of Object.keys(files)) {
    const problem = packagePathProblem(path) ?? (/(?:^|\/)\.?$/.test(path) ? "is no file's" : undefined);
    if (problem !== undefined) problems.push(errorFinding(file, "$.files", `the name "${path}" ${problem}`));
  }
  const folder = project === undefined ? undefined : projectFolder(project);
  const copied = listed.flatMap(({ path }) =>
    folder !== undefined && path.startsWith(folder) ? [path.slice(folder.length)] : [],
  );
  const names = Object.keys(files).map(normalizePackagePath);
  for (const { file: name, message } of checkPathCollisions([...new Set([...copied, ...names])], [])) {
    problems.push(errorFinding(file, "$.files", `the name "${name}" ${message}`));
  }
  return problems;
}

function patternProblems(file: string, { expect: { artifacts = [] } }: PackageTest): readonly Finding[] {
  return artifacts.flatMap(({ matches = "" }, index) => {
    try {
      expressionOf(matches);
      return [];
    } catch (error) {
      const reason = error instanceof Error ? error.message : "unknown";
      const sentence = `is no regular expression of RE2 (${reason}): correct it`;
      return [errorFinding(file, `$.expect.artifacts[${index}].matches`, sentence)];
    }
  });
}

function toolProblems(file: string, { tools = {} }: PackageTest): readonly Finding[] {
  return Object.entries(tools).flatMap(([name, answers]) => {
    const isOurs = canonicalToolName(name) !== undefined;
    const unclear = answers.findIndex(
      ({ result, error, wrongArguments }) =>
        [result, error, wrongArguments].filter((said) => said !== undefined).length !== 1,
    );
    if (unclear !== -1) {
      const sentence = "must have one of result, error and wrongArguments";
      return [errorFinding(file, `${jsonPath(["tools", name])}[${unclear}]`, sentence)];
    }
    if (!isOurs && /^[\w./:-]{1,100}$/.test(name)) return [];
    const why = isOurs ? "is the engine's own, which works in tests" : "is no name of a tool";
    const sentence = `"${excerpt(name, 60)}" ${why}: name one of an MCP server, such as mcp.tickets.find, or one in code`;
    return [errorFinding(file, "$.tools", sentence)];
  });
}

function withLines(findings: readonly Finding[], text: string): readonly Finding[] {
  const lines = linesInYaml(
    text,
    findings.map(({ path }) => placeOf(path)),
  );
  return findings.map((finding, index) => {
    const line = lines[index];
    return line === undefined ? finding : { ...finding, line };
  });
}
