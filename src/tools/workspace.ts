import { existsSync } from "node:fs";
import { isAbsolute } from "node:path";
import { type AliasPath, type MountName, mountLabel } from "../core/tools/alias-path.js";
import type { FileIdentity } from "../store/root-places.js";
import { Refusal } from "./faults.js";
import { DEFAULT_PROTECTED_PATHS, NOTHING_PROTECTED, type ProtectedPaths } from "../core/tools/name-rules.js";
import { type Pins, descriptorPins, pathPins } from "./pinned-entry.js";

/** One place that a model may name, and its rules. */
export interface Mount {
  /** The host directory behind it, as an absolute path. */
  readonly root: string;
  /** What the directory was when it was permitted; absent where nobody has looked. */
  readonly identity?: FileIdentity | undefined;
  readonly writable: boolean;
  /** Links that stay inside are followed; otherwise none is. */
  readonly followsLinks: boolean;
  /** What is made in it belongs to the user alone: 0600 and 0700. */
  readonly isPrivate: boolean;
  /** Names at its top that only the runtime writes. */
  readonly reserved: readonly string[];
  readonly protectedPaths: ProtectedPaths;
  /** Host directories and files that it never leads to, should they lie inside it. */
  readonly keepOut: readonly string[];
}

/** The host directories behind the mounts, as absolute paths. */
type MountRoots = Readonly<Record<MountName, string>>;

export interface WorkspaceOptions {
  readonly roots: MountRoots;
  /** What the project's directory was when it was permitted. */
  readonly projectIdentity?: FileIdentity | undefined;
  /**
   * A private directory outside all mounts for kernel lock files, made (0700) when missing. Writers exclude
   * each other only if they share it: use one per store, not one per run.
   */
  readonly lockDir: string;
  /** Default: those of `protected-names.ts`. */
  readonly protectedPaths?: ProtectedPaths;
  /**
   * Host directories and files that `@project` never leads to, should they lie inside it: the store. The roots of the
   * other mounts and `lockDir` always belong to them, so that `@project` is no way around their rules.
   */
  readonly keepOut?: readonly string[];
  readonly writer?: Writer;
}

/** The mounts of a run as the file tools see them. A plain value: it holds nothing open between calls. */
export interface Workspace {
  readonly mounts: ReadonlyMap<AliasPath["mount"], Mount>;
  readonly lockDir: string;
  readonly pins: Pins;
  /** Whose writes these are. */
  readonly writer?: Writer;
}

/** An execution of a run, for whoever finds what it has left. */
export interface Writer {
  readonly runId: string;
  readonly execution: number;
}

/** The mount a path is on. A workspace without it refuses the path. */
export function mountOf(workspace: Workspace, path: AliasPath): Mount {
  const mount = workspace.mounts.get(path.mount);
  if (mount !== undefined) return mount;
  throw new Refusal("E_SANDBOX_VIOLATION", `This run has no ${mountLabel(path.mount)}.`);
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
  return openWorkspaceWith(platformPins(), options);
}

/** As `openWorkspace`, for mounts with rules of their own. */
export function openMounts(mounts: Workspace["mounts"], lockDir: string, writer?: Writer): Workspace {
  const directories = [...mounts.values()].flatMap(({ root, keepOut }) => [root, ...keepOut]);
  for (const path of [lockDir, ...directories]) {
    if (!isAbsolute(path)) throw new TypeError("The directories of a workspace must be absolute paths.");
  }
  return { mounts, lockDir, pins: platformPins(), ...(writer === undefined ? {} : { writer }) };
}

export function platformPins(): Pins {
  if (process.platform !== "linux") return pathPins;
  // Rather no tools than weaker ones: a Linux without /proc does not fall back to paths.
  if (!existsSync("/proc/self/fd")) throw new Error("The file tools need /proc to be mounted.");
  return descriptorPins;
}

/** As `openWorkspace`, with the platform's way of pinning given: both are tested on Linux. */
export function openWorkspaceWith(pins: Pins, options: WorkspaceOptions): Workspace {
  const { roots, projectIdentity, lockDir, keepOut = [], protectedPaths = DEFAULT_PROTECTED_PATHS } = options;
  const plain = { followsLinks: false, isPrivate: false, reserved: [], keepOut: [] };
  const mounts = new Map<MountName, Mount>([
    [
      "project",
      {
        ...plain,
        root: roots.project,
        identity: projectIdentity,
        writable: true,
        followsLinks: true,
        protectedPaths,
        keepOut: [roots.pkg, roots.state, lockDir, ...keepOut],
      },
    ],
    ["pkg", { ...plain, root: roots.pkg, writable: false, protectedPaths: NOTHING_PROTECTED }],
    [
      "state",
      {
        ...plain,
        root: roots.state,
        writable: true,
        isPrivate: true,
        reserved: ["workflow.md", "logs"], // the guarded state document and the audit log
        protectedPaths: NOTHING_PROTECTED,
      },
    ],
  ]);
  return { ...openMounts(mounts, lockDir, options.writer), pins };
}
