import { describe, expect, test } from "vitest";
import type { BundlePath } from "../../../src/core/bundle/bundle-path.js";
import { type Preload, type PreloadFile, planPreload } from "../../../src/core/bundle/preload-plan.js";
import { runErrors } from "../../../src/core/bundle/run-errors.js";
import { type Result, ok } from "../../../src/core/errors.js";
import type { JsonObject } from "../../../src/core/json.js";
import { formatAliasPath } from "../../../src/core/tools/alias-path.js";

const LAYOUT = { bundleNames: ["desk"], hasCore: true, sessionId: "s" };
const MAIN: BundlePath = { mount: "bundle-root", segments: ["workflows", "x", "workflow.yaml"] };
const ENGINE = { "{core-root}/tasks/workflow.xml": "ENGINE" };
const HERE = "{bundle-root}/workflows/x";

type World = Readonly<Record<string, string | JsonObject>>;

/** Plays the reader; also tells how many rounds of side-by-side reading it took. */
function preload(world: World): { result: Result<Preload>; rounds: string[][] } {
  const files = new Map<string, PreloadFile>();
  const rounds: string[][] = [];
  for (;;) {
    const step = planPreload(MAIN, LAYOUT, files);
    if (!step.ok) return { result: step, rounds };
    if (step.value.kind === "done") return { result: ok(step.value.preload), rounds };
    rounds.push(step.value.paths.map(formatAliasPath));
    for (const path of step.value.paths)
      files.set(formatAliasPath(path), fileOf(world, formatAliasPath(path)));
    expect(rounds.length).toBeLessThan(30);
  }
}

function fileOf(world: World, name: string): PreloadFile {
  const found = world[name];
  if (found === undefined) return { kind: "unreadable", reason: `${name} does not exist.` };
  if (typeof found === "string") return { kind: "text", text: found };
  return { kind: "text", text: "yaml", yaml: ok(found) };
}

function done(world: World): Preload {
  const { result } = preload({ ...ENGINE, ...world });
  if (!result.ok) throw new Error(result.error.message);
  return result.value;
}

