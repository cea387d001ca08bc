import { describe, expect, test } from "vitest";
import { judgeBundleAnswer, saysDone, soundsDone } from "../../../src/core/bundle/bundle-completion.js";
import type { JsonObject } from "../../../src/core/json.js";
import { declaredOutputs } from "../../../src/core/bundle/declared-outputs.js";

const LAYOUT = { bundleNames: ["desk"], hasCore: false, sessionId: "s" };

describe("saysDone", () => {
  test.each(["WORKFLOW COMPLETE", "All is done.\nWORKFLOW COMPLETE\n", "x\r\n  WORKFLOW COMPLETE  \n\n"])(
    "%j does",
    (text) => expect(saysDone(text)).toBe(true),
  );
  test.each([
    "",
    "workflow complete",
    "WORKFLOW COMPLETE.",
    "WORKFLOW COMPLETE\nOr is it?",
    "So: WORKFLOW COMPLETE",
  ])("%j does not", (text) => expect(saysDone(text)).toBe(false));
});

describe("soundsDone", () => {
  test.each([
    "All saved.\n\n**WORKFLOW COMPLETE**",
    "WORKFLOW COMPLETE.",
    "Workflow complete!",
    "```\nWORKFLOW COMPLETE\n```",
    "WORKFLOW COMPLETE\n\nLet me know if you need anything else.",
    "✅ WORKFLOW COMPLETE",
  ])("%j does", (text) => expect(soundsDone(text)).toBe(true));
  test.each([
    "",
    "Is the workflow complete?",
    "Workflow complete?",
    "The workflow is not complete.",
    "When it is done: WORKFLOW COMPLETE",
  ])("%j does not", (text) => expect(soundsDone(text)).toBe(false));
});

describe("declaredOutputs", () => {
  const of = (default_output_file: string, template: string | false = "t.md") =>
    declaredOutputs({ default_output_file, template }, LAYOUT).map(({ saveAs, isExact }) => [
      saveAs,
      isExact,
    ]);
  test.each([
    ["{session-folder}/a.md", ["a.md", true]],
    ["{session-folder}/sub/{{date}}/a-{{x}}.md", ["sub/{{date}}/a-{{x}}.md", false]],
    ["/data/agent-outputs/s/a.md", ["a.md", true]],
    ["{project-root}/docs/PRD.md", ["PRD.md", true]],
    ["{output_folder}/a-{date}.md", ["a-{date}.md", false]],
    ["{out}/a.md or b.md", ["a.md", true]],
    ["{out}/a.md || {other}/b.md", ["a.md", true]],
  ])("%s is saved as %j", (declared, expected) => expect(of(declared)).toEqual([expected]));
  test("what lies elsewhere counts by its last name, without a template too", () => {
    expect(of("{project-root}/.github/test.yml", false)).toEqual([["test.yml", true]]);
    expect(of("{session-folder}/a.md", false)).toEqual([["a.md", true]]);
    expect(of("")).toEqual([]);
    expect(of("{out}/..")).toEqual([]);
  });
});

describe("what a workflow saves besides its default output, or without one", () => {
  const outputsOf = (workflow: JsonObject, invoked: readonly JsonObject[] = []) =>
    declaredOutputs(workflow, LAYOUT, invoked).map(({ saveAs, isExact, isOptional }) =>
      [saveAs, isExact ? "exact" : "any", ...(isOptional === true ? ["optional"] : [])].join(" "),
    );
  test.each<[string, JsonObject, readonly string[]]>([
    ["one other key", { output_file: "{out}/a.md" }, ["a.md exact"]],
    ["a report", { review_report_file: "{out}/review.md" }, ["review.md exact"]],
    [
      "a key of its variables",
      { variables: { gate_decision_output: "{out}/gate.json" } },
      ["gate.json exact"],
    ],
    [
      "several to choose from",
      { module_output_file: "{m}/agents/a.yaml", standalone_output_file: "{s}/b.yaml" },
      ["a.yaml any", "b.yaml any"],
    ],
    [
      "others beside the default",
      { default_output_file: "{out}/a.md", validation_output_file: "{out}/v.md" },
      ["a.md exact", "v.md exact optional"],
    ],
    [
      "a list of outputs",
      {
        outputs: [
          { id: "system", path: "{out}/system.md" },
          "{out}/epic.md",
          { summary: "what went well. And so" },
        ],
      },
      ["system.md any", "epic.md any"],
    ],
    [
      "a folder is no file",
      { output_folder: "docs", module_output_folder: "{m}/x", some_output: "a list of things" },
      [],
    ],
    ["nothing where it only displays", { template: false }, []],
    ["an empty default", { default_output_file: "", output_file: "a.md" }, ["a.md exact"]],
  ])("%s", (_, workflow, expected) => expect(outputsOf(workflow)).toEqual(expected));

  test("what an invoked workflow saves is optional, and each name stands once", () => {
    const invoked = [{ default_output_file: "{out}/b.md" }, { default_output_file: "{out}/a.md" }];
    expect(outputsOf({ default_output_file: "{out}/a.md" }, invoked)).toEqual([
      "a.md exact",
      "b.md exact optional",
    ]);
  });
});

describe("judgeBundleAnswer", () => {
  const exact = { declared: "x", saveAs: "a.md", isExact: true };
  const open = { declared: "x", saveAs: "{{title}}.md", isExact: false };
  const done = "WORKFLOW COMPLETE";
  test.each([
    ["a question waits", "What now?", [exact], [], "waiting"],
    ["done with nothing declared", done, [], [], "complete"],
    ["done and saved", done, [exact], ["a.md"], "complete"],
    ["saved elsewhere under its name", done, [exact], ["sub/a.md"], "complete"],
    ["a name with placeholders takes any file", done, [open], ["whatever.md"], "complete"],
    ["nothing saved", done, [open], [], "incomplete"],
    ["another file saved", done, [exact], ["b.md"], "incomplete"],
    ["what is optional need not be saved", done, [{ ...exact, isOptional: true }], [], "complete"],
    ["one of several to choose from", done, [open, { ...exact, isExact: false }], ["a.md"], "complete"],
  ] as const)("%s", (_name, text, outputs, saved, kind) => {
    const files = saved.map((path) => ({ path, size: 1 }));
    expect(judgeBundleAnswer(text, outputs, files).kind).toBe(kind);
    const empty = saved.map((path) => ({ path, size: 0 }));
    expect(judgeBundleAnswer(text, outputs, empty)).toEqual(judgeBundleAnswer(text, outputs, []));
  });
  test("a correction says that one of several is enough", () => {
    const verdict = judgeBundleAnswer(done, [open, { ...exact, isExact: false }], []);
    expect(verdict.kind === "incomplete" ? verdict.correction : "").toContain(
      "one at least of {session-folder}/",
    );
  });
  test("a correction says what is missing and what to do", () => {
    const verdict = judgeBundleAnswer(done, [exact], []);
    expect(verdict).toMatchObject({ missing: ["a.md"] });
    expect(verdict.kind === "incomplete" ? verdict.correction : "").toContain(
      "{session-folder}/a.md was not saved",
    );
  });
});
