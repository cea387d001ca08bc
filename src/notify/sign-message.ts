import { createHmac } from "node:crypto";

/** The headers of a signed message, as the Standard Webhooks specification has them. `secrets` are in base64; each makes a signature. */
export function signatureHeaders(
  id: string,
  body: string,
  at: Date,
  secrets: readonly string[],
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(at.getTime() / 1_000));
  const signatures = secrets.map((secret) => {
    const mac = createHmac("sha256", Buffer.from(secret, "base64"));
    return `v1,${mac.update(`${id}.${timestamp}.${body}`).digest("base64")}`;
  });
  return {
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    ...(signatures.length === 0 ? {} : { "webhook-signature": signatures.join(" ") }),
  };
}
