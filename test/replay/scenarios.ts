import { cp } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { RunHandle } from "../../src/client/client.js";
import { type ScriptedAnswer, type ScriptedCall, call, patch } from "../fakes/scripted-model.js";
import { beyondKnownPart } from "../fakes/beyond-known-part.js";
import { eventually } from "../fakes/eventually.js";
import { gatePackage } from "../fakes/gate-package.js";
import { firstWay, nestedPackage } from "../fakes/nested-package.js";
import { tellSideBySide } from "../fakes/side-by-side.js";
import { asksAndGoesOn, toldUntil } from "../fakes/told-often.js";
import { circlePackage, twoNodePackage } from "../fakes/two-node-package.js";
import { roundAndRound } from "../fakes/walk.js";
import { type Bench, openBench, signedClient, until } from "../integration/harness.js";

/** One path through a workflow type, run for real. The histories of all its executions are kept. */
export interface Scenario {
  readonly name: string;
  run(): Promise<{ readonly bench: Bench; readonly run: RunHandle }>;
}

const move = (from: string, to: string): ScriptedCall =>
  patch({ stepsCompleted: { append: [from] }, currentNodeId: { set: to } });
const STRAIGHT: readonly ScriptedAnswer[] = [
  { calls: [move("ask", "middle")] },
  { calls: [move("middle", "finish")] },
  { calls: [patch({ stepsCompleted: { append: ["finish"] } })] },
];
const write = call("fs_write", { path: "@project/artifacts/out.md", content: "text\n" });
const reads = [call("fs_list", { path: "@pkg" }), call("fs_read", { path: "@pkg/workflow.md" })];

async function graph(
  script: readonly ScriptedAnswer[],
  request = {},
): Promise<{ bench: Bench; run: RunHandle }> {
  const bench = await openBench(script);
  return { bench, run: await bench.start(twoNodePackage(), request) };
}

const BUNDLES = fileURLToPath(new URL("../../examples/reading-room/bmad", import.meta.url));
const SAVE = call("save_output", { file_path: "request-2026-01-02.md", content: "text\n" });
const PRELOAD = call("preload_workflow", { workflow_path: "{bundle-root}/workflows/intake/workflow.yaml" });

async function bundle(
  script: readonly ScriptedAnswer[],
  request = {},
): Promise<{ bench: Bench; run: RunHandle }> {
  const bench = await openBench(script);
  const root = join(dirname(bench.projectRoot), "bmad");
  await cp(BUNDLES, root, { recursive: true });
  const run = await bench.client.startBundle({
    projectRoot: bench.projectRoot,
    bundleRoot: join(root, "desk"),
    coreRoot: join(root, "core"),
    workflowPath: "workflows/intake/workflow.yaml",
    limits: { maxModelAttempts: 1 },
    ...request,
  });
  return { bench, run };
}

const GRAPH_SCENARIOS: readonly Scenario[] = [
  {
    name: "graph-refused-transition",
    async run() {
      const begun = await graph([
        { calls: reads },
        { calls: [write, move("ask", "finish")] },
        { calls: [call("fs_nothing", {}), call("fs_write", "not json")] },
        ...STRAIGHT,
      ]);
      await begun.run.result();
      return begun;
    },
  },
  {
    name: "graph-question",
    async run() {
      const begun = await graph([{ content: "Which?" }, ...STRAIGHT], { input: "Begin." });
      await until(begun.run, "waiting-user");
      await begun.run.answer({ nodeId: "ask", text: "That one.", answerId: "answer-1" });
      await begun.run.result();
      return begun;
    },
  },
  {
    name: "graph-retry",
    async run() {
      const begun = await graph([{ calls: [move("ask", "middle")] }, { status: 401 }, ...STRAIGHT.slice(1)]);
      await begun.run.result().catch(() => undefined);
      const run = await begun.bench.client.retry(begun.run.runId);
      await run.result();
      return begun;
    },
  },
  {
    name: "graph-cancel",
    async run() {
      const begun = await graph([{ content: "Which?" }]);
      await until(begun.run, "waiting-user");
      await begun.run.cancel();
      await begun.run.result().catch(() => undefined);
      return begun;
    },
  },
  {
    name: "graph-continue-as-new",
    async run() {
      const turns = Array.from({ length: 20 }, (): ScriptedAnswer => ({ calls: [...reads, ...reads] }));
      const begun = await graph([...turns, ...STRAIGHT]);
      await begun.run.result();
      return begun;
    },
  },
  {
    name: "graph-loop-and-cut-off",
    async run() {
      const failing: ScriptedAnswer = { calls: [call("fs_read", { path: "@project/none.md" })] };
      const cutOff: ScriptedAnswer = { calls: reads, finishReason: "length" };
      const begun = await graph([cutOff, failing, failing, failing, failing, ...STRAIGHT]);
      await until(begun.run, "waiting-user");
      await begun.run.answer({ nodeId: "ask", text: "Leave it.", answerId: "answer-1" });
      await begun.run.result();
      return begun;
    },
  },
  {
    name: "graph-pause-and-budget",
    async run() {
      const begun = await graph([{ content: "Which?" }, ...STRAIGHT], { budget: { run: { turns: 2 } } });
      await until(begun.run, "waiting-user");
      await begun.run.pause();
      await begun.run.answer({ nodeId: "ask", text: "That one.", answerId: "answer-1" });
      await until(begun.run, "running");
      await begun.run.resume();
      await until(begun.run, "waiting-user");
      await begun.run.raiseBudget({ add: { turns: 10 } });
      await begun.run.result();
      return begun;
    },
  },
  {
    name: "graph-story",
    async run() {
      const bench = await openBench([
        {
          calls: [
            call("fs_write", { path: "@project/artifacts/story.md", content: "x\n" }),
            move("build", "qa"),
          ],
        },
        { calls: [call("state_record", { gateDecisions: { qaGate: "FAIL" } }), move("qa", "finish")] },
        { calls: [call("state_record", { gateDecisions: { qaGate: "PASS" } }), move("qa", "finish")] },
        { calls: [patch({ stepsCompleted: { append: ["finish"] } })] },
      ]);
      const run = await bench.start(gatePackage(), { storyId: "wrkf-1010", evaluateConditions: true });
      await run.result();
      return { bench, run };
    },
  },
];

