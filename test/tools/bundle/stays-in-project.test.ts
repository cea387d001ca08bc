import { mkdir, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { staysInProject } from "../../../src/tools/bundle/bundle-runs.js";
import { temporaryDirectory } from "../../fakes/package-fixture.js";

let project: string;
beforeEach(async () => {
  project = await temporaryDirectory();
});

test("an output directory that another run makes at this moment is no link that leads out", async () => {
  const folders = Array.from({ length: 2_000 }, (_, index) => join(project, `artifacts-${index}`));
  for (const folder of folders) {
    const making = mkdir(folder); // on another thread
    expect(Array.from({ length: 4 }, () => staysInProject(project, folder))).toEqual([
      true,
      true,
      true,
      true,
    ]);
    await making;
  }
});

test.each([
  ["nowhere", "missing"],
  ["out of the project", ".."],
  ["to itself", "artifacts"],
])("a link %s leads out", async (_name, target) => {
  await symlink(target, join(project, "artifacts"));
  expect(staysInProject(project, join(project, "artifacts/session"))).toBe(false);
  await rm(join(project, "artifacts"));
  expect(staysInProject(project, join(project, "artifacts/session"))).toBe(true);
});
