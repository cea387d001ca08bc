import {
  type Stats,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  opendirSync,
  readSync,
  realpathSync,
} from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { type Finding, WHOLE_PACKAGE, errorFinding } from "../../core/package/findings.js";
import { checkPathCollisions, isLitter, packagePathProblem } from "../../core/package/package-path.js";
import { mayPass, requireSystemCode, unreadNow } from "../../core/system-code.js";

/**
 * Reading package directories made by strangers. Only regular files count; links, devices, sockets and pipes
 * are refused where they lie and never opened. On Linux each path is opened name by name relative to its
 * parent's descriptor without following links; elsewhere the last name alone is guarded so, which leaves a
 * gap to someone who exchanges a folder for a link while the package is read. System calls are synchronous,
 * since thousands of small ones wait longer for the thread pool than they take; every so many of them, others
 * get their turn.
 */

/** Bounds on a whole package (contracts §2); the same for directories and archives. */
export const MAX_PACKAGE_FILES = 10_000;
export const MAX_PACKAGE_BYTES = 256 * 1024 * 1024;

/** A regular file of a package, by its canonical path. */
interface PackageFile {
  readonly path: string;
  readonly bytes: number;
}

export interface PackageListing {
  /** Real path of the package's root. */
  readonly root: string;
  /** Sorted by the bytes of the path, litter left out. */
  readonly files: readonly PackageFile[];
  readonly findings: readonly Finding[];
  /** False when the walk ended early: then nothing can be said of what `files` lacks. */
  readonly complete: boolean;
}

/** Finds every file below a directory, or says why one may not be there. */
export async function listPackage(dir: string): Promise<PackageListing> {
  const root = orNothing(dir, () => realpathSync.native(dir));
  if (root === undefined || orNothing(root, () => lstatSync(root))?.isDirectory() !== true) {
    const finding = errorFinding(WHOLE_PACKAGE, "$", "there is no package directory here: check the path");
    return { root: dir, files: [], findings: [finding], complete: false };
  }
  const walk = new PackageWalk(root);
  const complete = await walk.run();
  const files = walk.files.sort((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)));
  const paths = files.map((file) => file.path);
  return {
    root,
    files,
    findings: [...walk.findings, ...checkPathCollisions(paths, walk.folders)],
    complete,
  };
}

/** Collects files breadth first, within the bounds of a package. */
class PackageWalk {
  readonly files: PackageFile[] = [];
  readonly folders: string[] = [];
  readonly findings: Finding[] = [];
  private readonly root: string;
  private entries = 0;
  private totalBytes = 0;

  constructor(root: string) {
    this.root = root;
  }

  /** Whether everything was seen. */
  async run(): Promise<boolean> {
    if (!this.visit("")) return false;
    for (const folder of this.folders) {
      if (!this.visit(folder)) return false;
      await breathe(1);
    }
    return true;
  }

  private visit(folder: string): boolean {
    try {
      return withFolder(this.root, folder, (address) => {
        const directory = opendirSync(address);
        try {
          for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) {
            if (isLitter(entry.name)) continue;
            this.entries += 1;
            if (this.entries > MAX_PACKAGE_FILES) return this.tooMany();
            const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
            this.note(
              path,
              orNothing(path, () => lstatSync(join(address, entry.name))),
            );
          }
          return true;
        } finally {
          directory.closeSync();
        }
      });
    } catch (error) {
      if (error instanceof PackageUnreadNow) throw error;
      this.refuse(
        folder || WHOLE_PACKAGE,
        `cannot be listed (${requireLastingCode(folder || WHOLE_PACKAGE, error)}): check its permissions`,
      );
      return true;
    }
  }

  private note(path: string, entry: Stats | undefined): void {
    const problem = packagePathProblem(path);
    if (problem !== undefined) return this.refuse(path, `the name ${problem}`);
    // A name that is not UTF-8 came to us with replacement characters, under which there is no entry.
    if (entry === undefined) return this.refuse(path, "cannot be looked at: its name may not be UTF-8");
    if (entry.isDirectory()) {
      this.folders.push(path);
      return undefined;
    }
    if (!entry.isFile()) return this.refuse(path, `is ${kindOf(entry)}: a package holds regular files only`);
    this.files.push({ path, bytes: entry.size });
    const before = this.totalBytes;
    this.totalBytes += entry.size;
    if (before <= MAX_PACKAGE_BYTES && this.totalBytes > MAX_PACKAGE_BYTES) {
      this.refuse(
        WHOLE_PACKAGE,
        `the files are larger than ${MAX_PACKAGE_BYTES} bytes together: leave some out`,
      );
    }
    return undefined;
  }

  private tooMany(): boolean {
    this.refuse(WHOLE_PACKAGE, `there are more than ${MAX_PACKAGE_FILES} files and folders: leave some out`);
    return false;
  }

  private refuse(file: string, message: string): void {
    this.findings.push(errorFinding(file, "$", message));
  }
}

