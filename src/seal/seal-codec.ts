import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import type { Payload, PayloadCodec, SerializationContext } from "@temporalio/common";
import proto from "@temporalio/proto";
import {
  SEALED_ENCODING,
  SEALED_FOR,
  SEALED_WITH,
  SEALING_METADATA,
  SEAL_KEY_METADATA,
  UNOPENED_METADATA,
} from "../contract/sealed.js";
import { excerpt } from "../core/text.js";
import { SealError } from "./seal-error.js";
import type { SealKey, SealKeys } from "./seal-keys.js";

const { Payload: PayloadMessage } = proto.temporal.api.common.v1;

const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const CHECK_METADATA = "encryption-key-check";
const PLACE_METADATA = "encryption-context";

/** What a payload cannot be opened for: a client is told at once; in a worker the workflow code decides. */
export type SealSide = "client" | "worker";

/**
 * Seals payloads with AES-256-GCM, each with a nonce of its own, and bound to the workflow that it is sent to. Without a key to seal
 * with, what is sent stays plain. What is plain is always read.
 */
export class SealCodec implements PayloadCodec {
  private readonly keys: SealKeys | undefined;
  private readonly side: SealSide;

  constructor(keys: SealKeys | undefined, side: SealSide) {
    this.keys = keys;
    this.side = side;
  }

  async encode(payloads: Payload[], context?: SerializationContext): Promise<Payload[]> {
    const writer = this.keys?.writer;
    return writer === undefined
      ? payloads
      : payloads.map((payload) => seal(payload, writer, placeOf(context)));
  }

  /** Throws `SealError`; in a worker, what belongs to a workflow is handed on unopened, with the reason. */
  async decode(payloads: Payload[], context?: SerializationContext): Promise<Payload[]> {
    return payloads.map((payload) => this.decodeOne(payload, context));
  }

  private decodeOne(payload: Payload, context: SerializationContext | undefined): Payload {
    const goesToWorkflow = this.side === "worker" && context?.type === "workflow";
    try {
      const plain = isSealed(payload) ? open(payload, this.keys, placeOf(context)) : payload;
      if (!goesToWorkflow || this.keys?.writer === undefined) return plain;
      return withMetadata(plain, SEALING_METADATA, "on");
    } catch (error) {
      if (!goesToWorkflow || !(error instanceof SealError)) throw error;
      return withMetadata(payload, UNOPENED_METADATA, error.message);
    }
  }
}

/** Whether a payload says that it is sealed, and with which key: others of that encoding are not ours to open. */
export function isSealed(payload: Payload): boolean {
  return textOf(payload, "encoding") === SEALED_ENCODING && textOf(payload, SEAL_KEY_METADATA) !== "";
}

function seal(payload: Payload, { id, key, check }: SealKey, place: string): Payload {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(statementOf(id, place));
  const plain = PayloadMessage.encode(payload).finish();
  const data = Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  const metadata = {
    encoding: Buffer.from(SEALED_ENCODING),
    [SEAL_KEY_METADATA]: Buffer.from(id),
    [CHECK_METADATA]: check,
    [PLACE_METADATA]: Buffer.from(place),
  };
  return { metadata, data };
}

function open(payload: Payload, keys: SealKeys | undefined, place: string): Payload {
  const id = textOf(payload, SEAL_KEY_METADATA);
  const key = keyFor(payload, id, keys);
  const sealedFor = textOf(payload, PLACE_METADATA);
  const data = Buffer.from(payload.data ?? []);
  if (data.length < NONCE_BYTES + TAG_BYTES) throw altered(id);
  const decipher = createDecipheriv(CIPHER, key, data.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAAD(statementOf(id, sealedFor));
  decipher.setAuthTag(data.subarray(-TAG_BYTES));
  let plain: Payload;
  try {
    const bytes = [decipher.update(data.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()];
    plain = PayloadMessage.decode(Buffer.concat(bytes));
  } catch {
    throw altered(id);
  }
  if (place !== "" && sealedFor !== "" && !isAt(place, sealedFor)) {
    const message = `It was ${SEALED_FOR} ${excerpt(sealedFor)} and stands in the ${excerpt(place)}: it is not opened.`;
    throw new SealError("moved", message);
  }
  return { metadata: plain.metadata ?? {}, data: plain.data ?? new Uint8Array() };
}

function keyFor(payload: Payload, id: string, keys: SealKeys | undefined): Buffer {
  const sealed = `It is ${SEALED_WITH} "${excerpt(id, 70)}"`;
  if (keys === undefined) {
    const remedy = "Name the file with the keys in INTERLOCK_SEAL_KEYS_FILE (docs/sealed-histories.md).";
    throw new SealError("no key", `${sealed}, and there is no key here. ${remedy}`);
  }
  const key = keys.readers.get(id);
  if (key === undefined) {
    const known = [...keys.readers.keys()].map((each) => `"${each}"`).join(", ");
    throw new SealError(
      "unknown key",
      `${sealed}, which is not among those here (${known}). Add it to them.`,
    );
  }
  const check = payload.metadata?.[CHECK_METADATA];
  if (check && !key.check.equals(check)) {
    const message = `${sealed}, and the key here under that id is another one. Put the right one in its place.`;
    throw new SealError("wrong key", message);
  }
  return key.key;
}

function altered(id: string): SealError {
  const message = `What was ${SEALED_WITH} "${excerpt(id, 70)}" has been altered or cut off: it is not opened.`;
  return new SealError("altered", message);
}

/**
 * What a payload belongs to. All payloads of a run, its activities' included, belong to its workflow; a question to a store to
 * its activity. Empty where the SDK does not say it.
 */
function placeOf(context: SerializationContext | undefined): string {
  // Of a question that is refused, the worker's SDK says an empty one.
  if (context?.workflowId) return `workflow ${context.workflowId}`;
  const activityId = context?.type === "activity" ? context.activityId : undefined;
  return activityId ? `activity ${activityId}` : "";
}

/** Temporal's schedules put the time behind the workflow id that their input is sealed for. */
const SCHEDULED = /^-\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

function isAt(place: string, sealedFor: string): boolean {
  return (
    place === sealedFor || (place.startsWith(sealedFor) && SCHEDULED.test(place.slice(sealedFor.length)))
  );
}

/** What is authenticated beside the payload. */
function statementOf(id: string, place: string): Buffer {
  return Buffer.from(JSON.stringify(["interlock-temporal sealed payload v1", id, place]));
}

function textOf({ metadata }: Payload, name: string): string {
  return Buffer.from(metadata?.[name] ?? []).toString("utf8");
}

function withMetadata({ metadata, data }: Payload, name: string, text: string): Payload {
  return { metadata: { ...metadata, [name]: Buffer.from(text) }, ...(data ? { data } : {}) };
}