const BUNDLE_SCENARIOS: readonly Scenario[] = [
  {
    name: "bundle-question",
    async run() {
      const begun = await bundle([
        { calls: [PRELOAD] },
        { content: "Which book?" },
        { calls: [SAVE, call("read_file", { file_path: "/etc/passwd" })] },
        { content: "Saved.\nWORKFLOW COMPLETE" },
      ]);
      const { question } = await until(begun.run, "waiting-user");
      await begun.run.answer({ nodeId: question?.nodeId ?? "", text: "Bees.", answerId: "answer-1" });
      await begun.run.result();
      return begun;
    },
  },
  {
    name: "bundle-finished-by-user",
    async run() {
      const begun = await bundle([{ content: "WORKFLOW COMPLETE" }, { content: "Which book?" }]);
      await until(begun.run, "waiting-user");
      await begun.run.finish();
      await begun.run.result();
      return begun;
    },
  },
  {
    name: "bundle-retry",
    async run() {
      const begun = await bundle([
        { calls: [PRELOAD] },
        { status: 401 },
        { calls: [SAVE] },
        { content: "WORKFLOW COMPLETE" },
      ]);
      await begun.run.result().catch(() => undefined);
      const run = await begun.bench.client.retry(begun.run.runId);
      await run.result();
      return begun;
    },
  },
  {
    name: "bundle-cancel",
    async run() {
      const begun = await bundle([{ content: "Which book?" }]);
      await until(begun.run, "waiting-user");
      await begun.run.cancel();
      await begun.run.result().catch(() => undefined);
      return begun;
    },
  },
  {
    name: "bundle-continue-as-new",
    async run() {
      const turns = Array.from({ length: 20 }, (): ScriptedAnswer => ({
        calls: [PRELOAD, PRELOAD, PRELOAD],
      }));
      const begun = await bundle([...turns, { calls: [SAVE] }, { content: "WORKFLOW COMPLETE" }]);
      await begun.run.result();
      return begun;
    },
  },
];

const BY_NODES = { steps: "nodes" } as const;

