import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { InterlockError } from "../../client/client.js";
import { wholeFile } from "../../client/stores/store-reader.js";
import { ReadRefused } from "../../contract/reads.js";
import type { PackageTest } from "../../core/package/package-test.js";
import type { Agent } from "../../core/package/schemas.js";
import { type Question, asksForBudget } from "../../core/run/question.js";
import type { RunState } from "../../core/run/run-state.js";
import { defined } from "../../core/defined.js";
import { utf8In } from "../../core/written-text.js";
import { type PackageListing, readPackageFile } from "../../store/packages/package-files.js";
import { writeOwnStream } from "../../store/disk/own-file.js";
import { type RunView, followRun } from "../follow/follow.js";
import { UsageError } from "../terminal/output.js";
import { type RunOutcome, outcomeOf } from "../report/run-outcome.js";
import { prepareRun } from "../start/prepare-graph-run.js";
import { type TestedRun, unmet } from "./expectations.js";
import { type FoundTest, projectFolder } from "./read-tests.js";
import { scriptedTools } from "./scripted-tools.js";
import { SCRIPTED_SETTINGS, type ScriptedAnswers, scriptedAnswers } from "./scripted-answers.js";
import type { TestBench, TestPlace } from "./test-bench.js";

/** How a test has ended. */
export interface TestResult {
  readonly name: string;
  readonly file: string;
  /** The model of the settings that was asked; absent where answers were scripted or rehearsed. */
  readonly model?: string;
  readonly ok: boolean;
  /** What came otherwise than expected. */
  readonly problems: readonly string[];
  /** Absent where the run could not be started. */
  readonly outcome?: RunOutcome;
  /** The run has used up what it was given, and was ended. */
  readonly isOverCost?: true;
}

/** The package whose tests are run: its files, and its agents. */
export interface TestedPackage {
  readonly listing: PackageListing;
  readonly agents: readonly Agent[];
}

/** Runs a test in a place of its own. `model` is asked in the place of the test's answers. */
export async function runTest(
  bench: TestBench,
  { listing, agents }: TestedPackage,
  { name, file, test }: FoundTest,
  how: { readonly model?: string; readonly maxCost?: number; readonly signal: AbortSignal },
): Promise<TestResult> {
  const { model } = how;
  const script =
    model !== undefined || test.answers === undefined ? undefined : scriptedAnswers(test.answers);
  const answering = script && { model: script, modelSettingsFor: () => SCRIPTED_SETTINGS };
  const { tools, unknown } = scriptedTools(test.tools, agents);
  const told = { name, file, ...defined({ model }) };
  try {
    return await bench.withPlace({ ...answering, tools }, async (place) => {
      await furnish(place.projectRoot, listing, test);
      const run = await runOnce(place, listing.root, test, how);
      if (run.isOverCost) {
        const problems = ["cost: --max-cost was reached, and the run was ended"];
        return { ...told, ok: false, problems, outcome: run.outcome, isOverCost: true };
      }
      const problems = [
        ...(await unmet(test.expect, run)),
        ...unknown(run.outcome, test.expect),
        ...unusedAnswers(script),
      ];
      return { ...told, ok: problems.length === 0, problems, outcome: run.outcome };
    });
  } catch (error) {
    if (!(error instanceof UsageError || error instanceof InterlockError)) throw error;
    return { ...told, ok: false, problems: [`The run cannot be started: ${error.message}`] };
  }
}

/** The project as it is at the beginning: the test's folder, with its files over it. */
async function furnish(root: string, listing: PackageListing, { project, files = {} }: PackageTest) {
  const contents = new Map<string, string | Uint8Array>();
  const folder = project === undefined ? undefined : projectFolder(project);
  for (const { path, bytes } of listing.files) {
    if (folder === undefined || !path.startsWith(folder)) continue;
    contents.set(path.slice(folder.length), await readPackageFile(listing.root, path, bytes));
  }
  for (const [path, content] of Object.entries(files)) contents.set(path, content);
  for (const [path, content] of contents) {
    const place = join(root, path);
    mkdirSync(dirname(place), { recursive: true });
    await pipeline(Readable.from([Buffer.from(content)]), writeOwnStream(place));
  }
}

async function runOnce(
  { config, store, client, reader, projectRoot }: TestPlace,
  packageDir: string,
  test: PackageTest,
  { model, maxCost, signal }: Parameters<typeof runTest>[3],
): Promise<TestedRun & { readonly isOverCost: boolean }> {
  const { answers, workflow, agent, input, story, conditions, autopilot, wholeRunConversation } = test;
  const isScripted = model === undefined && answers !== undefined;
  const prepared = await prepareRun(
    // A worker with a model of its own needs none that is configured.
    isScripted ? { ...config, temporal: { connectionOptions: {} } } : config,
    store,
    {
      package: packageDir,
      project: projectRoot,
      rehearse: model === undefined && answers === undefined,
      // As many digits as the option takes.
      ...defined({ maxCost: maxCost?.toFixed(9) }),
      ...defined({ model, workflow, agent, input, story, conditions, autopilot, wholeRunConversation }),
    },
  );
  const run = await prepared.start(client);
  const user = new ScriptedUser(test.replies ?? []);
  const { state, asks } = await followRun(run, user, signal);
  return {
    // What a run below asks is waited for as well.
    outcome: await outcomeOf(
      reader,
      run.runId,
      asks === undefined ? state : { ...state, phase: "waiting-user" },
    ),
    questions: user.asked,
    // A test's runs have no other budget; nobody is asked about it.
    isOverCost: asksForBudget(state.question) || asksForBudget(asks),
    ...failureIn(state),
    async textOf(path) {
      try {
        return utf8In(await wholeFile(reader.bytes("read.artifact", { run: run.runId, path })));
      } catch (error) {
        if (error instanceof ReadRefused) return undefined;
        throw error;
      }
    },
  };
}

function failureIn({ failure }: RunState): Pick<TestedRun, "failure"> {
  return failure === undefined ? {} : { failure };
}

/** Answers what is asked as the test says, and leaves the run waiting when it says no more. */
class ScriptedUser implements RunView {
  readonly asked: string[] = [];
  private readonly replies: string[];

  constructor(replies: readonly string[]) {
    this.replies = [...replies];
  }

  show(): void {}
  wait(): void {}
  close(): void {}

  async ask({ text }: Pick<Question, "text">): Promise<string | undefined> {
    this.asked.push(text);
    return this.replies.shift();
  }
}

function unusedAnswers(script: ScriptedAnswers | undefined): readonly string[] {
  return (script?.unused() ?? []).map(({ nodeId, count }) => {
    const where = nodeId === undefined ? "" : ` for the node "${nodeId}"`;
    return `answers: the last ${count}${where} ${count === 1 ? "was" : "were"} not asked for`;
  });
}
