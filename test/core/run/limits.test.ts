import { expect, test } from "vitest";
import * as limits from "../../../src/core/run/limits.js";

test("the limits, which others rely on", () => {
  expect(limits).toMatchObject({
    DEFAULT_ENGINE_LIMITS: { maxTurnsPerNode: 50, maxTurnsPerRun: 2_000, maxModelAttempts: 8 },
    MAX_CALLS_PER_ANSWER: 32,
    ANSWER_PREVIEW_CHARS: 200,
    MAX_USER_INPUT_BYTES: 65_536,
    MAX_UPDATE_BYTES_PER_ANSWER: 147_456,
    DEFAULT_MAX_READ_BYTES: 50_000,
    DEFAULT_MAX_WRITE_BYTES: 100_000,
    HOST_MAX_READ_BYTES: 1_000_000,
    HOST_MAX_WRITE_BYTES: 4_000_000,
  });
});
