import { DefaultFailureConverter, type FailureConverter } from "@temporalio/common";
import { seals } from "./payload-converter.js";

const open = new DefaultFailureConverter();
/** Messages and stack traces become payloads, which the worker seals. */
const sealed = new DefaultFailureConverter({ encodeCommonAttributes: true });

/** Temporal's own converter; where the worker seals, the words of failures are sealed too. */
export const failureConverter: FailureConverter = {
  errorToFailure: (...told) => (seals() ? sealed : open).errorToFailure(...told),
  failureToError: (...told) => open.failureToError(...told),
};
