import { isIPv4 } from "node:net";
import { barredPort } from "../../core/barred-port.js";
import { UsageError } from "../terminal/output.js";

/** Throws `UsageError` for anything but a whole number above 0, or from 0 on where `least` is 0. */
export function wholeNumber(option: string, text: string, least: 0 | 1 = 1): number {
  if (/^[1-9]\d{0,11}$/.test(text) || (least === 0 && text === "0")) return Number(text);
  throw new UsageError(`${option} takes a whole number${least === 0 ? ", 0 or above" : " above 0"}.`);
}

/** Throws `UsageError` for anything but a number above 0. */
export function amount(option: string, text: string): number {
  const value = Number(text);
  if (!/^\d{1,12}(\.\d{1,9})?$/.test(text) || value <= 0) {
    throw new UsageError(`${option} takes a number above 0, such as 2.50.`);
  }
  return value;
}

/** What `--port` says: a port to serve browsers at, 0 for any that is free. Throws `UsageError`, also for one that no browser asks at. */
export function portForBrowsers(text: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65_535) {
    throw new UsageError("--port takes a number from 0 (any free port) to 65535.");
  }
  if (port === 0 || barredPort(new URL(`http://127.0.0.1:${port}`)) === undefined) return port;
  throw new UsageError(
    `--port: browsers are barred from port ${port}, which other protocols have. Choose another port.`,
  );
}

/**
 * What `--host` says: where to listen for browsers, which come by 127.0.0.1. What listens on IPv6 alone they do not reach, and Node takes
 * an empty host for all of them. Throws `UsageError`.
 */
export function hostForBrowsers(text: string): string {
  if (isIPv4(text) || text === "::") return text;
  throw new UsageError("--host takes an IPv4 address, as 0.0.0.0 in a container, or :: for all.");
}
