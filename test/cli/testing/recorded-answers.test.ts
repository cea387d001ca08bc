import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readTests } from "../../../src/cli/testing/read-tests.js";
import { answerIn } from "../../../src/cli/testing/recorded-answers.js";
import { listPackage } from "../../../src/store/packages/package-files.js";
import { temporaryDirectory } from "../../fakes/package-fixture.js";

/** What is read of a package with this one test. */
async function readBack(test: object, name = "one.yaml") {
  const dir = await temporaryDirectory();
  mkdirSync(join(dir, "tests"));
  writeFileSync(join(dir, "tests", name), JSON.stringify(test));
  return readTests(await listPackage(dir));
}

test.each([
  ["a result", { ok: true, content: "found" }],
  ["a failure", { ok: false, error: { code: "TOOL_FAILED", message: "house.find failed: no house" } }],
  [
    "arguments that do not fit",
    {
      ok: false,
      error: { code: "TOOL_ARGS_INVALID", message: "The arguments of house.find do not fit: id" },
    },
  ],
  ["an unknown outcome", { ok: false, error: { code: "TOOL_OUTCOME_UNKNOWN", message: "Nobody knows." } }],
])("what a tool has answered is a test that can be run: %s", async (_name, result) => {
  const answer = answerIn("house.find", result);
  const { tests, findings } = await readBack({ tools: { "house.find": [{ arguments: {}, ...answer }] } });
  expect([tests.length, findings]).toEqual([1, []]);
});

test.each([[{}], [{ result: 1, error: "a" }], [{ error: "a", wrongArguments: "b" }]])(
  "an answer of a tool is one thing: %j",
  async (answer) => {
    const { findings } = await readBack({ tools: { "house.find": [answer] } });
    expect(findings.map(({ message }) => message)).toEqual([
      "must have one of result, error and wrongArguments",
    ]);
  },
);

test.each(["one.yml", "one.YAML", "One.Yml"])(
  "a test is found however its file's end is spelled: %s",
  async (name) => {
    const { tests } = await readBack({}, name);
    expect(tests.map((each) => each.name.toLowerCase())).toEqual(["one"]);
  },
);
