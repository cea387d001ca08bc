import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { toNotice } from "../../core/notify/notice.js";
import type { Webhook } from "../../core/notify/webhooks.js";
import { excerpt, listSome } from "../../core/text.js";
import { sendMessage } from "../../notify/send-message.js";
import { lookAround } from "../session/environment.js";
import { EXIT, type ExitCode, UsageError, print, printJson } from "../terminal/output.js";
import type { JsonChoice } from "../options/common-options.js";

/** `interlock notify test`: one message to each webhook from here, with this machine's settings and environment, once. */
export async function notifyTestCommand(
  name: string | undefined,
  { json = false }: JsonChoice,
): Promise<ExitCode> {
  const { config } = await lookAround();
  const wanted = config.webhooks.filter((webhook) => name === undefined || webhook.name === name);
  if (wanted.length === 0) throw new UsageError(noneOf(config.webhooks, name));
  const results = await Promise.all(wanted.map(trial));
  if (json) printJson(results);
  else
    for (const { webhook, ok, found } of results) print(`${ok ? "ok    " : "failed"}  ${webhook}  ${found}`);
  return results.every(({ ok }) => ok) ? EXIT.done : EXIT.failed;
}

function noneOf(webhooks: readonly Webhook[], name: string | undefined): string {
  if (webhooks.length === 0) return "The settings name no webhooks: see docs/notifications.md.";
  const known = listSome(webhooks.map((webhook) => webhook.name));
  return `The settings name no webhook "${excerpt(name ?? "")}". They name: ${known}`;
}

async function trial(webhook: Webhook) {
  const runId = randomUUID();
  const notice = toNotice(
    {
      event: "test",
      runId,
      workflowId: "",
      change: 0,
      phase: "idle",
      package: "",
      workflow: "",
      projectId: "",
      project: "",
      node: "",
      question: { text: `interlock notify test, from ${excerpt(hostname())}. There is no such run.` },
    },
    new Date(),
  );
  const { ok, found } = await sendMessage(webhook, `notice-test-${runId}-${webhook.name}`, notice);
  return { webhook: webhook.name, format: webhook.format, ok, found };
}
