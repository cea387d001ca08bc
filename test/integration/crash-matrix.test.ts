// @module-tag slow
import { inspect } from "node:util";
import { join } from "node:path";
import { beforeAll, describe, expect, inject, test } from "vitest";
import type { RunHandle } from "../../src/client/client.js";
import { FAILPOINTS, type FailpointName } from "../../src/core/failpoint.js";
import { STEP_SIZES, type StepSize } from "../../src/core/step-size.js";
import { openStore } from "../../src/store/store.js";
import { type Victim, readHits } from "../crash/armed-build.js";
import { sharedBuild } from "../crash/shared-build.js";
import type { Arming } from "../crash/armed-failpoint.js";
import { turnOf } from "../crash/crash-script.js";
import { type CrashStage, type StageOptions, answerQuestion, openCrashStage } from "../crash/crash-stage.js";
import { endStateOf, requestCounts, writtenTurns } from "../crash/end-state.js";
import { limiter } from "../crash/limiter.js";
import { doTask } from "../crash/store-task.js";
import { temporaryDirectory, readTree, writePackage, zipPackage } from "../fakes/package-fixture.js";
import { namesIn } from "../fakes/run-world.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { call } from "../fakes/scripted-model.js";

/** Most of the time a case waits for a timeout of Temporal's. */
const CASES_AT_ONCE = Number(process.env["INTERLOCK_CRASH_CASES_AT_ONCE"] ?? 12);
/** Every hit instead of the first, the second and the last one. */
const EVERY_HIT = process.env["INTERLOCK_CRASH_EVERY_HIT"] === "true";
/** Of one case, on a machine that has other work; and of all cases together. */
const CASE_TIMEOUT_MS = 400_000;
const TIMEOUT_MS = EVERY_HIT ? 7_200_000 : 1_800_000;

/** Hit by whoever installs a package, and by no worker. */
const OF_INSTALLATION = FAILPOINTS.filter((name) => name.startsWith("package."));
/** Hit where a conversation grows too long for its model: compaction-crash.test.ts. */
const OF_COMPACTION = FAILPOINTS.filter((name) => name.startsWith("context."));
/** Hit where a tool is called that is not the engine's own: tool-crash.test.ts. */
const OF_TOOLS = FAILPOINTS.filter((name) => name.startsWith("tool."));
/** Hit where the settings name webhooks: notice-crash.test.ts. */
const OF_NOTICES = FAILPOINTS.filter((name) => name.startsWith("notice."));
/** Hit where runs are pruned: prune-crash.test.ts. */
const OF_PRUNING = FAILPOINTS.filter((name) => name.startsWith("prune."));
const OF_OTHERS = [...OF_INSTALLATION, ...OF_COMPACTION, ...OF_NOTICES, ...OF_TOOLS, ...OF_PRUNING];
const OF_WORKER = FAILPOINTS.filter((name) => !OF_OTHERS.includes(name));

/** Where a process that wakes up late would go on to write. */
const WHERE_TO_STOP: readonly FailpointName[] = [
  "log.line-written",
  "write.before-rename",
  "write.renamed",
  "call.done",
  "model.answer-received",
  "phase.status-written",
  "entries.written",
  "run.staged",
];

type Point = Pick<NonNullable<Arming["at"]>, "name" | "hit">;

const build = sharedBuild();
const references = new Map<StepSize, Awaited<ReturnType<typeof undisturbedRun>>>();
const address = inject("temporalAddress");
const killedInTurn = limiter(CASES_AT_ONCE);
/** These wait much longer: a stopped worker's connections still take tasks. */
const stoppedInTurn = limiter(CASES_AT_ONCE);

beforeAll(async () => {
  for (const steps of STEP_SIZES) references.set(steps, await undisturbedRun(steps));
});

/** Runs one case on a stage of its own; its question is answered whenever it is asked. */
async function onStage<T>(
  action: (
    stage: CrashStage,
    start: () => Promise<{ run: RunHandle; answered: Promise<void> }>,
  ) => Promise<T>,
  options: Pick<StageOptions, "onRequest" | "steps"> = {},
): Promise<T> {
  const stage = await openCrashStage({ address, build, ...options });
  const over = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const tell = () => void stage.describe().then((state) => reject(new Error(`It does not end: ${state}`)));
    timer = setTimeout(tell, CASE_TIMEOUT_MS);
  });
  const acting = () =>
    action(stage, async () => {
      const run = await stage.startRun();
      const answered = answerQuestion(stage, run, over.signal);
      answered.catch(() => undefined); // whoever waits for it is told
      return { run, answered };
    });
  try {
    return await Promise.race([acting(), late]);
  } finally {
    clearTimeout(timer);
    over.abort();
    await stage.close();
  }
}

