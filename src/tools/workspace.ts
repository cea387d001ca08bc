import { existsSync } from "node:fs";
import { isAbsolute } from "node:path";
import type { MountName } from "../core/tools/alias-path.js";
import { DEFAULT_PROTECTED_PATHS, type ProtectedPaths } from "./name-rules.js";
import { type Pins, descriptorPins, pathPins } from "./pinned-entry.js";

/** The host directories behind the mounts, as absolute paths. */
type MountRoots = Readonly<Record<MountName, string>>;

export interface WorkspaceOptions {
  readonly roots: MountRoots;
  /**
   * A private directory outside all mounts for kernel lock files, made (0700) when missing. Writers exclude
   * each other only if they share it: use one per store, not one per run.
   */
  readonly lockDir: string;
  /** Default: `.git` cannot be written; `.env` and `.env.*`, except `.env.example`, neither read nor written. */
  readonly protectedPaths?: ProtectedPaths;
  /**
   * Host directories that `@project` never leads into, should they lie inside it: the store. The roots of the
   * other mounts and `lockDir` always belong to them, so that `@project` is no way around their rules.
   */
  readonly keepOut?: readonly string[];
}

/** The mounts of a run as the file tools see them. A plain value: it holds nothing open between calls. */
export interface Workspace {
  readonly roots: MountRoots;
  readonly lockDir: string;
  readonly protectedPaths: ProtectedPaths;
  readonly keepOut: readonly string[];
  readonly pins: Pins;
}

/** The agent's limits in bytes, already cut to the host's cap. */
export interface FileLimits {
  readonly maxReadBytes: number;
  readonly maxWriteBytes: number;
}

/**
 * What the file tools promise, whatever a model asks for (contracts §7, §16):
 *
 * W1  Nothing outside the roots is opened, changed or probed. On Linux that holds against a second process
 *     which exchanges directories for links while a call runs; see `pinned-entry.ts` for other platforms.
 * W2  A link is never followed by the kernel: `resolve.ts` reads its text and walks on from the root itself.
 * W3  Only regular files are opened; a FIFO or a device is looked at through its name, never opened.
 * W4  No result names a host path, and no text of the operating system is passed on.
 * W5  A call leaves no temporary file, no directory of its own making after a failure, and no descriptor.
 *
 * What cannot be seen: a hard link inside a mount to a file outside it is a regular file like any other. It can
 * be read; a write replaces the name and leaves the other file alone. The same goes for bind mounts.
 */
export function openWorkspace(options: WorkspaceOptions): Workspace {
  if (process.platform !== "linux") return openWorkspaceWith(pathPins, options);
  // Rather no tools than weaker ones: a Linux without /proc does not fall back to paths.
  if (!existsSync("/proc/self/fd")) throw new Error("The file tools need /proc to be mounted.");
  return openWorkspaceWith(descriptorPins, options);
}

/** As `openWorkspace`, with the platform's way of pinning given: both are tested on Linux. */
export function openWorkspaceWith(pins: Pins, options: WorkspaceOptions): Workspace {
  const { roots, lockDir, keepOut = [] } = options;
  for (const path of [...Object.values(roots), lockDir, ...keepOut]) {
    if (!isAbsolute(path)) throw new TypeError("The directories of a workspace must be absolute paths.");
  }
  return {
    roots,
    lockDir,
    protectedPaths: options.protectedPaths ?? DEFAULT_PROTECTED_PATHS,
    keepOut: [roots.pkg, roots.state, lockDir, ...keepOut],
    pins,
  };
}
