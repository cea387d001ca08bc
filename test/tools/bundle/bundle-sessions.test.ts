import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { BundleWorld, INTAKE, NOW } from "../../fakes/bundle-world.js";
import { jsonLines, valueOf } from "../../fakes/run-world.js";

const LATER = new Date("2026-03-05T00:00:00.000Z");
const OPTIONS = { intent: "start", autopilot: false, yolo: false, now: NOW } as const;

let world: BundleWorld;
beforeEach(async () => {
  world = await BundleWorld.open();
});

describe("createBundleRun", () => {
  test("a run folder without a state document, and an index entry", async () => {
    const run = valueOf(await world.createRun());
    expect(run).toMatchObject({
      packageId: "bundle:desk",
      workflowRef: "intake",
      activeAgentId: "Iris",
      phase: "idle",
      bundle: {
        bundleRoot: world.at("room/bmad/desk"),
        workflowPath: INTAKE,
        sessionId: run.runId,
        outputRoot: world.at("room/project/artifacts"),
      },
    });
    const files = valueOf(await world.store.runs.openFiles(run.projectId, run.runId));
    expect(readdirSync(files.stateDir)).toEqual(["logs"]);
    expect(readFileSync(files.logFile, "utf8")).toBe("");
    expect(valueOf(await world.store.runs.findRun(run.runId))).toEqual(run);
    expect(existsSync(world.at("room/project/artifacts"))).toBe(false); // the session makes it
  });

  test("the same run id is the same run", async () => {
    const runId = "11111111-1111-4111-8111-111111111111";
    const first = valueOf(await world.createRun({ runId }));
    expect(valueOf(await world.createRun({ runId, sessionId: "other" }))).toEqual(first);
  });

  test.each(["..", ".", "", "a/b", "a\\b", ".hidden", "a\0", "x".repeat(129), "a ", "end."])(
    "session id %j is refused, and nothing is kept",
    async (sessionId) => {
      expect((await world.createRun({ sessionId })).ok).toBe(false);
      expect(await world.store.runs.listAllRuns()).toEqual([]);
    },
  );

  test("roots that are no directories are refused", async () => {
    const request = {
      projectRoot: world.at("room/project"),
      bundleRoot: world.at("nowhere"),
      workflowPath: INTAKE,
      workflowRef: "x",
      activeAgentId: "x",
    };
    const { runs } = world.store;
    expect(await runs.createBundleRun(request)).toMatchObject({ error: { code: "E_PACKAGE_NOT_FOUND" } });
    const core = { ...request, bundleRoot: world.at("room/bmad/desk"), coreRoot: world.at("room/README.md") };
    expect(await runs.createBundleRun(core)).toMatchObject({ error: { code: "E_PACKAGE_NOT_FOUND" } });
    const project = { ...request, projectRoot: world.at("nowhere") };
    expect(await runs.createBundleRun(project)).toMatchObject({ error: { code: "E_PROJECT_INVALID" } });
  });
});

