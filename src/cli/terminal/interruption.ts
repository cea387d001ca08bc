import { once } from "node:events";
import { constants } from "node:os";
import { EXIT, outputClosed, outputTaken } from "./output.js";

/** What a command is stopped by: Ctrl-C, another process, its terminal that is closed. */
const STOPPING_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
type StoppingSignal = (typeof STOPPING_SIGNALS)[number];

let stoppedBy: StoppingSignal | undefined;
const stopped = new AbortController();

/** The last one counts, but for a terminal that is gone: nothing brings it back. */
export function noteStopped(signal: StoppingSignal): void {
  if (stoppedBy !== "SIGHUP") stoppedBy = signal;
  stopped.abort();
}

export function wasStopped(): boolean {
  return stopped.signal.aborted;
}

/**
 * Waits for whoever reads the output, however slowly, unless the command is stopped. Returns how it ended: as it did, or stopped with
 * what was left to be read.
 */
export async function exitCodeOnceRead(exitCode: number): Promise<number> {
  if (stoppedBy !== undefined) return exitCodeUnlessStopped(exitCode);
  let isRead = false;
  const read = outputTaken().then(() => (isRead = true));
  await Promise.race([read, untilStopped(stopped.signal)]);
  return exitCodeUnlessStopped(isRead ? exitCode : EXIT.failed);
}

/** The exit code of a command that may have been stopped before it was done: not that of one that has failed, but as shells see programs that do not listen to a signal, 128 and its number. */
function exitCodeUnlessStopped(exitCode: number): number {
  return stoppedBy === undefined || exitCode !== EXIT.failed ? exitCode : 128 + constants.signals[stoppedBy];
}

/** Ends the process where its terminal was closed, as one that does not listen is ended: Node's own way out aborts on a terminal that is gone. */
export function endIfHungUp(): void {
  if (stoppedBy === "SIGHUP") process.kill(process.pid, stoppedBy);
}

/**
 * A signal that fires at Ctrl-C or SIGTERM, when the terminal is closed, and when nobody reads the output any more. A second
 * Ctrl-C ends the process the usual way, and so does the first once `done` is aborted.
 */
export function interruption(done?: AbortSignal): AbortSignal {
  const controller = new AbortController();
  for (const name of STOPPING_SIGNALS) {
    const stop = (): void => {
      noteStopped(name);
      controller.abort(new Error(name));
    };
    process.once(name, stop);
    done?.addEventListener("abort", () => process.off(name, stop), { once: true });
  }
  return AbortSignal.any([controller.signal, outputClosed]);
}

/** Resolves when the signal has fired. */
export async function untilStopped(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, "abort");
}

/**
 * Leaves Ctrl-C to the program that has the terminal, until it is done: the terminal sends it to both, and what it means there is that
 * program's to say.
 */
export async function leavingCtrlC<T>(done: Promise<T>): Promise<T> {
  const ours = process.rawListeners("SIGINT") as NodeJS.SignalsListener[]; // listeners of a signal
  const pass = (): void => undefined;
  process.on("SIGINT", pass);
  for (const listener of ours) process.off("SIGINT", listener);
  try {
    return await done;
  } finally {
    for (const listener of ours) process.on("SIGINT", listener);
    process.off("SIGINT", pass);
  }
}
