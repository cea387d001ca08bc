import type { BundleToolResult } from "../../core/bundle/bundle-result.js";
import { bundleToolName, parseBundleCall } from "../../core/bundle/bundle-tools.js";
import type { Fault } from "../../core/errors.js";
import type { CallOutcome } from "../../store/runs/call-journal.js";
import { type HeldLock, LockLost } from "../../store/disk/fenced-lock.js";
import type { Store } from "../../store/store.js";
import { refusedCall, runBundleCall } from "./bundle-calls.js";
import { type BundleRun, type BundleRuns, bundleRuns } from "./bundle-runs.js";
import { BUNDLE_NODE, type BundleSessions, bundleSessions } from "./bundle-sessions.js";
import { callFault } from "../sandbox/faults.js";
import { type CallRequest, type CallToRecord, type ExecutedCall, runRecorded } from "../recorded-call.js";

/** What the run engine knows beyond the call itself. */
export interface BundleKnowledge {
  readonly nodeId?: string;
  /** ISO time for the manifest. */
  readonly now?: string;
  /** The call is not to run: this is its result. */
  readonly refusal?: Fault;
}

export interface BundleHostOptions {
  readonly store: Store;
}

/** Runs the tool calls of bundle runs and keeps their sessions. Expected failures are results, never rejections. */
export interface BundleHost extends BundleSessions {
  /** Runs one call, once, with one audit event. */
  executeForEngine(
    request: CallRequest,
    knowledge?: BundleKnowledge,
  ): Promise<ExecutedCall<BundleToolResult>>;
}

export function createBundleHost({ store }: BundleHostOptions): BundleHost {
  const runs = bundleRuns(store);
  return {
    ...bundleSessions(runs),
    async executeForEngine(request, knowledge = {}) {
      const startedAt = performance.now();
      const found = await runs.find(request.context.runId, request.context.execution);
      if (!found.ok) return { ...refusedCall(found.error), audit: { lines: 0, sha256: "" } };
      const hasEffect = request.name === "save_output";
      const call: CallToRecord = {
        toolCallId: request.toolCallId,
        name: request.name,
        toolName: bundleToolName(request.name),
        argumentsJson: request.argumentsJson,
        agentId: request.context.agentId,
        nodeId: knowledge.nodeId ?? BUNDLE_NODE,
        startedAt,
        hasEffect,
        isExclusive: hasEffect && knowledge.refusal === undefined,
      };
      return runRecorded(found.value.files, call, (lock) =>
        attempt(runs, found.value, request, knowledge, lock).catch((error: unknown) => {
          if (error instanceof LockLost) throw error;
          return refusedCall(callFault(error));
        }),
      );
    },
  };
}

async function attempt(
  runs: BundleRuns,
  found: BundleRun,
  request: CallRequest,
  knowledge: BundleKnowledge,
  lock: HeldLock,
): Promise<CallOutcome<BundleToolResult>> {
  if (knowledge.refusal !== undefined) return refusedCall(knowledge.refusal);
  const call = parseBundleCall(request.name, request.argumentsJson);
  if (!call.ok) return refusedCall(call.error);
  const place = await runs.openPlace(found, true);
  if (!place.ok) return refusedCall(place.error);
  const now = knowledge.now === undefined ? new Date() : new Date(knowledge.now);
  const environment = { lock, files: found.files, place: place.value, now };
  return runBundleCall(environment, request.toolCallId, call.value);
}
