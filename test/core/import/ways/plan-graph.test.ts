import { describe, expect, test } from "vitest";
import { importOf, page, said, ways } from "../step-files.js";

const ENTRY = page(
  { name: "tea-report", description: "Writes a report on tea." },
  "# Tea report",
  "",
  "**Goal:** a report.",
  "Load, read the full file and then execute `{project-root}/_bmad/leaf/workflows/tea/steps/step-01-pot.md`.",
);
const AT = "_bmad/leaf/workflows/tea";
const step = (next: string, ...body: readonly string[]) =>
  page(
    { workflow_path: `{project-root}/${AT}`, thisStepFile: "./me.md", nextStepFile: next },
    "# A step",
    ...body,
  );

describe("the ways between steps", () => {
  test("come from the front matter, and thisStepFile is none", () => {
    const made = importOf({
      [`${AT}/workflow.md`]: ENTRY,
      [`${AT}/steps/step-01-pot.md`]: page(
        {
          workflow_path: `{project-root}/${AT}`,
          thisStepFile: "{workflow_path}/steps/step-01-pot.md",
          nextStepFile: "{workflow_path}/steps/step-02-leaf.md",
          altStepFile: "./step-04-bag.md",
          skipToStepFile: "./step-05-drink.md",
        },
        "# Pot",
      ),
      [`${AT}/steps/step-02-leaf.md`]: page(
        { nextStepFile_modeA: "./step-04-bag.md", nextStep: "./step-05-drink.md" },
        "# Leaf",
      ),
      [`${AT}/steps/step-04-bag.md`]: page({ validationFlow: "../steps-v/check.md" }, "# Bag"),
      [`${AT}/steps/step-05-drink.md`]: "# Drink, the final step\n",
      [`${AT}/steps-v/check.md`]: "# Check\n",
    });
    expect(ways(made)).toEqual([
      "step-01-pot -next*-> step-02-leaf",
      "step-01-pot -altStepFile-> step-04-bag",
      "step-01-pot -skipToStepFile-> step-05-drink",
      "step-02-leaf -modeA-> step-04-bag",
      "step-02-leaf -next*-> step-05-drink",
      "step-04-bag -validationFlow*-> check",
    ]);
    expect(made.nodes.filter(({ type }) => type === "end").map(({ id }) => id)).toEqual([
      "step-05-drink",
      "check",
    ]);
    expect(said(made)).toEqual([]);
  });

  test("come from the body: menus, conditions, bare lines and returns, each with its words", () => {
    const made = importOf({
      "tea/SKILL.md": page({ name: "tea" }, "Follow the instructions in ./workflow.md."),
      "tea/workflow.md": "# Tea\n\nRead fully and follow: `./steps/step-01-pot.md`\n",
      "tea/steps/step-01-pot.md": [
        "# Pot",
        "- IF A: Invoke the `bmad-taste` skill, then show the menu again",
        "- IF C: save, then read fully and follow: ./step-02-leaf.md",
        "- IF B (brew as it is): load ./step-03-cup.md",
        "After user selects 'S', load `./step-03-cup.md` at once.",
        "If the water is cold: load `step-04-wait.md`",
        "Example: read fully and follow ./step-05-spare.md",
        "NEVER load ./step-05-spare.md before",
        "| step | ./step-05-spare.md |",
        "A subagent reads fully and follows ./step-05-spare.md",
        "This one came from ./step-05-spare.md",
        "```",
        "load ./step-05-spare.md",
        "```",
      ].join("\n"),
      "tea/steps/step-02-leaf.md": "# Leaf\n\n## NEXT\n\nRead fully and follow\n\n`./step-03-cup.md`\n",
      "tea/steps/step-03-cup.md":
        "# Cup\n\nReturn to ./step-01-pot.md when it is empty.\nThen the last step: load ./step-04-wait.md\n",
      "tea/steps/step-04-wait.md": "# Wait\n\nThe workflow is complete.\n",
      "tea/steps/step-05-spare.md": "# Spare\n",
    });
    expect(ways(made)).toEqual([
      "step-01-pot -C*-> step-02-leaf",
      "step-01-pot -B-> step-03-cup",
      "step-01-pot -the water is cold-> step-04-wait",
      "step-02-leaf -next*-> step-03-cup",
      "step-03-cup -back-> step-01-pot",
      "step-03-cup -next-> step-04-wait",
    ]);
    expect(made.edges[1]?.conditionText).toBe("- IF B (brew as it is): load ./step-03-cup.md");
    expect(said(made)).toEqual([]);
  });

  test("begin with a decision where the entry routes, by letters, by rows of a menu, by folders", () => {
    const made = importOf({
      "SKILL.md": page(
        { name: "tea" },
        "# Modes",
        "- **If C:** Load `{skill-root}/steps-c/step-01-go.md`",
        "| [E] | workflow-edit.md | steps-e/ |",
        "| other | workflow-no.md |",
      ),
      "steps-c/step-01-go.md": "# Go\n\nReturn to SKILL.md for the menu.\n",
      "workflow-edit.md": "Execute the steps in `./steps-e/`:\n\n| 01 | step-01-go.md |\n",
      "workflow-no.md": "Nothing.\n",
      "steps-e/step-01-go.md": page({ nextStepFile: "./step-02-end.md" }, "# Go"),
      "steps-e/step-02-end.md": "# End\n",
    });
    expect(ways(made)).toEqual([
      "SKILL -C*-> step-01-go",
      "SKILL -E-> workflow-edit",
      "step-01-go -back*-> SKILL",
      "workflow-edit -steps-e*-> steps-e.step-01-go",
      "steps-e.step-01-go -next*-> step-02-end",
    ]);
    expect(made.nodes[0]).toMatchObject({ id: "SKILL", type: "decision", file: "steps/workflow.md" });
  });
});