/** What a run comes to that nothing happens to, and which failpoints it passes. */
function undisturbedRun(steps: StepSize) {
  return onStage(
    async (stage, start) => {
      const worker = await stage.startVictim();
      const { run, answered } = await start();
      await answered;
      const endState = await endStateOf(stage, run, await run.result());
      await worker.shutDown(); // in order: it leaves what makes the others start faster
      return { endState, requests: requestCounts(stage), hits: readHits(stage.hitsFile) };
    },
    { steps },
  );
}

function referenceOf(steps: StepSize) {
  const reference = references.get(steps);
  if (reference === undefined) throw new Error(`No run by ${steps} has ended undisturbed.`);
  return reference;
}

function countOf(name: string, steps: StepSize = "turns"): number {
  return referenceOf(steps).hits.filter((hit) => hit === name).length;
}

/** A run whose worker is killed, and which another worker takes up. */
async function killedRun(at: Point): Promise<void> {
  await onStage(async (stage, start) => {
    const victim = await stage.startVictim({ ...at, action: "kill" });
    await takeUp(stage, victim, await start());
  });
}

/** The same by nodes: the quicker turns are, the fewer failpoints a run passes. One that ends before is killed at the last that it had. */
async function killedRunByNodes({ name, hit }: Point): Promise<void> {
  const passed = await onStage(
    async (stage, start) => {
      const victim = await stage.startVictim({ name, hit, action: "kill" });
      const going = await start();
      if ((await Promise.race([victim.ended, going.run.result()])) === "SIGKILL") {
        await takeUp(stage, victim, going);
        return undefined;
      }
      return readHits(stage.hitsFile).filter((each) => each === name).length;
    },
    { steps: "nodes" },
  );
  if (passed === undefined) return;
  expect(passed).toBeGreaterThan(0);
  expect(passed).toBeLessThan(hit);
  await killedRunByNodes({ name, hit: passed });
}

async function takeUp(
  stage: CrashStage,
  victim: Victim,
  { run, answered }: { run: RunHandle; answered: Promise<void> },
): Promise<void> {
  expect(await Promise.race([victim.ended, run.result()])).toBe("SIGKILL");
  const written = await writtenTurns(stage, run);
  const asked = requestCounts(stage);
  await stage.startSuccessor();
  const result = await run.result();
  await answered;
  expect(await endStateOf(stage, run, result)).toEqual(referenceOf(stage.steps).endState);
  for (const [turn, count] of requestCounts(stage)) {
    // An answer that was not written down when its asker died is asked for once more; no other one is.
    const mayRepeat = asked.has(turn) && !written.includes(turn);
    expect(count, `requests for ${turn}`).toBeLessThanOrEqual(mayRepeat ? 2 : 1);
  }
}

/** A run whose worker is stopped, and wakes up when another one has brought the run to its end. */
async function stoppedRun(at: Point, steps: StepSize = "turns"): Promise<void> {
  await onStage(
    async (stage, start) => {
      const victim = await stage.startVictim({ ...at, action: "pause" });
      const { run, answered } = await start();
      await stage.hasHit(at);
      await wakeUpLate(stage, victim, run, answered);
    },
    { steps },
  );
}

async function wakeUpLate(
  stage: CrashStage,
  victim: Victim,
  run: RunHandle,
  answered: Promise<void>,
): Promise<void> {
  await stage.startSuccessor();
  const result = await run.result();
  await answered;
  expect(await endStateOf(stage, run, result)).toEqual(referenceOf(stage.steps).endState);
  await victim.shutDown();
  expect(await endStateOf(stage, run, result)).toEqual(referenceOf(stage.steps).endState);
}

/** What went wrong and, of two states that differ, in what. */
function wordsOf(cause: unknown): string {
  const { actual = {}, expected = {} } = cause as Readonly<Record<"actual" | "expected", object | undefined>>;
  const left = new Map(Object.entries(expected).map(([key, value]) => [key, JSON.stringify(value)]));
  const differs = Object.entries(actual).filter(([key, value]) => JSON.stringify(value) !== left.get(key));
  return `${inspect(cause, { depth: 0 })}\n${differs.map(([key, value]) => `${key}: ${JSON.stringify(value)}\nnot ${left.get(key)}`).join("\n")}`;
}

