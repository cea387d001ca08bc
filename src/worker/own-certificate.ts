import { X509Certificate } from "node:crypto";
import type { NativeConnectionOptions } from "@temporalio/worker";

/** Says of the certificate that a worker shows Temporal that it has expired, and what helps, once it has. */
export function certificateOver({ tls }: NativeConnectionOptions): () => string | undefined {
  const crt = typeof tls === "object" && tls !== null ? tls.clientCertPair?.crt : undefined;
  if (crt === undefined) return () => undefined;
  const { validTo } = new X509Certificate(crt); // of a chain, the first: its own
  const words = `The certificate that the worker shows Temporal has expired (${validTo}). A worker reads a renewed one when it is started.`;
  return () => (Date.parse(validTo) <= Date.now() ? words : undefined);
}
