import { describe, expect, test } from "vitest";
import { archiveNameOf, mayBeCalled, packageIdOf } from "../../../src/core/package/package-id.js";

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

test.each([
  ["Tea, in two ways", "1.0.0", true],
  ["Tea, in two ways@1.0.0", "1.0.0", true],
  ["@tea/two", "2.0.0", true],
  ["茶@1.0.0", "1.0.0", true],
  ["Coffee", "1.0.0", false],
])("whether an id may be meant by %s is seen by how it begins", (named, version, isSo) => {
  const name = isSo ? named.replace(/(?<=.)@[^@]*$/, "") : "Tea";
  expect(mayBeCalled(packageIdOf(name, version, "0123456789abcdef"), named)).toBe(isSo);
});
