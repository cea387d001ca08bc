import { readFileSync } from "node:fs";

/** Whether a process runs. One that has ended and that nobody has asked for yet does not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return process.platform !== "linux"; // elsewhere there is no such file
  }
}
