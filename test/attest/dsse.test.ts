import { createPrivateKey, createPublicKey, generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import {
  type Envelope,
  type NamedKey,
  NotSigned,
  checkingKey,
  openEnvelope,
  parseEnvelope,
  preAuthenticationEncoding,
  signEnvelope,
  signingKey,
} from "../../src/attest/dsse.js";

const TYPE = "application/vnd.in-toto+json";

/** The keys of RFC 8032, section 7.1, tests 1 and 2. */
const SEEDS = {
  A: "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
  B: "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
};
const pemOf = (seed: string) =>
  createPrivateKey({
    key: Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), Buffer.from(seed, "hex")]),
    format: "der",
    type: "pkcs8",
  })
    .export({ type: "pkcs8", format: "pem" })
    .toString();
const publicOf = (pem: string) => createPublicKey(pem).export({ type: "spki", format: "pem" }).toString();
const [A, B] = [pemOf(SEEDS.A), pemOf(SEEDS.B)].map((pem) => ({
  signs: signingKey(pem),
  checks: checkingKey(publicOf(pem)),
})) as [Pair, Pair];
interface Pair {
  readonly signs: NamedKey;
  readonly checks: NamedKey;
}

const payload = Buffer.from('{"_type":"https://in-toto.io/Statement/v1"}');
const opens = (envelope: Envelope, keys: readonly NamedKey[], type = TYPE) => {
  try {
    return openEnvelope(envelope, type, keys).toString();
  } catch (error) {
    if (error instanceof NotSigned) return "refused";
    throw error;
  }
};

describe("what is signed", () => {
  test("is encoded as DSSE's specification has it", () => {
    const encoded = (type: string, body: string) =>
      preAuthenticationEncoding(type, Buffer.from(body)).toString();
    expect(encoded("http://example.com/HelloWorld", "hello world")).toBe(
      "DSSEv1 29 http://example.com/HelloWorld 11 hello world",
    );
    expect(encoded("application/vnd.exämple+json", "ü")).toBe("DSSEv1 29 application/vnd.exämple+json 2 ü");
    expect(encoded(TYPE, "")).toBe(`DSSEv1 28 ${TYPE} 0 `);
    expect(encoded("", "x")).toBe("DSSEv1 0  1 x");
  });

  test("gives the signature that others get with the same key", () => {
    const [signature] = signEnvelope(TYPE, payload, [A.signs]).signatures;
    expect(signature?.sig).toBe(
      "2WAfaHm5jluo0w+0rk8uVkluELJYWjSmU9x7EUzx+AyteDGJ4/nqyJXfmAUVFIAoQafWm7AxBZNw5M9ixNHiCA==",
    );
  });
});

