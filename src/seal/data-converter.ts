import type { DataConverter } from "@temporalio/common";
import { codeFile } from "../package-place.js";
import { SealCodec, type SealSide } from "./seal-codec.js";
import type { SealKeys } from "./seal-keys.js";

/** Temporal's SDK loads it by its path, with `require`: it is CommonJS in the source already. */
const SEALED_FAILURES = "seal/sealed-failures.cjs";

/**
 * How Interlock's clients and workers turn values into what Temporal keeps. Without keys everything is as Temporal has it by default,
 * but for what somebody else has sealed: that is said, in a sentence with the remedy.
 */
export function dataConverterFor(keys: SealKeys | undefined, side: SealSide): DataConverter {
  return {
    payloadCodecs: [new SealCodec(keys, side)],
    ...(keys?.writer === undefined ? {} : { failureConverterPath: codeFile(SEALED_FAILURES) }),
  };
}
