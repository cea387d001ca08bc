import { realpath, stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { isError } from "../../core/package/findings.js";
import { archiveNameOf } from "../../core/package/package-id.js";
import { requireSystemCode, writeRemedy } from "../../core/system-code.js";
import { counted, excerpt, shellWord } from "../../core/text.js";
import { packPackage, readPackable } from "../../store/packages/pack-package.js";
import { CommandError, EXIT, type ExitCode, UsageError, print, printJson } from "../terminal/output.js";
import { printFindings } from "./package.js";

interface PackOptions {
  readonly out?: string;
  readonly json?: boolean;
}

/** `interlock package pack`: the `.bmad` archive of a package directory, the same bytes for the same files. */
export async function packagePackCommand(dir: string, options: PackOptions): Promise<ExitCode> {
  const entry = await stat(resolve(dir)).catch(() => undefined);
  if (entry?.isDirectory() !== true) {
    throw new UsageError(`"${excerpt(dir)}" is no directory. An archive is made of a package's directory.`);
  }
  const { listing, package: loaded, findings } = await readPackable(resolve(dir));
  if (loaded === undefined || findings.some(isError)) return refused(findings, options);
  const out = await outputOf(options.out ?? archiveNameOf(loaded.manifest), listing.root);
  const changed = await packPackage(listing, out).catch((error: unknown) => {
    const code = requireSystemCode(error);
    const remedy = writeRemedy(code, "check the directory it is to lie in");
    throw new CommandError(`"${excerpt(out)}" cannot be written (${code}): ${remedy}.`);
  });
  if (changed.length > 0) return refused(changed, options);
  const { size } = await stat(out);
  if (options.json === true)
    printJson({ ok: true, archive: out, bytes: size, files: listing.files.length, findings });
  else {
    printFindings(findings);
    print(`Made ${out} of ${counted(listing.files.length, "file")}, ${counted(size, "byte")}.`);
    print(`Install it with: interlock package install ${shellWord(out)}`);
  }
  return EXIT.done;
}

function refused(findings: Parameters<typeof printFindings>[0], options: PackOptions): ExitCode {
  if (options.json === true) printJson({ ok: false, findings });
  else {
    printFindings(findings);
    print("Nothing was packed: mend the errors first.");
  }
  return EXIT.failed;
}

/** Where the archive is written: a name that an archive has, and outside of the package, or the next one would hold this one. */
async function outputOf(named: string, root: string): Promise<string> {
  const out = resolve(named);
  if (!/[^/\\]\.bmad$/i.test(out)) {
    throw new UsageError(`"${excerpt(named)}" is no archive's name. Name a file that ends with .bmad.`);
  }
  const folder = await realpath(dirname(out)).catch(() => undefined);
  if (folder === undefined) throw new UsageError(`The directory "${excerpt(dirname(out))}" does not exist.`);
  const way = relative(root, folder);
  if (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way)) {
    throw new UsageError(
      `The archive would lie in the package itself. Name another place: --out ../${shellWord(basename(out))}`,
    );
  }
  const there = await stat(out).catch(() => undefined);
  if (there !== undefined && !there.isFile())
    throw new UsageError(`"${excerpt(named)}" is there already, and no file.`);
  return join(folder, basename(out));
}
