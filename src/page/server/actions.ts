import { createHmac, randomBytes } from "node:crypto";
import { requestAtHand } from "../../client/begun-with.js";
import type { RunHandle, RunRequest } from "../../client/client.js";
import { defined } from "../../core/defined.js";
import type { RouteAnswer, RouteRequest, Started } from "../api.js";
import { PageRefusal, answered } from "./faults.js";
import { type PageDeps, type RunPlace, toWorker } from "./places.js";

/* What the page does: each is what a command does, by the same client. */

const DONE = { done: true } as const;

/** A run takes nothing under an id that it has refused something under: nobody is to know beforehand under which ids the page answers. */
const OWN_SECRET = randomBytes(32);

/** Sent again, the same answer is the one that was sent. */
export async function answerAction(
  { by }: PageDeps,
  place: RunPlace,
  { nodeId, question, text }: RouteRequest<"answer">,
): Promise<RouteAnswer<"answer">> {
  const answerId = createHmac("sha256", OWN_SECRET)
    .update(JSON.stringify([question, text]))
    .digest("hex");
  const answer = { nodeId, question, text, by, answerId: `page-${answerId}` };
  await toWorker(place, (handle) => handle.answer(answer));
  return DONE;
}

export async function retryAction(
  { client, handle, reader, runId }: RunPlace,
  { model }: RouteRequest<"retry">,
): Promise<RouteAnswer<"retry">> {
  await client.retryFrom(await requestAtHand(reader, runId), handle, defined({ model }));
  return DONE;
}

/** Those that say nothing but which run. */
export async function plainAction(
  place: RunPlace,
  action: "pause" | "resume" | "cancel" | "finish",
): Promise<RouteAnswer<"pause">> {
  await toWorker(place, (handle): Promise<unknown> => handle[action]());
  return DONE;
}

export async function raiseAction(
  place: RunPlace,
  { add, scope, raiseId }: RouteRequest<"raise">,
): Promise<RouteAnswer<"raise">> {
  const raise = { add, raiseId, ...defined({ scope }) };
  return { budget: await toWorker(place, (handle) => handle.raiseBudget(raise)) };
}

/** As the run was begun, with the package that it found then. */
export async function forkAction(
  { client, reader, runId }: RunPlace,
  { visit, newRunId, set, model, allowMissing }: RouteRequest<"fork">,
): Promise<RouteAnswer<"fork">> {
  const { request } = answered(await reader.ask("read.request", { run: runId }));
  const source = request as unknown as RunRequest | null; // as the store has written it
  if (source === null)
    throw new PageRefusal(
      409,
      "E_PRECONDITION_FAILED",
      "The store does not know what the run was begun with.",
    );
  const options = { visit, runId: newRunId, ...defined({ set, model, allowMissing }) };
  return startedOf(await client.forkFrom(source, runId, options));
}

export async function startAction(
  { client }: PageDeps,
  { taskQueue, newRunId, agentId, rehearse, ...request }: RouteRequest<"start">,
): Promise<RouteAnswer<"start">> {
  const start = {
    ...request,
    runId: newRunId,
    ...defined({ activeAgentId: agentId, rehearsal: rehearse }),
  };
  return startedOf(await client.onQueue(taskQueue).start(start));
}

function startedOf({ runId }: RunHandle): Started {
  return { runId };
}
