import { expect, test } from "vitest";
import { findEntries } from "../../../src/core/import/ways/entries.js";
import { importPackage } from "../../../src/core/import/import-package.js";
import { SourceTree } from "../../../src/core/import/source/source-tree.js";
import { type Texts, importOf, page, said, ways } from "./step-files.js";

/* Steps that nothing leads to as they are named, or at all. */

const LAST = "# Last\n\nThe workflow is complete.\n";
const MODES: Texts = {
  "tea/workflow.md": page(
    { name: "tea", installed_path: "{project-root}/_bmad/kitchen/tea" },
    "**IF brewing:** Load `{installed_path}/steps-c/step-01-pot.md`",
    "**IF tasting:** Load `{installed_path}/steps-v/step-01-taste.md`",
  ),
  "tea/steps-c/step-01-pot.md": LAST,
};
const labelled = ({ edges }: ReturnType<typeof importOf>) => edges.map(({ from, to }) => `${from} ${to}`);

test("a step of the workflow's own folder that is misnamed is not looked for in another workflow", () => {
  const made = importOf(
    {
      ...Object.fromEntries(Object.entries(MODES).map(([path, text]) => [`_bmad/kitchen/${path}`, text])),
      "_bmad/kitchen/tea/steps-v/step-01-sip.md": LAST,
      "_bmad/bar/wine/workflow.md": page({ name: "wine" }, "Load `./steps-v/step-01-taste.md`"),
      "_bmad/bar/wine/steps-v/step-01-taste.md": LAST,
    },
    "_bmad/kitchen/tea/workflow.md",
  );
  expect(labelled(made)).toEqual(["workflow step-01-pot", "workflow step-01-sip"]);
  const [missing, taken, ...others] = said(made, true);
  expect(missing).toContain(
    'names "_bmad/kitchen/tea/steps-v/step-01-taste.md", which does not exist; "_bmad/kitchen/tea/steps-v/step-01-sip.md" is like it',
  );
  expect(taken).toContain(
    '"step-01-sip.md" was taken in the place of what is not there: nothing else leads to it',
  );
  expect(others).toEqual([]);
});

test("a file of the project's is the one that is named, whatever the workflow's own folder is called", () => {
  const made = importOf(
    {
      ".agents/tea/SKILL.md": page(
        { name: "tea", description: "x" },
        "LOAD the FULL {project-root}/tea/workflow.md and follow it.",
      ),
      "tea/workflow.md": "# Tea\n\nBrew it.\n",
    },
    ".agents/tea/SKILL.md",
  );
  expect(said(made)).toEqual([]);
});

test("a text among the steps that is none is not taken for one, in whatever words it is named", () => {
  const made = importOf({
    "tea/SKILL.md": page({ name: "tea", description: "x" }, "Load `./steps/step-01-pot.md`"),
    "tea/steps/step-01-pot.md": "# Pot\n\n- Sorten: `./leaves.md`\n\nLoad `./step-02-cup.md`.\n",
    "tea/steps/step-02-cup.md": LAST,
    "tea/steps/leaves.md": "# Leaves\n\nGreen, black.\n",
  });
  expect(labelled(made)).toEqual(["step-01-pot step-02-cup"]);
});

test("a step that is misnamed is not led to twice where something else leads to it", () => {
  const made = importOf({
    "tea/SKILL.md": page({ name: "tea", description: "x" }, "Load `./steps/step-01-pot.md`"),
    "tea/steps/step-01-pot.md":
      "# Pot\n\nLoad `./step-02-leaf.md`. If it is cold, load `./step-03-cups.md`.\n",
    "tea/steps/step-02-leaf.md": "# Leaf\n\nLoad `./step-03-cup.md`.\n",
    "tea/steps/step-03-cup.md": LAST,
  });
  expect(labelled(made)).toEqual(["step-01-pot step-02-leaf", "step-02-leaf step-03-cup"]);
});

