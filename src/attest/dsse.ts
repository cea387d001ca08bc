import { type KeyObject, createHash, createPrivateKey, createPublicKey, sign, verify } from "node:crypto";
import { z } from "zod";
import { parseJsonText } from "../core/json-text.js";

/** DSSE 1.0: a payload, what it is, and who has signed both. */
const base64 = z.string().refine((text) => bytesIn(text) !== undefined, "must be base64");
const envelopeSchema = z.strictObject({
  payloadType: z.string(),
  payload: base64,
  signatures: z
    .array(z.strictObject({ keyid: z.string().exactOptional(), sig: base64 }))
    .min(1)
    .max(100),
});
export type Envelope = z.infer<typeof envelopeSchema>;

/** A key and what its holder calls it. */
export interface NamedKey {
  readonly keyid: string;
  readonly key: KeyObject;
}

/** An envelope that is none, or that is not signed by whom it should be: the message says which. */
export class NotSigned extends Error {}

/** What is signed: type and payload, each behind its length in bytes. */
export function preAuthenticationEncoding(payloadType: string, payload: Uint8Array): Buffer {
  const type = Buffer.from(payloadType, "utf8");
  const head = [`DSSEv1 ${type.length} `, type, ` ${payload.length} `];
  return Buffer.concat([...head.map((part) => Buffer.from(part)), payload]);
}

/** Signs a payload with each of the keys. */
export function signEnvelope(payloadType: string, payload: Uint8Array, keys: readonly NamedKey[]): Envelope {
  const signed = preAuthenticationEncoding(payloadType, payload);
  return {
    payloadType,
    payload: Buffer.from(payload).toString("base64"),
    signatures: keys.map(({ keyid, key }) => ({ keyid, sig: sign(null, signed, key).toString("base64") })),
  };
}

/** Parses a file with an envelope. Throws `NotSigned`. */
export function parseEnvelope(text: string): Envelope {
  const read = parseJsonText(text); // a field that is there twice is another one for the next reader
  if (!read.ok) throw notAnEnvelope(read.path, read.message);
  const parsed = envelopeSchema.safeParse(read.value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw notAnEnvelope(issue?.path ?? [], issue?.message ?? "");
}

function notAnEnvelope(path: readonly PropertyKey[], message: string): NotSigned {
  const place = path.map(String).join(".") || "its root";
  return new NotSigned(`The file is no DSSE envelope: ${place}: ${message}.`);
}

/**
 * The payload of an envelope that every one of the keys has signed. A signature that names a key counts for that key alone. Throws
 * `NotSigned`; another type than the one that is wanted is refused, whoever has signed it.
 */
export function openEnvelope(envelope: Envelope, payloadType: string, keys: readonly NamedKey[]): Buffer {
  const payload = bytesIn(envelope.payload) ?? Buffer.alloc(0);
  const signed = preAuthenticationEncoding(envelope.payloadType, payload);
  const missing = keys.filter(
    ({ keyid, key }) => !envelope.signatures.some((each) => signs(each, keyid, key)),
  );
  if (keys.length === 0 || missing.length > 0) {
    const named = missing.map(({ keyid }) => keyid).join(", ");
    throw new NotSigned(`The file is not signed with the key ${named}, or has been altered since.`);
  }
  if (envelope.payloadType !== payloadType) {
    throw new NotSigned(`What is signed is of another type than ${payloadType}.`);
  }
  return payload;

  function signs({ keyid: named, sig }: Envelope["signatures"][number], keyid: string, key: KeyObject) {
    if (named !== undefined && named !== "" && named !== keyid) return false; // an empty one is none
    return verify(null, signed, key, bytesIn(sig) ?? Buffer.alloc(0));
  }
}

/** An Ed25519 key to sign with, from PEM (PKCS#8). Throws an `Error` that holds nothing of it. */
export function signingKey(pem: string): NamedKey {
  if (/-----BEGIN ENCRYPTED|^Proc-Type: 4,ENCRYPTED/m.test(pem)) {
    throw new Error(
      "is encrypted: sign with a copy without a passphrase (openssl pkey -in <key> -out <copy>)",
    );
  }
  return named(() => createPrivateKey(pem), "no private key in PEM (PKCS#8)");
}

/** An Ed25519 key to check with, from PEM (SPKI). Throws an `Error`. */
export function checkingKey(pem: string): NamedKey {
  if (pem.includes("PRIVATE KEY")) throw new Error("is a private key: give the public one");
  return named(() => createPublicKey(pem), "no public key in PEM (SPKI)");
}

function named(read: () => KeyObject, problem: string): NamedKey {
  let key: KeyObject;
  try {
    key = read();
  } catch {
    throw new Error(`holds ${problem}`);
  }
  if (key.asymmetricKeyType !== "ed25519") throw new Error("holds a key that is not of the kind Ed25519");
  const spki = (key.type === "public" ? key : createPublicKey(key)).export({ type: "spki", format: "der" });
  return { keyid: createHash("sha256").update(spki).digest("hex"), key };
}

/** Of one alphabet or the other, with all of its padding or none; undefined for anything else, so that no byte can change unseen. */
function bytesIn(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64"); // of either alphabet
  const padded = bytes.toString("base64");
  const urlSafe = padded.replaceAll("+", "-").replaceAll("/", "_");
  const spellings = [padded, urlSafe].flatMap((each) => [each, each.replace(/=+$/, "")]);
  return spellings.includes(text) ? bytes : undefined;
}
