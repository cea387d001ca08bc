import { expect, test } from "vitest";
import { importOf, page, said, ways } from "./step-files.js";

/* The same two steps, named in every way that people and their tools spell a path. */

const LAST = page({}, "# Step 2", "", "Last. The workflow is complete.");
const NEXT = ["step-01 -next-> step-02"];

/** A workflow whose first step has this front matter and this body; `second` is the other step's file. */
function twoSteps(key: string, body: string, second = "steps/step-02.md") {
  return importOf({
    "workflow.md": page({ name: "two", description: "x" }, "Load and execute `./steps/step-01.md`."),
    "steps/step-01.md": `---\n${key}\n---\n# Step 1\n\n${body}\n`,
    [second]: LAST,
  });
}

const waysOf = (imported: ReturnType<typeof importOf>) => ways(imported).map((way) => way.replace("*", ""));

test.each([
  ["backticks", "nextStepFile: '`./step-02.md`'"],
  ["Windows", "nextStepFile: '.\\step-02.md'"],
  ["other capitals", "nextStepFile: ./Step-02.MD"],
  ["a list", "nextStepFile:\n  - ./step-02.md"],
  ["percent signs", "nextStepFile: ./step%2D02.md"],
])("front matter names a step in %s", (_how, key) => {
  const imported = twoSteps(key, "Do it.");
  expect([waysOf(imported), said(imported)]).toEqual([NEXT, []]);
});

test.each([
  ["Windows", "Read fully and follow `.\\steps\\step-02.md`."],
  ["German", "Lies die ganze Datei `./step-02.md` und folge ihr."],
  ["a list's number", "2. Load, read entire file, then execute ./step-02.md"],
])("a line names a step in %s", (_how, body) => {
  const imported = twoSteps("x: 1", body);
  expect([waysOf(imported), said(imported)]).toEqual([NEXT, []]);
});

test.each([
  ["blanks", "Read fully and follow `./step 02.md`.", "steps/step 02.md"],
  ["a link's blanks", "Then go on with [the second](./step%2002.md).", "steps/step 02.md"],
  ["letters of its language", "Read fully and follow `step-02-prüfen.md`.", "steps/step-02-prüfen.md"],
  [
    "letters that are composed otherwise",
    "Read fully and follow `./step-02-pru\u0308fen.md`.",
    "steps/step-02-pr\u00FCfen.md",
  ],
  ["an extension in capitals", "Read fully and follow `./step-02.MD`.", "steps/step-02.MD"],
])("a step's name has %s", (_how, body, second) => {
  const imported = twoSteps("x: 1", body, second);
  expect([imported.nodes.length, imported.edges.length, said(imported)]).toEqual([2, 1, []]);
});

test("a name that is to be filled in is none: the folder before it is known", () => {
  const imported = importOf({
    "SKILL.md": page({ name: "x" }, "Fill in `../x/templates/[template].md`."),
    "templates/one.md": "# One",
  });
  expect(imported.files.get("workflow.md")).toContain("templates/[template].md");
  expect(said(imported)).toEqual([
    'warning SKILL.md:4 "../x/templates/" leaves the directory that is imported: it was left as it is',
  ]);
});

test("of two files that differ in capitals only, the one that is spelled so is meant, or none", () => {
  const texts = {
    "workflow.md": page({ name: "two", description: "x" }, "Load and execute `./steps/step-01.md`."),
    "steps/step-01.md": page({ nextStepFile: "./STEP-02.md" }, "Do it."),
    "steps/step-02.md": LAST,
    "steps/Step-02.md": LAST,
  };
  expect(importOf(texts).edges).toEqual([]);
  expect(said(importOf(texts)).join("\n")).toContain('"./STEP-02.md", which does not exist');
});

test("a step that names itself, one without a text and steps that nobody names are said", () => {
  expect(said(twoSteps("nextStepFile: ./step-01.md", "Do it."))[0]).toContain("names the step itself");
  expect(said(twoSteps("nextStepFile: ./step%E0%A4.md", "Do it."))[0]).toContain("does not exist");
  const empty = importOf({ "SKILL.md": page({ name: "x" }) });
  expect(said(empty)).toEqual([expect.stringMatching(/^error SKILL\.md:0 is empty: write below/)]);
  const unnamed = importOf({ "SKILL.md": page({ name: "x" }, "Do it."), "steps/step-01.md": LAST });
  expect(said(unnamed)).toEqual([expect.stringContaining("no step leads here")]);
});
