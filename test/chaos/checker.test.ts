import { cp, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { temporaryDirectory } from "../fakes/package-fixture.js";
import { checkStore } from "./check-store.js";
import { checkRuns } from "./checker.js";
import type { Evidence, ModelRequest, WorkerLife } from "./evidence.js";
import { walkByHand } from "./hand-made-store.js";
import { isTelling } from "./mutants.js";
import { type ChaosPlan, planChaos } from "./plan.js";

const RUNS = 3;

let dir: string;
let walked: Evidence;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "interlock-checker-"));
  walked = await walkByHand(dir, tellingPlan());
});
afterAll(() => rm(dir, { recursive: true, force: true }));

/** A plan whose first run has a question, artifacts, several visits and a budget. */
function tellingPlan(): ChaosPlan {
  const user = { budget: { run: { turns: 2 }, node: { turns: 1 }, raise: 30 } };
  for (let seed = 1; ; seed += 1) {
    const plan = planChaos(`checker-${seed}`, RUNS);
    const [first, ...others] = plan.runs;
    if (first !== undefined && isTelling(first)) return { ...plan, runs: [{ ...first, user }, ...others] };
  }
}

/** Where the things of the first run are, in a copy that may be spoiled. */
interface Spoiled {
  readonly evidence: Evidence;
  readonly runDir: string;
  readonly projectRoot: string;
  /** Of the execution that continued as new, and of the one that completed. */
  readonly history: string;
  readonly lastHistory: string;
  readonly artifact: string;
}

async function copy(): Promise<Spoiled> {
  const to = await temporaryDirectory();
  await cp(dir, to, { recursive: true });
  const [run] = walked.plan.runs;
  const [operations] = walked.operations;
  if (run === undefined || operations === undefined) throw new Error("There is no run.");
  const plan = { ...walked.plan, runs: [run] };
  const places = {
    storeDir: join(to, "store"),
    projectsDir: join(to, "projects"),
    historiesDir: join(to, "histories"),
  };
  return {
    evidence: { ...walked, plan, ...places },
    runDir: join(places.storeDir, "projects", operations.projectId, "runs", run.runId),
    projectRoot: join(places.projectsDir, run.project),
    history: join(places.historiesDir, `${run.runId}.0.json`),
    lastHistory: join(places.historiesDir, `${run.runId}.1.json`),
    artifact: run.end.artifacts[0] ?? "",
  };
}

const AUDIT = "state/logs/execution.jsonl";

async function editLines(path: string, edit: (lines: string[]) => string[]): Promise<void> {
  const lines = (await readFile(path, "utf8")).split("\n").slice(0, -1);
  await writeFile(path, `${edit(lines).join("\n")}\n`);
}

function without(what: string): (lines: string[]) => string[] {
  return (lines) => {
    const index = lines.findIndex((line) => line.includes(what));
    if (index === -1) throw new Error(`No line holds ${what}.`);
    return lines.toSpliced(index, 1);
  };
}

function twice(what: string): (lines: string[]) => string[] {
  return (lines) => {
    const index = lines.findIndex((line) => line.includes(what));
    if (index === -1) throw new Error(`No line holds ${what}.`);
    return lines.toSpliced(index, 0, lines[index] ?? "");
  };
}

async function editText(path: string, from: string | RegExp, to: string): Promise<void> {
  const text = await readFile(path, "utf8");
  expect(text).toMatch(from);
  await writeFile(path, text.replace(from, to));
}

async function visitOne(runDir: string): Promise<string> {
  const names = await readdir(join(runDir, "conversation"));
  return join(runDir, "conversation", names.sort()[0] ?? "");
}

type Spoil = (place: Spoiled) => Promise<void>;

