import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryDirectory } from "../fakes/package-fixture.js";

/** What is said of these reports of the test runner, each a file that ran. */
async function count(...reports: readonly object[]): Promise<string> {
  const dir = await temporaryDirectory();
  for (const [index, report] of reports.entries())
    await writeFile(join(dir, `${index}.json`), JSON.stringify(report));
  const names = reports.map((_, index) => String(index));
  return new Promise((resolve) =>
    execFile(process.execPath, ["scripts/count-tests.mjs", "0", ...names, dir], (error, stdout) =>
      resolve(`${stdout}exit ${error === null ? 0 : 1}`),
    ),
  );
}

const fileOf = (message: string, ...assertionResults: object[]) => ({
  name: join(process.cwd(), "test/a.test.ts"),
  message,
  assertionResults,
});
const PASSED = { status: "passed", fullName: "that holds", failureMessages: [] };

test("the end of a log says which tests failed, and how their messages begin", async () => {
  const message = ["\u001B[31mError\u001B[39m: no", "", ..."1 2 3 4 5 6 7 8 9".split(" ")].join("\n");
  const failed = { status: "failed", fullName: "that does not", failureMessages: [message] };
  const fine = { numPassedTests: 1, numFailedTests: 0, numFailedTestSuites: 0, success: true };
  const broken = { numPassedTests: 1, numFailedTests: 1, numFailedTestSuites: 1, success: false };
  expect(await count({ ...fine, testResults: [fileOf("", PASSED)] })).toBe("1 passed, 0 failed\nexit 0");
  expect(
    await count(
      { ...fine, testResults: [fileOf("", PASSED)] },
      { ...broken, testResults: [fileOf("", PASSED, failed), fileOf("It cannot be loaded.")] },
    ),
  ).toBe(
    [
      "FAILED: test/a.test.ts: that does not",
      "    Error: no",
      ..."1 2 3 4 5".split(" ").map((line) => `    ${line}`),
      "FAILED: test/a.test.ts",
      "    It cannot be loaded.",
      "2 passed, 1 failed",
      "exit 1",
    ].join("\n"),
  );
});
