import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryDirectory } from "../fakes/package-fixture.js";
import { checkNotices, checkOutside } from "./check-outside.js";
import { checkSession } from "./check-session.js";
import { checkStore } from "./check-store.js";
import type { Evidence, RunOperations } from "./evidence.js";
import { type PlannedRun, FAR_AGENT, folderOf, planChaos } from "./plan.js";
import { SESSION, manifestOf, outputRootOf } from "./plan-bundle.js";
import { ACT, LOOK } from "./plan-visits.js";
import { locate, tokenOf } from "./script.js";

const plan = planChaos("around", 5);

function planned(chosen: (run: PlannedRun) => boolean): PlannedRun {
  const run = plan.runs.find(chosen);
  if (run === undefined) throw new Error("No run is like that.");
  return run;
}

const far = planned(({ agentId }) => agentId === FAR_AGENT);
const bundle = planned(({ kind }) => kind === "bundle");
const operations: RunOperations = {
  runId: far.runId,
  projectId: "project",
  status: "COMPLETED",
  failures: [],
  pauses: [],
  raises: [],
  answers: [],
};

describe("what is called outside", () => {
  /** As often as it was said; the engine has another id for what a model says again under the same one. */
  const calls = [
    { id: "c1-1-0", name: ACT },
    { id: "c1-1-1", name: LOOK },
  ];
  const kindsOf = (made: readonly number[], outcome = "ok", retries = 0) => {
    const said = Array.from({ length: 1 + retries }, (_, visit) =>
      calls.map(({ id, name }, index) => ({
        id: visit === 0 ? id : `call_${1 + visit}_1_${index}`,
        name,
        argumentsJson: JSON.stringify({ id: tokenOf(far, id) }),
      })),
    ).flat();
    const outcomes = new Map(said.map(({ id }) => [id, outcome]));
    const ledger = Object.fromEntries(calls.map(({ id }, index) => [tokenOf(far, id), made[index] ?? 0]));
    const failures = Array.from({ length: retries }, () => "E_INTERNAL");
    return checkOutside({ ...operations, failures }, said, outcomes, ledger).map(({ kind }) => kind);
  };

  test.each([
    ["once, is right", [1, 1], "ok", []],
    ["twice, is doubled where it has an effect", [2, 2], "ok", ["doubled"]],
    ["never, is lost where it says ok", [0, 0], "ok", ["lost", "lost"]],
    ["once or never, is right where nobody knows", [0, 1], "TOOL_OUTCOME_UNKNOWN", []],
    ["twice, is doubled where nobody knows", [2, 1], "TOOL_OUTCOME_UNKNOWN", ["doubled"]],
  ])("%s", (_, made, outcome, kinds) => {
    expect(kindsOf(made, outcome)).toEqual(kinds);
  });

  test("said once more under the same id, since it had not been begun, is one call", () => {
    const said = { id: "c1-1-0", name: ACT, argumentsJson: JSON.stringify({ id: tokenOf(far, "c1-1-0") }) };
    const ledger = { [tokenOf(far, "c1-1-0")]: 1 };
    expect(checkOutside(operations, [said, said], new Map([["c1-1-0", "ok"]]), ledger)).toEqual([]);
  });

  test.each([
    ["once for each time, is right", [2, 2], []],
    ["once, is lost where it says ok twice", [1, 2], ["lost"]],
    ["once more than that, is doubled", [3, 3], ["doubled"]],
  ])("in a visit that was begun again %s", (_, made, kinds) => {
    expect(kindsOf(made, "ok", 1)).toEqual(kinds);
  });
});

describe("what somebody is told", () => {
  const phases = ["running", "waiting-user", "waiting-user", "running", "completed"];
  const events = phases.map((phase, index) => ({ kind: "run.phase", id: String(index + 1), phase }));
  const notice = (change: number, body = "said") => ({ id: `notice-${far.runId}-${change}-ops`, body });

  test.each([
    ["each question and the end, once", [notice(2), notice(5)], []],
    ["the same twice in the same words", [notice(2), notice(2), notice(5)], []],
    ["a question of which nobody hears", [notice(5)], ["lost"]],
    ["an end of which nobody hears", [notice(2)], ["lost"]],
    ["one thing in two ways", [notice(2), notice(2, "else"), notice(5)], ["doubled"]],
    ["what never happened", [notice(2), notice(5), notice(6)], ["doubled"]],
    ["what happened to another run", [notice(2), notice(5), { id: "notice-other-9-ops", body: "" }], []],
  ])("%s", (_, notices, kinds) => {
    expect(checkNotices(far, events, notices).map(({ kind }) => kind)).toEqual(kinds);
  });
});

test("whoever fails as he begins to ask need not be heard", () => {
  const phases = ["running", "waiting-user", "failed"].map((phase, id) => ({ kind: "run.phase", id, phase }));
  expect(checkNotices(far, phases, [])).toEqual([]);
});

