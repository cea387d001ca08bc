import type { NativeConnectionOptions } from "@temporalio/worker";
import { ownCertificate } from "../environment/pem.js";

/** Says of the certificate that a worker shows Temporal that it has expired, and what helps, once it has. */
export function certificateOver({ tls }: NativeConnectionOptions): () => string | undefined {
  const own = ownCertificate(tls);
  if (own === undefined) return () => undefined;
  const { validTo } = own;
  const words = `The certificate that the worker shows Temporal has expired (${validTo}). A worker reads a renewed one when it is started.`;
  return () => (Date.parse(validTo) <= Date.now() ? words : undefined);
}
