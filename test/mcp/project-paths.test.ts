import { expect, test } from "vitest";
import { namesProject, projectProblem, withProject } from "../../src/mcp/project-paths.js";

test.each([
  ["@project", "/p/$&"],
  ["@project/", "/p/$&/"],
  ["@project/docs/a b", "/p/$&/docs/a b"],
  ["--root=@project", "--root=/p/$&"],
  ["--root=@project/sub", "--root=/p/$&/sub"],
  ["@project:/work", "/p/$&:/work"],
  ["type=bind,src=@project,dst=/work", "type=bind,src=/p/$&,dst=/work"],
  ["@project/a:@project/b", "/p/$&/a:/p/$&/b"],
])("%s names the project", (text, expected) => {
  expect(projectProblem(text)).toBeUndefined();
  expect(namesProject(text)).toBe(true);
  expect(withProject(text, "/p/$&")).toBe(expected);
});

test.each([
  "",
  "project",
  "@projects",
  "@project-docs/x",
  "ann@project",
  "a.@project",
  "@@project",
  "@pkg",
  "/@projectx",
])("%j does not, and stays as it is", (text) => {
  expect([projectProblem(text), namesProject(text), withProject(text, "/p")]).toEqual([
    undefined,
    false,
    text,
  ]);
});

test.each([
  ["@project/..", "lead out"],
  ["@project/../x", "lead out"],
  ["--root=@project/a/../../x", "lead out"],
  ["a=@project,b=@project/..", "lead out"],
  ["@project\\..\\x", "at the beginning"],
  ["@project/a\\..\\..", "lead out"],
  ["cd @project", "at the beginning"],
  ["/x/@project", "at the beginning"],
  ["@project.md", "at the beginning"],
  ["@project and more", "at the beginning"],
  ["@project,x @project", "at the beginning"],
])("%s is refused", (text, problem) => {
  expect(projectProblem(text)).toContain(problem);
});
