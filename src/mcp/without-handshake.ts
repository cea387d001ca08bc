import { codeIn } from "./http-way.js";

/**
 * Since its version of 2026-07-28 the protocol has no handshake (`initialize`): each request says who asks, and in which version. Servers of that
 * version alone refuse `initialize`, and nothing more need be known of them.
 */
export const WITHOUT_HANDSHAKE = {
  kind: "modern" as const,
  discover: { supportedVersions: ["2026-07-28"], capabilities: { tools: {} } },
};

/** JSON-RPC's, of a method that there is not, and the protocol's, of a version that is not spoken. */
const NOT_SPOKEN: ReadonlySet<unknown> = new Set([-32_601, -32_022]);

/** Whether a server has refused `initialize` as a method, or in a version, that it does not know. */
export function refusesHandshake(error: unknown): boolean {
  return NOT_SPOKEN.has(codeIn(error));
}
