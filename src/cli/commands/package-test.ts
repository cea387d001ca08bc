import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { type Config, loadConfig } from "../../config.js";
import { shortRunId } from "../../core/run/run-id.js";
import { defined } from "../../core/defined.js";
import { type Finding, isError } from "../../core/package/findings.js";
import { TESTS_FOLDER } from "../../core/package/package-test.js";
import { excerpt, listSome, shellWord } from "../../core/text.js";
import { readPackable } from "../../store/packages/pack-package.js";
import { chosenModel } from "../options/model-options.js";
import { printOutcomes } from "../report/outcome-table.js";
import { CommandError, EXIT, type ExitCode, UsageError, print, printJson } from "../terminal/output.js";
import { type FoundTest, readTests } from "../testing/read-tests.js";
import { type CostCap, costCapOf } from "../testing/cost-cap.js";
import { recordTest } from "../testing/record-test.js";
import { writeNewFile } from "../testing/write-test.js";
import { resolveRun } from "../session/resolve-run.js";
import { withReader } from "../session/run-session.js";
import { type TestResult, type TestedPackage, runTest } from "../testing/run-test.js";
import { isolated, openTestBench } from "../testing/test-bench.js";
import { printFindings } from "./package.js";
import { interruption } from "../terminal/interruption.js";

interface TestOptions {
  readonly test?: string;
  readonly json?: boolean;
  /** A run that becomes a test. */
  readonly record?: string;
  readonly as?: string;
  /** Names of models, with commas between them: they answer in the place of the tests' answers. */
  readonly models?: string;
  /** What all runs of these models together may cost. */
  readonly maxCost?: string;
}

/** `interlock package test`: runs the tests of a package, each on the real engine in a place of its own. */
export async function packageTestCommand(dir = ".", options: TestOptions): Promise<ExitCode> {
  const root = resolve(dir);
  const entry = await stat(root).catch(() => undefined);
  if (entry?.isDirectory() !== true) {
    throw new UsageError(`"${excerpt(dir)}" is no directory. Tests lie in the directory of a package.`);
  }
  checkTogether(options);
  const { listing, package: loaded, findings: ofPackage } = await readPackable(root);
  if (options.record !== undefined && loaded !== undefined) {
    const { name: packageName } = loaded.manifest;
    return record(listing.root, { packageName, firstAgent: loaded.agents[0]?.id }, options.record, options);
  }
  const read = await readTests(listing);
  const findings = [...ofPackage.filter(isError), ...read.findings];
  if (loaded === undefined || findings.length > 0) return reportFindings(findings, options);
  const { agents } = loaded;
  const tests = chosen(read.tests, dir, options.test);
  const config = isolated(loadConfig());
  const models = modelsIn(config, options.models);
  const ids = agents.map(({ id }) => id);
  const cap = costCapOf(config, options.maxCost, models, ids);
  const show = options.json === true ? () => undefined : printResults;
  const results = await runAll(config, { listing, agents }, { tests, models, cap }, show);
  return report(results, { ...options, cap, count: tests.length * models.length });
}

/** Throws `UsageError` for options that say nothing together. */
function checkTogether({ record: ofRun, as, models, test, maxCost }: TestOptions): void {
  if (ofRun !== undefined && (models ?? test ?? maxCost) !== undefined) {
    throw new UsageError("--record makes a test and runs none: leave out --test, --models and --max-cost.");
  }
  if (as !== undefined && ofRun === undefined) {
    throw new UsageError("--as names a test that is recorded: add --record <run>.");
  }
}

function reportFindings(findings: readonly Finding[], { json = false }: TestOptions): ExitCode {
  if (json) printJson({ ok: false, findings, tests: [] });
  else {
    printFindings(findings);
    print("Nothing was run: mend the errors first.");
  }
  return EXIT.failed;
}

/** What is run: each test with each model, until what all may cost is used up. */
interface Rounds {
  readonly tests: readonly FoundTest[];
  readonly models: readonly (string | undefined)[];
  readonly cap: CostCap | undefined;
}

/** Shows the results of each test when it has been run. */
async function runAll(
  config: Config,
  tested: TestedPackage,
  { tests, models, cap }: Rounds,
  show: (ofTest: readonly TestResult[]) => void,
): Promise<readonly TestResult[]> {
  const signal = interruption();
  const stopped = (error: unknown): never => {
    throw signal.aborted ? new CommandError("Stopped before all tests were run.", { cause: error }) : error;
  };
  const bench = await openTestBench(config, signal).catch(stopped);
  try {
    const results: TestResult[] = [];
    for (const test of tests) {
      const ofTest: TestResult[] = [];
      for (const model of models) {
        const maxCost = cap?.left;
        if (maxCost === 0) break;
        const result = await runTest(bench, tested, test, { ...defined({ model, maxCost }), signal });
        ofTest.push(result);
        cap?.count(result);
      }
      results.push(...ofTest);
      if (ofTest.length > 0) show(ofTest);
    }
    return results;
  } catch (error) {
    return stopped(error);
  } finally {
    await bench.close();
  }
}

