import { isIP } from "node:net";
import { z } from "zod";
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
