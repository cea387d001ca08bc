import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Victim } from "../crash/armed-build.js";

/** Starts a worker of another build of Interlock, that of a checkout, as its users do, and waits until it polls. */
export async function startOtherWorker(
  checkout: string,
  environment: Readonly<Record<string, string>>,
): Promise<Victim> {
  const child = spawn(process.execPath, [join(checkout, "dist/cli/main.js"), "worker", "--quiet"], {
    env: { ...environment, HOME: environment["INTERLOCK_STORE"], TEMPORAL_DEBUG: "1" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const texts = { output: "", errors: "" };
  child.stdout.on("data", (chunk) => (texts.output += String(chunk)));
  child.stderr.on("data", (chunk) => (texts.errors = `${texts.errors}${String(chunk)}`.slice(-10_000)));
  const ended = once(child, "close").then(([, signal]) => signal as NodeJS.Signals | null);
  let isOver = false;
  void ended.then(() => (isOver = true));
  while (!texts.output.includes("Worker polls")) {
    if (isOver) throw new Error(`The worker of ${checkout} ended before it polled.\n${texts.errors}`);
    await Promise.race([once(child.stdout, "data"), ended]);
  }
  return {
    process: child,
    ended,
    errors: () => texts.errors,
    async shutDown() {
      child.kill("SIGCONT");
      child.kill("SIGTERM");
      await ended;
    },
    async end() {
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
      await ended;
    },
  };
}
