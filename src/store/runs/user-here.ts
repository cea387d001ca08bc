/** Whose permissions count: `user 1000`. In a container that is seldom who has made the files. */
export function userHere(): string {
  return `user ${process.getuid?.() ?? "unknown"}`;
}
