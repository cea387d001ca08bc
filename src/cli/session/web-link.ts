import { setTimeout as pause } from "node:timers/promises";
import type { RunHandle } from "../../client/client.js";
import { webUrlOf } from "../../contract/web-url.js";
import type { TemporalSession } from "./temporal-session.js";
import { systemCode } from "../../core/system-code.js";

/** The page of a run in Temporal's Web UI that shows its current details: where it stands, and what it asks. */
export interface WebLink {
  /** Null where no Web UI answers, or will not when the command has ended. */
  readonly url: string | null;
  /** What opens one instead: half a sentence. */
  readonly how: string;
}

/** Of the embedded server, which ends with its last user. */
export const EMBEDDED_WEB_UI = "interlock dev opens it, with all runs";

const PATIENCE_MS = 1_000;
/** The embedded server answers before its Web UI does: on a busy machine by seconds. */
const EMBEDDED_PATIENCE_MS = 10_000;
const POLL_MS = 100;

/** The link to a run, where it leads to something; `after`: also when this command has ended. */
export async function webLinkOf(
  session: Pick<TemporalSession, "webUi" | "webUiCheck" | "embedded" | "webUiLasts"> & {
    readonly client: { readonly namespace: string };
  },
  run: Pick<RunHandle, "workflowId" | "executionRunId">,
  { after }: { readonly after: boolean },
): Promise<WebLink> {
  const { webUi, embedded, client } = session;
  const how = howToOpen(webUi, embedded);
  if (webUi === undefined || (after && !(await session.webUiLasts()))) return { url: null, how };
  if (!(await isThere(session.webUiCheck ?? webUi, embedded))) return { url: null, how };
  return { url: webUrlOf(webUi, client.namespace, run.workflowId, await run.executionRunId()), how };
}

function howToOpen(webUi: string | undefined, embedded: boolean): string {
  if (embedded) return EMBEDDED_WEB_UI;
  if (webUi === undefined) return "set INTERLOCK_WEB_UI to that of your Temporal";
  return `${webUi} does not answer from here; start it, or set INTERLOCK_WEB_UI to where it is`;
}

/** The embedded Web UI is asked until it has come up, any other one once. */
async function isThere(webUi: string, embedded: boolean): Promise<boolean> {
  if (!embedded) return answers(webUi, PATIENCE_MS);
  const deadline = performance.now() + EMBEDDED_PATIENCE_MS;
  while (!(await answers(webUi, Math.max(1, Math.ceil(deadline - performance.now()))))) {
    if (performance.now() >= deadline) return false;
    await pause(POLL_MS);
  }
  return true;
}

/** Whether somebody is there: one that asks who comes, or whose certificate only the browser knows, is. */
async function answers(webUi: string, withinMs: number): Promise<boolean> {
  const url = new URL(webUi);
  [url.username, url.password] = ["", ""];
  try {
    const signal = AbortSignal.timeout(withinMs);
    const { status } = await fetch(url, { method: "HEAD", redirect: "manual", signal });
    return status < 500;
  } catch (error) {
    return error instanceof Error && isCertificateTrouble(error.cause);
  }
}

function isCertificateTrouble(cause: unknown): boolean {
  return /CERT|VERIFY_LEAF_SIGNATURE/.test(systemCode(cause) ?? "");
}
