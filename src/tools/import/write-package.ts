import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { lstat, mkdir, readdir, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Result, fail, ok } from "../../core/errors.js";
import { type Finding, isError } from "../../core/package/findings.js";
import { isLitter } from "../../core/package/package-path.js";
import { requireSystemCode, writeRemedy } from "../../core/system-code.js";
import { checkPackageSource } from "../../store/packages/package-source.js";
import { syncDirectory } from "../../store/disk/atomic-file.js";
import { removeLeftover } from "../../store/disk/remove-leftover.js";

/**
 * Writes a package into a new directory, or into one that holds nothing but what no package has (`.git`), checked before it has its
 * name: temporary directory beside it, or in the one that is there → check → rename. Gives the check's findings; where one is an
 * error, nothing is left. Faults: `E_PRECONDITION_FAILED` where something is at `out` already, `E_INTERNAL` where it cannot be
 * written.
 */
export async function writePackage(
  files: ReadonlyMap<string, string>,
  out: string,
): Promise<Result<readonly Finding[]>> {
  const there = await whatIsAt(out);
  if (there === "something") return TAKEN;
  const name = `.interlock-making-${randomBytes(6).toString("hex")}`;
  const temporary = join(there === "nothing" ? dirname(out) : out, name);
  try {
    await mkdir(temporary);
    for (const [path, text] of files) {
      mkdirSync(dirname(join(temporary, path)), { recursive: true });
      await writeFile(join(temporary, path), text, { flag: "wx", flush: true });
    }
    const findings = await checkPackageSource(temporary);
    if (findings.some(isError)) return ok(findings);
    if ((await whatIsAt(out, name)) !== there) {
      return fail("E_PRECONDITION_FAILED", "changed meanwhile: nothing was written");
    }
    if (there === "nothing") await rename(temporary, out);
    else for (const entry of await readdir(temporary)) await rename(join(temporary, entry), join(out, entry));
    await syncDirectory(there === "nothing" ? dirname(out) : out);
    return ok(findings);
  } catch (error) {
    const code = requireSystemCode(error);
    const remedy = writeRemedy(code, "check the directory it is to lie in");
    return fail("E_INTERNAL", `cannot be written (${code}): ${remedy}`);
  } finally {
    await removeLeftover(temporary);
  }
}

const TAKEN = fail("E_PRECONDITION_FAILED", "is there already: name another directory, or remove it");

/** Whether a package can be written there, as far as what is there tells: for whoever has to be asked what it is to be. */
export async function canBeWritten(out: string): Promise<Result<undefined>> {
  return (await whatIsAt(out)) === "something" ? TAKEN : ok(undefined);
}

/** `ours` is the name of what we have made there. */
async function whatIsAt(path: string, ours?: string): Promise<"nothing" | "no files" | "something"> {
  const entry = await lstat(path).catch(() => undefined);
  if (entry === undefined) return "nothing";
  const names = await readdir(path).catch(() => undefined);
  return names?.every((name) => name === ours || isLitter(name)) === true ? "no files" : "something";
}