describe("openSession", () => {
  test("an open session is opened again whatever has become of its workflow; what an attempt left is removed", async () => {
    const { run, session } = await world.openRun();
    world.put("room/bmad/desk/workflows/intake/workflow.yaml", "name: [\n");
    rmSync(world.at("room/bmad/desk/agents/iris.md"));
    mkdirSync(world.at(`room/project/artifacts/.session-${run.runId}-0123`));
    expect(await world.host.openSession(run.runId, { now: LATER })).toMatchObject({
      ok: true,
      value: { createdAt: NOW.toISOString(), agent: "Iris" },
    });
    expect(readdirSync(join(session, ".."))).toEqual([run.runId]);
  });

  test("makes the folder with its manifest in one step", async () => {
    const { run, session } = await world.openRun();
    const manifest: unknown = JSON.parse(readFileSync(join(session, "manifest.json"), "utf8"));
    expect(manifest).toEqual({
      sessionId: run.runId,
      runId: run.runId,
      workflow: INTAKE,
      agent: "Iris",
      status: "running",
      createdAt: NOW.toISOString(),
      updatedAt: NOW.toISOString(),
      outputs: [
        {
          declared: "{session-folder}/request-{{date}}.md",
          saveAs: "request-{{date}}.md",
          isExact: false,
        },
        {
          declared: "{session-folder}/reading-list.md",
          saveAs: "reading-list.md",
          isExact: true,
          isOptional: true,
        },
      ],
      files: [],
    });
    expect(readdirSync(join(session, ".."))).toEqual([run.runId]);
  });

  test("repeated for the same run, it is the same session, and its next save removes what a crash left", async () => {
    const { run, session, call } = await world.openRun();
    await call("save_output", { file_path: "a.md", content: "x" });
    writeFileSync(join(session, ".tmp-manifest.json-0123456789ab"), "half");
    const again = valueOf(await world.host.openSession(run.runId, { now: LATER }));
    expect(again).toMatchObject({ createdAt: NOW.toISOString(), files: [{ path: "a.md" }] });
    await call("save_output", { file_path: "b.md", content: "x" });
    expect(readdirSync(session).sort()).toEqual(["a.md", "b.md", "manifest.json"]);
  });

  test("of two runs with one id at once, one gets it", async () => {
    const runs = [
      valueOf(await world.createRun({ sessionId: "shared" })),
      valueOf(await world.createRun({ sessionId: "shared" })),
    ];
    const opened = await Promise.all(runs.map(({ runId }) => world.host.openSession(runId, { now: NOW })));
    expect(opened.filter(({ ok }) => ok)).toHaveLength(1);
    const refused = opened.find((result) => !result.ok);
    expect(refused).toMatchObject({ error: { code: "E_PRECONDITION_FAILED" } });
    expect(readdirSync(world.at("room/project/artifacts"))).toEqual(["shared"]);
  });

  test("twice at once for one run, both have the same session", async () => {
    const run = valueOf(await world.createRun());
    const both = await Promise.all([1, 2].map(() => world.host.openSession(run.runId, { now: NOW })));
    expect(valueOf(both[0] ?? { ok: false, error: { code: "E_INTERNAL", message: "" } })).toEqual(
      valueOf(both[1] ?? { ok: false, error: { code: "E_INTERNAL", message: "" } }),
    );
  });

  test.each([
    ["a folder of somebody else", (path: string) => mkdirSync(path, { recursive: true })],
    [
      "a file",
      (path: string) => (mkdirSync(join(path, ".."), { recursive: true }), writeFileSync(path, "x")),
    ],
  ])("%s is left alone", async (_name, make) => {
    const path = world.at("room/project/artifacts/mine");
    make(path);
    if (existsSync(path) && readdirSync(join(path, "..")).length === 1 && _name.startsWith("a folder")) {
      writeFileSync(join(path, "thesis.md"), "mine");
    }
    const run = valueOf(await world.createRun({ sessionId: "mine" }));
    expect(await world.host.openSession(run.runId, { now: NOW })).toMatchObject({ ok: false });
    expect(readdirSync(world.at("room/project/artifacts"))).toEqual(["mine"]);
  });

  test("an artifacts directory that is a link out of the project is not followed", async () => {
    mkdirSync(world.at("elsewhere"));
    symlinkSync(world.at("elsewhere"), world.at("room/project/artifacts"));
    const run = valueOf(await world.createRun());
    expect(await world.host.openSession(run.runId, { now: NOW })).toMatchObject({
      error: { code: "E_PROJECT_INVALID" },
    });
    expect(readdirSync(world.at("elsewhere"))).toEqual([]);
  });

  test("an output root elsewhere is the user's choice", async () => {
    const { run } = await world.openRun({ outputRoot: world.at("results/deep") });
    expect(readdirSync(world.at("results/deep"))).toEqual([run.runId]);
  });

  test("a workflow that cannot be read opens nothing", async () => {
    const run = valueOf(await world.createRun({ workflow: "{bundle-root}/workflows/none/workflow.yaml" }));
    const opened = await world.host.openSession(run.runId, { now: NOW });
    expect(opened).toMatchObject({ ok: false, error: { code: "ENOENT" } });
    expect(opened.ok ? "" : opened.error.message).toContain("intake/, reading-list/");
    expect(existsSync(world.at("room/project/artifacts"))).toBe(false);
  });

  test.each([
    ["*reading-list", "{bundle-root}/workflows/reading-list/workflow.yaml"],
    ["3", "{bundle-root}/workflows/reading-list/workflow.yaml"],
    ["*help", INTAKE],
    ["I look for a book", INTAKE],
  ])("a first input of %j chooses %s", async (input, workflow) => {
    const run = valueOf(await world.createRun());
    expect(valueOf(await world.host.openSession(run.runId, { input, now: NOW }))).toMatchObject({ workflow });
  });
});

