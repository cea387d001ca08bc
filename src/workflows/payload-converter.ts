import { type Payload, type PayloadConverter, defaultPayloadConverter } from "@temporalio/common";
import {
  SEALED_ENCODING,
  SEALED_WITH,
  SEALING_METADATA,
  SEAL_KEY_METADATA,
  UNOPENED_METADATA,
} from "../contract/sealed.js";

/** Stands for what somebody has sent in an encoding that this worker cannot read. Nothing at the door takes it. */
export class Unreadable {
  readonly reason: string;
  /** It is sealed: a worker with the key can read it. */
  readonly isSealed: boolean;

  constructor(reason: string, isSealed = false) {
    this.reason = reason;
    this.isSealed = isSealed;
  }
}

/** Whether this run's worker seals. Each run has its own copy of this module. */
export function seals(): boolean {
  return isSealing;
}

let isSealing = false;

/**
 * Where something cannot go on without what is sealed: the workflow task fails, and is tried again until a worker with the key takes it.
 * The run is not touched.
 */
export function requireOpened(value: unknown): void {
  if (value instanceof Unreadable && value.isSealed) throw new Error(value.reason);
}

/**
 * Temporal's own converter, but for what cannot be decoded: were that to throw here, the workflow task would fail and be tried
 * again for ever, and the run could not say why.
 */
export const payloadConverter: PayloadConverter = {
  toPayload: (value, context, hint) => defaultPayloadConverter.toPayload(value, context, hint),
  fromPayload: (payload, context, hint) => {
    if (payload.metadata?.[SEALING_METADATA] !== undefined) isSealing = true;
    // Without a key's id somebody else has encrypted it: no worker of the store will read it.
    if (textOf(payload, "encoding") === SEALED_ENCODING && textOf(payload, SEAL_KEY_METADATA) !== "") {
      const unopened = new Unreadable(whyUnopened(payload), true);
      if (context?.type === "activity") requireOpened(unopened); // what activities have found is needed
      return unopened as never; // refused by whoever parses it
    }
    try {
      if (isTooDeep(payload.data ?? NO_BYTES))
        throw new RangeError(`nested more than ${MAX_DEPTH} levels deep`);
      return defaultPayloadConverter.fromPayload(payload, context, hint);
    } catch (error) {
      return unreadable(payload, error) as never; // refused by whoever parses it
    }
  },
};

/** More than a run carries. What is nested without end parses, and then overflows the stack of whoever walks it: the SDK, for one. */
const MAX_DEPTH = 500;
const NO_BYTES = new Uint8Array();
const [QUOTE, BACKSLASH] = [0x22, 0x5c];

function isTooDeep(bytes: Uint8Array): boolean {
  if (bytes.length <= MAX_DEPTH) return false;
  let depth = 0;
  let isText = false;
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index];
    if (isText && byte === BACKSLASH) index += 1;
    else if (byte === QUOTE) isText = !isText;
    else if (isText) continue;
    else if (byte === 0x5b || byte === 0x7b) depth += 1;
    else if (byte === 0x5d || byte === 0x7d) depth -= 1;
    if (depth > MAX_DEPTH) return true;
  }
  return false;
}

function unreadable({ metadata }: Payload, error: unknown): Unreadable {
  const encoding = metadata?.["encoding"];
  const named = encoding === undefined ? "none" : asciiOnly(encoding);
  const reason = error instanceof Error ? error.message.slice(0, 200) : "";
  return new Unreadable(`its encoding is ${named} (${reason})`);
}

/** Why it is still sealed, as this worker's codec has said. */
function whyUnopened(payload: Payload): string {
  const reason = textOf(payload, UNOPENED_METADATA, 500);
  const key = textOf(payload, SEAL_KEY_METADATA);
  return reason || `It is ${SEALED_WITH} "${key}", and this worker has none.`;
}

function textOf({ metadata }: Payload, name: string, maxBytes = 60): string {
  return asciiOnly(metadata?.[name] ?? NO_BYTES, maxBytes);
}

function asciiOnly(bytes: Uint8Array, maxBytes = 60): string {
  return String.fromCharCode(...bytes.slice(0, maxBytes)).replace(/[^\x20-\x7e]/g, "?");
}
