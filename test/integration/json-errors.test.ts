import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { jsonOf, newShell } from "./shell.js";

/* A program that asked for JSON has JSON to read, also where the command failed. */

const FAILED = [
  [2, ["status", "nowhere"], "There is no"],
  [2, ["status"], "missing required argument 'runId'"],
  [2, ["runs", "--wating"], "unknown option '--wating'"],
  [2, ["rnus"], "Did you mean runs?"],
  [2, ["package", "check", "nowhere"], '"nowhere" does not exist.'],
  [2, ["project", "add", "nowhere"], 'nowhere" does not exist'],
  [1, ["package", "import", "empty"], 'No workflow begins in "empty"'],
] as const;

test("with --json a command that fails says why in one JSON value, and in a sentence beside it", async () => {
  const shell = await newShell();
  await mkdir(join(shell.dir, "empty"));
  const outcomes = await shell.runEach(FAILED.map(([, args]) => [...args, "--json"]));
  for (const [index, [code, args, sentence]] of FAILED.entries()) {
    const outcome = outcomes[index] ?? { code: -1, stdout: "", stderr: "" };
    expect({ args, code: outcome.code }).toEqual({ args, code });
    expect(outcome.stderr).toContain(sentence);
    expect(outcome.stdout.trim().split("\n")).toHaveLength(1);
    expect(jsonOf(outcome)).toEqual({
      ok: false,
      error: { message: expect.stringContaining(sentence) as string },
    });
  }
});

test("without it, and behind --, standard output stays empty", async () => {
  const shell = await newShell();
  const [plain, behind] = await Promise.all([
    shell.run(["status", "nowhere"]),
    shell.run(["status", "nowhere", "--", "--json"]),
  ]);
  expect([plain, behind]).toMatchObject([
    { code: 2, stdout: "" },
    { code: 2, stdout: "" },
  ]);
});
