import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test, vi } from "vitest";
import type { BundleToolResult } from "../../../src/core/bundle/bundle-result.js";
import { ExecutionOver } from "../../../src/store/runs/executions.js";
import { sha256 } from "../../../src/store/disk/sha256.js";
import { verifyAuditLog } from "../../../src/store/runs/audit-verify.js";
import { BundleWorld, INTAKE, NOW, type OpenRun } from "../../fakes/bundle-world.js";
import { jsonLines, valueOf } from "../../fakes/run-world.js";

let world: BundleWorld;
let open: OpenRun;
let results: BundleToolResult[];
const call = async (name: string, args: unknown, id?: string): Promise<BundleToolResult> => {
  const result = await open.call(name, args, id);
  results.push(result);
  return result;
};
const read = (file_path: string) => call("read_file", { file_path });
const save = (file_path: string, content = "text", id?: string) =>
  call("save_output", { file_path, content }, id);
const errorOf = (result: BundleToolResult): string => (result.success ? "" : result.error);

beforeEach(async () => {
  world = await BundleWorld.open();
  open = await world.openRun();
  results = [];
  return () => {
    for (const result of results) {
      const text = JSON.stringify(result);
      assert.ok(!text.includes(world.dir) && !text.includes("/proc/"), `a host path appeared: ${text}`);
    }
  };
});

describe("read_file", () => {
  test("reads all four roots, paths written with variables", async () => {
    await save("notes.md", "ä");
    expect(await read("notes.md")).toEqual({
      success: true,
      path: "{session-folder}/notes.md",
      content: "ä",
      size: 2,
    });
    for (const [path, spelled] of [
      ["{bundle_root}/config.yaml", "{bundle-root}/config.yaml"],
      ["{core-root}/tasks/workflow.md", "{core-root}/tasks/workflow.md"],
      ["{project-root}/docs/opening-days.md", "{project-root}/docs/opening-days.md"],
      ["{project-root}/bmad/desk/config.yaml", "{bundle-root}/config.yaml"],
      ["{session-folder}/manifest.json", "{session-folder}/manifest.json"],
    ] as const) {
      expect(await read(path)).toMatchObject({ success: true, path: spelled });
    }
  });

  test("a missing file's error lists what its directory holds", async () => {
    const result = await read("{bundle-root}/workflows/intake/instruction.md");
    expect(errorOf(result)).toContain("checklist.md, instructions.md, template.md, workflow.yaml");
    expect(result).toMatchObject({ path: "{bundle-root}/workflows/intake/instruction.md" });
    expect(errorOf(await read("{bundle-root}/nowhere/x.md"))).toContain(
      "{bundle-root} holds agents/, config.yaml, workflows/.",
    );
    expect(errorOf(await read("./checklist.md"))).toContain(
      "one of the workflow's own files begins with the directory of its workflow.yaml",
    );
    expect(errorOf(await read("{session-folder}/checklist.md"))).not.toContain("begins with the directory");
    expect(errorOf(await read("{bundle-root}/workflows"))).toContain(
      "is a directory. It holds intake/, reading-list/.",
    );
  });

  test("text up to 1 MiB, no more, and nothing that is no text", async () => {
    world.put("room/project/docs/full.txt", "x".repeat(1024 * 1024));
    world.put("room/project/docs/over.txt", "x".repeat(1024 * 1024 + 1));
    world.put("room/project/docs/binary", Uint8Array.of(0xff, 0xfe, 0));
    expect(await read("{project-root}/docs/full.txt")).toMatchObject({ success: true, size: 1024 * 1024 });
    expect(errorOf(await read("{project-root}/docs/over.txt"))).toContain("larger than 1048576 bytes");
    expect(errorOf(await read("{project-root}/docs/binary"))).toContain("not a UTF-8 text");
  });
});

