import { expect, test } from "vitest";
import { buildProgram } from "../../src/cli/program.js";

test("the help has each command under a heading that says what it is for", () => {
  const program = buildProgram(() => undefined);
  const headings = program.helpInformation().match(/^\S.*:$/gm);
  expect(headings).toEqual([
    "Options:",
    "Start:",
    "Look at runs:",
    "Tell a run:",
    "Let a run go on:",
    "Keep and prove:",
    "Packages and projects:",
    "Operate:",
  ]);
});
