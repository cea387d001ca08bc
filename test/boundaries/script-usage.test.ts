import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { MUTANTS } from "../chaos/mutants.js";
import { openProperties } from "../fuzz/properties.js";
import { temporaryDirectory } from "../fakes/package-fixture.js";

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function run(script: "chaos" | "fuzz", args: readonly string[]): Promise<Outcome> {
  const path = fileURLToPath(new URL(`../../scripts/${script}.mjs`, import.meta.url));
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [path, ...args], (_, stdout, stderr) =>
      resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    );
  });
}

describe("wrong usage of fuzz and chaos is said in a sentence, before anything is built or started", () => {
  test.each([
    ["fuzz", ["--property", "nosuch"], 'There is no property "nosuch". There are: '],
    ["fuzz", ["--seconds", "0"], "--seconds is a whole number above 0, of at most six digits."],
    ["fuzz", ["--seed", "x"], "--seed is a number of at most nine digits."],
    ["fuzz", ["nosuch"], "nosuch"],
    ["chaos", ["--mutants", "nosuch"], 'There is no mutant "nosuch". There are: '],
    ["chaos", ["--mutants", "healthy,nosuch"], 'There is no mutant "nosuch". There are: '],
    ["chaos", ["--mutants", "--check", "."], "--check and --mutants do not go together."],
    ["chaos", ["--runs", "0"], "--runs is a whole number above 0, of at most five digits."],
    ["chaos", ["nosuch"], '"nosuch" is no option.'],
    ["chaos", ["--bogus"], "--bogus"],
  ] as const)("%s %j", async (script, args, sentence) => {
    const { code, stdout, stderr } = await run(script, args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    const [first = ""] = stderr.split("\n");
    expect(first).toContain(sentence);
    expect(stderr).toContain(`Usage: npm run ${script} -- `);
    expect(stderr).not.toMatch(/^ {4}at /m);
  });

  test("a directory without a chaos run's evidence, or none at all", async () => {
    const empty = await temporaryDirectory();
    for (const dir of [empty, join(empty, "nosuch")]) {
      const { code, stderr } = await run("chaos", ["--check", dir]);
      expect(code).toBe(2);
      expect(stderr).toContain(`${dir} holds no evidence of a chaos run. Name a directory that --keep`);
    }
  });

  test.each(["chaos", "fuzz"] as const)("%s --help says how it is called", async (script) => {
    const { code, stdout, stderr } = await run(script, ["--help"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(`Usage: npm run ${script} -- `);
  });

  test("the names that are offered are those that there are", async () => {
    const offered = async (script: "chaos" | "fuzz", args: readonly string[]) =>
      /There are: (.*)\.$/m
        .exec((await run(script, args)).stderr)?.[1]
        ?.split(", ")
        .toSorted();
    const properties = openProperties().map(({ name }) => name);
    expect(await offered("fuzz", ["--property", "nosuch"])).toEqual(properties.toSorted());
    const mutants = MUTANTS.map(({ name }) => name);
    expect(await offered("chaos", ["--mutants", "nosuch"])).toEqual(mutants.toSorted());
  });
});