/** A file that could not be read as part of a package. */
export class PackageFileRefused extends Error {
  readonly finding: Finding;
  /** The system's code, where it has refused it. */
  readonly code: string;

  constructor(path: string, message: string, code = "") {
    super(message);
    this.code = code;
    this.finding = errorFinding(path, "$", message);
  }
}

/** What of a package cannot be read now: that says nothing of the package. */
export class PackageUnreadNow extends Error {
  readonly code: string;

  constructor(path: string, code: string) {
    super(unreadNow(path, code));
    this.code = code;
  }
}

/** The code of an error that stays until somebody sees to the file. Throws `PackageUnreadNow` where it may pass. */
function requireLastingCode(path: string, error: unknown): string {
  const code = requireSystemCode(error);
  if (mayPass(code)) throw new PackageUnreadNow(path, code);
  return code;
}

/** Reads a file of at most `maxBytes`. Throws `PackageFileRefused`. */
export async function readPackageFile(root: string, path: string, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of streamPackageFile(root, path, maxBytes)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const CHUNK_BYTES = 64 * 1024;

/** The bytes of a regular file, chunk by chunk. Throws `PackageFileRefused`, at the latest past `maxBytes`. */
export async function* streamPackageFile(
  root: string,
  path: string,
  maxBytes: number,
): AsyncGenerator<Uint8Array, void> {
  const fd = openPackageFile(root, path);
  try {
    const { size } = fstatSync(fd);
    if (size > maxBytes) throw tooLarge(path, size, maxBytes);
    for (let total = 0; ;) {
      const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
      const bytesRead = readSync(fd, buffer);
      if (bytesRead === 0) return;
      total += bytesRead;
      if (total > maxBytes) throw tooLarge(path, total, maxBytes);
      await breathe(bytesRead);
      yield buffer.subarray(0, bytesRead);
    }
  } catch (error) {
    if (error instanceof PackageFileRefused) throw error;
    throw new PackageFileRefused(path, `cannot be read (${requireLastingCode(path, error)})`);
  } finally {
    closeSync(fd);
  }
}

const BYTES_PER_BREATH = 1024 * 1024;
const BREATH_BASE_BYTES = 16 * 1024;
let bytesSinceBreath = 0;

/** Lets others run after about a megabyte, a system call counting as much as some kilobytes. */
export async function breathe(bytes: number): Promise<void> {
  bytesSinceBreath += BREATH_BASE_BYTES + bytes;
  if (bytesSinceBreath < BYTES_PER_BREATH) return;
  bytesSinceBreath = 0;
  await setImmediate();
}

function tooLarge(path: string, bytes: number, maxBytes: number): PackageFileRefused {
  return new PackageFileRefused(
    path,
    `is ${bytes} bytes large; at most ${maxBytes} are allowed here: split it`,
  );
}

function openPackageFile(root: string, path: string): number {
  const slash = path.lastIndexOf("/");
  try {
    const fd = withFolder(root, path.slice(0, Math.max(slash, 0)), (address) =>
      openSync(join(address, path.slice(slash + 1)), constants.O_RDONLY | NO_FOLLOW | NON_BLOCK),
    );
    if (fstatSync(fd).isFile()) return fd;
    closeSync(fd);
  } catch (error) {
    const code = requireLastingCode(path, error);
    throw new PackageFileRefused(path, `cannot be opened (${code}): check its permissions`, code);
  }
  throw new PackageFileRefused(path, "is not a regular file");
}

const NO_FOLLOW = constants.O_NOFOLLOW ?? 0;
const NON_BLOCK = constants.O_NONBLOCK ?? 0;
const DIRECTORY = constants.O_DIRECTORY ?? 0;

/** Runs `action` with a path under which the folder can be used while its descriptor is held. */
function withFolder<T>(root: string, folder: string, action: (address: string) => T): T {
  if (process.platform !== "linux") return action(join(root, folder));
  let fd = openSync(root, constants.O_RDONLY | DIRECTORY);
  try {
    for (const name of folder === "" ? [] : folder.split("/")) {
      const child = openSync(`/proc/self/fd/${fd}/${name}`, constants.O_RDONLY | DIRECTORY | NO_FOLLOW);
      closeSync(fd);
      fd = child;
    }
    return action(`/proc/self/fd/${fd}`);
  } finally {
    closeSync(fd);
  }
}

/** What a look at a path finds; undefined where the system refuses it. Throws `PackageUnreadNow` where that may pass. */
function orNothing<T>(path: string, look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    requireLastingCode(path, error);
    return undefined;
  }
}

function kindOf(entry: Stats): string {
  if (entry.isSymbolicLink()) return "a link";
  if (entry.isFIFO()) return "a named pipe";
  if (entry.isSocket()) return "a socket";
  return "a device";
}
