import { type Payload, type PayloadConverter, defaultPayloadConverter } from "@temporalio/common";

/** Stands for what somebody has sent in an encoding that this worker cannot read. Nothing at the door takes it. */
export class Unreadable {
  readonly reason: string;

  constructor(reason: string) {
    this.reason = reason;
  }
}

/**
 * Temporal's own converter, but for what cannot be decoded: were that to throw here, the workflow task would fail and be tried
 * again for ever, and the run could not say why.
 */
export const payloadConverter: PayloadConverter = {
  toPayload: (value, context, hint) => defaultPayloadConverter.toPayload(value, context, hint),
  fromPayload: (payload, context, hint) => {
    try {
      return defaultPayloadConverter.fromPayload(payload, context, hint);
    } catch (error) {
      return unreadable(payload, error) as never; // refused by whoever parses it
    }
  },
};

function unreadable({ metadata }: Payload, error: unknown): Unreadable {
  const encoding = metadata?.["encoding"];
  const named = encoding === undefined ? "none" : printable(encoding);
  const reason = error instanceof Error ? error.message.slice(0, 200) : "";
  return new Unreadable(`its encoding is ${named} (${reason})`);
}

function printable(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes.slice(0, 60)).replace(/[^\x20-\x7e]/g, "?");
}
