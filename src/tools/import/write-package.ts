import { randomBytes } from "node:crypto";
import { lstat, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { type Result, fail, ok } from "../../core/errors.js";
import { type Finding, isError } from "../../core/package/findings.js";
import { systemCode } from "../../store/packages/package-files.js";
import { checkPackageSource } from "../../store/packages/package-source.js";
import { syncDirectory } from "../../store/disk/atomic-file.js";

/**
 * Writes a package into a new directory, checked before it has its name: temporary directory beside it → check → rename. Gives
 * the check's findings; where one is an error, nothing is left. Faults: `E_PRECONDITION_FAILED` where something is at `out`
 * already, `E_INTERNAL` where it cannot be written.
 */
export async function writePackage(
  files: ReadonlyMap<string, string>,
  out: string,
): Promise<Result<readonly Finding[]>> {
  if (await isThere(out)) {
    return fail("E_PRECONDITION_FAILED", "is there already: name another directory with --out, or remove it");
  }
  const temporary = join(dirname(out), `.${basename(out)}.importing-${randomBytes(6).toString("hex")}`);
  try {
    await mkdir(temporary);
    for (const [path, text] of files) {
      await mkdir(dirname(join(temporary, path)), { recursive: true });
      await writeFile(join(temporary, path), text, { flag: "wx", flush: true });
    }
    const findings = await checkPackageSource(temporary);
    if (findings.some(isError)) return ok(findings);
    if (await isThere(out)) return fail("E_PRECONDITION_FAILED", "appeared meanwhile: nothing was written");
    await rename(temporary, out);
    await syncDirectory(dirname(out));
    return ok(findings);
  } catch (error) {
    return fail(
      "E_INTERNAL",
      `cannot be written (${systemCode(error)}): check the directory it is to lie in`,
    );
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