/** What came with 0.2.0. */
const LATER_SCENARIOS: readonly Scenario[] = [
  {
    name: "nodes-question",
    async run() {
      const answers = [{ calls: [...reads, write] }, { content: "Which?" }, ...STRAIGHT];
      const begun = await graph(answers, BY_NODES);
      await until(begun.run, "waiting-user");
      await begun.run.answer({ nodeId: "ask", text: "That one.", answerId: "answer-1" });
      await begun.run.result();
      return begun;
    },
  },
  {
    name: "nodes-slow-and-failing",
    async run() {
      const [first = { content: "" }, ...others] = STRAIGHT;
      const begun = await graph(
        [{ ...first, afterMs: 1_500 }, { status: 500, headers: { "retry-after-ms": "10" } }, ...others],
        BY_NODES,
      );
      await begun.run.result();
      return begun;
    },
  },
  {
    name: "nodes-bundle",
    async run() {
      const turns = Array.from({ length: 35 }, (): ScriptedAnswer => ({ calls: [PRELOAD] }));
      const begun = await bundle([...turns, { calls: [SAVE] }, { content: "WORKFLOW COMPLETE" }], BY_NODES);
      await begun.run.result();
      return begun;
    },
  },
  {
    name: "nodes-cancel",
    async run() {
      const begun = await graph([{ calls: reads }, { hang: true }], BY_NODES);
      await eventually(() => begun.bench.model.requests.length === 2);
      await begun.run.cancel();
      await begun.run.result().catch(() => undefined);
      return begun;
    },
  },
  {
    name: "nodes-round-and-round",
    async run() {
      const bench = await openBench((request) =>
        bench.model.requests.length === 30 ? { content: "Once more?" } : roundAndRound(request),
      );
      const limits = { maxTurnsPerRun: 40 };
      const run = await bench.start(circlePackage(), { ...BY_NODES, limits });
      await until(run, "waiting-user");
      await run.answer({
        nodeId: (await run.state()).currentNodeId,
        text: "Once more.",
        answerId: "answer-1",
      });
      await run.result().catch(() => undefined);
      return { bench, run };
    },
  },
  {
    name: "nodes-kept-with-turns",
    async run() {
      const { bench, run } = await graph([{ calls: reads }, { calls: [write] }, ...STRAIGHT], BY_NODES);
      await run.result();
      return { bench, run };
    },
  },
  {
    name: "nodes-beyond-known-part",
    async run() {
      const { files, model } = beyondKnownPart();
      const bench = await openBench(model);
      const run = await bench.start(files, { workflowRef: "main", ...BY_NODES });
      await run.result();
      return { bench, run };
    },
  },
  {
    name: "merge-and-subworkflow",
    async run() {
      const bench = await openBench(firstWay);
      const main = {
        nodes: {
          plan: {},
          build: { type: "subworkflow", text: "", workflow: "below" },
          join: { type: "merge", text: "" },
          end: { type: "end" },
        },
      };
      const below = { nodes: { make: {}, made: { type: "end" } } };
      const run = await bench.start(nestedPackage({ main, below }), { workflowRef: "main" });
      await run.result();
      return { bench, run };
    },
  },
  {
    name: "cancelled-beside-run-below",
    async run() {
      const bench = await openBench(() => ({ content: "Which?" }));
      const main = {
        nodes: { build: { type: "subworkflow", text: "", workflow: "below" }, end: { type: "end" } },
      };
      const below = { nodes: { make: {}, made: { type: "end" } } };
      const first = await bench.start(nestedPackage({ main, below }), { workflowRef: "main" });
      await eventually(async () => (await first.state()).below !== undefined);
      const made = bench.client.handle((await first.state()).below?.runId ?? "");
      await until(made, "waiting-user");
      await made.cancel();
      await first.result().catch(() => undefined);
      await bench.client.retry(made.runId); // it goes on by itself, and the run above waits for its end
      const run = await bench.client.retry(first.runId);
      await eventually(async () =>
        (await run.state()).progress.some(({ text }) => text.includes("goes on by itself")),
      );
      await run.cancel();
      await run.result().catch(() => undefined);
      return { bench, run };
    },
  },
  {
    name: "signed-and-told-side-by-side",
    async run() {
      const bench = await openBench(roundAndRound, { INTERLOCK_STARTS: "signed" });
      const { client } = await signedClient(bench);
      const run = await bench.start(circlePackage(), { budget: { run: { turns: 1_000 } } }, client);
      await tellSideBySide(run, 4);
      await run.cancel();
      await run.result().catch(() => undefined);
      return { bench, run };
    },
  },
  {
    name: "told-often-while-waiting",
    async run() {
      const bench = await openBench(asksAndGoesOn());
      const run = await bench.start(twoNodePackage(), { budget: { run: { turns: 2 } } });
      await until(run, "waiting-user");
      await toldUntil(run, 1, () => run.pause().then(() => run.resume()));
      await run.answer({ nodeId: "ask", text: "Red.", answerId: "answer-1" });
      await eventually(async () => (await run.state()).question?.code === "BUDGET_EXCEEDED");
      await toldUntil(run, 1, () => run.pause().then(() => run.resume()));
      await run.raiseBudget({ add: { turns: 10 } });
      await run.result();
      return { bench, run };
    },
  },
];

export const SCENARIOS: readonly Scenario[] = [...GRAPH_SCENARIOS, ...BUNDLE_SCENARIOS, ...LATER_SCENARIOS];