test("a folder of steps that nothing leads into is told of, unless it is another workflow's", () => {
  const made = importOf(
    {
      "tea/workflow.md": page({ name: "tea" }, "Load `./steps-c/step-01-pot.md`"),
      "tea/workflow-taste.md": page({ name: "taste" }, "Load `./steps-v/step-01-sip.md`"),
      "tea/steps-c/step-01-pot.md": LAST,
      "tea/steps-e/step-01-mend.md": LAST,
      "tea/steps-e/step-02-glue.md": LAST,
      "tea/steps-v/step-01-sip.md": LAST,
    },
    "tea/workflow.md",
  );
  expect(said(made)).toEqual([
    "warning tea/steps-e:0 nothing leads into this folder: its 2 steps are in the package, but no nodes",
  ]);
});

test("a step of another workflow that is misnamed is not taken for one of this", () => {
  const made = importOf(
    {
      "a/tea/workflow.md": page({ name: "tea" }, "Load `./steps/step-01-pot.md`"),
      "a/tea/steps/step-01-pot.md":
        "# Pot\n\nLoad `./step-02-cup.md`, or load `../../wine/steps/step-01-open.md`.\n",
      "a/tea/steps/step-02-cup.md": LAST,
      "a/wine/workflow.md": page({ name: "wine" }, "Load `./steps/step-01-cork.md`"),
      "a/wine/steps/step-01-cork.md": LAST,
    },
    "a/tea/workflow.md",
  );
  expect(said(made, true)).toEqual([
    'warning a/tea/steps/step-01-pot.md:3 names "a/wine/steps/step-01-open.md", which does not exist; "a/wine/steps/step-01-cork.md" is like it',
  ]);
});

test("a step that says only when to go back goes on to the next one by its number", () => {
  const made = importOf({
    "SKILL.md": page({ name: "tea", description: "x" }, "Load ./steps/step-01-pot.md"),
    "steps/step-01-pot.md": page({}, "# Pot", "", "load ./step-02-leaf.md"),
    "steps/step-02-leaf.md": page({}, "# Leaf", "", "If it is stale, return to `./step-01-pot.md`."),
    "steps/step-03-cup.md": page({}, "# Cup", "", "If it leaks, go back to step 2."),
    "steps/step-04-sip.md": page(
      {},
      "# Sip",
      "",
      "Sip. If it is bitter, go back to `./step-03-cup.md`. The last step.",
    ),
    "steps/step-05-wash.md": page({}, "# Wash", "", "Wash up."),
  });
  expect(ways(made)).toEqual([
    "step-04-sip -finished*-> finished",
    "step-01-pot -next*-> step-02-leaf",
    "step-02-leaf -back-> step-01-pot",
    "step-02-leaf -next*-> step-03-cup",
    "step-03-cup -back-> step-02-leaf",
    "step-03-cup -next*-> step-04-sip",
    "step-04-sip -back-> step-03-cup",
  ]);
  expect(said(made)).toContain(
    'warning steps/step-02-leaf.md:0 names no step after it: "step-03-cup.md" was taken, by its number',
  );
});

test("a step that says only when to pass the next one over goes on to it as well", () => {
  const made = (line: string) =>
    importOf({
      "SKILL.md": page({ name: "tea", description: "x" }, "Load ./steps/step-01-pot.md"),
      "steps/step-01-pot.md": page({}, "# Pot", "", line),
      "steps/step-02-leaf.md": page({}, "# Leaf", "", "load ./step-03-cup.md"),
      "steps/step-03-cup.md": page({}, "# Cup", "", "The last step."),
    });
  const skips = made("Only if the guest asks, jump ahead to `./step-03-cup.md`, otherwise continue.");
  expect(ways(skips).toSorted()).toEqual([
    "step-01-pot -next*-> step-02-leaf",
    "step-01-pot -the guest asks-> step-03-cup",
    "step-02-leaf -next*-> step-03-cup",
  ]);
  expect(ways(made("[C] Continue: load `./step-03-cup.md`"))).toEqual(["step-01-pot -C*-> step-03-cup"]);
});

