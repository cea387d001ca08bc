import { expect, test } from "vitest";
import { projectSlug } from "../../../src/core/run/project-slug.js";

test.each([
  ["shop", "shop"],
  ["My Shop (2)", "my-shop-2"],
  ["--x--", "x"],
  ["日本", ""],
  ["a".repeat(90), "a".repeat(40)],
])("the directory %j gives its project's id the beginning %j", (directory, slug) => {
  expect(projectSlug(directory)).toBe(slug);
});