async function record(
  root: string,
  of: { readonly packageName: string; readonly firstAgent: string | undefined },
  named: string,
  { as, json = false }: TestOptions,
): Promise<ExitCode> {
  const run = await resolveRun(named);
  const name = as ?? `run-${shortRunId(run)}`;
  if (!/^[A-Za-z0-9][\w.-]{0,99}$/.test(name)) {
    throw new UsageError("--as takes letters, digits, ., - and _, a letter or digit first: it names a file.");
  }
  const { text, files } = await withReader(run, ({ reader }) => recordTest(reader, run, { ...of, name }));
  const path = `${TESTS_FOLDER}/${name}.yaml`;
  await writeNewFile(root, path, text);
  if (json) printJson({ ok: true, name, file: path, files });
  else {
    print(
      `Made ${path} of run ${run}. Run it with: interlock package test ${shellWord(root)} --test ${name}`,
    );
    if (files.length > 0)
      print(`These files of the project are in it, as the run read them: ${listSome(files)}.`);
  }
  return EXIT.done;
}

/** Throws `CommandError` where there is nothing to run. */
function chosen(tests: readonly FoundTest[], dir: string, name: string | undefined): readonly FoundTest[] {
  if (tests.length === 0) {
    throw new CommandError(
      `The package has no tests. Write ${TESTS_FOLDER}/<name>.yaml (docs/testing-packages.md), or make one of a run: interlock package test ${shellWord(dir)} --record <run>`,
    );
  }
  if (name === undefined) return tests;
  const named = tests.filter((test) => test.name === name);
  if (named.length > 0) return named;
  throw new CommandError(
    `There is no test "${excerpt(name)}". There are: ${listSome(tests.map((test) => test.name))}.`,
  );
}

/** Undefined stands for the tests' own answers. Throws `UsageError` for a model that is not configured. */
function modelsIn(config: Config, list: string | undefined): readonly (string | undefined)[] {
  if (list === undefined) return [undefined];
  const names = [...new Set(list.split(",").map((name) => name.trim()))].filter((name) => name !== "");
  if (names.length === 0) throw new UsageError("--models takes names of models: --models fast,careful");
  for (const model of names) {
    try {
      chosenModel(config, { model });
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      throw new UsageError(`--models ${excerpt(model)}: ${error.message}`, { cause: error });
    }
  }
  return names;
}

/** One line for a test; for one that several models have taken, a table. */
function printResults(results: readonly TestResult[]): void {
  const [first] = results;
  if (first?.model === undefined) {
    for (const result of results) printResult(result);
    return;
  }
  print(`${first.name}  ${first.file}`);
  const ended = results.flatMap(({ ok, model = "", outcome }) =>
    outcome === undefined ? [] : [{ model, outcome, verdict: ok ? "ok" : "FAILED" }],
  );
  const own = [
    { label: "model", cells: ended.map(({ model }) => model) },
    { label: "result", cells: ended.map(({ verdict }) => verdict) },
  ];
  printOutcomes(
    own,
    ended.map(({ outcome }) => outcome),
  );
  for (const { model = "", problems } of results) {
    for (const problem of problems) print(`        ${model}: ${problem}`);
  }
}

function printResult({ name, file, ok, problems, outcome }: TestResult): void {
  const path = outcome === undefined ? "" : `  ${outcome.path.join(" → ")}`;
  print(ok ? `ok      ${name}${path}` : `FAILED  ${name}  ${file}`);
  for (const problem of problems) print(`        ${problem}`);
}

function report(
  results: readonly TestResult[],
  { json = false, cap, count }: TestOptions & { readonly cap: CostCap | undefined; readonly count: number },
): ExitCode {
  const failed = results.filter(({ ok }) => !ok).length;
  const notRun = count - results.length;
  const ok = failed + notRun === 0;
  if (json) printJson({ ok, tests: results, ...(cap === undefined ? {} : { cost: cap.spent, notRun }) });
  else {
    const passed = `${results.length - failed} passed`;
    print(failed === 0 ? `${passed}.` : `${passed}, ${failed} failed.`);
    if (cap?.left === 0) print(`--max-cost ${cap.limit} is used up. Not run: ${notRun} of ${count}.`);
  }
  return ok ? EXIT.done : EXIT.failed;
}
