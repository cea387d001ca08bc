import { expect, test } from "vitest";
import { withoutUnsaid } from "../../../../src/core/import/source/not-said.js";
import { importOf, page, potOf, said, ways } from "../step-files.js";

/* What a text leaves out of what it says: comments, what is struck through, and what is to be written elsewhere. */

test.each<readonly [string, ...(readonly string[])]>([
  ["a comment", "<!-- load ./step-03-cup.md -->"],
  ["a comment of several lines", "<!--", "load ./step-03-cup.md", "", "load ./step-04-sip.md", "-->"],
  ["an item that is a comment", "- <!-- [C] Cup: load ./step-03-cup.md -->"],
  ["a comment in a line", "Warm it. <!-- then load ./step-03-cup.md -->"],
  ["what is struck through", "~~Load `./step-03-cup.md`~~"],
])("%s leads nowhere, and stays in the package", (_what, ...lines) => {
  const { made, to } = potOf(...lines, "", "load ./step-02-leaf.md");
  expect(to).toEqual(["step-02-leaf"]);
  const written = made.files.get("steps/step-01-pot.md") ?? "";
  expect(written).toContain(lines.join("\n").replaceAll("./", "@pkg/steps/"));
});

test("a comment that nothing closes hides nothing, and the arrow of a chain closes none", () => {
  expect(potOf("<!-- of the pot", "", "load ./step-02-leaf.md").to).toEqual(["step-02-leaf"]);
  expect(potOf("It begins with `<!--`.", "load ./step-02-leaf.md --> done").to).toEqual(["step-02-leaf"]);
});

test("comments that nothing closes are looked through once, however many begin", () => {
  let looks = 0;
  const open = { isCode: false, number: 1, written: "<!--" };
  const lines = Array.from({ length: 5_000 }, () => ({
    ...open,
    get text() {
      looks += 1;
      return "<!--";
    },
  }));
  expect(withoutUnsaid(lines)).toHaveLength(lines.length);
  expect(looks).toBeLessThan(10 * lines.length);
});

test("a skill that says no more than a licence in a comment and where its workflow stands is that workflow", () => {
  const made = importOf(
    {
      "SKILL.md": page(
        { name: "tea", description: "x" },
        "<!--",
        ...Array.from({ length: 8 }, (_, line) => `Licence, line ${line}, of what is not said here at all.`),
        "-->",
        "",
        "Read fully and follow `./workflow.md`.",
      ),
      "workflow.md": page({ name: "tea" }, "# Tea", "", "Load ./steps/step-01-pot.md"),
      "steps/step-01-pot.md": page({}, "load ./step-02-cup.md"),
      "steps/step-02-cup.md": page({}, "The last step."),
    },
    "SKILL.md",
  );
  expect(ways(made)).toEqual(["step-01-pot -next*-> step-02-cup"]);
});

test("a list that another file is to hold leads nowhere; what stands below it does", () => {
  const lines = [
    "Add the routing to `workflow.md`:",
    "- IF cold: load `./step-03-cup.md`",
    "- IF late: load `./step-09-x.md`",
  ];
  const { made, to } = potOf(...lines, "", "Then load `./step-02-leaf.md`");
  expect([to, said(made).filter((line) => line.includes("step-09"))]).toEqual([["step-02-leaf"], []]);
  expect(made.files.get("steps/step-01-pot.md")).toContain("- IF cold: load");
  expect(potOf("Write it to `notes.md`:", "", "Then:", "- IF cold: load `./step-03-cup.md`").to).toContain(
    "step-03-cup",
  );
});

test.each([
  ["1. Append the pot to `notes.md`:", "2. Load `./step-02-leaf.md`"],
  ["- Write it to `notes.md`:", "  - IF cold: load `./step-03-cup.md`", "- Load `./step-02-leaf.md`"],
])(
  "of an item that is to be written elsewhere what stands deeper is left out, and not the next one: %s",
  (...lines) => {
    const { made, to } = potOf(...lines);
    expect([to, said(made).filter((line) => line.includes("names"))]).toEqual([["step-02-leaf"], []]);
  },
);
