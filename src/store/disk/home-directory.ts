import { homedir } from "node:os";
import { isAbsolute } from "node:path";

/**
 * The home directory of whoever runs this process. Undefined where there is none: HOME is no absolute path, or it is unset and the
 * machine does not know the user, as in a container that is given any number for one.
 */
export function homeDirectory(): string | undefined {
  try {
    const home = homedir();
    return isAbsolute(home) ? home : undefined;
  } catch {
    return undefined;
  }
}