class WatchedTree extends SourceTree {
  looks = 0;

  override filesIn(folder: string): readonly string[] {
    this.looks += 1;
    return super.filesIn(folder);
  }
}

test("a folder is not gone through again for each of its steps that nothing leads to", () => {
  const lost = Array.from({ length: 1_000 }, (_, index): [string, string] => [
    `steps/step-${index + 10}-x.md`,
    LAST,
  ]);
  const texts = {
    "SKILL.md": page({ name: "tea" }, "Load `./steps/step-01-pot.md`"),
    ...Object.fromEntries(lost),
  };
  const tree = new WatchedTree(new Map(Object.entries({ ...texts, "steps/step-01-pot.md": LAST })));
  const made = findEntries(tree).map((entry) => importPackage(tree, entry));
  expect(made[0]?.findings.at(-1)?.message).toBe("and 800 more findings");
  expect(tree.looks).toBeLessThan(100);
});

test("of several steps of the next number the one that is called alike comes next", () => {
  const made = importOf({
    "SKILL.md": page({ name: "tea", description: "x" }, "The steps are in `steps/`."),
    "steps/step-01.md": "# Pot\n",
    "steps/step-02.md": "# Leaf\n",
    "steps/step-02-japan.md": "# Leaf of Japan\n",
    "steps/step-03.md": "# Cup\n",
  });
  expect(ways(made)).toEqual(["step-01 -next*-> step-02", "step-02 -next*-> step-03"]);
});

test("steps without numbers that a document names in no known words are all its ways: none comes first", () => {
  const made = importOf({
    "SKILL.md": page(
      { name: "tea", description: "x" },
      "- [`steps/pot.md`](./steps/pot.md), [`steps/leaf.md`](./steps/leaf.md) — per subcommand",
    ),
    "steps/pot.md": "# Pot\n",
    "steps/leaf.md": "# Leaf\n",
  });
  expect(ways(made)).toEqual(["SKILL -pot-> pot", "SKILL -leaf-> leaf"]);
  expect(said(made)).toEqual(
    ["pot", "leaf"].map(
      (name) =>
        `warning SKILL.md:5 names "${name}.md" in words that are not known to lead there: it was taken for a way on`,
    ),
  );
});

test("steps that only a block of code leads to, each in its case, are steps: one that names none is read there", () => {
  const made = importOf({
    "SKILL.md": page({ name: "tea", description: "x" }, "Load `steps/step-00-pot.md`."),
    "steps/step-00-pot.md": [
      "# Pot",
      "```",
      "IF {is_cold} = true:",
      "  → Load steps/step-00b-warm.md",
      "  → Return here",
      "IF {is_full} = true:",
      "  → Load steps/step-00b-rules.md",
      "```",
      "Then load `./step-01-cup.md`.",
    ].join("\n"),
    "steps/step-00b-warm.md": "# Warm\n\nReturn to `./step-00-pot.md`.\n",
    "steps/step-00b-rules.md": "# Rules\n\nPour less.\n",
    "steps/step-01-cup.md": LAST,
  });
  expect(ways(made)).toEqual([
    "step-00-pot -next-> step-01-cup",
    "step-00-pot -{is_cold} = true-> step-00b-warm",
    "step-00b-warm -back*-> step-00-pot",
  ]);
  expect(said(made)).toEqual([
    'warning steps/step-00-pot.md:4 leads on to "step-00b-warm.md" in a block of code alone: it was taken for the way on',
  ]);
});

test("a step that names itself goes on to the next by its number", () => {
  const made = importOf({
    "SKILL.md": page({ name: "tea", description: "x" }, "Load `steps/step-01-pot.md`."),
    "steps/step-01-pot.md": "# Pot\n\nRepeat `./step-01-pot.md` until it is warm.\n",
    "steps/step-02-cup.md": LAST,
  });
  expect(ways(made)).toEqual(["step-01-pot -next*-> step-02-cup"]);
  expect(said(made)).toEqual([
    'warning steps/step-01-pot.md:0 names no step after it: "step-02-cup.md" was taken, by its number',
  ]);
});

