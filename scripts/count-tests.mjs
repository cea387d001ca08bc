// Adds up the reports of several runs of the tests: count-tests.mjs STATUS NAME… DIRECTORY reads DIRECTORY/NAME.json. Prints which
// tests failed, then "N passed, N failed", and fails if a test failed, a report is missing or empty, or the commands around them
// had a STATUS but 0.
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";

const [status, ...names] = process.argv.slice(2);
const directory = names.pop() ?? "";

/** A run that ended badly has at least one failure, whatever it counted; so has one that left no report or ran no test. */
function countsOf(name) {
  try {
    const report = JSON.parse(readFileSync(join(directory, `${name}.json`), "utf8"));
    const { numPassedTests, numFailedTests, numFailedTestSuites, success } = report;
    const isFine = success && numPassedTests > 0;
    for (const { name: file, message, assertionResults } of report.testResults) {
      if (message) console.log(`FAILED: ${relative(".", file)}: ${message.split("\n", 1)}`);
      for (const { status: outcome, fullName } of assertionResults) {
        if (outcome === "failed") console.log(`FAILED: ${relative(".", file)}: ${fullName}`);
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
