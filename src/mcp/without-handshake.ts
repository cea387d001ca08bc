import { SdkHttpError } from "@modelcontextprotocol/client";
import { z } from "zod";

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

const refusalSchema = z.object({ error: z.object({ code: z.number() }) });
const MAX_REFUSAL_CHARS = 64 * 1024;

/** Whether a server has refused `initialize` as a method, or in a version, that it does not know. */
export function refusesHandshake(error: unknown): boolean {
  if (error instanceof SdkHttpError) return NOT_SPOKEN.has(codeIn(error.data["text"]));
  return error instanceof Error && "code" in error && NOT_SPOKEN.has(error.code);
}

/** The code of an error of the protocol that comes with a status. */
function codeIn(body: unknown): number | undefined {
  if (typeof body !== "string" || body.length > MAX_REFUSAL_CHARS) return undefined;
  try {
    return refusalSchema.safeParse(JSON.parse(body)).data?.error.code;
  } catch {
    return undefined; // a page, or words of a proxy
  }
}