test("a step whose menu names the next one further down names it, and nobody is told of its number", () => {
  const made = importOf({
    "workflow.md": page({ name: "tea" }, "Load `./steps/step-01-pot.md`."),
    "steps/step-01-pot.md": [
      "# Pot",
      "",
      "- **C1**: Take the pot and proceed",
      "- **C2**: Mark the step complete and load `step-02-cup.md`",
      "",
    ].join("\n"),
    "steps/step-02-cup.md": LAST,
  });
  expect(ways(made)).toEqual(["step-01-pot -C2*-> step-02-cup"]);
  expect(said(made, true)).toEqual([]);
});

test("a file that stands alone below a heading for what is next is the way on", () => {
  const made = importOf({
    "workflow.md": page({ name: "tea" }, "Load `./steps/step-01-pot.md`."),
    "steps/step-01-pot.md": "# Pot\n\nWith the lid of the pot.\n\n## Next Step\n\n./step-03-cup.md\n",
    "steps/step-02-leaf.md": "# Leaf\n\n## Other cups\n\n./step-03-cup.md\n\n## Next\n\n- `step-03-cup.md`\n",
    "steps/step-03-cup.md": LAST,
  });
  expect(ways(made)).toEqual(["step-01-pot -next*-> step-03-cup"]);
  expect(said(made)).toEqual([
    "warning steps/step-02-leaf.md:0 no step leads here: it is in the package, but no node",
  ]);
});

test("an installation may call its folder as it likes: the step of the workflow's own path is meant", () => {
  const texts: Texts = {
    "src/kitchen/tea/workflow.md": page({ name: "tea" }, "Load `./steps/step-01-pot.md`."),
    "src/kitchen/tea/steps/step-01-pot.md": page(
      {
        workflow_path: "{project-root}/{house_folder}/kitchen/tea",
        nextStepFile: "{workflow_path}/steps/step-02-cup.md",
        tidyFile: "{project-root}/.house/kitchen/tea/steps/step-03-tidy.md",
      },
      "# Pot",
      "",
      "If nobody is there, load `{tidyFile}`.",
    ),
    "src/kitchen/tea/steps/step-02-cup.md": LAST,
    "src/kitchen/tea/steps/step-03-tidy.md": LAST,
    "src/house/kitchen/tea/cups.md": "# Cups",
  };
  const made = importOf(texts);
  expect(ways(made)).toEqual([
    "step-01-pot -next*-> step-02-cup",
    "step-01-pot -nobody is there-> step-03-tidy",
  ]);
  expect(said(made)).toEqual([]);
});

test("steps that the document has in a table follow one another by their numbers, and nobody has to look", () => {
  const made = importOf({
    "workflow.md": page(
      { name: "tea" },
      "| # | Step |",
      "| --- | --- |",
      "| 1 | steps/step-1-pot.md |",
      "| 2 | steps/step-2-cup.md |",
    ),
    "steps/step-1-pot.md": "# Pot\n",
    "steps/step-2-cup.md": "# Cup\n",
    "steps/step-3-sip.md": LAST,
  });
  expect(ways(made)).toEqual(["step-1-pot -next*-> step-2-cup", "step-2-cup -next*-> step-3-sip"]);
  expect(said(made, true)).toEqual([
    'warning steps/step-2-cup.md:0 names no step after it: "step-3-sip.md" was taken, by its number',
    'note steps/step-1-pot.md:0 names no step after it: "step-2-cup.md" was taken, by its number',
    'note workflow.md:0 names its steps, and does not say where they begin: "step-1-pot.md" was taken',
  ]);
});