describe("what is ambiguous", () => {
  test("a step that resumes is left out with a note: the engine does that", () => {
    const made = importOf({
      "workflow.md": "Load `./steps/step-01-pot.md`\n",
      "steps/step-01-pot.md":
        "# Pot\n\nIf there is a document, load ./step-01b-continue.md\nElse read fully and follow ./step-02-end.md\n",
      "steps/step-01b-continue.md": "# Continue\n\nLoad ./step-02-end.md\n",
      "steps/step-02-end.md": "# End\n",
      "steps/step-09-resume.md": "# Resume\n",
    });
    expect(ways(made)).toEqual(["step-01-pot -otherwise*-> step-02-end"]);
    expect(said(made, true)).toEqual([
      "note steps/step-01b-continue.md:0 is left out: Interlock itself goes on with a run that was interrupted",
      "note steps/step-09-resume.md:0 is left out: Interlock itself goes on with a run that was interrupted",
    ]);
  });

  test("a step that resumes is one of a workflow that names it as the step after another: it takes up a paused project", () => {
    const made = importOf({
      "workflow.md": "Load `./steps/step-01-look.md`\n",
      "steps/step-01-look.md": step("./step-02-resume.md", "Then load `{nextStepFile}`."),
      "steps/step-02-resume.md": "# Resume\n",
    });
    expect(ways(made)).toEqual(["step-01-look -next*-> step-02-resume"]);
    expect(said(made, true)).toEqual([]);
  });

  test("a name that does not exist is found with its line, and with what is like it", () => {
    const made = importOf({
      [`${AT}/workflow.md`]: ENTRY,
      [`${AT}/steps/step-01-pot.md`]: step(
        "{workflow_path}/steps/step-02-leaves.md",
        "Then load ./step-03-cups.md",
        "or load ./nowhere.md",
      ),
      [`${AT}/steps/step-02-leaf.md`]: step("./step-77-gone.md", "load ../../../../../../etc/step-01.md"),
      [`${AT}/steps/step-03-cup.md`]: "# Cup, the final step\n",
    });
    expect(ways(made)).toEqual(["step-01-pot -next*-> step-02-leaf", "step-02-leaf -next*-> step-03-cup"]);
    expect(said(made)).toEqual([
      `warning ${AT}/steps/step-01-pot.md:4 nextStepFile names "{workflow_path}/steps/step-02-leaves.md", which does not exist: taken for "${AT}/steps/step-02-leaf.md"`,
      `warning ${AT}/steps/step-01-pot.md:7 names "${AT}/steps/step-03-cups.md", which does not exist; "${AT}/steps/step-03-cup.md" is like it`,
      `warning ${AT}/steps/step-01-pot.md:8 names "${AT}/steps/nowhere.md", which does not exist`,
      `warning ${AT}/steps/step-02-leaf.md:0 names no step after it: "step-03-cup.md" was taken, by its number`,
      `warning ${AT}/steps/step-02-leaf.md:4 nextStepFile names "./step-77-gone.md", which does not exist: no edge was made`,
      `warning ${AT}/steps/step-02-leaf.md:7 "../../../../../../etc/step-01.md" leaves the directory that is imported: it was left as it is`,
    ]);
  });

  test("a circle without an end gets one, with a warning; a last step that offers more gets one without", () => {
    const circle = importOf({
      "workflow.md": "Load ./steps/step-01-a.md\n",
      "steps/step-01-a.md": "load ./step-02-b.md\n",
      "steps/step-02-b.md": "return to ./step-01-a.md\n",
    });
    expect(ways(circle)).toEqual([
      "step-02-b -finished*-> finished",
      "step-01-a -next*-> step-02-b",
      "step-02-b -back-> step-01-a",
    ]);
    expect(said(circle)).toEqual([
      "warning steps/step-02-b.md:0 goes round in a circle without an end: a way to an end was added here",
    ]);
    const last = importOf({
      "workflow.md": "Load ./steps/step-01-a.md\n",
      "steps/step-01-a.md": "load ./step-02-complete.md\n",
      "steps/step-02-complete.md": "IF V: load ../steps-v/step-01-check.md\n",
      "steps-v/step-01-check.md": "# Check\n",
    });
    expect(ways(last)).toContain("step-02-complete -finished*-> finished");
    expect(said(last)).toEqual([]);
  });

  test.each([
    "If all is poured, HALT with status `done`.",
    "**Nothing left:** HALT with final status: `blocked` and say why",
    "- Otherwise stop the workflow with exit status `complete`",
    "3. Thank the user, then exit the workflow.",
    "End this workflow.",
    "If nothing is left, you have to HALT with status `done`.",
    "Pour the rest, to be sure: HALT with status `done`.",
  ])("a step of a circle that says how it ends has a way there, without a warning: %s", (line) => {
    const made = importOf({
      "workflow.md": "Load ./steps/step-01-a.md\n",
      "steps/step-01-a.md": "load ./step-02-b.md\n",
      "steps/step-02-b.md": `# B\n\n${line}\n\nElse read fully and follow ./step-01-a.md\n`,
    });
    expect(said(made)).toEqual([]);
    expect(ways(made)).toEqual([
      "step-01-a -next*-> step-02-b",
      "step-02-b -otherwise*-> step-01-a",
      "step-02-b -finished-> finished",
    ]);
    expect(made.edges.at(-1)?.conditionText).toBe(line.replaceAll(/[*`]/g, ""));
  });

  test.each([
    "HALT and wait for the user.",
    "HALT. Tell the user the status.",
    "Never HALT with status `done` here.",
    "Do not exit the workflow.",
    "```\nHALT with status `done`\n```",
    "At the end the workflow document is shown.",
    "Load the end of the workflow step.",
    "To HALT with a final status and a reason:",
    "3. **To stop with a status**, write it into the file.",
    "Know the signs. To exit with the final status, ask first.",
  ])("no way to an end: %s", (line) => {
    const made = importOf({
      "workflow.md": "Load ./steps/step-01-a.md\n",
      "steps/step-01-a.md": "load ./step-02-b.md\n",
      "steps/step-02-b.md": `# B\n\n${line}\n\nElse read fully and follow ./step-01-a.md\n`,
    });
    expect(said(made)).toEqual([
      "warning steps/step-02-b.md:0 goes round in a circle without an end: a way to an end was added here",
    ]);
  });

  test.each(["## Workflow Complete", "**Validation workflow complete.**", "This is the last step."])(
    "the step of a circle that says that it is the last has the end, without a warning: %s",
    (line) => {
      const made = importOf({
        "workflow.md": "Load ./steps/step-01-a.md\n",
        "steps/step-01-a.md": "load ./step-02-b.md\n",
        "steps/step-02-b.md": `If it failed, return to ./step-01-a.md\nIf it is stale, load ./step-03-c.md\n\n${line}\n`,
        "steps/step-03-c.md": "return to ./step-02-b.md\n",
      });
      expect(ways(made)).toContain("step-02-b -finished*-> finished");
      expect(said(made)).toEqual([]);
    },
  );

  test("what a step outside of circles says of an end adds no way: what follows it leads to one", () => {
    const made = importOf({
      "workflow.md": "Load ./steps/step-01-a.md\n",
      "steps/step-01-a.md": "If there is no tea, HALT with status `blocked`.\nload ./step-02-b.md\n",
      "steps/step-02-b.md": "# B\n",
    });
    expect(ways(made)).toEqual(["step-01-a -next*-> step-02-b"]);
  });

  test.each([
    "- **Otherwise:** Workflow complete - show summary",
    "- **Otherwise:** → the workflow is complete",
    "Else, finish the workflow with a report.",
    "If no mode is left: Workflow is done",
    "2. If aborted → end the workflow",
    "Sonst: Workflow abgeschlossen",
    "Otherwise: workflow completed",
    "If all are done, the workflow ends.",
    '- IF X: Display "See you!" and END workflow',
    "[D] Done - exit workflow",
    "- **[X]** Exit workflow",
    "- **[d]**: Exit workflow - say goodbye",
    "- IF S: Save content to {outputFile}, then end workflow gracefully",
    "- Abandoned → stop, the workflow ends here",
    "- No → exit the workflow",
    "- [Q] Quit → workflow complete",
    "- Rejected: end the workflow.",
    "If the guest declines, terminate the workflow immediately.",
    "On a refusal, end the workflow.",
    "3. **Done** — end the workflow",
    "| Cancel | → End workflow |",
  ])("a step that goes on and says when it does not has a way to the end: %s", (line) => {
    const made = importOf({
      "workflow.md": "Load ./steps/step-01-a.md\n",
      "steps/step-01-a.md": `# A\n\n- If test_mode: load ./step-02-b.md\n${line}\n`,
      "steps/step-02-b.md": "# B\n",
    });
    expect(ways(made)).toEqual(["step-01-a -test_mode*-> step-02-b", "step-01-a -finished-> finished"]);
    expect(made.edges.at(-1)?.conditionText).toBe(line.replaceAll(/[*`]/g, ""));
    expect(said(made)).toEqual([]);
  });

  test.each([
    "Before you go on, see if the workflow is complete.",
    "If the workflow is complete, load ./step-02-b.md",
    "When asked for help, the workflow overview is shown.",
    "If it is new: workflow endpoints are listed first.",
    "Once it is approved, complete the workflow plan and save it.",
    "If it is missing, finish the workflow document.",
    "### 6. Exit Workflow",
    "- FORBIDDEN to end workflow without a mark",
    "- Never: stop the workflow",
    "- Goal: end the workflow with a good cup",
    "- IF X: Do not end the workflow",
    "IF X: load {exitStepFile} and end the workflow",
    "- IF X: Exit workflow editing and ask again",
  ])("no way to the end of a step that goes on: %s", (line) => {
    const made = importOf({
      "workflow.md": "Load ./steps/step-01-a.md\n",
      "steps/step-01-a.md": `${line}\nload ./step-02-b.md\n`,
      "steps/step-02-b.md": "# B\n",
    });
    expect(made.edges.map(({ to }) => to)).toEqual(["step-02-b"]);
  });

  test.each([
    [["**If the smell test fails:**", "- Write it down.", "- STOP execution here"], "STOP execution here"],
    [["If no tea is there:", '"There is none."', "End of workflow."], "End of workflow."],
    [["If all is fresh:", "- Say so.", "- **END OF WORKFLOW.**"], "END OF WORKFLOW."],
    [
      ["- If it is a bag: say why:", "", "  - Exit the workflow (do not proceed to step 2)"],
      "Exit the workflow",
    ],
    [["**If 3 (Cancel):**", "- Exit workflow."], "Exit workflow."],
    [["### If it is not wanted", "", "End workflow. No further steps."], "End workflow."],
    [['<check if="it is cold">', "<action>Exit workflow</action>", "</check>"], "Exit workflow"],
  ] as const)("a line below a condition ends the workflow in that case: %s", (lines, words) => {
    const made = importOf({
      "workflow.md": "Load ./steps/step-01-a.md\n",
      "steps/step-01-a.md": `# A\n\n${lines.join("\n")}\n\n## Next\n\nload ./step-02-b.md\n`,
      "steps/step-02-b.md": "# B\n",
    });
    expect(ways(made)).toEqual(["step-01-a -next*-> step-02-b", "step-01-a -finished-> finished"]);
    expect(made.edges.at(-1)?.conditionText).toMatch(/^(?:- )?if /i);
    expect(made.edges.at(-1)?.conditionText).toContain(words);
    expect(said(made)).toEqual([]);
  });

  test.each([
    [["**If the smell test fails:**", "- STOP here and load ./step-02-b.md"]],
    [["**If the smell test fails:**", "- Stop execution of the timer."]],
    [["**If it is cold:**", "- End the workflow document with a note."]],
    [["**If it is cold:**", "- HALT the workflow and wait for the guest."]],
    [["**If it is cold:**", "- Never end the workflow."]],
    [["**If it is cold:**", "- Warm it.", "", "End of workflow."]],
    [["IF C:", "- End the workflow with a bow, as load ./step-02-b.md says"]],
    [["```", "If it is cold:", "End of workflow.", "```"]],
  ] as const)("a line below a condition that does not end the workflow is no way there: %s", (lines) => {
    const made = importOf({
      "workflow.md": "Load ./steps/step-01-a.md\n",
      "steps/step-01-a.md": `# A\n\n${lines.join("\n")}\n\nload ./step-02-b.md\n`,
      "steps/step-02-b.md": "# B\n",
    });
    expect(made.edges.map(({ to }) => to)).not.toContain("finished");
  });

  test("a step that goes on to one with an earlier number has the end that it says", () => {
    const made = importOf({
      "workflow.md": "Load ./steps/step-03-a.md\n",
      "steps/step-03-a.md":
        "**If it fails:**\n- STOP execution here\n\n**If it holds:**\n- Continue to ./step-02-b.md\n",
      "steps/step-02-b.md": "# B\n",
    });
    expect(ways(made)).toContain("step-03-a -finished-> finished");
  });

  test("a step that leads back alone ends in any case, whatever it says of one", () => {
    const made = importOf({
      "workflow.md": "Load ./steps/step-01-a.md\n",
      "steps/step-01-a.md": "load ./step-02-b.md\n",
      "steps/step-02-b.md":
        "- IF E: return to ./step-01-a.md\n\n**If it was asked for:**\n- The workflow ends here.\n",
    });
    expect(ways(made)).toContain("step-02-b -finished*-> finished");
  });

  test("an item of a menu that leads on is no way to the end, whatever it is called", () => {
    const made = importOf({
      "workflow.md": "Load ./steps/step-01-a.md\n",
      "steps/step-01-a.md":
        "[C] Continue - complete the tea and finish the workflow\n\nIF C: load ./step-02-b.md\n",
      "steps/step-02-b.md": "# B\n",
    });
    expect(ways(made)).toEqual(["step-01-a -C*-> step-02-b"]);
  });

  test("a condition has the words of its line: names with underscores, and what is compared", () => {
    const made = importOf({
      "workflow.md": "Load ./steps/step-01-a.md\n",
      "steps/step-01-a.md":
        "> **If `detect_only_mode` and _{pour__count}_ >= 3:** load ./step-02-b.md\n- If x -> load ./step-03-c.md\n",
      "steps/step-02-b.md": "# B\n",
      "steps/step-03-c.md": "# C\n",
    });
    expect(made.edges.slice(0, 2).map(({ label, conditionText }) => [label, conditionText])).toEqual([
      [
        "detect_only_mode and {pour__count} >= 3",
        "If detect_only_mode and {pour__count} >= 3: load ./step-02-b.md",
      ],
      ["x", "- If x -> load ./step-03-c.md"],
    ]);
  });

  const aboutDocument = (line: string) =>
    importOf({
      "SKILL.md": page({ name: "tea", description: "x" }, "Load ./steps/step-01-a.md"),
      "steps/step-01-a.md": `load ./step-02-b.md\n${line}\n`,
      "steps/step-02-b.md": "# B\n",
    }).edges.some(({ from, to }) => from === "step-01-a" && to === "SKILL");

  test.each([
    "IF R: return to `../SKILL.md`",
    "[B] Go back to the beginning of ../SKILL.md.",
    "Return to the menu in `../SKILL.md`.",
    "[M] Main menu: load `../SKILL.md`",
    "**[M] Menu** → open ../SKILL.md",
    "Load ../SKILL.md and show its menu: ../SKILL.md's main menu.",
    "Restart the workflow from ../SKILL.md",
    "Gehe zurück zu ../SKILL.md",
    "Re-read `../SKILL.md` and follow it.",
    "If it is cold, re-read ../SKILL.md fully, then start over.",
    "Re-read and follow the whole `../SKILL.md`.",
  ])("a line that leads back to the workflow's own document: %s", (line) => {
    expect(aboutDocument(line)).toBe(true);
  });

  test.each([
    "When assembling parameter lists and return types in any SKILL.md section, go on.",
    "Loop back to step 2. In headless mode, run what ../SKILL.md says of a halt.",
    "If it can return a false result, load a regenerated SKILL.md beside it.",
    "Re-run the checker and read SKILL.md again; then redisplay this menu.",
    "Re-read `../SKILL.md`, then re-read `{leaf_file}` from disk and verify it.",
    "Re-read ../SKILL.md before you pour.",
    "When in doubt, re-read the whole ../SKILL.md and check the leaf against it.",
    "Loop back to the relevant step, or proceed to the last section in ../SKILL.md.",
  ])("a line that only tells of a document of that name: %s", (line) => {
    expect(aboutDocument(line)).toBe(false);
  });

  test("a line that only tells of the `workflow.md` that a longer skill leads to is no way back to it", () => {
    const imported = importOf({
      "SKILL.md": page(
        { name: "tea", description: "x" },
        ...Array(9).fill("It is hot."),
        "Follow `./workflow.md`.",
      ),
      "workflow.md": "# Tea\n\nLoad `./steps/step-01-a.md`\n",
      "steps/step-01-a.md": "load ./step-02-b.md\n",
      "steps/step-02-b.md": "The tea is done: proceed to the Farewell section in `workflow.md`.\n",
    });
    expect(imported.edges.filter(({ from }) => from === "step-02-b")).toEqual([]);
  });

  test.each([
    "If E: continue to the step defined in `./step-01b-economy.md`",
    "If E, execute the instructions that are described in ./step-01b-economy.md.",
    "If E: see `./step-01b-economy.md` and follow it.",
  ])("a file that a line tells of in leading there is a way on: %s", (line) => {
    const { edges } = importOf({
      "SKILL.md": page({ name: "tea", description: "x" }, "Load ./steps/step-01-a.md"),
      "steps/step-01-a.md": `${line}\nload ./step-02-b.md\n`,
      "steps/step-01b-economy.md": "# Economy\nload ./step-02-b.md\n",
      "steps/step-02-b.md": "# B\n",
    });
    expect(edges.some(({ from, to }) => from === "step-01-a" && to === "step-01b-economy")).toBe(true);
  });

  test.each([
    "→ Use few tools (see step-01b-economy.md for rules)",
    "If the threshold is set (resolved by `step-01b-economy.md` §1b), continue with it.",
    "If few_tools: true is set (from §1 of step-01b-economy.md), skip the check.",
    "Read the settings (already loaded by `tea-kit` step-01b-economy.md, if available).",
    "Otherwise go on with what was captured in ./step-01b-economy.md",
  ])("a file that a line tells of is no way on, whatever else the line does: %s", (line) => {
    const made = importOf({
      "workflow.md": "Load ./steps/step-01-a.md\n",
      "steps/step-01-a.md": `${line}\nload ./step-02-b.md\n`,
      "steps/step-01b-economy.md": "# Economy\n",
      "steps/step-02-b.md": "# B\n",
    });
    expect(ways(made)).toEqual(["step-01-a -next*-> step-02-b"]);
  });

  test("a step that nothing leads to, and a way into another workflow", () => {
    const made = importOf(
      {
        "a/workflow.md": "Load ./steps/step-01-a.md\n",
        "a/steps/step-01-a.md": page({ nextStepFile: "../../b/steps/step-01-b.md" }, "# A, the final step"),
        "a/steps/step-05-lost.md": "# Lost\n",
        "a/steps/step-06-helper.md": "# Helper\n",
        "b/workflow.md": "Load ./steps/step-01-b.md\n",
        "b/steps/step-01-b.md": "# B\n",
      },
      "a/workflow.md",
    );
    expect(made.nodes.map(({ id }) => id)).toEqual(["step-01-a"]);
    expect(said(made, true)).toEqual([
      "warning a/steps/step-05-lost.md:0 no step leads here: it is in the package, but no node",
      "warning a/steps/step-06-helper.md:0 no step leads here: it is in the package, but no node",
      'note a/steps/step-01-a.md:2 leads on to "b/steps/step-01-b.md", another workflow: import it and run it after this one',
    ]);
    expect(made.files.get("shared/b/steps/step-01-b.md")).toBe("# B\n");
  });

  test("an entry that names no first step, and front matter that is no YAML", () => {
    const made = importOf({
      "workflow.md": "The steps lie in `./steps/` and are done in order.\n",
      "steps/step-01-a.md":
        "---\nname: a: b\nnextStepFile: ./step-02-b.md\nquoted: \"open\nown: 'x' y\n---\n# A\n",
      "steps/step-02-b.md": "# B\n",
    });
    expect(ways(made)).toEqual(["step-01-a -next*-> step-02-b"]);
    expect(said(made)).toEqual([
      expect.stringContaining(
        "warning steps/step-01-a.md:1 the front matter was read line by line: YAML, line 2",
      ),
      'warning workflow.md:0 names no first step: the first of "steps" was taken',
    ]);
  });

  test("a menu that calls another workflow is no way on: it is taken along whole", () => {
    const made = importOf(
      {
        "_bmad/leaf/workflows/tea/workflow.md": "Load ./steps/step-01-pot.md\n",
        "_bmad/leaf/workflows/tea/steps/step-01-pot.md": page(
          { partyWorkflow: "{project-root}/_bmad/core/workflows/party/workflow.md" },
          "- IF P: Execute {partyWorkflow}, then show the menu again",
          "- IF C: load ./step-02-end.md",
        ),
        "_bmad/leaf/workflows/tea/steps/step-02-end.md":
          "# End\nThen run {project-root}/_bmad/core/workflows/other/workflow.md\n",
        "_bmad/core/workflows/party/workflow.md": "Load ./steps/step-01-dance.md\n",
        "_bmad/core/workflows/party/steps/step-01-dance.md": "# Dance\n",
        "_bmad/core/workflows/other/workflow.md": "Load ./steps/step-01-x.md\n",
        "_bmad/core/workflows/other/steps/step-01-x.md": "# X\n",
      },
      "_bmad/leaf/workflows/tea/workflow.md",
    );
    expect(ways(made)).toEqual(["step-01-pot -C*-> step-02-end"]);
    expect(made.calls).toEqual([{ name: "party", folder: "_bmad/core/workflows/party" }]);
    expect(made.files.get("steps/step-01-pot.md")).toContain(
      'partyWorkflow: "@pkg/skills/party/workflow.md"',
    );
    expect(made.files.get("skills/party/steps/step-01-dance.md")).toBe("# Dance\n");
    expect(said(made, true)).toEqual([
      'note _bmad/leaf/workflows/tea/steps/step-02-end.md:2 leads on to "_bmad/core/workflows/other/workflow.md", another workflow: import it and run it after this one',
    ]);
  });

  test("steps of one name have ids of their own, and a step whose folder is wrong is found by its name", () => {
    const made = importOf({
      "SKILL.md": page({ name: "tea" }, "Load ./step-01-a.md and go to the menu"),
      "x/steps/step-01-a.md": "load ../../y/steps/step-01.md\n",
      "y/steps/step-01.md": "load ../../z/steps/step-01.md\n",
      "z/steps/step-01.md": "load ../../w/steps/step-01.md; the workflow file is [it](../../SKILL.md)\n",
      "w/steps/step-01.md": "# End\n",
    });
    expect(made.nodes.map(({ id }) => id)).toEqual(["step-01-a", "step-01", "steps.step-01", "step-01.2"]);
    expect(made.files.get("z/steps/step-01.md")).toContain("[it](@pkg/workflow.md)");
    expect(said(made)).toEqual([]);
  });

  test("more steps than a workflow has are an error, and leave no package", () => {
    const many = Array.from({ length: 420 }, (_, index) => `load ./step-${index + 1}-x.md`).join("\n");
    const files = Object.fromEntries(
      Array.from({ length: 420 }, (_, index) => [`steps/step-${index + 1}-x.md`, "# X, the final step\n"]),
    );
    const made = importOf({ "workflow.md": "Load ./steps/hub.md\n", "steps/hub.md": many, ...files });
    expect(said(made)[0]).toBe(
      "error workflow.md:0 has more than 400 steps and 4000 ways between them: divide it",
    );
    expect(made.files.size).toBe(0);
  });
});
