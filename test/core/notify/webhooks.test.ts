import { describe, expect, test } from "vitest";
import { notificationsSchema, wants, webhooksOf } from "../../../src/core/notify/webhooks.js";
import { aNotice } from "./a-notice.js";

const SECRET = `whsec_${"A".repeat(32)}`;
const VARIABLES: Record<string, string> = {
  SECRET,
  TWO: `${SECRET} whsec_${"B".repeat(43)}=`,
  SHORT: "whsec_AAAA",
  BARE: "A".repeat(32),
  SLACK: "https://hooks.slack.example/services/T/B/x\n",
  ELSEWHERE: "http://hooks.example/x",
};

const entry = (changes: object) => ({
  webhooks: { ops: { url: "https://x.example/", secretVariable: "SECRET", ...changes } },
});

function webhookOf(changes: object) {
  const [webhook] = webhooksOf(notificationsSchema.parse(entry(changes)), (name) => VARIABLES[name]);
  if (webhook === undefined) throw new Error("There is one.");
  return webhook;
}

function problemOf(settings: object): string {
  const issue = notificationsSchema.safeParse(settings).error?.issues[0];
  return `${issue?.path.join(".")}: ${issue?.message}`;
}

describe("webhooks in the settings", () => {
  test("have an address, a secret and events, or those that most want", () => {
    expect(webhookOf({})).toEqual({
      name: "ops",
      format: "json",
      events: ["question", "completed", "failed"],
      projects: undefined,
      packages: undefined,
      rehearsals: true,
      target: { url: "https://x.example/", secrets: ["A".repeat(32)] },
    });
    expect(webhooksOf(undefined, () => undefined)).toEqual([]);
  });

  test("take addresses and several secrets from variables", () => {
    const changes = { url: undefined, urlVariable: "SLACK", format: "slack", secretVariable: undefined };
    expect(webhookOf(changes).target).toEqual({
      url: "https://hooks.slack.example/services/T/B/x",
      secrets: [],
    });
    expect(webhookOf({ secretVariable: "TWO" }).target).toMatchObject({
      secrets: ["A".repeat(32), `${"B".repeat(43)}=`],
    });
  });

  test.each([
    [{ url: undefined, urlVariable: "NONE" }, "the variable of its URL, NONE, is not set"],
    [{ url: undefined, urlVariable: "ELSEWHERE" }, "the URL in ELSEWHERE must begin with https://"],
    [{ secretVariable: "NONE" }, "the variable of its secret, NONE, is not set"],
    [{ secretVariable: "SHORT" }, "SHORT must hold whsec_ and 24 to 64 bytes in base64"],
    [{ secretVariable: "BARE" }, "BARE must hold whsec_"],
  ])("with %j cannot be used, which is a sentence without the secret", (changes, sentence) => {
    const { target } = webhookOf(changes);
    expect("problem" in target && target.problem).toContain(sentence);
    expect(JSON.stringify(target)).not.toContain("AAAA");
  });

  test.each([
    "http://127.0.0.1:8080/x",
    "http://127.8.9.1/x",
    "http://[::1]:1/x",
    "http://localhost/x",
    "https://x.example/",
  ])("may be at %s", (url) => expect(webhookOf({ url }).target).toMatchObject({ url }));

  test("may be at http elsewhere only where the operator says so", () => {
    expect(webhookOf({ url: "http://hooks.lan/x", allowHttp: true }).target).toMatchObject({
      url: "http://hooks.lan/x",
    });
  });

  test.each([
    ["http://hooks.example/x", "must begin with https://; http is for the loopback address"],
    ["http://127.0.0.1.evil.example/x", "must begin with https://"],
    ["http://localhost.evil.example/x", "must begin with https://"],
    ["http://169.254.169.254/latest", "must begin with https://"],
    ["file:///etc/passwd", "must begin with https://"],
    ["https://user:word@x.example/", "must hold no user name and no password"],
    ["nowhere", "is no URL"],
  ])("are refused at %s, by their place", (url, sentence) => {
    expect(problemOf(entry({ url }))).toContain(`webhooks.ops.url: ${sentence}`);
  });

  test.each([
    [entry({ url: undefined }), "webhooks.ops.url: needs either url or urlVariable"],
    [entry({ urlVariable: "X" }), "webhooks.ops.url: needs either url or urlVariable"],
    [entry({ secretVariable: undefined }), "webhooks.ops.secretVariable: is missing"],
    [entry({ secretVariable: SECRET.replace("_", "-") }), "webhooks.ops.secretVariable: must be the name"],
    [entry({ events: ["asked"] }), "webhooks.ops.events.0"],
    [entry({ events: ["test"] }), "webhooks.ops.events.0"],
    [entry({ sekret: "x" }), "webhooks.ops"],
    [{ webhooks: { "Ops!": {} } }, "webhooks.Ops!"],
    [
      {
        webhooks: Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`w${i}`, entry({}).webhooks.ops])),
      },
      "webhooks: must be at most 20",
    ],
  ])("that are wrong are refused: %#", (settings, sentence) => {
    expect(problemOf(settings)).toContain(sentence);
  });
});

describe("a webhook is told", () => {
  const { data } = aNotice();
  test.each([
    [true, {}],
    [false, { events: ["failed"] }],
    [true, { projects: ["shop"] }],
    [true, { projects: ["other", "shop-000000000000"] }],
    [false, { projects: ["other"] }],
    [true, { packages: ["two-nodes"] }],
    [false, { packages: ["three-nodes"] }],
    [true, { rehearsals: false }],
  ])("%s with %j", (isTold, changes) => expect(wants(webhookOf(changes), data)).toBe(isTold));

  test("of rehearsals, unless the operator wants none", () => {
    expect(wants(webhookOf({}), { ...data, rehearsal: true })).toBe(true);
    expect(wants(webhookOf({ rehearsals: false }), { ...data, rehearsal: true })).toBe(false);
  });
});