const SPOILED: readonly (readonly [string, "lost" | "doubled" | "unknown", Spoil])[] = [
  ["an audit line removed", "lost", ({ runDir }) => editLines(join(runDir, AUDIT), without("tool.exec"))],
  [
    "the last audit line removed",
    "lost",
    ({ runDir }) => editLines(join(runDir, AUDIT), (lines) => lines.slice(0, -1)),
  ],
  ["an audit line doubled", "doubled", ({ runDir }) => editLines(join(runDir, AUDIT), twice("tool.exec"))],
  ["an audit line changed", "lost", ({ runDir }) => editText(join(runDir, AUDIT), '"ok":true', '"ok":false')],
  [
    "a model turn not in the audit log",
    "lost",
    ({ runDir }) => editLines(join(runDir, AUDIT), without("model.turn")),
  ],
  [
    "the user's words doubled",
    "doubled",
    async ({ runDir }) => editLines(await visitOne(runDir), twice('"user"')),
  ],
  [
    "the user's words removed",
    "lost",
    async ({ runDir }) => editLines(await visitOne(runDir), without('"user"')),
  ],
  [
    "an answer of the model doubled",
    "doubled",
    async ({ runDir }) => editLines(await visitOne(runDir), twice('"assistant"')),
  ],
  [
    "an answer of the model removed",
    "lost",
    async ({ runDir }) => editLines(await visitOne(runDir), without('"assistant"')),
  ],
  ["a result removed", "lost", ({ runDir }) => editLines(join(runDir, "calls.jsonl"), without('"result"'))],
  ["a result doubled", "doubled", ({ runDir }) => editLines(join(runDir, "calls.jsonl"), twice('"result"'))],
  [
    "a boundary removed",
    "lost",
    ({ runDir }) => editLines(join(runDir, "boundaries.jsonl"), (lines) => lines.slice(0, -1)),
  ],
  [
    "a boundary doubled",
    "doubled",
    ({ runDir }) => editLines(join(runDir, "boundaries.jsonl"), twice('"visit"')),
  ],
  [
    "a decision removed",
    "lost",
    ({ runDir }) =>
      editText(
        join(runDir, "state/workflow.md"),
        /"decisionLog": ?\[.*\]|decisionLog: \[.*\]/,
        "decisionLog: []",
      ),
  ],
  [
    "a decision doubled",
    "doubled",
    ({ runDir }) =>
      editText(join(runDir, "state/workflow.md"), /decisionLog"?: ?\[(\{[^}]*\})/, "decisionLog: [$1,$1"),
  ],
  [
    "another current node",
    "lost",
    ({ runDir }) =>
      editText(join(runDir, "state/workflow.md"), /currentNodeId: ?"\w+"/, 'currentNodeId: "n0"'),
  ],
  [
    "an artifact not recorded",
    "lost",
    ({ runDir, artifact }) =>
      editText(join(runDir, "state/workflow.md"), `"${artifact}"`, '"artifacts/other.md"'),
  ],
  [
    "another body",
    "lost",
    ({ runDir }) => editText(join(runDir, "state/workflow.md"), "Kept as it is.\r\n", "Kept as it is.\n"),
  ],
  ["an artifact removed", "lost", ({ projectRoot, artifact }) => rm(join(projectRoot, artifact))],
  [
    "an artifact changed",
    "lost",
    ({ projectRoot, artifact }) => writeFile(join(projectRoot, artifact), "another"),
  ],
  [
    "a file that nobody wrote",
    "doubled",
    ({ projectRoot, artifact }) => writeFile(join(projectRoot, `${artifact}.copy`), ""),
  ],
  [
    "a temporary file in the project",
    "doubled",
    ({ projectRoot }) => writeFile(join(projectRoot, ".il-0123456789abcdef"), ""),
  ],
  [
    "a temporary file in the run",
    "doubled",
    ({ runDir }) => writeFile(join(runDir, ".tmp-status.json-0123456789ab"), ""),
  ],
  [
    "a run missing in the index",
    "lost",
    ({ runDir }) => editText(join(runDir, "../../runs.jsonl"), /[\s\S]*/, ""),
  ],
  [
    "a status of another phase",
    "lost",
    ({ runDir }) => editText(join(runDir, "status.json"), '"completed"', '"running"'),
  ],
  [
    "more turns than there were",
    "doubled",
    ({ runDir }) => editText(join(runDir, "status.json"), /"modelTurns":/, '"modelTurns":1'),
  ],
  [
    "an answer that is in no history",
    "lost",
    ({ history }) => editText(history, /"updateId":"[^"]*"/, '"updateId":"other"'),
  ],
  [
    "an answer taken twice",
    "doubled",
    ({ history }) =>
      editText(
        history,
        /(\{[^{}]*"eventType":"EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED".*?\}\}\}\}),/,
        "$1,$1,",
      ),
  ],
  ["an event missing", "lost", ({ history }) => editText(history, '"eventId":"3"', '"eventId":"4"')],
  [
    "a payload too large",
    "doubled",
    ({ history }) =>
      editText(
        history,
        '"workflowExecutionStartedEventAttributes":{',
        `"workflowExecutionStartedEventAttributes":{"input":{"payloads":[{"data":"${"A".repeat(400_000)}"}]},`,
      ),
  ],
  [
    "a history without an end",
    "unknown",
    ({ lastHistory }) =>
      editText(
        lastHistory,
        "workflowExecutionCompletedEventAttributes",
        "workflowExecutionFailedEventAttributes",
      ),
  ],
  ["a continued execution without a history", "lost", ({ history }) => rm(history)],
  ["no history of how it went on", "lost", ({ lastHistory }) => rm(lastHistory)],
  [
    "another execution after the one that continued as new",
    "lost",
    ({ lastHistory }) =>
      editText(lastHistory, '"originalExecutionRunId":"second"', '"originalExecutionRunId":"third"'),
  ],
  [
    "no history",
    "unknown",
    async ({ history, lastHistory }) => {
      await rm(history);
      await rm(lastHistory);
    },
  ],
  [
    "a raise that is in no history",
    "lost",
    ({ history }) => editText(history, '"updateId":"raise-at-1"', '"updateId":"other"'),
  ],
  [
    "a raise that the budget does not hold",
    "lost",
    ({ runDir }) => editText(join(runDir, "status.json"), '"run":{"turns":32}', '"run":{"turns":2}'),
  ],
  [
    "a raise that the budget holds twice",
    "doubled",
    ({ runDir }) => editText(join(runDir, "status.json"), '"run":{"turns":32}', '"run":{"turns":62}'),
  ],
  ["no directory", "lost", ({ runDir }) => rm(runDir, { recursive: true })],
];

