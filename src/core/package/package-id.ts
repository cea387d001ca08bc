const MAX_SLUG_CHARS = 40;
const MAX_VERSION_CHARS = 30;
const DIGEST_CHARS = 16;
const NAMELESS = "package";

/**
 * The id under which a package is installed: `<name>-<version>-<digest>`. Name and version are there for
 * people and cut to what every file system takes as one name; the digest tells packages apart.
 */
export function packageIdOf(name: string, version: string, contentSha256: string): string {
  return `${releaseOf(name, version)}-${contentSha256.slice(0, DIGEST_CHARS)}`;
}

/** How the archive of a package is called where nobody says how. */
export function archiveNameOf({
  name,
  version,
}: {
  readonly name: string;
  readonly version: string;
}): string {
  return `${releaseOf(name, version)}.bmad`;
}

function releaseOf(name: string, version: string): string {
  const slug = slugOf(name) || NAMELESS;
  const release = plain(version, /[^a-z0-9.]+/g, MAX_VERSION_CHARS) || "0";
  return `${slug}-${release}`;
}

/** Whether a text can be the id of an installed package: one visible file name, nothing that leads elsewhere. */
export function isPackageId(text: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/.test(text);
}

/** Whether what is installed under an id may be meant by a name, or by `name@version`. */
export function mayBeCalled(packageId: string, named: string): boolean {
  const names = [named, named.replace(/@[^@]*$/, "")];
  return names.some((name) => packageId.startsWith(`${slugOf(name) || NAMELESS}-`));
}

/** A name in small letters, digits and dashes, at most 40; empty where nothing of it is left. */
export function slugOf(name: string): string {
  return plain(name, /[^a-z0-9]+/g, MAX_SLUG_CHARS);
}

function plain(text: string, others: RegExp, maxChars: number): string {
  const ascii = text
    .slice(0, 10 * maxChars)
    .normalize("NFKD")
    .toLowerCase()
    .replace(/\p{M}/gu, "");
  const allowed = ascii.replace(others, "-").replace(/\.{2,}/g, ".");
  return trimmed(trimmed(allowed).slice(0, maxChars));
}

function trimmed(text: string): string {
  return text.replace(/^[-.]+/, "").replace(/[-.]+$/, "");
}
