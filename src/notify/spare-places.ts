import type { Notice } from "../core/notify/notice.js";
import type { Webhook } from "../core/notify/webhooks.js";
import type { Delivery } from "./send-message.js";

export type Send = (webhook: Webhook, id: string, notice: Notice) => Promise<Delivery>;

const NOT_NOW: Delivery = {
  ok: false,
  retryable: true,
  found: "the message before had no answer, and another one waits for its answer now",
};

/**
 * Sends one message at a time to a receiver that let the last one go without an answer, until it answers: each that waits for an answer
 * keeps one of the worker's places from its runs.
 */
export function sparingPlaces(send: Send): Send {
  const receivers = new Map<string, { underWay: number; isSilent: boolean }>();
  return async (webhook, id, notice) => {
    const receiver = receivers.get(webhook.name) ?? { underWay: 0, isSilent: false };
    receivers.set(webhook.name, receiver);
    if (receiver.isSilent && receiver.underWay > 0) return NOT_NOW;
    receiver.underWay += 1;
    const delivery = await send(webhook, id, notice);
    receiver.underWay -= 1;
    receiver.isSilent = !delivery.ok && delivery.isUnanswered === true;
    return delivery;
  };
}
