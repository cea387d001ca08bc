import { defined } from "../core/defined.js";
import { nodeWithoutModel, visitLimitReached, wayOnFrom } from "../core/engine/node-pass.js";
import { DEFAULT_ENGINE_LIMITS } from "../core/run/limits.js";
import { takeEndBelow } from "../core/engine/run-below.js";
import type { RunRecord } from "../core/engine/run-record.js";
import { takeDocument } from "../core/engine/state-changes.js";
import { runActivities } from "./activity-options.js";
import { continueBetweenTurns, lengthNow } from "./continue-run-as-new.js";
import { failureOf } from "./failures.js";
import { knowWaysOut } from "./graph-parts.js";
import { readDocumentAgain } from "./graph-calls.js";
import { type Below, runBelow } from "./run-below.js";
import { summary } from "./summary.js";
import { waitUntilFree } from "./waiting.js";

/** Does the visit at hand where its node needs no model: the run goes on by its only way. False where it needs one. */
export async function passNode(record: RunRecord): Promise<boolean> {
  await knowWaysOut(record, record.carried.visiting?.nodeId ?? "");
  const node = nodeWithoutModel(record);
  if (node === undefined) return false;
  await waitUntilFree(record);
  if (record.isComplete) return true;
  await continueBetweenTurns(record);
  const limit = visitLimitReached(record, { ...DEFAULT_ENGINE_LIMITS, ...record.input.limits });
  if (limit !== undefined) throw failureOf({ code: "ENGINE_MAX_TURNS_EXCEEDED", message: limit });
  const below = node.workflow === undefined ? undefined : await runBelow(record, node.id);
  if (below !== undefined) takeEndBelow(record, node.id, below);
  // Once more where somebody has changed the document meanwhile, and the run still stands here.
  for (let attempt = 1; record.nodeId === node.id && !record.isComplete; attempt += 1) {
    await goOn(record, node.id, { attempt, below });
  }
  return true;
}

async function goOn(
  record: RunRecord,
  nodeId: string,
  { attempt, below }: { readonly attempt: number; readonly below: Below | undefined },
): Promise<void> {
  const now = new Date().toISOString();
  const { artifacts, handsUp } = below ?? {};
  const way = wayOnFrom(record, nodeId, { now, ...defined({ artifacts, variables: handsUp?.variables }) });
  if ("fault" in way) throw failureOf(way.fault);
  const { next, update, document } = way;
  await knowWaysOut(record, next);
  const { visit, stateSha256 } = record.carried;
  const { conditions } = record;
  const outcome = await runActivities["node.pass"].executeWithOptions(summary(`${nodeId} → ${next}`), [
    {
      ...record.scope,
      id: `pass-${visit}.${attempt}-${nodeId}`,
      visit,
      nodeId,
      next,
      update,
      stateSha256,
      now,
      ...defined({ conditions }),
      ...(below === undefined
        ? {}
        : { below: { runId: below.runId, workflow: below.workflowRef, usage: below.usage } }),
      ...lengthNow(),
    },
  ]);
  record.isLong ||= outcome.isLong === true;
  record.noteAudit(outcome.audit);
  if (outcome.stateConflict === true) return readDocumentAgain(record);
  if (!outcome.ok || outcome.state === undefined) {
    const { code = "E_INTERNAL", message = "The state document could not be saved." } = outcome;
    throw failureOf({ code, message });
  }
  takeDocument(record, document, outcome.state.sha256);
  record.note(`passed, on to ${next}`, nodeId);
}
