import { createHash } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { systemCode } from "../core/system-code.js";

/**
 * What a worker is called in Temporal: `<process id>@<host>/<place>`. The place says where its process id means anything: two
 * containers may have the same host name, and the same process ids. Where the system does not tell, there is none.
 */
export function workerIdentity(): string {
  const place = processPlace();
  return `${process.pid}@${hostname()}${place === undefined ? "" : `/${place}`}`;
}

/** False for a worker whose process would be seen from here if it lived, and for one that is seen to be stopped, as by Ctrl-Z. */
export function mayLive(identity: string): boolean {
  const [, pid = "", where = ""] = /^(\d+)@(.*)$/.exec(identity) ?? [];
  const place = processPlace();
  if (place === undefined || where !== `${hostname()}/${place}`) return true;
  try {
    process.kill(Number(pid), 0);
    return !isIdle(pid);
  } catch (error) {
    return systemCode(error) === "EPERM";
  }
}

/** Stopped, or ended and not yet asked how: neither takes a task. Only Linux is asked. */
function isIdle(pid: string): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return /^\) [TZX]/u.test(stat.slice(stat.lastIndexOf(")")));
  } catch {
    return false;
  }
}

let known: string | undefined;

/** The start of this machine and the namespace of its process ids, in short; undefined where there is nothing to tell it by. */
function processPlace(): string | undefined {
  try {
    known ??= createHash("sha256")
      .update(readFileSync("/proc/sys/kernel/random/boot_id", "utf8"))
      .update(readlinkSync("/proc/self/ns/pid"))
      .digest("hex")
      .slice(0, 8);
    return known;
  } catch {
    return process.platform === "linux" ? undefined : "here"; // elsewhere a machine has one list of processes
  }
}
