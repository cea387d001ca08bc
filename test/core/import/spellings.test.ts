import { expect, test } from "vitest";
import { type Texts, importOf, page, potOf, said, treeOf, ways } from "./step-files.js";

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
  ["bold type", "Then load **./step-02.md** and follow it."],
  ["bold type that begins before it", "**Read fully and follow steps/step-02.md**"],
  ["italics", "Then load *./step-02.md* and follow it."],
  ["underscores", "Then load __./step-02.md__ and follow it."],
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
  expect(imported.files.get("steps/workflow.md")).toContain("templates/[template].md");
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
  expect(said(twoSteps("nextStepFile: ./step-01.md", "Do it."))).toEqual([
    'warning steps/step-01.md:0 names no step after it: "step-02.md" was taken, by its number',
    expect.stringContaining("names the step itself"),
  ]);
  expect(said(twoSteps("nextStepFile: ./step%E0%A4.md", "Do it."))[1]).toContain("does not exist");
  const empty = importOf({ "SKILL.md": page({ name: "x" }) });
  expect(said(empty)).toEqual([expect.stringMatching(/^error SKILL\.md:0 is empty: write below/)]);
  const unnamed = importOf({ "SKILL.md": page({ name: "x" }, "Do it."), "steps/step-01.md": LAST });
  expect(said(unnamed)).toEqual([expect.stringContaining("no step leads here")]);
});

test.each([
  ["its stem", "nextStepFile: step-02"],
  ["a path without its extension", "nextStepFile: ./step-02"],
  ["its number", "nextStep: 2"],
  ["its number as text", "nextStep: 'step-2'"],
  ["a key with underscores", "next_step_file: ./step-02.md"],
  ["a key with dashes", "next-step-file: ./step-02.md"],
  ["a key in other capitals", "NextStepFile: ./step-02.md"],
  ["a mapping", "nextStepFile:\n  path: ./step-02.md"],
  ["a mapping of another key", "navigation:\n  nextStepFile: ./step-02.md"],
  ["an anchor", "first: &second ./step-02.md\nnextStepFile: *second"],
  ["a merged mapping", "x-ways: &ways\n  nextStepFile: ./step-02.md\n<<: *ways"],
  ["one of several merged mappings", "<<: [{ x: 1 }, { nextStepFile: ./step-02.md }]"],
  ["an anchor with an anchor behind the file", "nextStepFile: ./step-02.md#begin"],
  ["text over several lines", "nextStepFile: >-\n  ./step-02.md"],
  ["a comment behind it", "nextStepFile: ./step-02.md # the second"],
])("front matter names a step by %s", (_how, key) => {
  const imported = twoSteps(key, "Do it.");
  expect([waysOf(imported), said(imported)]).toEqual([NEXT, []]);
});

test("of two merged mappings the first counts, and what stands beside them before both", () => {
  const imported = twoSteps(
    "<<: [{ nextStepFile: ./step-09.md, a: 1 }, { a: 2, b: 3 }]\nnextStepFile: ./step-02.md",
    "Do it.",
  );
  expect([waysOf(imported), said(imported)]).toEqual([NEXT, []]);
  const step = imported.files.get("steps/step-01.md") ?? "";
  expect(step).toContain("a: 1\nb: 3\n");
  expect(step).not.toContain("<<");
});

