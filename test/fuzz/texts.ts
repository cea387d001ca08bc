import * as fc from "fast-check";
import { ODD_TEXTS } from "../corpus/state-model.js";

/** Short texts, odd ones often. */
export const text: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...ODD_TEXTS.filter((odd) => odd.length < 1000)),
  fc.string({ maxLength: 12 }),
  fc.string({ maxLength: 12, unit: "binary" }),
);

/** JSON values with odd texts as values and keys. */
export const json: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.oneof(
      text,
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.boolean(),
      fc.constant(null),
    ),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(
      text.filter((key) => key !== "__proto__"),
      tie("value"),
      { maxKeys: 4, noNullPrototype: true },
    ),
  ),
})).value;

export function viaJson<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}
