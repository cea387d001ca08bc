import type { OtherServer } from "./stage.js";

/** The command line asks for something that there is not; its message says what. */
export class WrongUsage extends Error {}

/** The kernel's own limit. */
const MOST_PIDS = 4_194_304;

/** `--address` and `--server-pid`. Throws `WrongUsage`. */
export function otherServer(address: string | undefined, pid: string | undefined): OtherServer | undefined {
  if (address === undefined && pid === undefined) return undefined;
  if (address === undefined || pid === undefined)
    throw new WrongUsage("--address and --server-pid go together.");
  return { address, pid: count(pid, "--server-pid", 1, MOST_PIDS) };
}

/** A whole number that was given as an option. Throws `WrongUsage`. */
export function count(text: string, option: string, least = 1, most = 1_000): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < least || value > most) {
    throw new WrongUsage(`${option} takes whole numbers from ${least} to ${most}, not ${text}.`);
  }
  return value;
}