describe("planPreload", () => {
  test("everything a run needs, in few rounds", () => {
    const { result, rounds } = preload({
      ...ENGINE,
      [`${HERE}/workflow.yaml`]: {
        name: "x",
        config_source: "{project-root}/bmad/desk/config.yaml",
        out: "{config_source}:out",
        installed_path: "{project-root}/bmad/desk/workflows/x",
        instructions: "{installed_path}/instructions.md",
        template: "{installed_path}/template.md",
        default_output_file: "{out}/report.md",
      },
      "{bundle-root}/config.yaml": { out: "{session-folder}" },
      [`${HERE}/instructions.md`]: "<step n='1'><elicit-required/></step>",
      [`${HERE}/template.md`]: "TEMPLATE",
      "{core-root}/tasks/adv-elicit.xml": "ELICIT",
    });
    expect(result).toMatchObject({
      ok: true,
      value: {
        workflowYaml: { installed_path: HERE, default_output_file: "{session-folder}/report.md" },
        configYaml: { out: "{session-folder}" },
        template: "TEMPLATE",
        workflowEngine: "ENGINE",
        elicitTask: "ELICIT",
        missing: [],
        outputs: [{ declared: "{session-folder}/report.md", saveAs: "report.md", isExact: true }],
      },
    });
    expect(rounds).toHaveLength(3); // the YAML and the engine; config, instructions, template; the elicitation task
    expect(rounds[1]).toEqual([
      "{bundle-root}/config.yaml",
      `${HERE}/instructions.md`,
      `${HERE}/template.md`,
    ]);
  });

  test.each([false, null, ""])("template %j is none", (template) => {
    const loaded = done({
      [`${HERE}/workflow.yaml`]: { instructions: "i.md", template },
      [`${HERE}/i.md`]: "I",
    });
    expect(loaded).toMatchObject({ template: null, instructions: "I", missing: [], configYaml: null });
  });

  test("what is optional and missing is listed, with the reason", () => {
    const loaded = done({
      [`${HERE}/workflow.yaml`]: {
        config_source: "{bundle-root}/config.yaml",
        instructions: "./i.md",
        template: "{nobody}/t.md",
      },
      [`${HERE}/i.md`]: "I",
    });
    expect(loaded.missing[0]).toBe("config: {bundle-root}/config.yaml");
    expect(loaded.missing[1]).toContain("template: {nobody}/t.md");
  });

  test("of a router's branches only those are loaded that it does not name: it says when", () => {
    const loaded = done({
      [`${HERE}/workflow.yaml`]: {
        instructions: "router.md",
        instructions_market: "market.md",
        instructions_extra: "extra.md",
        template_market: "t-market.md",
        template_extra: "t-extra.md",
      },
      [`${HERE}/router.md`]: "If market: LOAD {installed_path}/market.md",
      [`${HERE}/market.md`]: "MARKET",
      [`${HERE}/extra.md`]: "EXTRA",
      [`${HERE}/t-market.md`]: "T-MARKET",
      [`${HERE}/t-extra.md`]: "T-EXTRA",
    });
    expect(loaded.instructions).toContain("EXTRA");
    expect(loaded.instructions).not.toContain("MARKET\n");
    expect(loaded.filesLoaded).not.toContain(`${HERE}/market.md`);
    expect(loaded.template).toBe("<!-- file: t-extra.md -->\nT-EXTRA");
  });

  test("templates under other keys are loaded, each after its name", () => {
    const loaded = done({
      [`${HERE}/workflow.yaml`]: {
        instructions: "i.md",
        prd_template: "prd.md",
        templates: { epics: "epics.md", folder: "installer-templates" },
        tech_spec_template_path: "no.md",
      },
      [`${HERE}/i.md`]: "I",
      [`${HERE}/prd.md`]: "PRD",
      [`${HERE}/epics.md`]: "EPICS",
    });
    expect(loaded.template).toBe("<!-- file: prd.md -->\nPRD\n\n<!-- file: epics.md -->\nEPICS");
  });

  test.each([
    ["{project-root}/elsewhere/workflows/x/i.md"],
    ["{nobody}/i.md"],
    ["{project-root}/{bmad_folder}/other/x/i.md"],
  ])(
    "instructions that are not at %s are found beside the YAML, without an installed_path",
    (instructions) => {
      const loaded = done({ [`${HERE}/workflow.yaml`]: { instructions }, [`${HERE}/i.md`]: "I" });
      expect(loaded).toMatchObject({ instructions: "I", missing: [] });
    },
  );

  test("the folder of an installation is known by its placeholder", () => {
    const instructions = "{project-root}/{bmad_folder}/desk/other/i.md";
    const loaded = done({ [`${HERE}/workflow.yaml`]: { instructions }, "{bundle-root}/other/i.md": "I" });
    expect(loaded).toMatchObject({ instructions: "I", missing: [] });
  });

  test("a key of the config with a path after it", () => {
    const loaded = done({
      [`${HERE}/workflow.yaml`]: {
        config_source: "{bundle-root}/config.yaml",
        instructions: "i.md",
        default_output_file: "{config_source}:out/stories/a.md",
      },
      "{bundle-root}/config.yaml": { out: "{session-folder}" },
      [`${HERE}/i.md`]: "I",
    });
    expect(loaded.outputs).toMatchObject([
      { declared: "{session-folder}/stories/a.md", saveAs: "stories/a.md" },
    ]);
  });

  test("the elicitation task by its newer name", () => {
    const loaded = done({
      [`${HERE}/workflow.yaml`]: { instructions: "i.md" },
      [`${HERE}/i.md`]: "<invoke-task>{project-root}/bmad/core/tasks/advanced-elicitation.xml</invoke-task>",
      "{core-root}/tasks/advanced-elicitation.xml": "ELICIT",
    });
    expect(loaded).toMatchObject({ elicitTask: "ELICIT", missing: [] });
  });

  test("what a workflow that is invoked saves is known", () => {
    const loaded = done({
      [`${HERE}/workflow.yaml`]: { instructions: "i.md" },
      [`${HERE}/i.md`]: '<invoke-workflow path="{bundle-root}/y/workflow.yaml"/>',
      "{bundle-root}/y/workflow.yaml": { instructions: "i.md", default_output_file: "{session-folder}/y.md" },
      "{bundle-root}/y/i.md": "Y",
    });
    expect(loaded.outputs).toEqual([
      { declared: "{session-folder}/y.md", saveAs: "y.md", isExact: true, isOptional: true },
    ]);
  });

  test.each([
    [{ instructions: "i.md" }, [`instructions: ${HERE}/i.md (${HERE}/i.md does not exist.)`]],
    [{ instructions: "" }, ["instructions: there are none"]],
    [{}, ["instructions: the workflow names none"]],
  ])("a workflow with %j cannot be run, and it is said why", (yaml, errors) => {
    expect(runErrors(done({ [`${HERE}/workflow.yaml`]: { ...yaml, template: "t.md" } }))).toEqual({
      errors,
      missing: [`template: ${HERE}/t.md (${HERE}/t.md does not exist.)`],
    });
  });

  test("several instruction files, the main one first, or the instructions themselves", () => {
    const files = { [`${HERE}/a.md`]: "A", [`${HERE}/b.md`]: "B" };
    const several = done({
      [`${HERE}/workflow.yaml`]: { instructions_other: "b.md", instructions: "a.md" },
      ...files,
    });
    expect(several.instructions).toBe("<!-- file: a.md -->\nA\n\n<!-- file: b.md -->\nB");
    const listed = done({ [`${HERE}/workflow.yaml`]: { instructions: ["a.md", "b.md"] }, ...files });
    expect(listed.instructions).toBe(several.instructions);
    const embedded = done({ [`${HERE}/workflow.yaml`]: { instructions: "1. Do this.\n2. Do that.\n" } });
    expect(embedded.instructions).toBe("1. Do this.\n2. Do that.\n");
  });

  test("invoked workflows are loaded once, variables resolved, cycles cut", () => {
    const loaded = done({
      [`${HERE}/workflow.yaml`]: { name: "x", instructions: "i.md", next: "{bundle-root}/workflows/y" },
      [`${HERE}/i.md`]:
        '<invoke-workflow path="{next}" data="{a}">go</invoke-workflow> `<invoke-workflow>` <invoke-workflow>prd</invoke-workflow> <invoke-workflow path="{{chosen}}">',
      "{bundle-root}/workflows/y/workflow.yaml": { name: "y", instructions: "i.md" },
      "{bundle-root}/workflows/y/i.md":
        "<invoke-workflow>{project-root}/bmad/desk/workflows/x/workflow.yaml</invoke-workflow> <invoke-workflow path='{bundle-root}/workflows/y'/> <invoke-workflow path='../z'/>",
    });
    expect(loaded.invokedWorkflows.map(({ path }) => path)).toEqual([
      "{bundle-root}/workflows/y/workflow.yaml",
    ]);
    expect(loaded.missing).toEqual(["invoked workflow: ../z (The path contains a .. segment.)"]);
  });

  test.each([
    '<invoke-workflow path="{project-root}/{bmad_folder}/desk/workflows/y">',
    "<invoke-workflow>{project-root}/{_bmad}/desk/workflows/y/workflow.yaml</invoke-workflow>",
    "<invoke-workflow>{bmad_folder}/desk/workflows/y/workflow.yaml</invoke-workflow>",
  ])("an invoked workflow is found where a module's source names the installation: %s", (instructions) => {
    const loaded = done({
      [`${HERE}/workflow.yaml`]: { instructions: "i.md" },
      [`${HERE}/i.md`]: instructions,
      "{bundle-root}/workflows/y/workflow.yaml": { instructions: "Do y.\n" },
    });
    expect(loaded.invokedWorkflows).toMatchObject([{ instructions: "Do y.\n" }]);
    const none = done({
      [`${HERE}/workflow.yaml`]: { instructions: "i.md" },
      [`${HERE}/i.md`]: instructions,
    });
    expect(none.missing).toEqual([expect.stringContaining("{bundle-root}/workflows/y/workflow.yaml")]);
  });

  test("keys that the config does not have are named, once, and stay as the workflow has them", () => {
    const loaded = done({
      [`${HERE}/workflow.yaml`]: {
        config_source: "{bundle-root}/config.yaml",
        instructions: "Do it.\n",
        user_name: "{config_source}:user_name",
        variables: { stories: "{config_source}:stories/open", lists: ["{config_source}:stories"] },
        default_output_file: "{stories}/a.md",
        about: "Keys such as {config_source}:other are read from {config_source}.",
      },
      "{bundle-root}/config.yaml": { user_name: "Ada" },
    });
    expect(loaded.missing).toEqual(["config: {bundle-root}/config.yaml (it has no stories)"]);
    expect(loaded.workflowYaml).toMatchObject({
      user_name: "Ada",
      default_output_file: "{config_source}:stories/open/a.md",
      about: "Keys such as {config_source}:other are read from {bundle-root}/config.yaml.",
    });
  });

  test("a workflow that was moved finds its files beside it", () => {
    const loaded = done({
      [`${HERE}/workflow.yaml`]: {
        installed_path: "{project-root}/bmad/elsewhere/x",
        instructions: "{installed_path}/i.md",
        data: "{installed_path}/data.csv",
      },
      [`${HERE}/i.md`]: "I",
    });
    expect(loaded).toMatchObject({
      instructions: "I",
      missing: [],
      workflowYaml: { data: `${HERE}/data.csv` },
    });
  });

  test.each([".", "./"])(
    "an installed_path %j is the directory of the YAML: a model would look for it in its session",
    (here) => {
      const loaded = done({
        [`${HERE}/workflow.yaml`]: {
          installed_path: here,
          instructions: "./i.md",
          step: "{installed_path}/steps-c/step-01.md",
        },
        [`${HERE}/i.md`]: "I",
      });
      expect(loaded).toMatchObject({
        instructions: "I",
        workflowYaml: { installed_path: HERE, step: `${HERE}/steps-c/step-01.md` },
      });
    },
  );

  test("without the workflow's file, or with malformed YAML, there is no preload", () => {
    expect(preload(ENGINE).result).toMatchObject({ ok: false, error: { code: "ENOENT" } });
    const files = new Map<string, PreloadFile>([
      [
        `${HERE}/workflow.yaml`,
        { kind: "text", text: "", yaml: { ok: false, error: { code: "E_SCHEMA_VALIDATION", message: "m" } } },
      ],
    ]);
    expect(planPreload(MAIN, LAYOUT, files)).toMatchObject({ ok: false, error: { message: "m" } });
  });

  test("too much text is left out and named", () => {
    const loaded = done({
      [`${HERE}/workflow.yaml`]: { instructions: "i.md", template: "t.md" },
      [`${HERE}/i.md`]: "x".repeat(990_000),
      [`${HERE}/t.md`]: "y".repeat(20_000),
    });
    expect(loaded.template).toBeNull();
    expect(loaded.missing.join()).toContain("too long");
  });

  test("any number of tags and variables is looked at in a moment", () => {
    const loaded = done({
      [`${HERE}/workflow.yaml`]: {
        instructions: "i.md",
        ...Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`k${n}`, `{k${n + 1}} `])),
      },
      [`${HERE}/i.md`]: '<invoke-workflow path="{k1}/x">'.repeat(20_000),
    });
    expect(loaded.invokedWorkflows).toEqual([]);
  });

  test("a hundred workflows that invoke each other are cut", () => {
    const world: Record<string, string | JsonObject> = {
      [`${HERE}/workflow.yaml`]: { instructions: "i.md" },
      [`${HERE}/i.md`]: Array.from(
        { length: 100 },
        (_, n) => `<invoke-workflow path="{bundle-root}/w/${n}"/>`,
      ).join(""),
    };
    for (let n = 0; n < 100; n += 1) world[`{bundle-root}/w/${n}/workflow.yaml`] = { instructions: "text\n" };
    expect(done(world).invokedWorkflows).toHaveLength(16);
  });
});