describe("save_output", () => {
  test.each([
    ["{session-folder}/a.md", "a.md"],
    ["{session_folder}/sub/b.md", "sub/b.md"],
    ["c.md", "c.md"],
  ])("%s is written and in the manifest", async (path, name) => {
    expect(await save(path, "content")).toEqual({ success: true, path: `{session-folder}/${name}`, size: 7 });
    expect(readFileSync(join(open.session, name), "utf8")).toBe("content");
    const { files, status } = valueOf(await world.host.readSession(open.run.runId));
    expect(files).toEqual([{ path: name, size: 7, sha256: sha256("content"), savedAt: NOW.toISOString() }]);
    expect(status).toBe("running");
  });

  test("the older spelling of the session folder, for this session only", async () => {
    const { sessionId } = valueOf(await world.host.readSession(open.run.runId));
    expect(await save(`/data/agent-outputs/${sessionId}/out.md`)).toMatchObject({
      path: "{session-folder}/out.md",
    });
    expect(errorOf(await save("/data/agent-outputs/another/out.md"))).toContain(
      "Absolute paths do not exist",
    );
  });

  test("saved again, the manifest has the file once, as it is now", async () => {
    await save("a.md", "one");
    await save("a.md", "two!");
    const { files } = valueOf(await world.host.readSession(open.run.runId));
    expect(files.map(({ path, size }) => [path, size])).toEqual([["a.md", 4]]);
  });

  test("outside the session folder, the refusal says where to save", async () => {
    for (const path of ["{project-root}/docs/x.md", "{bundle-root}/x.md", "{core-root}/x.md"]) {
      expect(errorOf(await save(path))).toContain("Save it as {session-folder}/x.md");
    }
    expect(existsSync(world.at("room/project/docs/x.md"))).toBe(false);
  });

  test("more than 1 MiB is refused, and nothing is left", async () => {
    expect((await save("big.md", "x".repeat(1024 * 1024 + 1))).success).toBe(false);
    expect(readdirSync(open.session)).toEqual(["manifest.json"]);
  });

  test("a file whose manifest entry cannot be saved is taken back", async () => {
    writeFileSync(join(open.session, "manifest.json"), "{}");
    expect(errorOf(await save("a.md"))).toContain("manifest.json is missing or damaged");
    expect(readdirSync(open.session)).toEqual(["manifest.json"]);
  });
});

test("the list of agents of an installation in .bmad can be read, what is hidden in it cannot", async () => {
  world.put("room/project/.bmad/_cfg/agent-manifest.csv", "name\niris\n");
  world.put("room/project/.bmad/.env", "SECRET");
  world.put("room/project/.bmadx/a.md", "SECRET");
  const read = (path: string) => open.call("read_file", { file_path: path });
  expect(await read("{project-root}/.bmad/_cfg/agent-manifest.csv")).toMatchObject({
    content: "name\niris\n",
  });
  for (const path of ["{project-root}/.bmad/.env", "{project-root}/.bmadx/a.md"]) {
    expect(await read(path)).toMatchObject({ success: false });
  }
});

