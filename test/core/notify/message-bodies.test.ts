import { describe, expect, test } from "vitest";
import { bodyOf, headlineOf } from "../../../src/core/notify/message-bodies.js";
import { aNotice } from "./a-notice.js";

/** What a package or a model may have written, to be seen by everybody or to be clicked. */
const HOSTILE = [
  "<!channel>",
  "<!here|here>",
  "<@U012AB3CD>",
  "<#C012AB3CD>",
  "<!subteam^S012AB3CD>",
  "<https://evil.example|the usual page>",
  "[the usual page](https://evil.example)",
  "![x](https://evil.example/x.png)",
  "<at>everyone</at>",
  "&lt;!channel&gt;",
  "*bold* _it_ ~no~ `code` # head",
  "{{DATE(2026-01-02T03:04:05Z,SHORT)}}",
  "{{{DATE(2026-01-02T03:04:05Z,SHORT)}}}",
] as const;

const WEB = "https://temporal.example/namespaces/default/workflows/run-1/2/user-metadata?a=1&b=<|>";

function textsIn(value: unknown, type: string): readonly string[] {
  if (value === null || typeof value !== "object") return [];
  const entries = Object.entries(value);
  const own = entries.flatMap(([key, inner]) => (key === "text" && typeof inner === "string" ? [inner] : []));
  const isType = entries.some(([key, inner]) => key === "type" && inner === type);
  return [...(isType ? own : []), ...entries.flatMap(([, inner]) => textsIn(inner, type))];
}

describe("a message of format json", () => {
  test("is the notice", () => expect(bodyOf("json", aNotice())).toEqual(aNotice()));
});

describe("a message for Slack", () => {
  const body = (changes = {}) => bodyOf("slack", aNotice(changes)) as Record<string, unknown>;

  test("has a text for notices, a headline, facts, the question and the command", () => {
    expect(body({ webUrl: WEB })).toEqual({
      text: "A run asks: two-nodes-1.0.0-000000000000 on shop",
      mrkdwn: false,
      unfurl_links: false,
      unfurl_media: false,
      blocks: [
        {
          type: "header",
          text: {
            type: "plain_text",
            text: "A run asks: two-nodes-1.0.0-000000000000 on shop",
            emoji: false,
          },
        },
        { type: "section", fields: expect.any(Array) },
        { type: "section", text: { type: "plain_text", text: "Which one?", emoji: false } },
        {
          type: "section",
          text: {
            type: "plain_text",
            text: "$ interlock answer 11111111-2222-4333-8444-555555555555 --question 1.1",
            emoji: false,
          },
        },
        {
          type: "context",
          elements: [
            {
              type: "mrkdwn",
              text: "<https://temporal.example/namespaces/default/workflows/run-1/2/user-metadata?a=1&amp;b=%3C%7C%3E|Web UI>",
            },
          ],
        },
      ],
    });
  });

  test.each(HOSTILE)("lets %s of a question, a name and a failure do nothing", (hostile) => {
    const said = body({
      question: { text: hostile },
      package: hostile,
      project: hostile,
      node: hostile,
      failure: { code: "E_INTERNAL", message: hostile },
    });
    expect(JSON.stringify(said)).not.toMatch(/[<>]|&(?!amp;|lt;|gt;)/);
    expect(textsIn(said, "mrkdwn")).toEqual([]); // nothing but plain text
    expect(
      JSON.stringify(body({ question: undefined, failure: { code: "X", message: hostile } })),
    ).not.toMatch(/[<>]/);
  });

  test("is cut between characters to what Slack takes, and never within an escape", () => {
    const texts = textsIn(
      body({ question: { text: "<&>".repeat(1_000) }, package: "&".repeat(500) }),
      "plain_text",
    );
    for (const text of texts) {
      expect(text.length).toBeLessThanOrEqual(3_000);
      expect(text.replaceAll(/&(?:amp|lt|gt);/g, "")).not.toContain("&");
    }
    expect(texts[0]?.length).toBeLessThanOrEqual(150);
    expect(texts.filter((text) => text.endsWith("…"))).toHaveLength(3);
  });
});

