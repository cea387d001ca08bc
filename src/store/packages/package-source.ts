import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Finding, WHOLE_PACKAGE, errorFinding } from "../../core/package/findings.js";
import { requireSystemCode } from "../../core/system-code.js";
import { unpackArchive } from "./package-archive.js";
import { listPackage } from "./package-files.js";
import { type PackageReport, loadNewPackage } from "./package-loader.js";

/** What a path given as a package turns out to be; the path itself may be a link. */
export type SourceKind = "directory" | "file" | "text" | "nothing" | "other";

/** What workflows begin with that are no packages. */
const IS_TEXT = /\.(?:md|ya?ml)$/i;

export async function kindOfSource(source: string): Promise<SourceKind> {
  const entry = await stat(source).catch(() => undefined);
  if (entry === undefined) return "nothing";
  if (entry.isDirectory()) return "directory";
  if (!entry.isFile()) return "other";
  return IS_TEXT.test(source) ? "text" : "file";
}

/** What to say of a path that is no package; undefined when it may be one. */
export function sourceFinding(kind: SourceKind): Finding | undefined {
  if (kind === "directory" || kind === "file") return undefined;
  return errorFinding(WHOLE_PACKAGE, "$", NO_SOURCE[kind]);
}

const NO_SOURCE = {
  nothing: "there is no package directory or .bmad archive at this path",
  text: "is no package: BMAD's workflow.yaml runs with interlock bundle run, and of a workflow.md or a SKILL.md interlock package import makes a package",
  other: "is neither a directory nor an archive: give one of the two",
} as const;

/** Checks a package directory or a `.bmad` archive without installing it. */
export async function checkPackageSource(source: string): Promise<readonly Finding[]> {
  return (await loadPackageSource(source)).findings;
}

/** Loads a package from a directory or a `.bmad` archive, which is unpacked aside and removed again: its `dir` is gone then. */
export async function loadPackageSource(source: string): Promise<PackageReport> {
  const kind = await kindOfSource(source);
  const problem = sourceFinding(kind);
  if (problem !== undefined) return { findings: [problem] };
  if (kind === "directory") return loadNewPackage(await listPackage(source));
  try {
    return await loadArchive(source);
  } catch (error) {
    const sentence = `could not be unpacked to be checked (${requireSystemCode(error)}): see to space for temporary files`;
    return { findings: [errorFinding(WHOLE_PACKAGE, "$", sentence)] };
  }
}

async function loadArchive(source: string): Promise<PackageReport> {
  const scratch = await mkdtemp(join(tmpdir(), "interlock-check-"));
  try {
    const unpacked = join(scratch, "package");
    const findings = await unpackArchive(source, unpacked);
    return findings.length > 0 ? { findings } : await loadNewPackage(await listPackage(unpacked));
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}