describe("hostile paths", () => {
  beforeEach(async () => {
    world.put("outside/secret.txt", "SECRET");
    for (const name of [
      ".env",
      ".git/config",
      ".hidden/x.md",
      "node_modules/m/index.js",
      "docs/.secret",
      "docs/node_modules/a.js",
    ])
      world.put(`room/project/${name}`, "SECRET");
    symlinkSync(world.at("outside"), world.at("room/project/docs/out"));
    symlinkSync(world.at("outside/secret.txt"), world.at("room/bmad/desk/leak.md"));
    symlinkSync("../../.env", world.at("room/project/docs/env"));
    symlinkSync("../.env", world.at("room/project/docs/env2"));
    symlinkSync(world.at("outside"), join(open.session, "away"));
    symlinkSync("manifest.json", join(open.session, "other.json"));
    execFileSync("sh", [
      "-c",
      'mkfifo "$0" "$1"',
      world.at("room/project/docs/pipe"),
      join(open.session, "pipe"),
    ]);
    await world.openRun({ sessionId: "other-session" });
    world.put("store/private.txt", "SECRET");
  });

  const READS = [
    "../outside/secret.txt",
    "{project-root}/../outside/secret.txt",
    "{bundle-root}/../core/tasks/workflow.md",
    "{session-folder}/x/../../other-session/manifest.json",
    "/etc/passwd",
    "//etc/passwd",
    "/proc/self/environ",
    "C:\\secret.txt",
    "C:/secret.txt",
    "docs\\x",
    "a\0b",
    "{project-root}/.env",
    "{project-root}/.ENV",
    "{project-root}/.git/config",
    "{project-root}/.hidden/x.md",
    "{project-root}/node_modules/m/index.js",
    "{project-root}/NODE_MODULES/m/index.js",
    "{project-root}/docs/.secret",
    "{project-root}/docs/node_modules/a.js",
    "{project-root}/docs/out/secret.txt",
    "{project-root}/docs/env",
    "{project-root}/docs/env2",
    "{project-root}/docs/pipe",
    "{bundle-root}/leak.md",
    "{session-folder}/away/secret.txt",
    "{session-folder}/pipe",
    "{home}/secret.txt",
    "{store}/private.txt",
    "{{project-root}}/.env",
    "{project-root}{session-folder}",
    "{output_folder}/a.md",
    "%2e%2e/outside/secret.txt",
    "{project-root}/%2e%2e/outside/secret.txt",
    "..%2foutside/secret.txt",
    "~/secret.txt",
    "file:///etc/passwd",
    "/data/agent-outputs/other-session/manifest.json",
    "@project/docs/opening-days.md",
    "{project-root}/.",
    "",
  ];
  test.each(READS)("read_file %j gives nothing", async (path) => {
    const result = await read(path);
    expect(result.success).toBe(false);
    expect(JSON.stringify(result)).not.toContain("SECRET");
  });

  test.each(
    [
      ...READS,
      "manifest.json",
      "./manifest.json",
      "{session-folder}//manifest.json",
      "other.json",
      "away/x.md",
      "{session-folder}",
      "manifest.json/x",
    ].filter(
      (path) => !/^(?:%2e|\.\.%2f|~|@project|file:)/.test(path), // ordinary names: they are files in the session folder
    ),
  )("save_output %j changes nothing", async (path) => {
    const before = readFileSync(join(open.session, "manifest.json"), "utf8");
    expect((await save(path, "HOSTILE")).success).toBe(false);
    expect(readFileSync(join(open.session, "manifest.json"), "utf8")).toBe(before);
    expect(readdirSync(world.at("outside"))).toEqual(["secret.txt"]);
    expect(readdirSync(open.session).sort()).toEqual(["away", "manifest.json", "other.json", "pipe"]);
  });

  test.each(["%2e%2e/x.md", "~/x.md", "@project/x.md", "file:/x.md", "..%2fx.md"])(
    "%s is an ordinary name in the session folder",
    async (path) => expect((await save(path)).success).toBe(true),
  );

  test.each(READS)("preload_workflow %j gives nothing", async (workflow_path) => {
    const result = await call("preload_workflow", { workflow_path });
    expect(result.success).toBe(false);
    expect(JSON.stringify(result)).not.toContain("SECRET");
  });

  test("a workflow's own references are held to the same rules", async () => {
    world.put(
      "room/bmad/desk/workflows/evil/workflow.yaml",
      'config_source: "{project-root}/.env"\ninstructions: "/etc/passwd.md"\ntemplate: "{bundle-root}/leak.md"\nanother: "../../../../outside/secret.txt"\n',
    );
    const result = await call("preload_workflow", { workflow_path: "workflows/evil" });
    expect(result).toMatchObject({ success: true, configYaml: null, instructions: null, template: null });
    expect(JSON.stringify(result)).not.toContain("SECRET");
  });

  test("a session folder exchanged for a link leads nowhere", async () => {
    rmSync(open.session, { recursive: true });
    mkdirSync(world.at("elsewhere"));
    symlinkSync(world.at("elsewhere"), open.session);
    expect((await save("a.md")).success).toBe(false);
    expect(readdirSync(world.at("elsewhere"))).toEqual([]);
  });

  test("a session folder exchanged while it is looked at leads nowhere, also not into another project", async () => {
    mkdirSync(world.at("elsewhere")); // which runs of this store may open
    const { roots } = world.store;
    const permit = roots.permit.bind(roots);
    vi.spyOn(roots, "permit").mockImplementation((path, ...rest) => {
      if (path === open.session && existsSync(open.session)) {
        renameSync(open.session, `${open.session}.before`);
        symlinkSync(world.at("elsewhere"), open.session);
      }
      return permit(path, ...rest);
    });
    expect(errorOf(await save("a.md"))).toBe("{session-folder} is missing, or no directory any more.");
    expect(readdirSync(world.at("elsewhere"))).toEqual([]);
    vi.restoreAllMocks();
  });

  test("a hard link to another file is replaced, not written through", async () => {
    linkSync(world.at("outside/secret.txt"), join(open.session, "hard.md"));
    await save("hard.md", "new");
    expect(readFileSync(world.at("outside/secret.txt"), "utf8")).toBe("SECRET");
  });
});