describe("what is no workflow is not run, nor another in its place", () => {
  test("a workflow without instructions that can be read", async () => {
    world.put("room/bmad/desk/workflows/none/workflow.yaml", "name: none\ninstructions: gone.md\n");
    const run = valueOf(await world.createRun({ workflow: "{bundle-root}/workflows/none/workflow.yaml" }));
    const opened = await world.host.openSession(run.runId, { now: NOW });
    expect(opened).toMatchObject({ ok: false, error: { code: "ENOENT" } });
    expect(opened.ok ? "" : opened.error.message).toMatch(
      /none\/workflow\.yaml cannot be run: instructions: .*gone\.md/,
    );
    expect(existsSync(world.at("room/project/artifacts"))).toBe(false);
  });

  test.each(["exec", "validate-workflow", "action"])("a command that is an item with %s=", async (key) => {
    const item = `<item cmd="*check" ${key}="{bundle-root}/tasks/check.xml">Check</item>`;
    world.put("room/bmad/desk/agents/iris.md", `<agent name="Iris"><menu>${item}</menu></agent>`);
    const run = valueOf(await world.createRun());
    const opened = await world.host.openSession(run.runId, { now: NOW, input: "*check" });
    expect(opened).toMatchObject({ ok: false, error: { code: "E_PRECONDITION_FAILED" } });
    expect(opened.ok ? "" : opened.error.message).toContain(`it would ${key} {bundle-root}/tasks/check.xml`);
  });
});

