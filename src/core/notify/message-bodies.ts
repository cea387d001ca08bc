import { cutText } from "../text.js";
import type { Notice, NoticeData, NoticeEvent } from "./notice.js";

/** How a receiver wants to be spoken to. */
export const WEBHOOK_FORMATS = ["json", "slack", "teams", "discord"] as const;
export type WebhookFormat = (typeof WEBHOOK_FORMATS)[number];

/** What a webhook is sent, as JSON. */
export function bodyOf(format: WebhookFormat, notice: Notice): object {
  switch (format) {
    case "json":
      return notice;
    case "slack":
      return slackBody(notice.data);
    case "teams":
      return teamsBody(notice.data);
    case "discord":
      return discordBody(notice.data);
  }
}

const HEADLINES: Readonly<Record<NoticeEvent, string>> = {
  started: "A run has started",
  running: "A run goes on",
  question: "A run asks",
  paused: "A run is paused",
  completed: "A run has completed",
  failed: "A run has failed",
  cancelled: "A run was cancelled",
  test: "This is a test",
};

/** What happened and to which run, on one line: package and project are texts of strangers. */
export function headlineOf({ event, project, package: name, rehearsal }: NoticeData): string {
  const where = [name, project].filter((part) => part !== "").join(" on ");
  return `${HEADLINES[event]}${rehearsal === true ? " (rehearsal)" : ""}${where === "" ? "" : `: ${where}`}`;
}

/** What is said of the run, label by label. */
function factsOf({
  runId,
  package: name,
  project,
  node,
  phase,
}: NoticeData): readonly (readonly [string, string])[] {
  const facts = [
    ["Run", runId],
    ["Package", name],
    ["Project", project],
    ["Node", node],
    ["Phase", phase],
  ] as const;
  return facts.filter(([, value]) => value !== "");
}

function textOf({ question, failure }: NoticeData): string | undefined {
  return question?.text ?? (failure === undefined ? undefined : `${failure.code}: ${failure.message}`);
}

/** Slack takes no more in a text of a block, and in a header. */
const MAX_SLACK_CHARS = 3_000;
const MAX_SLACK_HEADER_CHARS = 150;

/**
 * For Slack's incoming webhooks. What a stranger may have written stands in texts of type `plain_text`, where nothing is formatted,
 * and is escaped besides: there is no way from it to a mention or a link.
 */
function slackBody(data: NoticeData): object {
  const text = textOf(data);
  const section = (said: string) => ({ type: "section", text: slackText(said, MAX_SLACK_CHARS) });
  return {
    text: slackEscaped(headlineOf(data), MAX_SLACK_CHARS),
    mrkdwn: false,
    unfurl_links: false,
    unfurl_media: false,
    blocks: [
      { type: "header", text: slackText(headlineOf(data), MAX_SLACK_HEADER_CHARS) },
      {
        type: "section",
        fields: factsOf(data).map(([label, value]) => slackText(`${label}\n${value}`, MAX_SLACK_CHARS / 2)),
      },
      ...(text === undefined ? [] : [section(text)]),
      ...(data.command === undefined ? [] : [section(`$ ${data.command}`)]),
      ...(data.webUrl === undefined ? [] : [slackLink(data.webUrl)]),
    ],
  };
}

function slackText(text: string, maxChars: number) {
  return { type: "plain_text", text: slackEscaped(text, maxChars), emoji: false };
}

/** The only live text: its address is the operator's, and what follows of a run is encoded. */
function slackLink(url: string) {
  const address = url.replace(/[<>|\s]/g, encodeURIComponent).replaceAll("&", "&amp;");
  return { type: "context", elements: [{ type: "mrkdwn", text: `<${address}|Web UI>` }] };
}

const SLACK_ESCAPES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

/** As Slack's documentation says; cut between characters, for half an escape would be read as text. */
function slackEscaped(text: string, maxChars: number): string {
  let escaped = "";
  for (const char of text) {
    const next = SLACK_ESCAPES[char] ?? char;
    if (escaped.length + next.length >= maxChars) return `${escaped}…`;
    escaped += next;
  }
  return escaped;
}

/**
 * For a workflow of Teams that posts what it is sent: a message with one Adaptive Card. What a stranger may have written stands in
 * text runs of rich text blocks, which know no Markdown; Teams looks for mentions in what the card lists as such, and it lists none.
 */
function teamsBody(data: NoticeData): object {
  const text = textOf(data);
  const body = [
    teamsLine(headlineOf(data), { size: "Medium", weight: "Bolder" }),
    ...factsOf(data).map(([label, value]) => teamsLine(`${label}: ${value}`, {})),
    ...(text === undefined ? [] : text.split("\n").slice(0, MAX_TEAMS_LINES)).map((line) =>
      teamsLine(line, {}),
    ),
    ...(data.command === undefined ? [] : [teamsLine(data.command, { fontType: "Monospace" })]),
  ];
  const actions = data.webUrl === undefined ? {} : { actions: [webUiAction(data.webUrl)] };
  const card = {
    $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
    type: "AdaptiveCard",
    version: "1.4",
    body,
    ...actions,
  };
  const contentType = "application/vnd.microsoft.card.adaptive";
  return { type: "message", attachments: [{ contentType, contentUrl: null, content: card }] };
}

const MAX_TEAMS_LINES = 60;

function webUiAction(url: string) {
  return { type: "Action.OpenUrl", title: "Web UI", url };
}

/** `{{DATE(…)}}` in a text is a function of the card's: no text of ours calls one. */
function teamsLine(text: string, style: object) {
  const said = text.replaceAll(/\{(?=\{)/g, "{ ");
  return { type: "RichTextBlock", inlines: [{ type: "TextRun", text: said === "" ? " " : said, ...style }] };
}

/** Discord takes so many in a message. What is told has fewer, with its facts; an address may have any number. */
const MAX_DISCORD_CHARS = 2_000;
const MAX_DISCORD_TEXT_CHARS = 1_000;
const MAX_DISCORD_FACT_CHARS = 100;

/** For Discord's webhooks. What a stranger may have written stands in a block of code, where nothing is live and no backtick ends it: none is left. */
function discordBody(data: NoticeData): object {
  const facts = factsOf(data).map(([label, value]) => `${label}: ${cutText(value, MAX_DISCORD_FACT_CHARS)}`);
  const parts = [
    cutText(headlineOf(data), 2 * MAX_DISCORD_FACT_CHARS),
    facts.join("\n"),
    cutText(textOf(data) ?? "", MAX_DISCORD_TEXT_CHARS),
    data.command ?? "",
  ];
  const said = parts.filter((part) => part !== "").join("\n\n");
  const block = `\`\`\`text\n${said.replaceAll("`", "´")}\n\`\`\``;
  const link = data.webUrl === undefined ? "" : `\n<${data.webUrl.replace(/[<>\s]/g, encodeURIComponent)}>`;
  const content = block.length + link.length > MAX_DISCORD_CHARS ? block : block + link;
  return { content, allowed_mentions: { parse: [] } };
}
