import { rootCertificates } from "node:tls";
import { NativeConnection, type NativeConnectionOptions } from "@temporalio/worker";
import { wordsOf } from "../core/system-code.js";

/**
 * A worker's connection. Where nobody names the authority of Temporal's certificate, it goes by those of the system. A slim image has none; those that come
 * with Node are taken there, as by commands.
 */
export async function connectNatively(options: NativeConnectionOptions): Promise<NativeConnection> {
  try {
    return await NativeConnection.connect(options);
  } catch (error) {
    if (!/\bNativeCertsNotFound\b/.test(wordsOf(error))) throw error;
    const { tls } = options;
    const named = typeof tls === "object" && tls !== null ? tls : {};
    const serverRootCACertificate = Buffer.from(rootCertificates.join("\n"));
    return NativeConnection.connect({ ...options, tls: { ...named, serverRootCACertificate } });
  }
}