describe("the checker", () => {
  test("finds nothing in runs that nothing happened to", async () => {
    const verdicts = await checkRuns(walked);
    expect(verdicts.filter(({ findings }) => findings.length > 0)).toEqual([]);
    expect(verdicts).toHaveLength(RUNS);
    expect(await checkStore(walked)).toEqual([]);
  });

  test.each(SPOILED)("finds %s: %s", async (_name, kind, spoil) => {
    const place = await copy();
    await spoil(place);
    const [run] = await checkRuns(place.evidence);
    expect(run?.findings.map((finding) => finding.kind)).toContain(kind);
    expect(run?.verdict).not.toBe("ok");
  });
});

describe("an answer that is asked for again", () => {
  const life = (name: string, changes: Partial<WorkerLife> = {}): WorkerLife => ({
    name,
    mayPause: false,
    events: [{ at: 0, what: "started" }],
    ...changes,
  });
  const request = (changes: Partial<ModelRequest>): ModelRequest => ({
    runId: walked.plan.runs[0]?.runId ?? "",
    turn: "1.1.0",
    worker: "first",
    at: 1_000,
    name: "answer-1",
    ...changes,
  });

  async function findingsFor(requests: readonly ModelRequest[], workers: readonly WorkerLife[]) {
    const { evidence } = await copy();
    const [run] = await checkRuns({ ...evidence, requests, workers });
    return run?.findings.map(({ kind }) => kind);
  }

  test("after it was written down is doubled", async () => {
    const first = request({ answeredAt: 1_100 });
    const again = request({ at: 60_000, worker: "second", name: "answer-x" });
    const dead = life("first", { events: [{ at: 1_200, what: "ended" }] });
    expect(await findingsFor([first, again], [dead, life("second")])).toEqual(["doubled"]);
    expect(await findingsFor([first, again], [life("first"), life("second")])).toEqual(["doubled"]);
  });

  test("by a worker that slept, or soon enough, or when the first one never got it, is not", async () => {
    const first = request({ answeredAt: 1_100 });
    const again = request({ at: 60_000, worker: "second", name: "answer-x" });
    const slept = life("second", {
      events: [
        { at: 500, what: "stopped" },
        { at: 59_000, what: "woken" },
      ],
    });
    expect(await findingsFor([first, again], [life("first"), slept])).toEqual([]);
    expect(await findingsFor([first, { ...again, at: 2_000 }], [life("first"), life("second")])).toEqual([]);
    expect(await findingsFor([request({}), again], [life("first"), life("second")])).toEqual([]);
  });

  test("where the script has no answer is lost", async () => {
    expect(await findingsFor([request({ deviation: "It asked once too often." })], [])).toEqual(["lost"]);
  });
});
