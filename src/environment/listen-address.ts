import { isIP } from "node:net";
import { z } from "zod";
import { isDenied, systemCode } from "../core/system-code.js";
import { excerpt } from "../core/text.js";

/** Where a port of ours listens. */
export interface ListenAddress {
  /** An IP address, without brackets. */
  readonly host: string;
  readonly port: number;
}

/** `9464` is a port of 127.0.0.1; `0.0.0.0:9464` and `[::]:9464` name the address. No host names: they may mean several. */
export const listenAddress = z.string().transform((text, context): ListenAddress => {
  const [, named = "127.0.0.1", port] = /^(?:(\[[\da-f:.]+\]|[\d.]+):)?(\d{1,5})$/i.exec(text) ?? [];
  const host = named.replace(/^\[|\]$/g, "");
  const number = Number(port);
  if (number >= 1 && number <= 65_535 && isIP(host) !== 0) return { host, port: number };
  context.addIssue({
    code: "custom",
    message: `"${excerpt(text)}" must be a port, or an IP address and a port, as 127.0.0.1:9464`,
  });
  return z.NEVER;
});

/** As it stands in a URL. */
export function addressText({ host, port }: ListenAddress): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** How a command is told another port, and another address. */
export interface ListenWays {
  readonly port: string;
  readonly address: string;
}

/** Why a server of ours does not listen, and what helps: a port helps nobody whose address does not exist. Undefined for an error of something else. */
export function notListening(error: unknown, at: ListenAddress, ways: ListenWays): string | undefined {
  if (!(error instanceof Error && "syscall" in error && error.syscall === "listen")) return undefined;
  const code = systemCode(error) ?? "";
  const place = `Port ${at.port} of ${at.host}`;
  if (code === "EADDRINUSE") return `${place} is taken. Name another one with ${ways.port}.`;
  const refused = `${place} cannot be listened on (${code})`;
  if (isDenied(code)) {
    return `${refused}: the system does not let this user have it. Name one from 1024 on with ${ways.port}.`;
  }
  if (code !== "EADDRNOTAVAIL" && code !== "EAFNOSUPPORT") return `${refused}.`;
  if (isLoopback(at.host)) {
    return `${refused}: the loopback interface is down, or has no such address (ip address show lo).`;
  }
  return `${refused}: this machine has no such address. Name one that it has with ${ways.address}.`;
}

function isLoopback(host: string): boolean {
  return host === "::1" || host.startsWith("127.");
}
