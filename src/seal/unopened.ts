import type { Payload } from "@temporalio/common";
import { type SealCodec, isSealed } from "./seal-codec.js";
import { type SealError, sealErrorIn } from "./seal-error.js";

/** Why the first sealed payload in a value is not opened that the codec of a client does not open; undefined where it opens all of them. */
export async function unopenedIn(value: unknown, codec: SealCodec): Promise<SealError | undefined> {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return undefined;
  if (isPayload(value) && isSealed(value)) {
    return codec.decode([value]).then(() => undefined, sealErrorIn);
  }
  for (const each of Object.values(value)) {
    const found = await unopenedIn(each, codec);
    if (found !== undefined) return found;
  }
  return undefined;
}

function isPayload(value: object): value is Payload {
  return "metadata" in value && "data" in value;
}
