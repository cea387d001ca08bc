import { expect, onTestFinished, test, vi } from "vitest";
import { buildProgram, main } from "../../src/cli/program.js";

const parse = (args: readonly string[]) =>
  buildProgram(() => undefined).parseAsync([...args], { from: "user" });

test.each([
  [["run", "create-story", "--project", ""], "--project was given an empty value"],
  [["run", "", "--project", "shop"], "The package is empty"],
  [
    ["run", "create-story", "--project", "shop", "--fallback", "fast", "--fallback", ""],
    "--fallback was given",
  ],
  [["fork", "4f62d988", "--at-visit", "0", "--project", ""], "--project was given an empty value"],
  [["runs", "--package", ""], "--package was given an empty value"],
  [["project", "add", ""], "The dir is empty"],
  [["store", "backup", ""], "The dir is empty"],
  [["store", "restore", "backup", "--to", ""], "--to was given an empty value"],
  [["artifacts", "4f62d988", "--save", ""], "--save was given an empty value"],
  [["export", "4f62d988", "--output", ""], "--output was given an empty value"],
  [["status", ""], "Name the run"],
  [["restore", "4f62d988", ""], "Name the run"],
])(
  "an empty value is never the directory the command is in, nor whatever there is: %j",
  async (args, sentence) => {
    await expect(parse(args)).rejects.toThrow(sentence);
  },
);

test("at the tab key an empty word is where something may follow", async () => {
  vi.stubEnv("INTERLOCK_STORE", "/none");
  const said = vi.spyOn(console, "log").mockReturnValue(undefined); // as the library for it does
  onTestFinished(() => {
    said.mockRestore();
    vi.unstubAllEnvs();
  });
  expect(await main(["complete", "--", "store", ""])).toBe(0);
  expect(said.mock.calls.flat().join("\n")).toMatch(/^backup\t/m);
});
