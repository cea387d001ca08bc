import { expect, test } from "vitest";
import { potOf, said, ways } from "./step-files.js";

/* Lines that name several steps: what is told of one is not said of the other. */

const LEAF = "`./step-02-leaf.md`";
const CUP = "`./step-03-cup.md`";
const SIP = "`./step-04-sip.md`";

test.each([
  `After ${LEAF} and ${CUP} are complete, load ${SIP}.`,
  `Once both ${LEAF} and ${CUP} are done, load ${SIP}.`,
  `If ${LEAF} or ${CUP} fails, load ${SIP}.`,
  `Once [the leaf](./step-02-leaf.md) and [the cup](./step-03-cup.md) are done, load ${SIP}.`,
])("the steps of a condition are no ways: %s", (line) => {
  expect(potOf(line).to).toEqual(["step-04-sip"]);
});

test.each([
  `When ${LEAF} and ${CUP} are ready, load them.`,
  `If it is warm, read ${LEAF} and ${CUP}.`,
  `If approved, ${LEAF} and ${CUP} are loaded next.`,
])("those that it leads to are: %s", (line) => {
  expect(potOf(line).to).toEqual(["step-02-leaf", "step-03-cup"]);
});

test.each([
  [`Return to ${LEAF} (or ${CUP} if it is warm).`, "step-03-cup: it is warm"],
  [`Return to ${LEAF}, or to ${CUP} when it is warm.`, "step-03-cup: it is warm"],
  [
    `Return to [it](./step-02-leaf.md) (or [the cup](./step-03-cup.md) if it is warm).`,
    "step-03-cup: it is warm",
  ],
  [`Return to ${LEAF} or ${CUP}.`, "step-03-cup: back"],
  [`Return to ${LEAF} and ${CUP} if it is warm.`, "step-03-cup: back"],
])("the second of two is no way back where it has a case of its own: %s", (line, label) => {
  expect(potOf(line).labels).toEqual(["step-02-leaf: back", label]);
});

test.each([
  [`After that, step-03-cup loads ${SIP}. Load ${LEAF}.`, ["step-02-leaf"]],
  [`${CUP} (the cup) then leads to ${SIP}; load ${CUP}.`, ["step-03-cup"]],
  [`Run ${LEAF} through ${SIP}.`, ["step-02-leaf"]],
  ["Run step-02 through step-04.", ["step-02-leaf"]],
  [`step-01 loads ${CUP}`, ["step-03-cup"]],
  [`Go through ${LEAF}, then ${CUP}.`, ["step-02-leaf", "step-03-cup"]],
  [`After step-02 load ${CUP}`, ["step-03-cup"]],
])("where another step leads is its own way: %s", (line, to) => {
  expect(potOf(line).to).toEqual(to);
});

test.each([
  [`If it is warm, skip ${LEAF} and go to ${CUP}.`, ["step-03-cup: it is warm", "step-02-leaf: next"]],
  ["If it is warm: skip step-02, go to step-03", ["step-03-cup: it is warm", "step-02-leaf: next"]],
  [
    `If it is warm, skip [it](./step-02-leaf.md), load ${CUP}`,
    ["step-03-cup: it is warm", "step-02-leaf: next"],
  ],
  [`Skip both ${LEAF} and ${CUP}; load ${SIP}.`, ["step-04-sip: next"]],
  [`Bypass ${LEAF} and load ${CUP}.`, ["step-03-cup: next"]],
  [`Skip to ${CUP}.`, ["step-03-cup: next"]],
  ["Skip directly to step-03.", ["step-03-cup: next"]],
  [`[S] Skip → ${CUP}`, ["step-03-cup: S"]],
  [`Skip the tasting and load ${LEAF}.`, ["step-02-leaf: next"]],
])("a step that is passed over is no way of that case: %s", (line, labels) => {
  expect(potOf(line).labels).toEqual(labels);
});

test("a step that is passed over alone is the next one by its number, and not taken for a way in unknown words", () => {
  const { made } = potOf(`Bypass ${CUP}.`);
  expect(ways(made)).toContain("step-01-pot -next*-> step-02-leaf");
  expect(ways(made)).not.toContain("step-01-pot -next*-> step-03-cup");
});