test.each(["## Next steps for the team", "## Next step if rejected", "## Next Steps"])(
  "a heading that says more than what is next leads nowhere: %s",
  (heading) => {
    const made = importOf({
      "workflow.md": page({ name: "tea" }, "Load `./steps/step-01-pot.md`."),
      "steps/step-01-pot.md": `# Pot\n\nLoad \`./step-02-leaf.md\`.\n\n${heading}\n\n- ./step-03-cup.md\n`,
      "steps/step-02-leaf.md": "# Leaf\n\nLoad `./step-03-cup.md`.\n",
      "steps/step-03-cup.md": LAST,
    });
    expect(ways(made)).toEqual(["step-01-pot -next*-> step-02-leaf", "step-02-leaf -next*-> step-03-cup"]);
  },
);

test("a folder of the project that is called as the workflow's is not the workflow's own", () => {
  const made = importOf({
    "src/kitchen/tea/workflow.md": page({ name: "tea" }, "Load `./steps/step-01-pot.md`."),
    "src/kitchen/tea/steps/step-01-pot.md": "# Pot\n\nWrite `{project-root}/{docs_folder}/tea/notes.md`.\n",
    "src/kitchen/tea/notes.md": "# Notes\n",
  });
  expect(made.files.get("steps/step-01-pot.md")).toContain("@project/{docs_folder}/tea/notes.md");
});

test.each([
  ["an item of a list alone", "- Notes of step-2-cup.md came from step-1-pot.md"],
  ["what is said of both", "Both step-1-pot.md and\nstep-2-cup.md may come first."],
  ["a list in another order", "- step-2-cup.md\n- step-1-pot.md"],
])("%s says of no step that it comes after another: it wants a look", (_what, text) => {
  const made = importOf({
    "workflow.md": page({ name: "tea" }, "Load `./steps/step-1-pot.md`.", "", text),
    "steps/step-1-pot.md": "# Pot\n",
    "steps/step-2-cup.md": LAST,
  });
  expect(said(made)).toEqual([
    'warning steps/step-1-pot.md:0 names no step after it: "step-2-cup.md" was taken, by its number',
  ]);
});

test("a step whose next one is not there by that name, and that leads back as well, goes on to the next by its number", () => {
  const keys = { nextStepFile: "./step-0wds-3-cup.md" };
  const made = importOf({
    "workflow.md": page({ name: "tea", description: "x" }, "Load `./steps/step-01-pot.md`."),
    "steps/step-01-pot.md": page({ nextStepFile: "./step-02-leaf.md" }, "# Pot"),
    "steps/step-02-leaf.md": page(
      keys,
      "# Leaf",
      "",
      "- IF P: return to ./step-01-pot.md",
      "- IF M: return to ../workflow.md",
    ),
    "steps/step-03-cup.md": page({}, "# Cup", "", "The last step."),
  });
  expect(ways(made)).toContain("step-02-leaf -next*-> step-03-cup");
  expect(said(made)).toEqual([
    'warning steps/step-02-leaf.md:0 names no step after it: "step-03-cup.md" was taken, by its number',
    'warning steps/step-02-leaf.md:2 nextStepFile names "./step-0wds-3-cup.md", which does not exist: no edge was made',
  ]);
});

test("a file of the workflow's own folder that is not at hand is told of, wherever a text names it", () => {
  const made = importOf({
    "tea/SKILL.md": page({ name: "tea", description: "x" }, "Load ./steps/step-01-pot.md"),
    "tea/steps/step-01-pot.md": page(
      { notesFile: "{workflow_path}/notes/tea.md" },
      "- Green: `{installed_path}/knowledge/green.md`",
      "- Black: `{installed_path}/knowledge/black.md`",
      "Note it in {notesFile}, and in `{skill-root}/pots/{pot}.md`.",
    ),
    "tea/knowledge/green.md": "Green.\n",
  });
  const gone = "of its own folder, which is not at hand: a run finds no such file, and writes none there";
  expect(said(made, true)).toEqual([
    `note tea/steps/step-01-pot.md:5 names "tea/knowledge/black.md" ${gone}`,
    `note tea/steps/step-01-pot.md:6 names "tea/notes/tea.md" ${gone}`,
  ]);
});
