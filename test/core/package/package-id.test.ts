import { describe, expect, test } from "vitest";
import { archiveNameOf, packageIdOf } from "../../../src/core/package/package-id.js";

describe("the archive of a package", () => {
  test.each([
    ["Tea, in two ways", "1.0.0-rc.1+build", "tea-in-two-ways-1.0.0-rc.1-build.bmad"],
    ["../../etc/passwd", "1.0.0", "etc-passwd-1.0.0.bmad"],
    ["茶", "1.0.0", "package-1.0.0.bmad"],
  ])("of %s %s is called by both, as its id begins", (name, version, expected) => {
    expect(archiveNameOf({ name, version })).toBe(expected);
    expect(`${packageIdOf(name, version, "").slice(0, -1)}.bmad`).toBe(expected);
  });
});
