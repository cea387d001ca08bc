import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files of few tests that take minutes, and wait most of them. */
const LONG = /\/(?:subworkflow-crash|fallback-crash|streamed-crash|outages|long-run)\.test\.ts$/;

/** Begins with what takes longest: on a clean clone the runner takes small files last, and the processors stood still until these had ended. */
export class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification): boolean => LONG.test(moduleId);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}
