import { X509Certificate, createPrivateKey } from "node:crypto";

/*
 * Commands speak TLS with OpenSSL, workers with a library of Rust's that reads less: nothing behind a byte-order mark, and no labels of long ago.
 * Here what OpenSSL reads is written as both read it.
 */

const CERTIFICATE = /-----BEGIN (?<label>(?:TRUSTED |X509 )?CERTIFICATE)-----.*?-----END \k<label>-----/gs;

/** The certificates of a text, in its order. Throws where one cannot be read, or there is none. */
export function plainCertificates(text: string): string {
  const found = text.match(CERTIFICATE);
  if (found === null) throw new Error("no certificate");
  return found.map((each) => new X509Certificate(each).toString()).join("");
}

/** Throws where the key cannot be read, or has a passphrase. */
export function plainKey(text: string): string {
  return createPrivateKey(text).export({ type: "pkcs8", format: "pem" }).toString();
}
