import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import type { Webhook } from "../../src/core/notify/webhooks.js";
import { sendMessage } from "../../src/notify/send-message.js";
import { sparingPlaces } from "../../src/notify/spare-places.js";
import { aNotice } from "../core/notify/a-notice.js";
import { eventually } from "../fakes/eventually.js";
import { openReceiver } from "../fakes/webhook-receiver.js";

test("a receiver that answers nothing keeps one place of the worker's, however many messages wait for it, until it answers", async () => {
  const held: ServerResponse[] = [];
  const { url } = await openReceiver((response) => held.push(response));
  const webhook: Webhook = {
    name: "ops",
    format: "slack",
    events: ["question"],
    rehearsals: true,
    target: { url, secrets: [] },
  };
  let limitMs = 100;
  const send = sparingPlaces((...message) => sendMessage(...message, limitMs));
  const sendTo = (name: string) => send({ ...webhook, name }, "notice-1", aNotice());
  const reaching = (count: number) => eventually(() => Promise.resolve(held.length === count));

  expect(await sendTo("ops")).toMatchObject({ ok: false, found: "no answer within 0.1 s" });
  limitMs = 60_000;
  const second = sendTo("ops");
  await reaching(2);
  expect(await sendTo("ops")).toEqual({
    ok: false,
    retryable: true,
    found: "the message before had no answer, and another one waits for its answer now",
  });
  const elsewhere = sendTo("team");
  await reaching(3);

  for (const response of held.slice(1)) response.end();
  expect([await second, await elsewhere]).toMatchObject([{ ok: true }, { ok: true }]);
  const both = [sendTo("ops"), sendTo("ops")];
  await reaching(5);
  for (const response of held.slice(3)) response.end();
  expect(await Promise.all(both)).toMatchObject([{ ok: true }, { ok: true }]);
});