describe("an envelope", () => {
  test("opens with every key that has signed it, alone and together", () => {
    const both = signEnvelope(TYPE, payload, [A.signs, B.signs]);
    expect(opens(both, [A.checks])).toBe(payload.toString());
    expect(opens(both, [A.checks, B.checks])).toBe(payload.toString());
    expect(opens(signEnvelope(TYPE, payload, [A.signs]), [A.checks, B.checks])).toBe("refused");
    expect(opens(signEnvelope(TYPE, payload, [A.signs, A.signs]), [A.checks, B.checks])).toBe("refused");
    expect(opens(signEnvelope(TYPE, payload, [A.signs]), [B.checks])).toBe("refused");
    expect(opens(both, [])).toBe("refused");
  });

  test("a key's id is a hint: without it every key is tried, and with another one's none", () => {
    const { signatures, ...rest } = signEnvelope(TYPE, payload, [A.signs, B.signs]);
    const without = { ...rest, signatures: signatures.map(({ sig }) => ({ sig })) };
    expect(opens(without, [B.checks, A.checks])).toBe(payload.toString());
    const empty = { ...rest, signatures: signatures.map(({ sig }) => ({ sig, keyid: "" })) };
    expect(opens(empty, [B.checks, A.checks])).toBe(payload.toString());
    const [first] = signatures;
    const swapped = { ...rest, signatures: [{ sig: first?.sig ?? "", keyid: B.checks.keyid }] };
    expect(opens(swapped, [A.checks])).toBe("refused");
    expect(opens(swapped, [B.checks])).toBe("refused");
  });

  test("of another type is refused, whether the type was signed or exchanged", () => {
    const other = "application/vnd.example.other+json";
    expect(opens(signEnvelope(other, payload, [A.signs]), [A.checks])).toBe("refused");
    expect(opens({ ...signEnvelope(TYPE, payload, [A.signs]), payloadType: other }, [A.checks], other)).toBe(
      "refused",
    );
    expect(opens(signEnvelope("", payload, [A.signs]), [A.checks])).toBe("refused");
  });

  test("is read in both alphabets of base64", () => {
    const body = Buffer.from("fbffbf3e3f", "hex");
    const standard = signEnvelope(TYPE, body, [A.signs]);
    const urlSafe = (text: string) => text.replaceAll("+", "-").replaceAll("/", "_");
    const [signature] = standard.signatures;
    expect(openEnvelope(standard, TYPE, [A.checks])).toEqual(body);
    const other = {
      ...standard,
      payload: urlSafe(standard.payload),
      signatures: [{ sig: urlSafe(signature?.sig ?? "") }],
    };
    expect(openEnvelope(parseEnvelope(JSON.stringify(other)), TYPE, [A.checks])).toEqual(body);
  });

  test("is not read in both at once, nor with half of its padding", () => {
    const body = Buffer.from("fbffbf3e3f3e3f", "hex"); // +/+/Pj8+Pw==
    const read = (payload: string) => {
      const envelope = { ...signEnvelope(TYPE, body, [A.signs]), payload };
      return openEnvelope(parseEnvelope(JSON.stringify(envelope)), TYPE, [A.checks]);
    };
    for (const payload of ["+/+/Pj8+Pw==", "-_-_Pj8-Pw", "-_-_Pj8-Pw=="]) expect(read(payload)).toEqual(body);
    for (const payload of ["+/+/Pj8-Pw==", "-/+/Pj8+Pw", "+/+/Pj8+Pw=", "+/+/Pj8+Px=="])
      expect(() => read(payload)).toThrow(NotSigned);
  });

  test("with a field twice is refused: another reader would take the other one", () => {
    const text = JSON.stringify(signEnvelope(TYPE, Buffer.from("{}"), [A.signs]));
    expect(() => parseEnvelope(text.replace("{", '{"payload":"W10=",'))).toThrow("stands here twice");
    expect(() => parseEnvelope(text.slice(0, -1))).toThrow("is not valid JSON");
  });

  test("no byte of the file can be another one", () => {
    const text = JSON.stringify(signEnvelope(TYPE, Buffer.from('{"said":"blue","n":1}'), [A.signs]));
    const verified = (changed: string) => {
      try {
        return openEnvelope(parseEnvelope(changed), TYPE, [A.checks]).toString();
      } catch (error) {
        if (error instanceof NotSigned) return "refused";
        throw error;
      }
    };
    expect(verified(text)).toBe('{"said":"blue","n":1}');
    for (let index = 0; index < text.length; index += 1) {
      for (const bit of [1, 2, 4, 32]) {
        const byte = String.fromCharCode(text.charCodeAt(index) ^ bit);
        const changed = text.slice(0, index) + byte + text.slice(index + 1);
        expect([index, byte, verified(changed)]).toEqual([index, byte, "refused"]);
      }
      expect([index, verified(text.slice(0, index))]).toEqual([index, "refused"]);
    }
  });
});

test("keys of another kind, and the private one where the public is asked for, are refused without a word of them", () => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  expect(() => signingKey(privateKey.export({ type: "pkcs8", format: "pem" }).toString())).toThrow(
    "not of the kind Ed25519",
  );
  expect(() => checkingKey(publicKey.export({ type: "spki", format: "pem" }).toString())).toThrow(
    "not of the kind Ed25519",
  );
  expect(() => checkingKey(pemOf(SEEDS.A))).toThrow("is a private key");
  expect(() => signingKey("nothing")).toThrow("holds no private key");
  const sealed = { type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "words" } as const;
  const encrypted = generateKeyPairSync("ed25519").privateKey.export(sealed).toString();
  expect(() => signingKey(encrypted)).toThrow(/is encrypted: sign with a copy without a passphrase/);
  expect(() => checkingKey("nothing")).toThrow("holds no public key");
  expect(A.signs.keyid).toBe(A.checks.keyid);
});
