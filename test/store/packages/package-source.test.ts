import { readdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { checkPackageSource } from "../../../src/store/packages/package-source.js";
import { temporaryDirectory, validPackage, writePackage, zipPackage } from "../../fakes/package-fixture.js";
import { writeZip } from "../../fakes/zip-writer.js";

const scratchDirectories = async () =>
  (await readdir(tmpdir())).filter((name) => name.startsWith("interlock-check-"));

test("a directory and an archive of the same package have the same findings, and no scratch stays", async () => {
  const before = await scratchDirectories();
  const files = { ...validPackage(), "agents.json": "[]" };
  const dir = await writePackage(await temporaryDirectory(), files);
  const archive = join(await temporaryDirectory(), "p.bmad");
  await writeFile(archive, zipPackage(files));
  const findings = await checkPackageSource(dir);
  expect(findings).toMatchObject([{ severity: "error", file: "agents.json", path: "$" }]);
  expect(await checkPackageSource(archive)).toEqual(findings);
  await writeFile(archive, writeZip([{ name: "../evil" }]));
  expect(await checkPackageSource(archive)).toMatchObject([{ file: "../evil" }]);
  expect(await scratchDirectories()).toEqual(before);
});

test("what is neither is said to be so", async () => {
  const dir = await temporaryDirectory();
  expect(await checkPackageSource(join(dir, "none"))).toMatchObject([{ severity: "error", file: "." }]);
  for (const name of ["workflow.yaml", "SKILL.md"]) {
    await writeFile(join(dir, name), "name: x\n");
    const [finding] = await checkPackageSource(join(dir, name));
    expect(finding?.message).toContain("workflow.yaml runs with interlock bundle run");
  }
  expect(await checkPackageSource("/dev/null")).toMatchObject([{ severity: "error", file: "." }]);
});
