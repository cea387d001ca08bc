/** How a sealed payload says that it is one: encoding and key id as in Temporal's own examples of encryption. */
export const SEALED_ENCODING = "binary/encrypted";
export const SEAL_KEY_METADATA = "encryption-key-id";

/**
 * What a worker's codec tells the workflow code, in the metadata of what it hands over. Neither is ever sent: that this worker
 * seals, and why it could not open a payload.
 */
export const SEALING_METADATA = "interlock-sealing";
export const UNOPENED_METADATA = "interlock-unopened";

/**
 * How every reason begins or goes on why something sealed is not opened. A query takes nothing but words back: whoever asked a worker
 * that lacks the key knows it by these, which workers of every version say.
 */
export const SEALED_WITH = "sealed with the key";
export const SEALED_FOR = "sealed for the";

/** The only search attribute of a sealed run: the others say names, which Temporal would keep in plain. */
const SEALED_SEARCH_ATTRIBUTES: readonly string[] = ["RunPhase"];

/** Of the search attributes that a namespace has, those of its runs. */
export function attributesOfRuns(registered: readonly string[], isSealed: boolean): readonly string[] {
  return registered.filter((name) => !isSealed || SEALED_SEARCH_ATTRIBUTES.includes(name));
}
