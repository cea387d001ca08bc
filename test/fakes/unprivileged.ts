import { execFileSync } from "node:child_process";

/** Of nobody in particular. */
const UNPRIVILEGED = 65_534;
const isRoot = process.getuid?.() === 0;

/** A user without special rights who owns what lies in a directory, for a process to become; none when we are one. */
export function unprivileged(dir: string): { readonly uid?: number } {
  if (!isRoot) return {};
  execFileSync("chown", ["-R", `${UNPRIVILEGED}:${UNPRIVILEGED}`, dir]);
  return { uid: UNPRIVILEGED };
}

/** Does something without special rights, in a directory that is then one's own. What was opened before stays open. */
export async function withoutRights<T>(dir: string, action: () => Promise<T>): Promise<T> {
  if (!isRoot) return action();
  unprivileged(dir);
  process.seteuid?.(UNPRIVILEGED); // of all threads; the real user may take it back
  try {
    return await action();
  } finally {
    process.seteuid?.(0);
  }
}
