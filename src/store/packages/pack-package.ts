import { Readable } from "node:stream";
import { ZipFile } from "yazl";
import { type Finding, isError } from "../../core/package/findings.js";
import { addFile, writeZip } from "../disk/write-zip.js";
import { PackageFileRefused, type PackageListing, listPackage, streamPackageFile } from "./package-files.js";
import { type PackageReport, loadNewPackage } from "./package-loader.js";

/** A package directory that may become an archive: what is in it, and what its check says. */
export interface PackablePackage extends PackageReport {
  readonly listing: PackageListing;
}

/** Looks at a package directory and checks it, as an installation would. */
export async function readPackable(dir: string): Promise<PackablePackage> {
  const listing = await listPackage(dir);
  return { listing, ...(await loadNewPackage(listing)) };
}

/**
 * Writes the `.bmad` archive of a checked package. The same files give the same bytes everywhere: entries in the order of the
 * paths' bytes, one time and one mode for all, stored as they are, since deflaters differ. Gives findings where a file changed
 * since it was listed; then nothing is written. Throws what the system says of the output.
 */
export async function packPackage(
  { root, files }: PackageListing,
  output: string,
): Promise<readonly Finding[]> {
  const zip = new ZipFile();
  // A time of DOS has no zone: it is the same day and hour wherever it is written.
  const fixed = { mtime: new Date(1980, 0, 2), forceDosTimestamp: true, mode: 0o100644, compress: false };
  for (const { path, bytes } of files) {
    addFile(zip, path, { ...fixed, size: bytes }, () => Readable.from(streamPackageFile(root, path, bytes)));
  }
  try {
    await writeZip(output, zip);
    return [];
  } catch (error) {
    if (error instanceof PackageFileRefused && isError(error.finding)) return [error.finding];
    throw error;
  }
}
