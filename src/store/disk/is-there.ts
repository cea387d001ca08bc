import { lstat, stat } from "node:fs/promises";

/** Whether a path leads to anything; a link that leads nowhere does not. */
export function leadsSomewhere(path: string): Promise<boolean> {
  return succeeds(stat(path));
}

/** Whether anything stands at a path, be it a link that leads nowhere. */
export function isThere(path: string): Promise<boolean> {
  return succeeds(lstat(path));
}

function succeeds(look: Promise<unknown>): Promise<boolean> {
  return look.then(
    () => true,
    () => false,
  );
}
