import { X509Certificate, createPrivateKey } from "node:crypto";
import { createSecureContext } from "node:tls";
import type { ClientConnectConfig } from "@temporalio/envconfig";

/*
 * Commands speak TLS with OpenSSL, workers with a library of Rust's that reads less: nothing behind a byte-order mark, and no labels of long ago.
 * Here what OpenSSL reads is written as both read it.
 */

const CERTIFICATE = /-----BEGIN (?<label>(?:TRUSTED |X509 )?CERTIFICATE)-----.*?-----END \k<label>-----/gs;

/** The certificates of a file, in its order. Throws where one cannot be read, or there is none. */
export function plainCertificates(bytes: Uint8Array): Buffer {
  const found = textOf(bytes).match(CERTIFICATE);
  if (found === null) throw new Error("no certificate");
  return Buffer.from(found.map((each) => new X509Certificate(each).toString()).join(""));
}

/** A client's certificates and its key. Throws where the key has a passphrase, or is another one's. */
export function plainPair({ crt, key }: Pair): { readonly crt: Buffer; readonly key: Buffer } {
  createSecureContext({ cert: textOf(crt), key: textOf(key) });
  const pkcs8 = createPrivateKey(textOf(key)).export({ type: "pkcs8", format: "pem" });
  return { crt: plainCertificates(crt), key: Buffer.from(pkcs8) };
}

/** The certificate that a client shows Temporal; undefined where it shows none. */
export function ownCertificate(
  tls: ClientConnectConfig["connectionOptions"]["tls"],
): X509Certificate | undefined {
  const crt = typeof tls === "object" && tls !== null ? tls.clientCertPair?.crt : undefined;
  return crt && new X509Certificate(crt); // of a chain, the first: its own
}

interface Pair {
  readonly crt: Uint8Array;
  readonly key: Uint8Array;
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("utf8");
}