/** Tries the hits of one failpoint, as many at once as may be; gives what went wrong. */
async function failuresAt(
  hits: readonly number[],
  action: (hit: number) => Promise<void>,
  inTurn = killedInTurn,
): Promise<readonly Error[]> {
  if (hits.length === 0) return [new Error("It is never hit.")];
  const failures: Error[] = [];
  await Promise.all(
    hits.map((hit) =>
      inTurn(() => action(hit)).catch((cause: unknown) => {
        failures.push(new Error(`at hit ${hit}`, { cause }));
        console.error(`at hit ${hit}: ${wordsOf(cause)}`); // the list of failures shows none of it, nor does a test that passes again
      }),
    ),
  );
  return failures;
}

/** The first, the second and the last of so many hits. */
function hitsToTry(count: number): readonly number[] {
  if (EVERY_HIT) return Array.from({ length: count }, (_, index) => index + 1);
  return [...new Set([1, 2, count])].filter((hit) => hit <= count);
}

/** One in the middle. */
function hitToStopAt(count: number): readonly number[] {
  return EVERY_HIT ? hitsToTry(count) : [Math.ceil(count / 2)];
}

describe.concurrent("a worker killed", () => {
  test.each(OF_WORKER)(
    "at %s leaves a run that ends as if nothing had happened",
    async (name) => {
      const failures = await failuresAt(hitsToTry(countOf(name)), (hit) => killedRun({ name, hit }));
      expect(failures).toEqual([]);
    },
    TIMEOUT_MS,
  );

  test(
    "while the model thinks leaves a run that ends as if nothing had happened",
    async () => {
      const turns = [...referenceOf("turns").requests.keys()];
      const failures = await failuresAt(hitsToTry(turns.length), async (hit) => {
        let victim: Victim | undefined;
        await onStage(
          async (stage, start) => {
            victim = await stage.startVictim();
            await takeUp(stage, victim, await start());
          },
          {
            onRequest(request, index) {
              if (index !== hit - 1 || turnOf(request) !== turns[hit - 1]) return undefined;
              victim?.process.kill("SIGKILL");
              return { hang: true };
            },
          },
        );
      });
      expect(failures).toEqual([]);
    },
    TIMEOUT_MS,
  );
});

describe.concurrent("a worker stopped until its successor has ended the run", () => {
  test.each(EVERY_HIT ? OF_WORKER : WHERE_TO_STOP)(
    "at %s changes nothing when it wakes up",
    async (name) => {
      const hits = hitToStopAt(countOf(name));
      expect(await failuresAt(hits, (hit) => stoppedRun({ name, hit }), stoppedInTurn)).toEqual([]);
    },
    TIMEOUT_MS,
  );

  test.each(["file.temporary-synced", "file.renamed"] as const)(
    "in the save of a transition at %s changes nothing when it wakes up",
    async (name) => {
      const hits = [hitInSave(name)];
      expect(await failuresAt(hits, (hit) => stoppedRun({ name, hit }), stoppedInTurn)).toEqual([]);
    },
    TIMEOUT_MS,
  );

  test(
    "in a model call changes nothing when it wakes up with an answer of its own",
    async () => {
      let tellAsked = (): void => undefined;
      const asked = new Promise<void>((resolve) => {
        tellAsked = resolve;
      });
      const zombie = call("fs_write", { path: "@project/artifacts/zombie.md", content: "late" });
      const stopped = () => {
        let victim: Victim;
        return onStage(
          async (stage, start) => {
            victim = await stage.startVictim();
            const { run, answered } = await start();
            await asked;
            await wakeUpLate(stage, victim, run, answered);
          },
          {
            onRequest(_request, index) {
              if (index !== 1) return undefined;
              victim.process.kill("SIGSTOP"); // the answer is there when it wakes up
              tellAsked();
              return { calls: [zombie] };
            },
          },
        );
      };
      expect(await failuresAt([2], stopped, stoppedInTurn)).toEqual([]);
    },
    TIMEOUT_MS,
  );
});