test.each([
  [
    `If it is 80 go to ${LEAF}, elif it is 50 go to ${CUP}, else go to ${SIP}.`,
    ["it is 80", "it is 50", "otherwise"],
  ],
  [`Below 50 → ${LEAF}; 50–80 → ${CUP}; > 80 → ${SIP}`, ["Below 50", "50–80", "> 80"]],
  [`Gate: <50% → ${LEAF}; >= 50% → ${CUP}`, ["<50%", ">= 50%"]],
])("each of several cases has its own words: %s", (line, labels) => {
  expect(
    potOf(line).made.edges.flatMap(({ from, label }) => (from === "step-01-pot" ? [label] : [])),
  ).toEqual(labels);
});

test.each([
  ["If | Then", `warm | load ${LEAF}`, `cold | return to ${CUP}`, "warm", "cold"],
  ["Choice | Action", `Approve | ${LEAF}`, `Reject | ${CUP}`, "Approve", "Reject"],
  ["Answer | Step", "yes | step-02", "no | step-03", "yes", "no"],
  ["Outcome | Action", "Pass | [the leaf](./step-02-leaf.md)", `Fail | go back to ${CUP}`, "Pass", "Fail"],
])("a table of cases, %s, leads to each step that a cell begins with", (head, one, two, first, second) => {
  const { labels } = potOf(`| ${head} |`, "| --- | --- |", `| ${one} |`, `| ${two} |`);
  expect(labels).toEqual([`step-02-leaf: ${first}`, `step-03-cup: ${second}`]);
});

test.each([
  ["Topic | File", `cups | ${CUP}`],
  ["Step | Action", `3 | ${CUP}`],
  ["Choice | Meaning", `A | as in ${CUP}`],
  ["Condition | Action", "both differ | DEFER to step-03 (to look at)"],
  ["If | Then", `cold | do not load ${CUP}`],
])("and another table, or cell, to none: %s, %s", (head, row) => {
  expect(potOf(`| ${head} |`, "| --- | --- |", `| ${row} |`).to).toEqual(["step-02-leaf"]);
});

test.each([
  [`<if condition="warm">load ${LEAF}</if>`, `<else>load ${CUP}</else>`],
  [`<check if="warm">Load ${LEAF}</check>`, `<otherwise>Load ${CUP}</otherwise>`],
])("a tag on one line says when: %s", (...lines) => {
  expect(potOf(...lines).labels).toEqual(["step-02-leaf: warm", "step-03-cup: otherwise"]);
});

test("a tag around a line says when, whatever its attribute is called", () => {
  const { labels } = potOf('<if condition="it is warm">', `Load ${LEAF}`, "</if>", `Otherwise load ${CUP}`);
  expect(labels).toEqual(["step-02-leaf: it is warm", "step-03-cup: otherwise"]);
});

test.each([
  `Instead of brewing again, go to ${CUP}.`,
  `Rather than brewing again, go to ${CUP}.`,
  `Before anything else, load ${CUP}.`,
  `Before pouring, go to ${CUP}.`,
  `Load ${CUP} rather than ${SIP}.`,
])("what is done instead, or first, has its way: %s", (line) => {
  expect(potOf(line).to).toEqual(["step-03-cup"]);
});

test.each([
  `Before you load ${CUP}, look at the pot.`,
  `Instead of reading or loading ${CUP}, wait.`,
  `Do this before loading, reading or following ${CUP}.`,
  `Never, before it is warm, load ${CUP}.`,
  `Before the guest leaves, do not load ${CUP}.`,
])("and what is not done has none: %s", (line) => {
  expect(potOf(line).to).toEqual(["step-02-leaf"]);
});

test("of very many names the first ones are looked at, and it is said from which line on none are", () => {
  const { made, to } = potOf(
    `Load ${LEAF}.`,
    ...Array.from({ length: 40 }, () => `${CUP} is warm. `.repeat(60)),
    `Load ${SIP}.`,
  );
  expect(to).toEqual(["step-02-leaf"]);
  expect(said(made)).toContain(
    "warning steps/step-01-pot.md:39 names more than 2000 files: no ways were looked for from this line on",
  );
});

test("of very many names in words that are not known the first ones are looked at as well", () => {
  const { to } = potOf(...Array.from({ length: 40 }, () => `${LEAF}, bitte sehr. `.repeat(60)), CUP);
  expect(to).toEqual(["step-02-leaf"]);
});
