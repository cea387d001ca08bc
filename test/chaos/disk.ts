import { execFile, execFileSync } from "node:child_process";
import { cpSync, mkdirSync, renameSync, rmSync, rmdirSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Where the store and the projects lie, and how it gets full. */
export interface Disk {
  readonly dir: string;
  readonly kind: "small file system" | "limit on file sizes";
  /** Workers cannot write until it is freed. */
  fill(workers: readonly number[]): Promise<void>;
  /** Nobody can write until it is freed, as after an error of the device; false where that cannot be had. */
  freeze(): Promise<boolean>;
  free(): Promise<void>;
  /** Makes it a directory like any other. */
  settle(): void;
  remove(): void;
}

const SIZE_MIB = 192;
const FREEZING_ATTEMPTS = 200;
/** Longer files cannot grow, shorter ones only up to it. */
const FILE_LIMIT_BYTES = 1_024;

/** A small file system of its own where one can be mounted; else the size of the workers' files is limited for a while. */
export function openDisk(dir: string, mayMount: boolean): Disk {
  mkdirSync(dir);
  if (!mayMount) return limitedFiles(dir);
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${SIZE_MIB}m,mode=700`, "tmpfs", dir], {
      stdio: "pipe",
    });
    return smallFileSystem(dir);
  } catch {
    return limitedFiles(dir);
  }
}

function smallFileSystem(dir: string): Disk {
  const ballast = join(dir, "ballast");
  let isMounted = true;
  process.once("exit", unmount); // whoever is interrupted leaves no file system behind
  function unmount(): void {
    process.off("exit", unmount);
    execFileSync("umount", ["--lazy", dir]);
    isMounted = false;
    rmdirSync(dir);
  }
  function remounted(how: "ro" | "rw"): Promise<boolean> {
    return run("mount", ["-o", `remount,${how}`, dir]).then(
      () => true,
      () => false,
    );
  }
  return {
    dir,
    kind: "small file system",
    async fill() {
      const { bavail, bsize } = statfsSync(dir);
      try {
        writeFileSync(ballast, Buffer.alloc(bavail * bsize + bsize));
      } catch {
        // full, as it should be
      }
    },
    async freeze() {
      for (let attempt = 0; attempt < FREEZING_ATTEMPTS; attempt += 1) {
        if (await remounted("ro")) return true; // refused while a file is open to be written
      }
      return false;
    },
    async free() {
      await remounted("rw");
      rmSync(ballast, { force: true });
    },
    settle() {
      if (!isMounted) return;
      const copy = `${dir}.copy`;
      cpSync(dir, copy, { recursive: true });
      unmount();
      renameSync(copy, dir);
    },
    remove() {
      if (isMounted) unmount();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

function limitedFiles(dir: string): Disk {
  let limited: readonly number[] = [];
  const limit = async (pids: readonly number[], size: string) => {
    for (const pid of pids) {
      await run("prlimit", ["--pid", String(pid), `--fsize=${size}:unlimited`]).catch(() => undefined); // it is gone
    }
  };
  return {
    dir,
    kind: "limit on file sizes",
    async fill(workers) {
      limited = workers;
      await limit(workers, String(FILE_LIMIT_BYTES));
    },
    freeze: () => Promise.resolve(false),
    async free() {
      await limit(limited, "unlimited");
      limited = [];
    },
    settle: () => undefined,
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
}
