import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { sha256 } from "../../src/store/disk/sha256.js";
import { type Script, ScriptedModel, call, patch } from "../fakes/scripted-model.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { nodeOf, straightOn } from "../fakes/walk.js";
import { writeTree } from "./harness.js";
import { type Shell, jsonOf, newShell } from "./shell.js";

/** Writes what it is made for; a hasty one tries to leave out a node before. */
const painter =
  (colour: string, isHasty: boolean): Script =>
  (request) => {
    const straight = straightOn(request);
    const calls = "calls" in straight ? (straight.calls ?? []) : [];
    if (nodeOf(request) !== "ask") return straight;
    const said = request.messages.filter(({ role }) => role === "assistant").length;
    if (said === 0) return { content: "Which colour?" };
    if (isHasty && said === 1) return { calls: [patch({ currentNodeId: { set: "finish" } })] };
    return { calls: [call("fs_write", { path: "@project/artifacts/out.md", content: colour }), ...calls] };
  };

async function model(script: Script): Promise<ScriptedModel> {
  const started = await ScriptedModel.start(script);
  onTestFinished(() => started.close());
  return started;
}

/** A shell whose settings name two models, and a package with a test that one of them passes. */
async function twoModels(): Promise<Shell> {
  const careful = await model(painter("blue\n", false));
  const hasty = await model(painter("red\n", true));
  const shell = await newShell();
  const settings = join(shell.dir, "settings.json");
  const models = {
    careful: { model: "careful-1", baseUrl: careful.baseUrl },
    hasty: { model: "hasty-1", baseUrl: hasty.baseUrl },
  };
  const prices = { careful: { inputPerMillion: 1_000, outputPerMillion: 1_000 } };
  await writeFile(settings, JSON.stringify({ models, prices }));
  const painted = {
    answers: [],
    replies: ["Blue."],
    expect: { refusals: [], artifacts: [{ path: "artifacts/out.md", contains: "blue" }] },
  };
  await writeTree(
    join(shell.dir, "package"),
    twoNodePackage({ "tests/painted.yaml": JSON.stringify(painted) }),
  );
  return shell.with({ INTERLOCK_SETTINGS: settings });
}

test(
  "--models runs the tests with each model, and shows path, refusals, usage and artifacts beside each other",
  { tags: "slow" },
  async () => {
    const shell = await twoModels();
    const outcome = await shell.run(["package", "test", "package", "--models", "careful,hasty"]);
    expect([outcome.code, outcome.stderr]).toEqual([1, ""]);
    const line = (label: string, ...cells: string[]) =>
      expect(outcome.stdout).toMatch(new RegExp(`^${[label, ...cells].join(" +")} *$`, "m"));
    expect(outcome.stdout).toMatch(/^painted {2}tests\/painted\.yaml\n/);
    line("\\* +model", "careful", "hasty");
    line("\\* +result", "ok", "FAILED");
    line(" +phase", "completed", "completed");
    line(" +path", "ask", "ask");
    line(" +finish", "finish");
    line("\\* +refused", "E_INVALID_TRANSITION fs\\.apply_patch at ask");
    line("\\* +turns", "4", "5");
    line("\\* +tokens", "400\\+40 tokens", "500\\+50 tokens");
    line("\\* +cost", "0\\.4400", "0\\.0000");
    line("\\* +artifacts/out\\.md", sha256("blue\n").slice(0, 12), sha256("red\n").slice(0, 12));
    expect(outcome.stdout).toContain(
      'hasty: artifacts/out.md: expected "blue" in it, came a text that begins "red"',
    );
    expect(outcome.stdout).toMatch(/\n1 passed, 1 failed\.\n$/);
  },
);

test(
  "--models takes one model as well, tells a program, and refuses a name that nothing is configured for",
  { tags: "slow" },
  async () => {
    const shell = await twoModels();
    const one = await shell.run(["package", "test", "package", "--models", "careful", "--json"]);
    expect(jsonOf(one)).toMatchObject({
      ok: true,
      tests: [{ name: "painted", model: "careful", ok: true, outcome: { model: "careful" } }],
    });
    const none = await shell.run(["package", "test", "package", "--models", "careful,unheard-of"]);
    expect([none.code, none.stdout]).toEqual([2, ""]);
    expect(none.stderr).toContain("unheard-of");
  },
);

test(
  "--max-cost caps what the runs of a command cost together: the one that reaches it is ended, and no other is begun",
  { tags: "slow" },
  async () => {
    const shell = await twoModels();
    const capped = (...more: string[]) =>
      shell.run(["package", "test", "package", "--models", "careful", "--max-cost", ...more]);
    const ended = await capped("0.15");
    expect(ended.stdout).toContain("        careful: cost: --max-cost was reached, and the run was ended\n");
    expect(ended.stdout).toMatch(
      /\n0 passed, 1 failed\.\n--max-cost 0\.15 is used up\. Not run: 0 of 1\.\n$/,
    );
    expect(ended.code).toBe(1);
    await writeTree(join(shell.dir, "package"), {
      "tests/a.yaml": "replies: [Blue.]\nanswers: []\n",
      "tests/z.yaml": "replies: [Blue.]\nanswers: []\n",
    });
    const two = await capped("0.6", "--json");
    expect(two.code).toBe(1);
    expect(jsonOf(two)).toMatchObject({
      ok: false,
      notRun: 1,
      tests: [
        { name: "a", ok: true },
        { name: "painted", ok: false, isOverCost: true },
      ],
    });
    expect((jsonOf(two) as { cost: number }).cost).toBeGreaterThanOrEqual(0.6);
  },
);

test("--max-cost is refused where a model has no price, where no models are asked, and for no amount", async () => {
  const shell = await twoModels();
  const refused = async (...more: string[]) => {
    const { code, stdout, stderr } = await shell.run(["package", "test", "package", ...more]);
    expect([code, stdout]).toEqual([2, ""]);
    return stderr;
  };
  expect(await refused("--models", "careful,hasty", "--max-cost", "1")).toContain(
    "there is none of: hasty. Name it under",
  );
  expect(await refused("--max-cost", "1")).toContain("add --models");
  expect(await refused("--models", "careful", "--max-cost", "much")).toContain("--max-cost takes a number");
});
