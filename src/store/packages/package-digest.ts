import { createHash } from "node:crypto";
import { MANIFEST_FILE } from "../../core/package/check-package.js";
import { type PackageListing, readPackageFile, streamPackageFile } from "./package-files.js";
import { sha256 } from "../disk/sha256.js";

/** The SHA-256 of each file of a package, in the order of the listing. */
export type FileDigests = ReadonlyMap<string, string>;

/** Throws `PackageFileRefused` when a file has grown since it was listed. */
export async function digestFiles(listing: PackageListing): Promise<FileDigests> {
  const digests = new Map<string, string>();
  for (const { path, bytes } of listing.files) {
    const hash = createHash("sha256");
    for await (const chunk of streamPackageFile(listing.root, path, bytes)) hash.update(chunk);
    digests.set(path, hash.digest("hex"));
  }
  return digests;
}

/**
 * The digest of a package's content: SHA-256 of what `sha256sum` prints for its files in the order of their
 * paths' bytes. Times, modes and empty folders do not count. Paths hold no line breaks, so no two packages
 * give the same lines.
 */
export function contentDigest(digests: FileDigests): string {
  return sha256([...digests].map(([path, digest]) => `${digest}  ${path}\n`).join(""));
}

/**
 * What `integrity.sha256` of the manifest should be: the content digest with the declared digits, wherever
 * they stand in bmad.json, read as zeros. So it covers every byte but its own.
 */
export async function integrityDigest(
  listing: PackageListing,
  digests: FileDigests,
  declared: string,
): Promise<string> {
  const size = listing.files.find((file) => file.path === MANIFEST_FILE)?.bytes ?? 0;
  const manifest = Buffer.from(await readPackageFile(listing.root, MANIFEST_FILE, size)).toString("latin1");
  const zeroed = Buffer.from(manifest.replaceAll(declared, "0".repeat(declared.length)), "latin1");
  return contentDigest(new Map(digests).set(MANIFEST_FILE, sha256(zeroed)));
}
