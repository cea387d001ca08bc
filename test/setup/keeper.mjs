// Waits until the runner of the tests is gone, in order or not, then ends every process that was started in the run's folder
// and removes it. Started by run-folder.ts, which holds the other end of its standard input.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync, rmSync } from "node:fs";

const folder = process.argv[2];
if (!folder) throw new Error("Usage: keeper.mjs FOLDER");

/** Processes whose command line or environment names the folder. */
function* inFolder() {
  if (!existsSync("/proc/self/environ")) {
    const lines = execFileSync("ps", ["eww", "-axo", "pid=,command="], { encoding: "utf8" }).split("\n");
    for (const line of lines) if (line.includes(folder)) yield Number.parseInt(line, 10);
    return;
  }
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const texts = ["cmdline", "environ"].map((name) => readFileSync(`/proc/${pid}/${name}`, "utf8"));
      if (texts.some((text) => text.includes(folder))) yield Number(pid);
    } catch {
      // It has ended, or is another user's.
    }
  }
}

function endAll() {
  let found = 0;
  for (const pid of inFolder()) {
    if (pid === process.pid) continue;
    found += 1;
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has ended.
    }
  }
  return found;
}

process.stdin.resume().once("close", () => {
  const clearing = setInterval(() => {
    if (endAll() > 0) return; // once more: one of them may have started another
    clearInterval(clearing);
    rmSync(folder, { recursive: true, force: true });
  }, 20);
});
