import { createServer } from "node:net";
import { describe, expect, test } from "vitest";
import { checkWebhooks } from "../../src/doctor/check-webhooks.js";
import type { Webhook } from "../../src/core/notify/webhooks.js";
import { sendMessage } from "../../src/notify/send-message.js";
import { signatureHeaders } from "../../src/notify/sign-message.js";
import { aNotice } from "../core/notify/a-notice.js";
import { SECRET, isSigned, openReceiver, status, taken } from "../fakes/webhook-receiver.js";
import { listen } from "../fakes/listen.js";
import { freePort } from "../fakes/free-port.js";

const OTHER = `whsec_${Buffer.from("another secret, that comes after it").toString("base64")}`;

function webhookAt(url: string, changes: Partial<Webhook> = {}): Webhook {
  return {
    name: "ops",
    format: "json",
    events: ["question"],
    rehearsals: true,
    target: { url, secrets: [SECRET.slice("whsec_".length)] },
    ...changes,
  };
}

const send = (webhook: Webhook, limitMs?: number) => sendMessage(webhook, "notice-1", aNotice(), limitMs);

describe("a message", () => {
  test("is signed as the Standard Webhooks specification says, whoever computes it", () => {
    // The example of the specification.
    const at = new Date(1_614_265_330_000);
    const headers = signatureHeaders("msg_p5jXN8AQM9LWM0D4loKWxJek", '{"test": 2432232314}', at, [
      "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    ]);
    expect(headers).toEqual({
      "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
      "webhook-timestamp": "1614265330",
      "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    });
  });

  test("is taken with its signature, its id and its body", async () => {
    const { url, messages } = await openReceiver(taken);
    expect(await send(webhookAt(url))).toEqual({ ok: true, status: 204, found: "taken with 204" });
    const [message] = messages;
    if (message === undefined) throw new Error("Nothing came.");
    expect(isSigned(message)).toBe(true);
    expect(isSigned(message, OTHER)).toBe(false);
    expect(isSigned({ ...message, body: `${message.body} ` })).toBe(false);
    expect(message.headers).toMatchObject({ "content-type": "application/json", "webhook-id": "notice-1" });
    expect(JSON.parse(message.body)).toEqual(aNotice());
  });

  test("is signed with each secret while one takes the place of another", async () => {
    const { url, messages } = await openReceiver(taken);
    const secrets = [SECRET, OTHER].map((secret) => secret.slice("whsec_".length));
    await send(webhookAt(url, { target: { url, secrets } }));
    expect(messages.map((message) => [isSigned(message, SECRET), isSigned(message, OTHER)])).toEqual([
      [true, true],
    ]);
  });

  test("to a port that no request goes to says so", async () => {
    const webhook = webhookAt("http://127.0.0.1:25/hook");
    const found =
      "its URL names port 25, which other protocols have and HTTP requests are barred from: choose another port";
    expect(await send(webhook)).toMatchObject({ ok: false, found: `not reached: ${found}` });
    expect(checkWebhooks([webhook])).toMatchObject([{ status: "warning", found }]);
  });

  test("without a secret has an id and no signature", async () => {
    const { url, messages } = await openReceiver(taken);
    await send(webhookAt(url, { format: "slack", target: { url, secrets: [] } }));
    expect(messages[0]?.headers["webhook-id"]).toBe("notice-1");
    expect(messages[0]?.headers).not.toHaveProperty("webhook-signature");
    expect(JSON.parse(messages[0]?.body ?? "")).toHaveProperty("blocks");
  });
});

describe("a receiver", () => {
  test.each([
    [500, true],
    [503, true],
    [429, true],
    [408, true],
    [400, false],
    [401, false],
    [404, false],
    [410, false],
  ])("that answers %i is asked again: %s", async (code, retryable) => {
    const { url } = await openReceiver(status(code, {}, "no\u0007\nservice \u202e"));
    expect(await send(webhookAt(url))).toMatchObject({
      ok: false,
      retryable,
      found: `refused with ${code}: no service \\u{202e}`,
    });
  });

  test.each([
    [3_600_000, 401, "refused with 401: no; this machine's clock is 60 min behind the receiver's", true],
    [
      -86_400_000,
      400,
      "refused with 400: no; this machine's clock is 1440 min ahead of the receiver's",
      true,
    ],
    [60_000, 401, "refused with 401: no", false],
    [3_600_000, 404, "refused with 404: no", false],
  ])(
    "whose clock is %i ms ahead, and that refuses with %i, is asked again where the clock may be why",
    async (aheadMs, code, found, retryable) => {
      const date = new Date(Date.now() + aheadMs).toUTCString();
      const { url } = await openReceiver(status(code, { date }, "no"));
      expect(await send(webhookAt(url))).toMatchObject({ ok: false, found, retryable });
    },
  );

  test("whose clock is off is not blamed on it where the message is not signed", async () => {
    const date = new Date(Date.now() + 3_600_000).toUTCString();
    const { url } = await openReceiver(status(403, { date }, "invalid_token"));
    const delivery = await send(webhookAt(url, { format: "slack", target: { url, secrets: [] } }));
    expect(delivery).toMatchObject({ found: "refused with 403: invalid_token", retryable: false });
  });

  test.each([429, 503, 400])(
    "that answers %i and says when to come back is heard, where there is a next time",
    async (code) => {
      const { url } = await openReceiver(status(code, { "retry-after": "7" }));
      expect(await send(webhookAt(url))).toMatchObject({ retryAfterMs: code === 400 ? undefined : 7_000 });
    },
  );

  test.each([301, 302, 307, 308])("that redirects with %i is not followed", async (code) => {
    const other = await openReceiver(taken);
    const { url } = await openReceiver(status(code, { location: other.url }));
    expect(await send(webhookAt(url))).toMatchObject({ ok: false, retryable: false });
    expect(other.messages).toEqual([]);
  });

  test("that hangs is left after a while, before its answer and within it", async () => {
    const silent = await openReceiver(() => undefined);
    expect(await send(webhookAt(silent.url), 200)).toEqual({
      ok: false,
      retryable: true,
      isUnanswered: true,
      found: "no answer within 0.2 s",
    });
    const halting = await openReceiver((response) => response.writeHead(500).write("half"));
    expect(await send(webhookAt(halting.url), 200)).toMatchObject({ ok: false, retryable: true });
  });

  test.each([200, 500])("that floods with its %i is read no further than its beginning", async (code) => {
    let written = 0;
    const { url } = await openReceiver((response) => {
      response.writeHead(code);
      const pour = (): void => {
        while (!response.destroyed && response.write("x".repeat(65_536))) written += 65_536;
        if (!response.destroyed) response.once("drain", pour);
      };
      pour();
    });
    const delivery = await send(webhookAt(url));
    expect(delivery.ok).toBe(code === 200);
    expect(delivery.found.length).toBeLessThan(400);
    expect(written).toBeLessThan(64 * 1024 * 1024);
  });

  test("that is not there is told of in words and by the system's code, without its address", async () => {
    const delivery = await send(webhookAt(`http://127.0.0.1:${await freePort()}/services/T000/B000/secret`));
    const found = "cannot be reached: nothing listens there (ECONNREFUSED)";
    expect(delivery).toMatchObject({ ok: false, retryable: true, found });
  });

  test("that ends the connection is asked again", async () => {
    const port = await listen(createServer((socket) => socket.destroy()));
    expect(await send(webhookAt(`http://127.0.0.1:${port}/`))).toMatchObject({ ok: false, retryable: true });
  });

  test("that repeats its address, a secret with Slack and Teams, does not get it into a history", async () => {
    const { url } = await openReceiver((response, { path }) =>
      response.writeHead(404).end(`no ${path} here, nor https://user:pass@x.example${path}`),
    );
    const delivery = await send(webhookAt(`${url}/services/T000/B000/abcdefghijkl`));
    expect(delivery.found).toMatch(/^refused with 404: no <secret> here/);
    expect(delivery.found).not.toContain("abcdefghijkl");
  });

  test.each([
    ["/services/T000/B000/abcdefghijkl", "abcdefghijkl"],
    [
      "/workflows/0123456789abcdef/triggers/manual/paths/invoke?api-version=2016-06-01&sig=a_long-signature",
      "a_long-signature",
    ],
    ["/hooks/notify/me?a=1&code=a%2Flong%3Dsecret", "a/long=secret"],
  ])("that repeats what of %s lets in, and nothing else of it, does not either", async (path, secret) => {
    const { url } = await openReceiver((response) => response.writeHead(403).end(`unknown: ${secret}.`));
    expect((await send(webhookAt(`${url}${path}`))).found).toBe("refused with 403: unknown: <secret>.");
  });

  test("whose variable is not set is not asked", async () => {
    const problem = "the variable of its URL, OPS_URL, is not set";
    expect(await send(webhookAt("", { target: { problem } }))).toEqual({
      ok: false,
      retryable: true,
      found: problem,
    });
  });
});
