// @module-tag slow
import { eventually } from "../fakes/eventually.js";
import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import type { RunHandle } from "../../src/client/client.js";
import { workflowIdOf } from "../../src/core/run/run-id.js";
import { verifyAuditLog } from "../../src/store/runs/audit-verify.js";
import { type TextPatch, type Victim, buildArmed, readHits } from "../crash/armed-build.js";
import type { Arming } from "../crash/armed-failpoint.js";
import { openBundleStage } from "../crash/bundle-stage.js";
import { type CrashStage, openCrashStage } from "../crash/crash-stage.js";
import { limiter } from "../crash/limiter.js";
import { type Way, answerOn } from "../crash/two-ways.js";
import { readTree } from "../fakes/package-fixture.js";
import { type ChatRequestBody, type ScriptedAnswer, call } from "../fakes/scripted-model.js";
import { copyRoom } from "./harness.js";

/** These wait long: a stopped worker's connections still take tasks. */
const inTurn = limiter(Number(process.env["INTERLOCK_CRASH_CASES_AT_ONCE"] ?? 6));
const TIMEOUT_MS = 900_000;
const address = inject("temporalAddress");

/** Stops come after the last check, where nothing but the new execution can prevent what follows. */
const AFTER_LAST_CHECK: readonly TextPatch[] = [
  {
    file: "tools/files/replace-file.ts",
    from: 'failpoint("write.before-rename");\n      assertOurs(job);',
    to: 'assertOurs(job);\n      failpoint("write.before-rename");',
  },
  {
    file: "store/disk/append-log.ts",
    from: 'failpoint("log.before-line");\n        owner.assertHeld();\n        lock.assertHeld();',
    to: 'owner.assertHeld();\n        lock.assertHeld();\n        failpoint("log.before-line");',
  },
  { file: "store/disk/atomic-file.ts", from: 'failpoint("file.temporary-synced");', to: "" },
  {
    file: "store/disk/atomic-file.ts",
    from: "lock.assertHeld();\n    renameSync(temporary, path);",
    to: 'lock.assertHeld();\n    failpoint("file.temporary-synced");\n    renameSync(temporary, path);',
  },
];

type Point = Pick<NonNullable<Arming["at"]>, "name" | "hit">;

let build: Awaited<ReturnType<typeof buildArmed>>;
let hits: readonly string[];

beforeAll(async () => {
  build = await buildArmed(AFTER_LAST_CHECK);
  hits = await undisturbedHits();
});
afterAll(() => build.remove());

async function onStage<T>(
  action: (stage: CrashStage, choose: (way: Way) => void) => Promise<T>,
  onSecondWay: () => void = () => undefined,
): Promise<T> {
  let way: Way = "first";
  const onRequest = (request: ChatRequestBody) => {
    if (way === "second") onSecondWay();
    return answerOn(way, request);
  };
  const stage = await openCrashStage({ address, build, onRequest });
  try {
    return await action(stage, (chosen) => {
      way = chosen;
    });
  } finally {
    await stage.close();
  }
}

/** The failpoints that a run passes on the first way. */
function undisturbedHits(): Promise<readonly string[]> {
  return onStage(async (stage) => {
    const worker = await stage.startVictim();
    await (await stage.startRun()).result();
    await worker.shutDown();
    return readHits(stage.hitsFile);
  });
}

/** The place in the hits of the nth hit of a failpoint. */
function placeOf(name: string, nth: number): number {
  const places = hits.flatMap((hit, place) => (hit === name ? [place] : []));
  const place = places[nth - 1];
  if (place === undefined) throw new Error(`${name} is hit ${places.length} times.`);
  return place;
}

function pointAt(place: number): Point {
  const name = hits[place];
  if (name === undefined) throw new Error("It is not hit there.");
  return { name, hit: hits.slice(0, place + 1).filter((hit) => hit === name).length };
}

const lastBefore = (name: string, place: number) => pointAt(hits.lastIndexOf(name, place));
const nextAfter = (name: string, place: number) => pointAt(hits.indexOf(name, place));

/** Everything that the run has left: the bytes of the project and of its folder, without locks. */
async function leftBy(stage: CrashStage, run: RunHandle) {
  const dir = (await stage.runDir(run)) ?? "";
  const texts = async (root: string) =>
    Object.entries(await readTree(root))
      .filter(([path]) => !path.includes(".lock"))
      .map(([path, bytes]) => [path, bytes.toString("utf8")] as const)
      .sort(([a], [b]) => a.localeCompare(b));
  const log = join(dir, "state/logs/execution.jsonl");
  return {
    project: await texts(stage.projectRoot),
    run: await texts(dir),
    auditFindings: (await verifyAuditLog(log, await run.auditHead())).findings,
  };
}

/** A worker is stopped there, its run's execution terminated, and the run retried, with another worker at hand. */
async function retried(stage: CrashStage, victim: Victim, at: Point, choose: (way: Way) => void) {
  const run = await stage.startRun();
  await stage.hasHit(at);
  await stage.client.temporal.workflow.getHandle(workflowIdOf(run.runId)).terminate();
  choose("second");
  await stage.startSuccessor();
  const again = await stage.client.retry(run.runId);
  expect(await again.result()).toMatchObject({ stepsCompleted: ["ask", "middle", "finish"] });
  const before = await leftBy(stage, again);
  expect(before.auditFindings).toEqual([]);
  const file = (name: string) => readFile(join(stage.projectRoot, "artifacts", name), "utf8");
  expect([await file("both.md"), await file("second.md")]).toEqual(["second\n", "second\n"]);
  await victim.shutDown();
  expect(await leftBy(stage, again)).toEqual(before);
  return before.project.map(([path]) => path);
}

