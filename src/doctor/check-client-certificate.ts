import type { ConnectionOptions } from "@temporalio/client";
import { ownCertificate } from "../environment/pem.js";
import { counted } from "../core/text.js";
import { type Finding, failed, passed, warning } from "./finding.js";

const NAME = "client certificate";
const DAY_MS = 86_400_000;
const SOON_DAYS = 14;
const REMEDY = "Have it renewed, and start workers again: they read it when they start.";
const EARLY_REMEDY = "Wait until then, or set this machine's clock right.";

/** From when on and until when the certificate counts that this client shows Temporal: a server that takes it no longer hangs up without a word. */
export function checkClientCertificate(
  tls: ConnectionOptions["tls"],
  now: number = Date.now(),
): readonly Finding[] {
  const own = ownCertificate(tls);
  if (own === undefined) return [];
  const { validFrom, validTo } = own;
  if (Date.parse(validFrom) > now) return [failed(NAME, `counts from ${validFrom} on`, EARLY_REMEDY)];
  const days = (Date.parse(validTo) - now) / DAY_MS;
  if (days <= 0) return [failed(NAME, `has expired: ${validTo}`, REMEDY)];
  if (days < SOON_DAYS)
    return [warning(NAME, `expires in ${counted(Math.ceil(days), "day")}: ${validTo}`, REMEDY)];
  return [passed(NAME, `until ${validTo}`)];
}
