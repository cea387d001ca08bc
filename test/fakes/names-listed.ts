import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

/** How many names of directories this process reads, synchronously, while something is done: what that costs grows with them. */
export async function namesListed(action: () => unknown): Promise<number> {
  let names = 0;
  const { readdirSync } = fs;
  fs.readdirSync = ((...args: Parameters<typeof readdirSync>) => {
    const listed = readdirSync(...args);
    names += listed.length;
    return listed;
  }) as typeof readdirSync;
  syncBuiltinESMExports();
  try {
    await action();
  } finally {
    fs.readdirSync = readdirSync;
    syncBuiltinESMExports();
  }
  return names;
}