describe("what is not there or not what it should be", () => {
  const faultOf = (world: World) => {
    const { result } = preload({ ...ENGINE, ...world });
    return result.ok ? undefined : result.error.code;
  };
  const endless = Object.fromEntries(
    Array.from({ length: 12 }, (_, n) => [`k${n}`, n === 0 ? "x".repeat(100) : `{k${n - 1}}`.repeat(8)]),
  );

  test("a workflow that cannot be read, is no YAML or grows without bound is a fault", () => {
    expect(faultOf({})).toBe("ENOENT");
    expect(faultOf({ [`${HERE}/workflow.yaml`]: "text" })).toBe("E_SCHEMA_VALIDATION");
    expect(faultOf({ [`${HERE}/workflow.yaml`]: endless })).toBe("E_SCHEMA_VALIDATION");
    const main = { config_source: "{bundle-root}/config.yaml", instructions: "Do it." };
    const world = { [`${HERE}/workflow.yaml`]: main, "{bundle-root}/config.yaml": endless };
    expect(faultOf(world)).toBe("E_SCHEMA_VALIDATION");
  });

  test("a config that is none, or lies outside, is missing", () => {
    const main = { config_source: "{bundle-root}/config.md", instructions: "Do it." };
    const loaded = done({ [`${HERE}/workflow.yaml`]: main, "{bundle-root}/config.md": "text" });
    expect(loaded.missing.join()).toContain("is no YAML file");
    const outside = done({ [`${HERE}/workflow.yaml`]: { ...main, config_source: "../../../../x.yaml" } });
    expect(outside.missing.join()).toContain("config: ");
  });

  test("invoked documents are read as they are, and what cannot be read is missing", () => {
    const loaded = done({
      [`${HERE}/workflow.yaml`]: { instructions: "{bundle-root}/i.md", instructions_more: ["a", "b"] },
      "{bundle-root}/i.md":
        '<invoke-workflow path="{bundle-root}/one.md"/><invoke-workflow path="{bundle-root}/none.md"/>' +
        '<invoke-workflow path="{bundle-root}/none.yaml"/>',
      "{bundle-root}/one.md": "ONE",
    });
    expect(loaded.invokedWorkflows).toMatchObject([{ path: "{bundle-root}/one.md", instructions: "ONE" }]);
    expect(loaded.missing).toHaveLength(2);
    expect(loaded.instructions).toContain('["a","b"]');
  });
});

test("a bundle without its core's engine says which file is missing", () => {
  const { result } = preload({ [`${HERE}/workflow.yaml`]: { instructions: "Do it." } });
  expect(result.ok && result.value.missing.join()).toContain("workflow engine");
});
