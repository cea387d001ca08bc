import { expect, test } from "vitest";
import { parseTest } from "../../../src/cli/testing/read-tests.js";

test("files and artifacts of a test have the one spelling that a run's have", () => {
  const text = [
    'files: { "@project/wish.md": a, ./more/wish.md: b, last.md: c }',
    "expect:",
    "  artifacts:",
    '    - { path: "@project/artifacts/page.md", contains: nine }',
    "    - path: ./artifacts/more.md",
    '    - path: "@state/workflow.md"',
  ].join("\n");
  expect(parseTest("tests/spelled.yaml", text)).toMatchObject({
    test: {
      files: { "wish.md": "a", "more/wish.md": "b", "last.md": "c" },
      expect: {
        phase: "completed",
        artifacts: [
          { path: "artifacts/page.md", contains: "nine" },
          { path: "artifacts/more.md" },
          { path: "@state/workflow.md" },
        ],
      },
    },
  });
});
