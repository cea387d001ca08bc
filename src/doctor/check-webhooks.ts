import { barredPort } from "../core/barred-port.js";
import type { Webhook } from "../core/notify/webhooks.js";
import { type Finding, passed, warning } from "./finding.js";

/** What of the webhooks can be seen without sending anything. No run fails by them. */
export function checkWebhooks(webhooks: readonly Webhook[]): readonly Finding[] {
  return webhooks.map(({ name, format, events, target }) => {
    const place = `webhook ${name}`;
    if ("problem" in target) {
      return warning(place, target.problem, "Correct it where the worker runs. No run fails by it.");
    }
    const barred = barredPort(new URL(target.url));
    if (barred !== undefined) return warning(place, `its URL ${barred}`, "Correct it. No run fails by it.");
    const signed = target.secrets.length === 0 ? "not signed" : "signed";
    return passed(
      place,
      `${format}, ${signed}: ${events.join(", ")}. To try it: interlock notify test ${name}`,
    );
  });
}