describe.concurrent("a run whose steps are nodes", () => {
  test.each(OF_WORKER)(
    "ends as if nothing had happened when its worker is killed at %s",
    async (name) => {
      const count = countOf(name, "nodes");
      const hits = EVERY_HIT ? hitsToTry(count) : hitsToTry(count).slice(-2);
      const failures = await failuresAt(hits, (hit) => killedRunByNodes({ name, hit }));
      expect(failures).toEqual([]);
    },
    TIMEOUT_MS,
  );

  test.each(EVERY_HIT ? OF_WORKER : (["call.done", "model.answer-received"] as const))(
    "is not changed by a worker that was stopped at %s and wakes up when the run has ended",
    async (name) => {
      const hits = hitToStopAt(countOf(name, "nodes"));
      const stopped = (hit: number) => stoppedRun({ name, hit }, "nodes");
      expect(await failuresAt(hits, stopped, stoppedInTurn)).toEqual([]);
    },
    TIMEOUT_MS,
  );
});

/** The first hit of a failpoint between the beginning of a save of the state document and its report. */
function hitInSave(name: string): number {
  const { hits } = referenceOf("turns");
  for (
    let begun = hits.indexOf("activity.begun");
    begun !== -1;
    begun = hits.indexOf("activity.begun", begun + 1)
  ) {
    const length = hits.slice(begun).indexOf("activity.before-report");
    const activity = hits.slice(begun, begun + length);
    const isSave = activity.includes("call.planned") && !activity.includes("write.renamed");
    if (!isSave || !activity.includes(name)) continue;
    return hits.slice(0, begun + activity.indexOf(name) + 1).filter((hit) => hit === name).length;
  }
  throw new Error(`No save passes ${name}.`);
}

describe("whoever installs a package, killed", () => {
  test.each(OF_INSTALLATION)("at %s leaves a store where it can be installed", async (name) => {
    const dir = await temporaryDirectory();
    const files = twoNodePackage();
    const sources = [await writePackage(join(dir, "package"), files), join(dir, "package.bmad")];
    await writePackage(dir, { "package.bmad": zipPackage(files) });
    for (const [index, source] of sources.entries()) {
      const storeDir = join(dir, `store-${index}`);
      const task = { kind: "install", storeDir, source } as const;
      const hitsFile = join(dir, `hits-${index}`);
      expect(await build.runTask(task, { hitsFile, at: { name, hit: 1, action: "kill" } })).toBeUndefined();
      const left = (await namesIn(join(storeDir, "packages"))).filter((path) => !path.startsWith(".tmp-"));
      const result = await doTask(task);
      expect(result).toMatchObject({ ok: true, value: { name: "two-nodes" } });
      const { packageId } = (result as { value: { packageId: string } }).value;
      // What a killed process leaves is nothing, or the whole package.
      const whole = await namesIn(join(storeDir, "packages"));
      expect([[], whole]).toContainEqual(left);
      expect(Object.keys(await readTree(join(storeDir, "packages", packageId))).sort()).toEqual(
        Object.keys(files).sort(),
      );
      expect(await (await openStore(storeDir)).packages.list()).toHaveLength(1);
    }
  });
});

describe("whoever creates a run, killed", () => {
  const OF_CREATION = [
    "file.temporary-written",
    "file.renamed",
    ...OF_WORKER.filter((name) => name.startsWith("run.")),
  ];

  test.each(OF_CREATION)("at any hit of %s leaves a project where it can be created, once", async (name) => {
    const dir = await temporaryDirectory();
    const store = await openStore(join(dir, "store"));
    const installed = await store.packages.install(
      await writePackage(join(dir, "package"), twoNodePackage()),
    );
    if (!installed.ok) throw new Error(installed.error.message);
    let hit = 1;
    for (; ; hit += 1) {
      const projectRoot = join(dir, `project-${hit}`);
      await writePackage(projectRoot, { "README.md": "" });
      const request = {
        runId: "11111111-2222-4333-8444-555555555555",
        projectRoot,
        packageId: installed.value.packageId,
        activeAgentId: "author",
      };
      const task = { kind: "create", storeDir: store.dir, request } as const;
      const hitsFile = join(dir, `hits-${hit}`);
      const first = await build.runTask(task, { hitsFile, at: { name, hit, action: "kill" } });
      if (first !== undefined) break;
      expect(await doTask(task)).toMatchObject({ ok: true });
      const listed = await store.runs.listRuns(projectRoot);
      expect(listed).toMatchObject({ ok: true, value: [{ runId: request.runId, phase: "idle" }] });
      const projectDir = join(store.dir, "projects", (listed.ok && listed.value[0]?.projectId) || "");
      expect((await namesIn(projectDir)).filter((path) => path.includes(".tmp-"))).toEqual([]);
    }
    expect(hit).toBeGreaterThan(1);
  });
});
