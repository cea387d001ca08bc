import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isSecretInTexts, redactKey } from "../../../src/core/prompt/redact-key.js";

const KEY = "gsk+Qx7/Zk=9~pLm.41_tR-ÿ";
const bytes = Buffer.from(KEY, "utf8");
const eachChar = (form: (char: string) => string) => Array.from(KEY, form).join("");
const percentAll = [...bytes].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");

const FORMS: readonly (readonly [string, string])[] = [
  ["as it is", KEY],
  ["in capitals", KEY.toUpperCase()],
  ["in small letters", KEY.toLowerCase()],
  ["percent-encoded where it must be", encodeURIComponent(KEY)],
  ["percent-encoded all over", percentAll],
  ["percent-encoded in capitals", percentAll.toUpperCase()],
  ["percent-encoded twice", encodeURIComponent(percentAll)],
  ["as a form has it", new URLSearchParams({ k: KEY }).toString().slice(2)],
  ["with slashes escaped", KEY.replaceAll("/", "\\/")],
  ["in escapes of JSON", eachChar((char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`)],
  [
    "in escapes of JSON in JSON",
    eachChar((char) => `\\\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`),
  ],
  ["in one escape of JSON", KEY.replace("Q", "\\u0051")],
  ["in escapes of JavaScript", eachChar((char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, "0")}`)],
  ["in code points of JavaScript", eachChar((char) => `\\u{${char.charCodeAt(0).toString(16)}}`)],
  ["in entities", eachChar((char) => `&#${char.charCodeAt(0)};`)],
  ["in entities in hex", eachChar((char) => `&#x${char.charCodeAt(0).toString(16).padStart(4, "0")};`)],
  ["in named entities", KEY.replace("+", "&plus;").replace("=", "&equals;").replace("/", "&sol;")],
  ["in hex", bytes.toString("hex")],
  ["in hex, in capitals", bytes.toString("hex").toUpperCase()],
  ["in hex with colons", [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join(":")],
  ["in bytes with spaces", [...bytes].map((byte) => `0x${byte.toString(16).padStart(2, "0")}`).join(", ")],
  ["in base64", bytes.toString("base64")],
  ["in base64 for URLs", bytes.toString("base64url")],
  ["in base64 of a header", Buffer.from(`Bearer ${KEY}`).toString("base64")],
  ["in base64 of a login", Buffer.from(`u:${KEY}`).toString("base64")],
  ["in base64 of a longer login", Buffer.from(`ab:${KEY}@host`).toString("base64url")],
  ["in base64, percent-encoded", encodeURIComponent(bytes.toString("base64"))],
  ["in base64 on two lines", bytes.toString("base64").replace(/^(.{12})/u, "$1\r\n")],
  ["cut off", KEY.slice(0, -4)],
];

describe.each(FORMS)("a key %s", (_, form) => {
  test("is found", () => {
    const redacted = redactKey(`wrong key (${form}) given`, KEY);
    expect(redacted).toMatch(/^wrong key \((?:0x)?(?:<secret>)+.{0,4}\) given$/u);
  });
});

test("text that is not the key stays", () => {
  const text = "The model does not exist: gpt-9 (request 7f3c). See https://x.example/docs?a=%20b&#38;c.";
  expect(redactKey(text, KEY)).toBe(text);
  expect(redactKey(text, "")).toBe(text);
});

test.each([
  `gsk********${KEY.slice(-12)}`,
  `...${KEY.slice(4)}`,
  `${KEY.slice(0, 11)}...${KEY.slice(-11)}`,
  encodeURIComponent(KEY.slice(3)),
])("a key of which a provider has masked little is found: %s", (shown) => {
  const redacted = redactKey(`wrong key ${shown} given`, KEY);
  expect(redacted).toMatch(/^wrong key [gsk*.]*(?:<secret>[.]*){1,2} given$/u);
});

test("a masked key stays as the provider masked it", () => {
  expect(redactKey("Incorrect API key: gsk***********tR-ÿ", KEY)).toBe(
    "Incorrect API key: gsk***********tR-ÿ",
  );
});

test("short keys are found as they are", () => {
  expect(redactKey("key abc", "abc")).toBe("key <secret>");
});

test("whatever the key is, none of its forms is left", () => {
  fc.assert(
    fc.property(fc.string({ minLength: 12, maxLength: 60, unit: "grapheme-ascii" }), (key) => {
      const data = Buffer.from(key);
      const forms = [key, encodeURIComponent(key), data.toString("hex"), data.toString("base64")];
      for (const form of forms) expect(redactKey(`« ${form} »`, key)).not.toContain(form.slice(3, -3));
    }),
    { numRuns: 300, seed: 1 },
  );
});

test.each(["pass€wörd-12345", "key-😀-1234567", "lone-\ud800-surrogate"])(
  "a key with characters like those of %j is found in bytes",
  (key) => {
    const bytes = Buffer.from(key.toWellFormed(), "utf8");
    for (const form of [key, bytes.toString("base64"), bytes.toString("hex")]) {
      expect(redactKey(`wrong key (${form}) given`, key)).toMatch(
        /^wrong key \((?:<secret>)+.{0,4}\) given$/u,
      );
    }
  },
);

describe("a short key", () => {
  test.each([
    ["a1b2c3", "wrong key a1b2c3, not a1b2c3d", "wrong key <secret>, not a1b2c3d"],
    ["k", "your key: k. Ask k", "your key: <secret>. Ask <secret>"],
    ["a.b", "aXb is not (a.b)", "aXb is not (<secret>)"],
  ])("%s is found where it is a word, and in no other word", (key, text, redacted) => {
    expect(redactKey(text, key)).toBe(redacted);
  });
});

test.each(["ollama", "none", "EMPTY", "sk-no-key-required", "not-needed", "lm-studio", "dummy", "x", "test"])(
  "%s in the place of a key is no secret",
  (key) => {
    const text = `http://${key}:8080 answered: ${key}`;
    expect(redactKey(text, key)).toBe(text);
    expect(isSecretInTexts(key)).toBe(false);
  },
);

test("what is as long as a key is taken out of texts", () => {
  expect(["hunter2x", "hunter2hunter2", "a1b2c3"].map(isSecretInTexts)).toEqual([true, true, false]);
});