describe("a message for Teams", () => {
  const cardOf = (changes = {}) => {
    const { type, attachments } = bodyOf("teams", aNotice(changes)) as {
      type: string;
      attachments: { contentType: string; content: Record<string, unknown> }[];
    };
    expect([type, attachments.length]).toEqual(["message", 1]);
    expect(attachments[0]?.contentType).toBe("application/vnd.microsoft.card.adaptive");
    return attachments[0]?.content ?? {};
  };

  test("is one Adaptive Card whose lines are runs of plain text", () => {
    const card = cardOf({ question: { text: "First\n\nThird" }, webUrl: WEB });
    expect(card).toMatchObject({ type: "AdaptiveCard", version: "1.4" });
    expect(card["actions"]).toEqual([{ type: "Action.OpenUrl", title: "Web UI", url: WEB }]);
    expect(textsIn(card, "TextRun")).toEqual([
      "A run asks: two-nodes-1.0.0-000000000000 on shop",
      "Run: 11111111-2222-4333-8444-555555555555",
      "Package: two-nodes-1.0.0-000000000000",
      "Project: shop",
      "Node: ask",
      "Phase: waiting-user",
      "First",
      " ",
      "Third",
      "interlock answer 11111111-2222-4333-8444-555555555555 --question 1.1",
    ]);
  });

  test.each(HOSTILE)("lets %s be what it is: text where no Markdown is read", (hostile) => {
    const card = cardOf({
      question: { text: hostile },
      package: hostile,
      project: hostile,
      command: undefined,
    });
    expect(Object.keys(card).sort()).toEqual(["$schema", "body", "type", "version"]); // no mentions, no actions
    const blocks = card["body"] as { type: string; inlines: { type: string; text: string }[] }[];
    expect(new Set(blocks.map((block) => block.type))).toEqual(new Set(["RichTextBlock"]));
    expect(new Set(blocks.flatMap(({ inlines }) => inlines.map((run) => run.type)))).toEqual(
      new Set(["TextRun"]),
    );
    expect(JSON.stringify(card)).not.toContain("{{");
  });

  test("stays far below what Teams takes, however many lines a question has", () => {
    expect(JSON.stringify(cardOf({ question: { text: "x\n".repeat(1_000) } })).length).toBeLessThan(
      28_000 / 2,
    );
  });
});

describe("a message for Discord", () => {
  const body = (changes = {}) =>
    bodyOf("discord", aNotice(changes)) as { readonly content: string; readonly allowed_mentions: object };

  test("is one block with headline, facts, question and command, and an address that is not unfolded", () => {
    expect(body({ webUrl: WEB })).toEqual({
      content: [
        "```text",
        "A run asks: two-nodes-1.0.0-000000000000 on shop",
        "",
        "Run: 11111111-2222-4333-8444-555555555555",
        "Package: two-nodes-1.0.0-000000000000",
        "Project: shop",
        "Node: ask",
        "Phase: waiting-user",
        "",
        "Which one?",
        "",
        "interlock answer 11111111-2222-4333-8444-555555555555 --question 1.1",
        "```",
        "<https://temporal.example/namespaces/default/workflows/run-1/2/user-metadata?a=1&b=%3C|%3E>",
      ].join("\n"),
      allowed_mentions: { parse: [] },
    });
  });

  test.each([...HOSTILE, "@everyone", "<@&1>", "```\n@here", "||x||", "`` ` ``"])(
    "lets %s of a question and a name stay within the block, and mention nobody",
    (hostile) => {
      const { content, allowed_mentions } = body({
        question: { text: hostile },
        package: hostile,
        project: hostile,
        node: hostile,
      });
      expect(content.split("```")).toHaveLength(3);
      expect(content.startsWith("```text\n") && content.endsWith("\n```")).toBe(true);
      expect(allowed_mentions).toEqual({ parse: [] });
    },
  );

  test("has no more characters than Discord takes, whatever it tells", () => {
    const long = "x".repeat(3_000);
    for (const webUrl of [WEB, `https://temporal.example/${long}`]) {
      const { content } = body({
        question: { text: long },
        package: long,
        project: long,
        node: long,
        webUrl,
      });
      expect(content.length).toBeLessThanOrEqual(2_000);
      expect(content).toContain("interlock answer 11111111-2222-4333-8444-555555555555 --question 1.1\n```");
      expect(content.includes(WEB.slice(0, 60))).toBe(webUrl === WEB);
    }
  });
});

test("a headline says that a run is rehearsed, and leaves out what is not known", () => {
  expect(headlineOf(aNotice({ rehearsal: true, project: "" }).data)).toBe(
    "A run asks (rehearsal): two-nodes-1.0.0-000000000000",
  );
  expect(headlineOf(aNotice({ event: "test", package: "", project: "" }).data)).toBe("This is a test");
});
