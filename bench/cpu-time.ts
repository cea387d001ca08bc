import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** Ticks in a second; the kernel counts CPU time in them. */
const TICKS =
  process.platform === "linux" ? Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" })) : 0;

/** CPU milliseconds, user and system, that a process has used with all its threads; undefined outside Linux. */
export function cpuMilliseconds(pid: number): number | undefined {
  if (process.platform !== "linux") return undefined;
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" "); // the name before it may hold spaces
  return ((Number(fields[11]) + Number(fields[12])) / TICKS) * 1_000;
}