describe("preload_workflow", () => {
  test("gives everything at once, in the shape of the contract", async () => {
    const result = await call("preload_workflow", { workflow_path: INTAKE });
    expect(Object.keys(result)).toEqual([
      "success",
      "workflowYaml",
      "configYaml",
      "instructions",
      "template",
      "workflowEngine",
      "elicitTask",
      "invokedWorkflows",
      "filesLoaded",
      "message",
    ]);
    expect(result).toMatchObject({
      workflowYaml: {
        name: "intake",
        installed_path: "{bundle-root}/workflows/intake",
        user_name: "Robin",
        date: "system-generated",
      },
      configYaml: { project_name: "Reading room" },
      filesLoaded: [
        "{bundle-root}/workflows/intake/workflow.yaml",
        "{bundle-root}/config.yaml",
        "{bundle-root}/workflows/intake/instructions.md",
        "{bundle-root}/workflows/intake/template.md",
        "{core-root}/tasks/workflow.md",
        "{bundle-root}/workflows/reading-list/workflow.yaml",
        "{bundle-root}/workflows/reading-list/instructions.md",
        "{core-root}/tasks/adv-elicit.md",
      ],
      invokedWorkflows: [{ path: "{bundle-root}/workflows/reading-list/workflow.yaml", template: null }],
    });
    expect(result.success && result["message"]).toContain("no further read_file");
    expect(result.success && result["message"]).toContain("{session-folder}/request-{{date}}.md");
  });

  test.each([
    "workflows/intake",
    "{bundle-root}/workflows/intake/",
    "{project-root}/bmad/desk/workflows/intake/workflow.yaml",
  ])("%s means the same", async (workflow_path) =>
    expect(await call("preload_workflow", { workflow_path })).toMatchObject({
      success: true,
      workflowYaml: { name: "intake" },
    }),
  );

  test("malformed YAML is an error with file, line and column", async () => {
    world.put("room/bmad/desk/workflows/intake/workflow.yaml", "name: x\n  bad: [\n");
    const result = await call("preload_workflow", { workflow_path: INTAKE });
    expect(errorOf(result)).toMatch(
      /^\{bundle-root\}\/workflows\/intake\/workflow\.yaml, line \d+, column \d+: /,
    );
  });

  test("a template that is no valid YAML is text like any other", async () => {
    world.put("room/bmad/desk/workflows/intake/template.yaml", "a: {{x}}: [\n");
    world.put(
      "room/bmad/desk/workflows/intake/workflow.yaml",
      'instructions: "instructions.md"\ntemplate: "template.yaml"\n',
    );
    expect(await call("preload_workflow", { workflow_path: INTAKE })).toMatchObject({
      template: "a: {{x}}: [\n",
    });
  });

  test("a workflow that names thousands of files is refused before they are read", async () => {
    const names = Array.from({ length: 5000 }, (_, index) => `"f${index}.md"`).join(", ");
    world.put("room/bmad/desk/workflows/intake/workflow.yaml", `instructions: [${names}]\n`);
    const result = await call("preload_workflow", { workflow_path: INTAKE });
    expect(errorOf(result)).toContain("too many files");
  });

  test("optional files that are missing are listed", async () => {
    rmSync(world.at("room/bmad/desk/config.yaml"));
    rmSync(world.at("room/bmad/core/tasks/workflow.md"));
    const result = await call("preload_workflow", { workflow_path: INTAKE });
    expect(result).toMatchObject({
      success: true,
      configYaml: null,
      workflowEngine: null,
      missing: [
        "config: {bundle-root}/config.yaml",
        "workflow engine: {core-root}/tasks/workflow.md or {core-root}/tasks/workflow.xml",
      ],
    });
  });
});

