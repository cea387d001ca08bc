import { Command } from "commander";
import { expect, test } from "vitest";
import { resolveRunArguments } from "../../src/cli/resolve-run.js";

test("an empty name of a run, as an unset variable gives it, is refused before anybody is asked", async () => {
  const command = new Command("status").argument("<runId>").action(() => undefined);
  command.parse([""], { from: "user" });
  await expect(resolveRunArguments(command)).rejects.toThrow("Name the run");
});
