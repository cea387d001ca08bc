/** What a project's id begins with: the name of its directory in small letters, digits and hyphens (contracts §3). May be empty. */
export function projectSlug(directory: string): string {
  return directory
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 40);
}
