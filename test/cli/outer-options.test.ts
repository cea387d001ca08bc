import { expect, test } from "vitest";
import { buildProgram } from "../../src/cli/program.js";

const parse = (args: readonly string[]) =>
  buildProgram(() => undefined).parseAsync([...args], { from: "user" });

test.each([
  [["runs", "--project", "shop", "prune", "--keep", "1"], '--project is an option of "interlock runs"'],
  [["runs", "--failed", "prune", "--keep", "1"], '--failed is an option of "interlock runs"'],
  [["runs", "--json", "prune", "--keep", "1"], "See: interlock runs prune --help"],
  [["attest", "--key", "k", "verify", "f"], 'not of "interlock attest verify"'],
])(
  "an option that stands before a command's name is refused, not passed over: %j",
  async (args, sentence) => {
    await expect(parse(args)).rejects.toThrow(sentence);
  },
);

test("the help of a command names its own options and those of the program, none of a command in between", () => {
  const runs = buildProgram(() => undefined).commands.find((command) => command.name() === "runs");
  const help = runs?.commands.find((command) => command.name() === "prune")?.helpInformation() ?? "";
  expect(help).toContain("--older-than");
  expect(help).toContain("--version");
  expect(help).not.toContain("--project");
});
