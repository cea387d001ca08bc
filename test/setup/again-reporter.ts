import type { Reporter, TestCase } from "vitest/node";

/**
 * Says at the end which tests have passed only when they were run again (`retry`). Such a test waits for too little, or what it
 * tests does: it has to be looked at, though the run is not given up for it.
 */
export class AgainReporter implements Reporter {
  readonly #again: TestCase[] = [];

  onTestCaseResult(test: TestCase): void {
    if (test.diagnostic()?.flaky === true) this.#again.push(test);
  }

  onTestRunEnd(): void {
    for (const test of this.#again) {
      const why = test.result().errors?.[0]?.message.split("\n", 1)[0] ?? "";
      console.log(`PASSED ONLY WHEN RUN AGAIN: ${test.module.relativeModuleId}: ${test.fullName}: ${why}`);
    }
  }
}
