import { describe, expect, test } from "vitest";
import { inlineVariables } from "../../../src/core/bundle/inline-variables.js";
import { shortenRoots } from "../../../src/core/bundle/shorten-roots.js";
import type { JsonObject } from "../../../src/core/json.js";

const inline = (workflow: JsonObject, config?: JsonObject): JsonObject => {
  const result = inlineVariables(workflow, config);
  if (!result.ok) throw new Error(result.error.message);
  return result.value;
};

describe("inlineVariables", () => {
  test("keys are resolved in any order, nested ones too", () => {
    const resolved = inline({
      instructions: "{installed_path}/instructions.md",
      installed_path: "{base}/workflows/x",
      base: "{bundle-root}",
      list: ["{installed_path}/a", { deep: "{base}/b" }],
      variables: { size: 3, where: "{base}/c" },
      text: "{size} of {where}",
    });
    expect(resolved).toMatchObject({
      instructions: "{bundle-root}/workflows/x/instructions.md",
      list: ["{bundle-root}/workflows/x/a", { deep: "{bundle-root}/b" }],
      text: "3 of {bundle-root}/c",
    });
  });

  test("the config gives values, with a stray brace too; a missing one stays", () => {
    const workflow = {
      output_folder: "{config_source}:output_folder",
      stray: "{config_source}:stories}",
      gone: "{config_source}:nothing",
      default_output_file: "{output_folder}/a-{{date}}.md",
    };
    const config = { output_folder: "{project-root}/docs", stories: "s" };
    expect(inline(workflow, config)).toEqual({
      output_folder: "{project-root}/docs",
      stray: "s",
      gone: "{config_source}:nothing",
      default_output_file: "{project-root}/docs/a-{{date}}.md",
    });
    expect(inline(workflow)["default_output_file"]).toBe("{config_source}:output_folder/a-{{date}}.md");
  });

  test("what the model resolves stays as it is", () => {
    const workflow = {
      date: "system-generated",
      story: "",
      name: "{date} {story} {unknown} {{mustache}} {{ name }} {project_root}/x {{name}}",
      bundle_root: "no variable of the file overrides a path variable",
      here: "{bundle-root} {bundle_root}",
    };
    expect(inline(workflow)["name"]).toBe(workflow.name);
    expect(inline(workflow)["here"]).toBe(workflow.here);
  });

  test("cycles end", () => {
    expect(inline({ a: "{b}", b: "{c}", c: "x{a}" })).toEqual({ a: "x{a}", b: "x{b}", c: "x{c}" });
    expect(inline({ a: "{a}" })).toEqual({ a: "{a}" });
  });

  test("a few keys cannot ask for any amount of text", () => {
    const keys = Object.fromEntries(
      Array.from({ length: 60 }, (_, index) => [`k${index}`, `{k${index + 1}}{k${index + 1}}`]),
    );
    const result = inlineVariables({ ...keys, k60: "x" });
    expect(result).toMatchObject({ ok: false, error: { code: "E_SCHEMA_VALIDATION" } });
  });

  test("a key is worked out once, however often others name it: also where that asks for little text", () => {
    const doubled = (count: number, last: string) =>
      Object.fromEntries([
        ...Array.from({ length: count }, (_, index) => [`k${index}`, `{k${index + 1}}{k${index + 1}}`]),
        [`k${count}`, last],
      ]) as JsonObject;
    expect(inline(doubled(16, "x"))["k0"]).toBe("x".repeat(2 ** 16));
    // A cycle looks different from each of its keys: only so many are looked at.
    const circle = Object.fromEntries(
      Array.from({ length: 100 }, (_, index) => [`k${index}`, `{k${(index + 1) % 100}}`]),
    );
    expect(inlineVariables(circle)).toMatchObject({ ok: false });
  });

  test("one config key under several paths is each of them", () => {
    const workflow = { a: "{config_source}:root/x", b: "{config_source}:root/y", c: "{a} {b} {a}" };
    expect(inline(workflow, { root: "r" })).toEqual({ a: "r/x", b: "r/y", c: "r/x r/y r/x" });
  });

  test("names of Object.prototype are no variables", () => {
    expect(inline({ a: "{constructor} {toString} {__proto__}" })["a"]).toBe(
      "{constructor} {toString} {__proto__}",
    );
  });
});

describe("shortenRoots", () => {
  test("the bundle's and the core's own paths get their variables, others stay", () => {
    const layout = { bundleNames: ["desk"], hasCore: true };
    expect(
      shortenRoots(
        {
          a: "{project-root}/bmad/desk/x.md",
          b: ["see {project_root}/_bmad/core/tasks/y.xml now"],
          c: { d: "{project-root}/bmad/other/z", e: 1 },
          f: "{project-root}/bmad/custom/bundles/desk/w",
          g: "{project-root}/{bmad_folder}/desk/v",
        },
        layout,
      ),
    ).toEqual({
      a: "{bundle-root}/x.md",
      b: ["see {core-root}/tasks/y.xml now"],
      c: { d: "{project-root}/bmad/other/z", e: 1 },
      f: "{bundle-root}/w",
      g: "{bundle-root}/v",
    });
  });
});
