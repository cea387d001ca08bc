import { describe, expect, test } from "vitest";
import { type BundleLayout, BUNDLE_BASE, parseBundlePath } from "../../../src/core/bundle/bundle-path.js";
import { formatAliasPath } from "../../../src/core/tools/alias-path.js";

const LAYOUT: BundleLayout = { bundleNames: ["desk"], hasCore: true, sessionId: "s-1" };
const read = (text: string, layout = LAYOUT): string => {
  const path = parseBundlePath(text, layout);
  return path.ok ? formatAliasPath(path.value) : path.error.code;
};

describe("parseBundlePath", () => {
  test.each([
    ["{bundle-root}/config.yaml", "{bundle-root}/config.yaml"],
    ["{bundle_root}/config.yaml", "{bundle-root}/config.yaml"],
    ["{core-root}/tasks//./workflow.md", "{core-root}/tasks/workflow.md"],
    ["{project_root}/docs/a.md", "{project-root}/docs/a.md"],
    ["{session-folder}/a/b.md", "{session-folder}/a/b.md"],
    ["{session_folder}", "{session-folder}"],
    ["a/b.md", "{session-folder}/a/b.md"],
    ["./a.md", "{session-folder}/a.md"],
    ["a b.md ", "{session-folder}/a b.md "],
    ["%2e%2e/x", "{session-folder}/%2e%2e/x"],
    ["~/x", "{session-folder}/~/x"],
    ["...", "{session-folder}/..."],
  ])("%j is %s", (text, expected) => expect(read(text)).toBe(expected));

  test.each([
    ["/data/agent-outputs/s-1/out/a.md", "{session-folder}/out/a.md"],
    ["{project-root}/data/agent-outputs/s-1/a.md", "{session-folder}/a.md"],
    ["{project-root}/bmad/desk/config.yaml", "{bundle-root}/config.yaml"],
    ["{project_root}/_bmad/desk/config.yaml", "{bundle-root}/config.yaml"],
    ["{project-root}/.bmad/core/tasks/x.xml", "{core-root}/tasks/x.xml"],
    ["bmad/desk/workflows/x/workflow.yaml", "{bundle-root}/workflows/x/workflow.yaml"],
    ["{project-root}/bmad/custom/bundles/desk/a.md", "{bundle-root}/a.md"],
    ["{project-root}/bmad/custom/bundles/other/a.md", "{project-root}/bmad/custom/bundles/other/a.md"],
    ["{project-root}/bmad/other/config.yaml", "{project-root}/bmad/other/config.yaml"],
    ["{project-root}/mad/desk/config.yaml", "{project-root}/mad/desk/config.yaml"],
  ])("%s is an alias of %s", (text, expected) => expect(read(text)).toBe(expected));

  test("without a core root, the core of an installation is a place in the project", () => {
    const layout = { ...LAYOUT, hasCore: false };
    expect(read("{project-root}/bmad/core/tasks/x.md", layout)).toBe("{project-root}/bmad/core/tasks/x.md");
  });

  test.each([
    "../a.md",
    "{session-folder}/../a.md",
    "{bundle-root}/a/../../b",
    "{project-root}/bmad/desk/../core/x",
    "/data/agent-outputs/s-1/../s-2/a.md",
    "/etc/passwd",
    "//etc/passwd",
    "/data/agent-outputs/s-2/a.md",
    "/data/agent-outputs",
    "C:/x",
    "c:/windows",
    "a\0b",
    "a\\b",
    "..\\a",
    "{bundle-root}\\..\\a",
    "{home}/a",
    "{output_folder}/a.md",
    "{{date}}.md",
    "a/{bundle-root}/b",
    "{session-folder}x.md",
    "{bundle-root",
    "{config_source}:key",
    "{}/a",
  ])("%j is refused", (text) => expect(read(text)).toBe("E_SANDBOX_VIOLATION"));

  test.each([["a".repeat(256)], ["a/".repeat(3000)], ["x\ud800.md"]])(
    "what no file system holds is refused as an argument",
    (text) => expect(read(text)).toBe("TOOL_ARGS_INVALID"),
  );

  test("an unknown variable names those that exist, a misplaced one says where it belongs", () => {
    const unknown = parseBundlePath("{home}/a", LAYOUT);
    const message = unknown.ok ? "" : unknown.error.message;
    for (const name of ["{bundle-root}", "{core-root}", "{project-root}", "{session-folder}"])
      expect(message).toContain(name);
    const mustache = parseBundlePath("epics/{{epic_num}}.md", LAYOUT);
    expect(mustache.ok ? "" : mustache.error.message).toMatch(/^\{\{epic_num\}\} is no path variable\./);
    const misplaced = parseBundlePath("a/{core_root}/b", LAYOUT);
    expect(misplaced.ok ? "" : misplaced.error.message).toContain("alone at the beginning");
  });

  test("no fault repeats the path", () => {
    for (const text of ["/home/robin/secret", "../robin", "C:/robin"]) {
      const path = parseBundlePath(text, LAYOUT);
      expect(path.ok ? "" : path.error.message).not.toContain("robin");
    }
  });

  test("a base stands before a path without a variable", () => {
    const path = parseBundlePath("workflows/x", LAYOUT, BUNDLE_BASE);
    expect(path).toEqual({ ok: true, value: { mount: "bundle-root", segments: ["workflows", "x"] } });
  });
});