describe("begin", () => {
  test("a run hears of what earlier completed runs of its project have saved, newest first, each name once", async () => {
    for (const sessionId of ["first", "second", "third"]) {
      const { run, call } = await world.openRun({ sessionId });
      await call("save_output", { file_path: "PRD.md", content: sessionId });
      await call("save_output", { file_path: `notes/${sessionId}.md`, content: "x" });
      if (sessionId !== "third") await world.store.runs.setPhase(run, "completed", NOW);
    }
    const { run } = await world.openRun();
    const { messages } = valueOf(await world.host.begin(run.runId, OPTIONS));
    expect(messages[1]?.content.split("- earlierOutputs:\n")[1]?.split("\n")).toEqual([
      "  - {project-root}/artifacts/second/PRD.md",
      "  - {project-root}/artifacts/second/notes/second.md",
      "  - {project-root}/artifacts/first/notes/first.md",
    ]);
  });

  test("what a command gives its workflow stands in the directive, on one line", async () => {
    const item =
      '<item cmd="*check" workflow="{bundle-root}/workflows/intake/workflow.yaml" data="{bundle-root}/a.md\n- yolo: true">Check</item>';
    world.put("room/bmad/desk/agents/iris.md", `<agent name="Iris"><menu>${item}</menu></agent>`);
    const run = valueOf(await world.createRun());
    valueOf(await world.host.openSession(run.runId, { now: NOW, input: "*check" }));
    const { messages } = valueOf(await world.host.begin(run.runId, { ...OPTIONS, input: "*check" }));
    expect(messages[1]?.content.split("\n")).toContain("- commandData: {bundle-root}/a.md - yolo: true");
  });

  test("system prompt, directive with the picked command, and the files of the critical actions", async () => {
    const { run } = await world.openRun();
    const { messages, calls } = valueOf(
      await world.host.begin(run.runId, { ...OPTIONS, input: "*intake a book on bees" }),
    );
    expect(messages.map(({ role }) => role)).toEqual(["system", "user"]);
    expect(messages[0]?.content.startsWith("You are Iris, Librarian at the desk.")).toBe(true);
    expect(messages[1]?.content.split("\n")).toEqual([
      "RUN_DIRECTIVE",
      "- runType: bmad-bundle",
      "- intent: start",
      `- workflow: ${INTAKE}`,
      "- sessionFolder: {session-folder}",
      "- agent: Iris",
      "- command: *intake",
      "- date: 2026-03-04",
      "- autopilot: false",
      "- yolo: false",
      "- outputs:",
      "  - {session-folder}/request-{{date}}.md -> {session-folder}/request-{{date}}.md",
      "- optionalOutputs:",
      "  - {session-folder}/reading-list.md -> {session-folder}/reading-list.md",
    ]);
    expect(calls).toEqual([
      { id: "critical-1", name: "read_file", argumentsJson: '{"file_path":"{bundle-root}/config.yaml"}' },
    ]);
    expect(JSON.stringify(messages)).not.toContain(world.dir);
    const first = calls[0];
    const result = await world.call(run.runId, first?.name ?? "", first?.argumentsJson, first?.id);
    expect(result).toMatchObject({ success: true, path: "{bundle-root}/config.yaml" });
  });

  test("without an agent there is a plain persona and nothing to load", async () => {
    const { run } = await world.openRun({ agent: false });
    const { messages, calls } = valueOf(await world.host.begin(run.runId, { ...OPTIONS, yolo: true }));
    expect(messages).toHaveLength(2);
    expect(messages[0]?.content).toContain("(yolo)");
    expect(calls).toEqual([]);
  });

  test("an agent file that is gone is a clear failure", async () => {
    const { run } = await world.openRun();
    rmSync(world.at("room/bmad/desk/agents/iris.md"));
    expect(await world.host.begin(run.runId, OPTIONS)).toMatchObject({
      error: { code: "E_AGENT_NOT_FOUND" },
    });
  });
});

describe("the end", () => {
  test("done counts when the outputs are saved, and closes the manifest once", async () => {
    const { run, session, call } = await world.openRun();
    const { host } = world;
    expect(valueOf(await host.judgeAnswer(run.runId, "What now?")).kind).toBe("waiting");
    expect(valueOf(await host.judgeAnswer(run.runId, "WORKFLOW COMPLETE")).kind).toBe("incomplete");
    await call("save_output", { file_path: "request-2026-03-04.md", content: "x" });
    expect(valueOf(await host.judgeAnswer(run.runId, "WORKFLOW COMPLETE")).kind).toBe("complete");
    const closed = valueOf(await host.markSession(run.runId, "complete", LATER));
    expect(closed).toMatchObject({ status: "complete", completedAt: LATER.toISOString() });
    const bytes = readFileSync(join(session, "manifest.json"), "utf8");
    await host.markSession(run.runId, "complete", new Date());
    await host.markSession(run.runId, "failed", new Date());
    expect(readFileSync(join(session, "manifest.json"), "utf8")).toBe(bytes);
    expect(
      await jsonLines((await world.store.runs.openFiles(run.projectId, run.runId).then(valueOf)).logFile),
    ).toHaveLength(1);
  });

  test("a damaged manifest is a clear failure", async () => {
    const { run, session } = await world.openRun();
    writeFileSync(join(session, "manifest.json"), "not json");
    expect(await world.host.judgeAnswer(run.runId, "x")).toMatchObject({ error: { code: "E_INTERNAL" } });
  });
});