describe("each call once", () => {
  test("a repeated call has the recorded result, no second effect and no second event", async () => {
    expect(await save("a.md", "first", "c1")).toMatchObject({ success: true, size: 5 });
    expect(await save("a.md", "another", "c1")).toMatchObject({ success: true, size: 5 });
    expect(readFileSync(join(open.session, "a.md"), "utf8")).toBe("first");
    expect((await jsonLines(open.files.logFile)).length).toBe(1);
  });

  test("one event per call, refused ones included, contents left out", async () => {
    await save("a.md", "the content of a file that is long enough to be cut ".repeat(20));
    await read("../x");
    await call("nothing", "no json");
    const events = await jsonLines(open.files.logFile);
    expect(events.map(({ kind, toolName }) => [kind, toolName])).toEqual([
      ["tool.exec", "save_output"],
      ["tool.exec", "read_file"],
      ["tool.exec", "nothing"],
    ]);
    expect(JSON.stringify(events).length).toBeLessThan(4000);
    expect(await verifyAuditLog(open.files.logFile)).toMatchObject({ lines: 3, findings: [] });
  });

  test("a crash between effect and record: the repetition completes it", async () => {
    await save("a.md", "text", "c1");
    const journal = join(open.files.stateDir, "..", "calls.jsonl");
    const lines = readFileSync(journal, "utf8")
      .split("\n")
      .filter((line) => line !== "");
    writeFileSync(
      journal,
      lines
        .slice(0, -1)
        .map((line) => `${line}\n`)
        .join(""),
    ); // the plan stays, the result is lost
    const before = readFileSync(join(open.session, "manifest.json"), "utf8");
    const again = await reopened();
    expect(await again.call("save_output", { file_path: "a.md", content: "text" }, "c1")).toMatchObject({
      success: true,
      size: 4,
    });
    expect(readFileSync(join(open.session, "manifest.json"), "utf8")).toBe(before);
  });

  test("the same call twice at once is run once", async () => {
    const both = await Promise.all([save("a.md", "x", "c1"), save("a.md", "y", "c1")]);
    expect(both[0]).toEqual(both[1]);
    expect((await jsonLines(open.files.logFile)).length).toBe(1);
  });

  test("many saves at once are all in the manifest", async () => {
    await Promise.all(Array.from({ length: 12 }, (_, index) => save(`f${index}.md`)));
    expect(valueOf(await world.host.readSession(open.run.runId)).files).toHaveLength(12);
  });

  test("a run that does not exist, or is none of a bundle, is a result as well", async () => {
    const result = await world.call("no-such-run", "read_file", { file_path: "a" });
    expect(errorOf(result)).toContain("There is no run");
  });

  /** The run as another process sees it. */
  async function reopened() {
    const { createBundleHost } = await import("../../../src/tools/bundle/bundle-host.js");
    const { openStore } = await import("../../../src/store/store.js");
    const host = createBundleHost({
      store: await openStore(world.at("store"), undefined, { projectRoots: [world.dir] }),
    });
    return {
      call: async (name: string, args: unknown, toolCallId: string) =>
        (
          await host.executeForEngine({
            toolCallId,
            name,
            argumentsJson: JSON.stringify(args),
            context: { runId: open.run.runId, agentId: "Iris" },
          })
        ).result,
    };
  }
});

test("an execution that is over saves nothing, and neither marks nor records anything", async () => {
  await save("a.md", "kept");
  const { runId } = open.run;
  const seen = () => [readFileSync(join(open.session, "manifest.json"), "utf8"), readdirSync(open.session)];
  const before = seen();
  const events = (await jsonLines(open.files.logFile)).length;
  writeFileSync(join(open.session, ".tmp-manifest.json-0123456789ab"), "late");
  await open.files.executions.begin({ id: "b", startedAt: 1 }, true);
  await world.host.fenceSession(runId, 2);
  const request = (file_path: string, execution: number) => ({
    toolCallId: `late-${file_path}-${execution}`,
    name: "save_output",
    argumentsJson: JSON.stringify({ file_path, content: "late" }),
    context: { runId, agentId: "Iris", execution },
  });
  for (const file of ["a.md", "b.md"]) {
    await expect(world.host.executeForEngine(request(file, 1))).rejects.toThrow(ExecutionOver);
  }
  await expect(world.host.markSession(runId, "failed", NOW, 1)).rejects.toThrow(ExecutionOver);
  await expect(world.host.fenceSession(runId, 1)).rejects.toThrow(ExecutionOver);
  expect(seen()).toEqual(before);
  expect(await jsonLines(open.files.logFile)).toHaveLength(events);
  expect((await world.host.executeForEngine(request("b.md", 2))).result.success).toBe(true);
});
