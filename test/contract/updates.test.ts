import { expect, test } from "vitest";
import { answerSchema, namesUnknownField, updateProblem } from "../../src/contract/updates.js";

const problem = (more: object) => updateProblem(answerSchema, [{ nodeId: "ask", text: "yes", ...more }]);

test.each([
  ["a question", { question: "12.3" }],
  ["a name", { by: "Ann Lee <ann@desk> 👩‍💻" }],
  ["a name of 200 characters", { by: "a".repeat(200) }],
])("an answer may have %s", (_, more) => expect(problem(more)).toBeUndefined());

test.each([
  ["a question that is none", { question: "1.3; drop" }, "question: must be a question's visit and turn"],
  ["a name of 201 characters", { by: "a".repeat(201) }, "by: "],
  ["an empty name", { by: "" }, "by: "],
  ["a name of spaces", { by: "  " }, "by: must be a name"],
  ["a name on two lines", { by: "ann\nbob" }, "by: must be a name"],
  ["a name with hidden characters", { by: "ann\u202ebob" }, "by: must be a name"],
  ["a name that moves the cursor", { by: "ann\u001B[2J" }, "by: must be a name"],
])("an answer with %s is refused", (_, more, sentence) => expect(problem(more)).toContain(sentence));

test("a field that is not known is told from what is wrong with one that is, by the words that workers of every version say", () => {
  expect(namesUnknownField(`An answer is { nodeId, text }. ${problem({ more: "1.2" })}.`)).toBe(true);
  expect(namesUnknownField(problem({ question: "1" }) ?? "")).toBe(false);
});