test.each([
  ["a mark of its byte order", "\ufeff---\nnextStepFile: ./step-02.md\n---\n# One\n"],
  ["line breaks of Windows", "---\r\nnextStepFile: ./step-02.md\r\n---\r\n# One\r\n"],
  ["line breaks of old", "---\rnextStepFile: ./step-02.md\r---\r# One\r"],
  ["both", "\ufeff---\r\nnextStepFile: ./step-02.md\r\n---\r\n# One\r\n"],
  ["blank lines before it", "\n\n---\nnextStepFile: ./step-02.md\n---\n# One\n"],
  [
    "blank lines before it, and a comment in it",
    "\n---\n# the way\nnextStepFile: ./step-02.md\n---\n# One\n",
  ],
  ["a comment before it", "<!-- made by a tool -->\n\n---\nnextStepFile: ./step-02.md\n---\n# One\n"],
  ["blanks behind its fences", "---  \nnextStepFile: ./step-02.md\n---\t\n# One\n"],
  ["dots as its end", "---\nnextStepFile: ./step-02.md\n...\n# One\n"],
])("front matter is read with %s", (_how, text) => {
  const imported = importOf({
    "workflow.md": page({ name: "two", description: "x" }, "Load and execute `./steps/step-01.md`."),
    "steps/step-01.md": text,
    "steps/step-02.md": LAST,
  });
  expect([waysOf(imported), said(imported)]).toEqual([NEXT, []]);
  expect(imported.files.get("steps/step-01.md")).toMatch(/\n---\n(?:\n|<!-- made by a tool -->\n)*# One\n/);
});

test.each([
  [
    "is TOML and not closed",
    '+++\nnextStepFile = "./step-02.md"\n\n# One\n',
    /:1 the front matter has no line .+ \+\+\+/,
  ],
  [
    "is not closed",
    "---\nnextStepFile: ./step-02.md\n\n# One\n",
    /:1 the front matter has no line that closes it/,
  ],
  [
    "names what no step is",
    page({ nextStepFile: "the tea garden" }, "# One"),
    /:2 nextStepFile names "the tea garden", which does not exist/,
  ],
])("front matter that %s is said", (_how, text, finding) => {
  const imported = importOf({
    "workflow.md": page({ name: "two", description: "x" }, "Load and execute `./steps/step-01.md`."),
    "steps/step-01.md": text,
    "steps/step-02.md": LAST,
  });
  expect(said(imported).filter((line) => /^warning steps\/step-01\.md:[1-9]/.test(line))).toEqual([
    expect.stringMatching(finding),
  ]);
});

test("a rule between blank lines is no front matter", () => {
  const imported = twoSteps("x: 1", "Then read fully and follow `./step-02.md`.");
  expect(waysOf(imported)).toEqual(NEXT);
  const ruled = importOf({ "SKILL.md": "\n---\n\nMake tea.\n\n---\n\nDrink it.\n" });
  expect(ruled.files.get("steps/workflow.md")).toContain("---\n\nMake tea.\n\n---\n\nDrink it.");
});

test.each([
  ["of a folder of the configuration", "{output_folder}\\tea\\leaf.md", ["artifacts/tea/leaf.md"]],
  ["of the project", "{project-root}\\docs\\leaf.md", ["docs/leaf.md"]],
  ["without a root", "docs\\leaf.md", ["docs/leaf.md"]],
  ["without a root, with dots", "./docs/leaf.md", ["docs/leaf.md"]],
  ["with doubled names", "{output_folder}//tea/./leaf.md", ["artifacts/tea/leaf.md"]],
])("an output's path %s is the project's", (_how, path, outputs) => {
  const imported = twoSteps(`outputFile: '${path}'\nnextStepFile: ./step-02.md`, "Append to {outputFile}.");
  expect([imported.nodes[0]?.outputs, said(imported)]).toEqual([outputs, []]);
  expect(imported.files.get("steps/step-01.md")).toContain(`outputFile: "@project/${outputs[0]}"`);
});

test.each([
  ["warning", "is absolute", "/tmp/leaf.md"],
  ["warning", "is absolute on Windows", "C:\\tea\\leaf.md"],
  ["warning", "leaves the project", "{output_folder}/../../leaf.md"],
  ["note", "holds a name that is filled in later", "{leaf_folder}/leaf.md"],
])("a %s says of an output's path that it %s", (severity, _how, path) => {
  const imported = twoSteps(`outputFile: '${path}'\nnextStepFile: ./step-02.md`, "Append to {outputFile}.");
  expect(imported.nodes[0]?.outputs).toEqual([]);
  expect(said(imported, true)).toEqual([
    expect.stringMatching(
      new RegExp(`^${severity} steps/step-01\\.md:2 outputFile .* no output is declared`),
    ),
  ]);
});

test("a folder of the configuration that lies elsewhere is said, and one with backslashes is the project's", () => {
  const at = (folder: string) =>
    importOf(
      {
        "_bmad/tea/config.yaml": `user_name: Ann\noutput_folder: ${folder}\n`,
        "_bmad/tea/brew/SKILL.md": page({ name: "brew" }, "Write {output_folder}/tea.md."),
      },
      "_bmad/tea/brew/SKILL.md",
    );
  expect(at("docs\\tea").files.get("steps/workflow.md")).toContain("Write @project/docs/tea/tea.md.");
  expect(at("C:\\tea").files.get("steps/workflow.md")).toContain("Write @project/artifacts/tea.md.");
  expect(said(at("'C:\\tea'"))).toEqual([
    'warning _bmad/tea/config.yaml:2 output_folder is "C:\\tea", which lies outside of the project: "@project/artifacts" is taken',
  ]);
});

test("front matter that is too long to be read as YAML is read line by line, which is said", () => {
  const imported = twoSteps(`nextStepFile: ./step-02.md\n${`x: ${"y".repeat(400)}\n`.repeat(200)}`, "Do it.");
  expect([waysOf(imported), said(imported)]).toEqual([
    NEXT,
    ["warning steps/step-01.md:1 the front matter was read line by line: it is longer than 65536 characters"],
  ]);
});

test("front matter that is no YAML is said, with blank lines before it as well", () => {
  for (const before of ["", "\n\n"]) {
    const imported = importOf({
      "workflow.md": page({ name: "two", description: "x" }, "Load and execute `./steps/step-01.md`."),
      "steps/step-01.md": `${before}---\nname: one: two\nnextStepFile: ./step-02.md\n---\n# One\n`,
      "steps/step-02.md": LAST,
    });
    expect([waysOf(imported), said(imported)]).toEqual([
      NEXT,
      [expect.stringMatching(`^warning steps/step-01.md:1 the front matter was read line by line: YAML`)],
    ]);
  }
});

test("material in bold or italics lies in the package, and a pattern stays one", () => {
  const imported = importOf({
    "SKILL.md": page(
      { name: "x" },
      "- **references/pot.md**: pots",
      "- _references/pot.md_",
      "- `**/pot.md`, `references/*.md`",
    ),
    "references/pot.md": "# Pot",
  });
  const step = imported.files.get("steps/workflow.md");
  expect(step).toContain(
    "- **@pkg/references/pot.md**: pots\n- _@pkg/references/pot.md_\n- `**/pot.md`, `references/*.md`",
  );
});

test("a path with one `..` too many means what the workflow's own folder has at its end", () => {
  const imported = importOf({
    "kit/tea/workflow.md": page({ name: "tea" }, "Load and execute `./steps/step-01.md`."),
    "kit/tea/steps/step-01.md": page(
      { pots: "../../data/pots.md" },
      "Load {pots}. Load `../../data/cups.md`.",
    ),
    "kit/tea/data/pots.md": "# Pots",
    "kit/data/cups.md": "# Cups",
    "kit/tea/data/cups.md": "# Other cups",
  });
  const step = imported.files.get("steps/step-01.md");
  expect([step, said(imported)]).toEqual([expect.stringContaining('pots: "@pkg/data/pots.md"'), []]);
  expect(step).toContain("Load `@pkg/shared/kit/data/cups.md`.");
});

test("a file of the workflow's own folder that is to be read, and is not there, is told of", () => {
  const imported = importOf({
    "SKILL.md": page(
      { name: "tea" },
      "Load `{installed_path}/pots.csv`.",
      "Save to `{skill-root}/{name}.csv`.",
    ),
  });
  expect(said(imported)).toEqual(['warning SKILL.md:4 names "pots.csv", which does not exist']);
});

test("SKILL.md without a path is any skill's, and with one this one's", () => {
  const imported = importOf({
    "SKILL.md": page({ name: "x" }, "Check that its `SKILL.md` is there. See `./SKILL.md`."),
  });
  expect(imported.files.get("steps/workflow.md")).toContain(
    "its `SKILL.md` is there. See `@pkg/steps/workflow.md`.",
  );
});

const MENU = [
  "# Pot",
  "",
  "If it is warm, pour it. Then ask:",
  "",
  "- [R] Again",
  "- IF R: go back to `./step-01-pot.md`",
  "- IF C: load `./step-02-leaf.md`",
  "- IF X: exit the workflow",
  "",
  "### If it is cold",
  "",
  "Load `./step-03-cup.md`",
  "",
  "### Else",
  "",
  "| Case | Next step |",
  "| --- | --- |",
  "| it is late | `./step-04-sip.md` |",
];

test.each<readonly [string, (line: string) => string]>([
  ["a plus before its items", (line) => line.replace(/^- /, "+ ")],
  ["a star before its items", (line) => line.replace(/^- /, "* ")],
  ["a dot before its items", (line) => line.replace(/^- /, "\u2022 ")],
  ["another dot before its items", (line) => line.replace(/^- /, "\u25AA ")],
  ["numbers before its items", (line) => line.replace(/^- /, "1. ")],
  ["quotation marks of Markdown", (line) => (line === "" ? ">" : `> ${line}`)],
  ["quotations in quotations", (line) => `>> ${line}`],
  ["blanks that do not break", (line) => line.replace(/(\w) (\w)/g, "$1\u00A0$2")],
  ["narrow blanks", (line) => line.replace(/(\w) (\w)/g, "$1\u202F$2")],
])("a text means the same with %s", (_how, spelled) => {
  const plain = potOf(...MENU);
  const other = potOf(...MENU.map(spelled));
  expect(plain.labels).toEqual([
    "step-02-leaf: C",
    "step-03-cup: it is cold",
    "step-04-sip: it is late",
    "finished: finished",
  ]);
  expect([other.labels, ways(other.made), said(other.made)]).toEqual([
    plain.labels,
    ways(plain.made),
    said(plain.made),
  ]);
});

test("a heading in a quotation is no step's title", () => {
  const imported = twoSteps("x: 1\n---\n> # Skip it\n", "Load `./step-02.md`");
  expect(imported.nodes.map(({ title }) => title)).toContain("Step 1");
});

test.each([
  ["- Yes → [Leaf](./step-02-leaf.md)", "- No → [Cup](./step-03-cup.md)", "Yes", "No"],
  [
    "If it is cold, go to [Leaf](./step-02-leaf.md), otherwise [Cup](./step-03-cup.md)",
    "",
    "it is cold",
    "otherwise",
  ],
  ["- __IF A__: __load__ `./step-02-leaf.md`", "- __B__: `./step-03-cup.md`", "A", "B"],
  [
    "_If it is cold_: _load_ `./step-02-leaf.md`",
    "__Otherwise__: `./step-03-cup.md`",
    "it is cold",
    "otherwise",
  ],
])("what a link is called, and underscores around words, change nothing: %s %s", (one, other, ...labels) => {
  const { made, labels: found } = potOf(one, other);
  expect([found, said(made)]).toEqual([[`step-02-leaf: ${labels[0]}`, `step-03-cup: ${labels[1]}`], []]);
});

test("what is read in another spelling stays in the package as it was written", () => {
  const imported = twoSteps("x: 1", "> + Read\u00A0fully and follow `./step-02.md`.");
  expect([...imported.files.values()].join("\n")).toContain("> + Read\u00A0fully and follow ");
});

const LOWER = "kit/tea/skill.md";

test("a skill in small letters is one where its head is a skill's", () => {
  const imported = importOf(
    {
      [LOWER]: page({ name: "tea", description: "x" }, "Read `references/leaf.md`. Use the skill `cup`."),
      "kit/tea/references/leaf.md": "Leaf.\n",
      "kit/cup/skill.md": page({ name: "cup", description: "x" }, "Cup."),
    },
    "kit/tea/SKILL.md",
  );
  expect(imported.name).toBe("tea");
  expect([...imported.files.keys()]).toEqual(
    expect.arrayContaining(["references/leaf.md", "skills/cup/SKILL.md"]),
  );
  expect(said(imported)).toEqual([]);
});

test.each([
  ["without a skill's head", { [LOWER]: "# Tea\n" }],
  [
    "that is a command of a tool",
    { "kit/commands/skill.md": page({ name: "tea", description: "x" }, "Tea.") },
  ],
  [
    "beside one in capitals",
    { [LOWER]: page({ name: "tea", description: "x" }, "Tea."), "kit/tea/SKILL.md": "# Tea\n" },
  ],
])("a file in small letters is none: %s", (_what, texts: Texts) => {
  const tree = treeOf(texts);
  expect(Object.keys(texts).filter((path) => !tree.has(path))).toEqual([]);
});
