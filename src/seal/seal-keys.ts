import { createHmac } from "node:crypto";

/** A key of 32 bytes under a name that is written beside all that it seals. */
export interface SealKey {
  readonly id: string;
  readonly key: Buffer;
  /** Tells two keys of one name apart, and nothing else: eight bytes that are made of the key. */
  readonly check: Buffer;
}

/** The keys of a process: the one that it seals with, if any, and all that it opens with. */
export interface SealKeys {
  readonly writer: SealKey | undefined;
  readonly readers: ReadonlyMap<string, SealKey>;
}

/** In place of the first key: what is sent stays plain, and the keys are for reading. */
const PLAIN = "plain";
const KEY_BYTES = 32;
const MAX_KEYS = 100;
const HOW = 'Each is <id>:<32 bytes in base64>; make one with: echo "k1:$(openssl rand -base64 32)"';

/**
 * Reads keys as a file or a variable lists them, one per line or with commas between them, the one to seal with first; lines
 * that begin with `#` are comments. Throws an `Error` whose message holds no part of a key.
 */
export function parseSealKeys(text: string): SealKeys {
  const lines = text.split("\n").filter((line) => !line.trimStart().startsWith("#"));
  const entries = lines.flatMap((line) => line.split(",")).map((entry) => entry.trim());
  const named = entries.filter((entry) => entry !== "");
  if (named.length === 0 || named.length > MAX_KEYS) {
    throw new Error(`names ${named.length} keys, and must name 1 to ${MAX_KEYS}. ${HOW}`);
  }
  const keys = named.map((entry, index) =>
    index === 0 && entry === PLAIN ? undefined : keyOf(entry, index),
  );
  const readers = new Map<string, SealKey>();
  for (const key of keys) {
    if (key === undefined) continue;
    if (readers.has(key.id)) throw new Error(`has two keys with the id "${key.id}". Give each its own.`);
    readers.set(key.id, key);
  }
  if (readers.size === 0) throw new Error(`names no key after "${PLAIN}". ${HOW}`);
  return { writer: keys[0], readers };
}

function keyOf(entry: string, index: number): SealKey {
  const [, id, text] = /^([A-Za-z0-9][A-Za-z0-9._-]{0,63}):([A-Za-z0-9+/]{43}=?)$/.exec(entry) ?? [];
  const key = Buffer.from(text ?? "", "base64");
  if (id === undefined || id === PLAIN || key.length !== KEY_BYTES) {
    throw new Error(`holds no key as its entry ${index + 1}. ${HOW}`);
  }
  const check = createHmac("sha256", key).update("interlock-temporal seal key check v1").digest();
  return { id, key, check: check.subarray(0, 8) };
}