describe("a request that is too long for its model", () => {
  test("is one that the script has no answer to", () => {
    const directive = `RUN_DIRECTIVE\n- workflow: ${far.workflow}\n- effectiveAgentId: ${FAR_AGENT}\n- currentNodeId: n0`;
    const request = (length: number) => ({
      model: "scripted",
      messages: [
        { role: "user", content: directive },
        { role: "user", content: "x".repeat(length) },
      ],
    });
    expect(locate(plan, request(10))).toMatchObject({ visit: 1, turn: 1 });
    expect(locate(plan, request(80_000))).toMatchObject({
      deviation: expect.stringContaining("longer") as string,
    });
  });
});

describe("the session of a bundle run", () => {
  const prefix = `${outputRootOf(folderOf(bundle))}/${SESSION}/`;
  const files = Object.entries(bundle.end.files).flatMap(([path, sha256]) =>
    path.startsWith(prefix) ? [{ path: path.slice(prefix.length), sha256 }] : [],
  );
  const whole = { runId: bundle.runId, status: "complete", files };
  const kindsOf = async (manifest: unknown) => {
    const root = await temporaryDirectory();
    const path = join(root, manifestOf(folderOf(bundle)));
    await mkdir(dirname(path), { recursive: true });
    if (manifest !== undefined) await writeFile(path, JSON.stringify(manifest));
    return (await checkSession(root, bundle)).map(({ kind }) => kind);
  };

  test.each([
    ["as it should be", whole, []],
    ["not there", undefined, ["lost"]],
    ["not complete", { ...whole, status: "running" }, ["lost"]],
    ["of another run", { ...whole, runId: far.runId }, ["lost"]],
    ["without a file", { ...whole, files: files.slice(1) }, ["lost"]],
    ["with a file twice", { ...whole, files: [...files, ...files.slice(0, 1)] }, ["doubled"]],
  ])("%s", async (_, manifest, kinds) => {
    expect(await kindsOf(manifest)).toEqual(kinds);
  });
});

describe("a store after runs were pruned and garbage collected", () => {
  const installed = { workflow: far.workflow, oldest: "a@0", own: "a@1", newest: "a@2" };

  interface There {
    readonly packages: readonly string[];
    readonly isPruned?: boolean;
    readonly folders?: readonly string[];
    readonly index?: object;
  }

  async function kindsOf({ packages, isPruned = false, folders = [], index = {} }: There) {
    const storeDir = await temporaryDirectory();
    const projectDir = join(storeDir, "projects", "project");
    await mkdir(join(projectDir, "runs"), { recursive: true });
    for (const name of packages) await mkdir(join(storeDir, "packages", name), { recursive: true });
    for (const name of folders) await mkdir(join(projectDir, name), { recursive: true });
    await writeFile(join(projectDir, "runs.jsonl"), `${JSON.stringify({ runId: far.runId, ...index })}\n`);
    const evidence: Evidence = {
      plan: { ...plan, runs: [far] },
      operations: [operations],
      packages: [installed],
      pruned: isPruned ? [far.runId] : [],
      ofBackups: [],
      requests: [],
      workers: [],
      figures: { faults: {}, hits: {}, struck: {} },
      notices: [],
      ledger: {},
      keptDir: "",
      storeDir,
      projectsDir: "",
      historiesDir: "",
    };
    return (await checkStore(evidence)).map(({ kind }) => kind);
  }

  const gone = { isPruned: true, index: { pruned: "2026-03-04T05:06:07.000Z" } } as const;

  test.each<[string, There, readonly string[]]>([
    ["has what runs need, and the newest", { packages: ["a@1", "a@2"] }, []],
    ["has lost a package that runs need", { packages: ["a@2"] }, ["lost"]],
    ["has lost the newest package", { packages: ["a@1"] }, ["lost"]],
    ["has kept a package that nobody needs", { packages: ["a@0", "a@1", "a@2"] }, ["doubled"]],
    ["has nothing of a pruned run", { packages: ["a@2"], ...gone }, []],
    ["has kept a pruned run's package", { packages: ["a@1", "a@2"], ...gone }, ["doubled"]],
    [
      "has kept a pruned run's folder",
      { packages: ["a@2"], ...gone, folders: [`runs/${far.runId}`] },
      ["doubled"],
    ],
    [
      "has something in its trash",
      { packages: ["a@2"], ...gone, folders: [`trash/${far.runId}`] },
      ["doubled"],
    ],
    ["still lists a pruned run", { packages: ["a@2"], isPruned: true }, ["doubled"]],
  ])("%s", async (_, there, kinds) => {
    expect(await kindsOf(there)).toEqual(kinds);
  });
});
