import { expect, test } from "vitest";
import { isKept } from "../../../src/core/run/kept-boundary.js";

const boundary = { visit: 2, next: "middle", documentSha256: "a" };

test("a boundary is kept where all of it is as it was kept", () => {
  expect(isKept({ ...boundary }, boundary)).toBe(true);
  expect(isKept(undefined, boundary)).toBe(false);
  for (const other of [{ visit: 3 }, { next: "finish" }, { documentSha256: "b" }]) {
    expect(isKept({ ...boundary, ...other }, boundary)).toBe(false);
  }
});