/** The names of the project's files when the first worker wakes up after the retry has ended the run. */
function wokenAfterRetry(at: Point): Promise<readonly string[]> {
  return onStage(async (stage, choose) => {
    const victim = await stage.startVictim({ ...at, action: "pause" });
    return retried(stage, victim, at, choose);
  });
}

/** The names of the project's files when the first worker wakes up as soon as the retry asks the model. */
function wokenDuringRetry(at: Point): Promise<readonly string[]> {
  let victim: Victim;
  return onStage(
    async (stage, choose) => {
      victim = await stage.startVictim({ ...at, action: "pause" });
      return retried(stage, victim, at, choose);
    },
    () => void victim.process.kill("SIGCONT"),
  );
}

const WITHOUT_FIRST = ["artifacts/both.md", "artifacts/second.md"];
const WITH_FIRST = ["artifacts/both.md", "artifacts/first.md", "artifacts/second.md"];

/** Where the worker is stopped, in words and as a point, and which artifacts are there in the end. */
type Case = readonly [string, () => Point, readonly string[]];

const BEFORE_A_WRITE: Case = [
  "before it begins a write",
  () => lastBefore("activity.begun", placeOf("write.noted", 2)),
  WITHOUT_FIRST,
];
const BEFORE_A_RENAME: Case = [
  "about to rename a file",
  () => pointAt(placeOf("write.before-rename", 2)),
  WITHOUT_FIRST,
];
const BEFORE_A_SAVE: Case = [
  "about to save the state document",
  () => lastBefore("file.temporary-synced", placeOf("call.done", 3)),
  WITH_FIRST,
];

describe("a worker stopped in an execution that is terminated changes nothing of what a retry has made", () => {
  test.concurrent.each<Case>([
    ["before it opens the run", () => pointAt(placeOf("activity.begun", 1)), WITHOUT_FIRST],
    BEFORE_A_WRITE,
    ["with a write noted", () => pointAt(placeOf("write.noted", 2)), WITHOUT_FIRST],
    BEFORE_A_RENAME,
    [
      "about to save a new artifact's record",
      () => nextAfter("file.temporary-synced", placeOf("write.durable", 2)),
      WITH_FIRST,
    ],
    ["about to record a call", () => nextAfter("log.before-line", placeOf("call.done", 2)), WITH_FIRST],
    [
      "about to write a call's audit line",
      () => nextAfter("log.before-line", placeOf("call.recorded", 2)),
      WITH_FIRST,
    ],
    BEFORE_A_SAVE,
    ["with an answer of the model", () => pointAt(placeOf("model.answer-received", 2)), WITHOUT_FIRST],
    [
      "about to write an answer down",
      () => nextAfter("log.before-line", placeOf("model.answer-received", 2)),
      WITHOUT_FIRST,
    ],
    [
      "about to write a turn's audit line",
      () => nextAfter("log.before-line", placeOf("model.answer-written", 2)),
      WITHOUT_FIRST,
    ],
  ])(
    "%s",
    async (_where, point, left) => {
      expect(await inTurn(() => wokenAfterRetry(point()))).toEqual(left);
    },
    TIMEOUT_MS,
  );
});

describe("a worker stopped in an execution that is terminated leaves a retry in peace that is under way", () => {
  test.concurrent.each<Case>([BEFORE_A_WRITE, BEFORE_A_RENAME, BEFORE_A_SAVE])(
    "%s",
    async (_where, point, left) => {
      expect(await inTurn(() => wokenDuringRetry(point()))).toEqual(left);
    },
    TIMEOUT_MS,
  );
});

/** On the second way, the model saves what the workflow declares and ends it. */
function answerOnSecondWay({ messages }: ChatRequestBody): ScriptedAnswer {
  const last = messages.findLast(({ role }) => role === "assistant");
  if (last?.tool_calls?.some(({ id }) => id === "second") === true) return { content: "WORKFLOW COMPLETE" };
  return {
    calls: [{ ...call("save_output", { file_path: "request.md", content: "second\n" }), id: "second" }],
  };
}

test.concurrent(
  "a bundle run's worker, stopped about to rename a file of its session, saves nothing after a retry",
  () =>
    inTurn(async () => {
      let isSecondWay = false;
      const stage = await openBundleStage(address, build, copyRoom, (request) =>
        isSecondWay ? answerOnSecondWay(request) : undefined,
      );
      try {
        const victim = await stage.startVictim({ name: "write.before-rename", hit: 1, action: "pause" });
        await eventually(() => readHits(stage.hitsFile).includes("write.before-rename"));
        await stage.client.temporal.workflow.getHandle(workflowIdOf(stage.run.runId)).terminate();
        isSecondWay = true;
        await stage.startSuccessor();
        const result = await (await stage.client.retry(stage.run.runId)).result();
        expect(result.artifacts).toEqual(["{session-folder}/request.md"]);
        const left = async () =>
          Object.entries(await readTree(stage.dir))
            .filter(([path]) => /^(project|room|store\/projects)\//.test(path) && !path.includes(".lock"))
            .map(([path, bytes]) => [path, bytes.toString("utf8")]);
        const before = await left();
        await victim.shutDown();
        expect(await left()).toEqual(before);
        const saved = before.map(([path]) => basename(path ?? ""));
        expect([saved.includes("request.md"), saved.includes("first.md")]).toEqual([true, false]);
      } finally {
        await stage.close();
      }
    }),
  TIMEOUT_MS,
);
