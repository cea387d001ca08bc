// Adds up the reports of several runs of the tests: count-tests.mjs STATUS NAME… DIRECTORY reads DIRECTORY/NAME.json. Prints which
// tests failed and how their messages begin, then "N passed, N failed", and fails if a test failed, a report is missing or empty, or
// the commands around them had a STATUS but 0.
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { stripVTControlCharacters } from "node:util";

const [status, ...names] = process.argv.slice(2);
const directory = names.pop() ?? "";

const MESSAGE_LINES = 6;
const MESSAGE_COLUMNS = 300;

/** How a message begins: who reads the log's end sees the reason there. */
function tellFailure(what, message) {
  console.log(`FAILED: ${what}`);
  const lines = stripVTControlCharacters(message)
    .split("\n")
    .filter((line) => line.trim() !== "");
  for (const line of lines.slice(0, MESSAGE_LINES)) console.log(`    ${line.slice(0, MESSAGE_COLUMNS)}`);
}

/** A run that ended badly has at least one failure, whatever it counted; so has one that left no report or ran no test. */
function countsOf(name) {
  try {
    const report = JSON.parse(readFileSync(join(directory, `${name}.json`), "utf8"));
    const { numPassedTests, numFailedTests, numFailedTestSuites, success } = report;
    const isFine = success && numPassedTests > 0;
    for (const { name: path, message, assertionResults } of report.testResults) {
      const file = relative(".", path);
      if (message) tellFailure(file, message);
      for (const { status: outcome, fullName, failureMessages } of assertionResults) {
        if (outcome === "failed") tellFailure(`${file}: ${fullName}`, failureMessages?.join("\n") ?? "");
      }
    }
    return {
      passed: numPassedTests,
      failed: numFailedTests || (isFine ? 0 : Math.max(1, numFailedTestSuites)),
    };
  } catch (error) {
    console.error(`The tests left no report ${name}.json: ${error.message}`);
    return { passed: 0, failed: 1 };
  }
}

const counts = names.map(countsOf);
const passed = counts.reduce((sum, each) => sum + each.passed, 0);
const failed = counts.reduce((sum, each) => sum + each.failed, 0);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 && passed > 0 && status === "0" ? 0 : 1);
