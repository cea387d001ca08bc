import { expect, test } from "vitest";
import { ERROR_CODES } from "../../../src/core/errors.js";
import { isRefusal } from "../../../src/core/run/refusals.js";

test("a file that is not there, and a call that went wrong, are no refusals", () => {
  expect(ERROR_CODES.filter((code) => /^(?:E_|TOOL_|ENOENT)/.test(code) && !isRefusal(code))).toEqual([
    "ENOENT",
    "E_INTERNAL",
    "TOOL_FAILED",
    "TOOL_OUTCOME_UNKNOWN",
  ]);
});
