import type { OpenRunInput, OpenedRun, PhaseInput, UserInput } from "../contract/activities.js";
import { MAX_PAYLOAD_BYTES } from "../contract/names.js";
import type { AuditHead } from "../contract/run.js";
import { fail } from "../core/errors.js";
import { failpoint } from "../core/failpoint.js";
import { summarizeForAudit } from "../store/audit-summary.js";
import { selectWorkflow } from "../store/run-manager.js";
import type { Store } from "../store/store.js";
import { toApplicationFailure, unwrap } from "./failures.js";
import { checkStore, openFiles } from "./run-scope.js";

/** Room for what is told of an opened run beside its graph. */
const RUN_REF_BYTES = 4 * 1024;

/** Makes the run, or finds it made by an earlier attempt, and returns what it runs. */
export async function openRun(store: Store, input: OpenRunInput): Promise<OpenedRun> {
  checkStore(store, input.storeId);
  const loaded = unwrap(await store.packages.open(input.packageId));
  const { graph } = unwrap(selectWorkflow(loaded, input.workflowRef ?? ""));
  if (Buffer.byteLength(JSON.stringify(graph)) > MAX_PAYLOAD_BYTES - RUN_REF_BYTES) {
    throw toApplicationFailure(
      fail("E_PACKAGE_INVALID", "The graph is too large to run: shorten its texts.").error,
    );
  }
  const activeAgentId = input.activeAgentId ?? loaded.agents[0]?.id ?? "";
  const metadata = unwrap(
    await store.runs.createRun({
      runId: input.runId,
      projectRoot: input.projectRoot,
      packageId: input.packageId,
      activeAgentId,
      ...(input.workflowRef === undefined ? {} : { workflowRef: input.workflowRef }),
    }),
  );
  await store.runs.setBegun(metadata, new Date());
  const { runId, projectId, packageId, workflowRef } = metadata;
  const { storeId } = store;
  const choices = {
    ...(input.evaluateConditions === undefined ? {} : { evaluateConditions: input.evaluateConditions }),
    ...(input.rehearsal === undefined ? {} : { rehearsal: input.rehearsal }),
  };
  return { run: { runId, storeId, projectId, packageId, workflowRef, activeAgentId, ...choices }, graph };
}

/** Writes the user's words into the conversation and the audit log, once. */
export async function recordUserInput(store: Store, input: UserInput): Promise<AuditHead> {
  const files = await openFiles(store, input.run);
  const { inputId, nodeId, text } = input;
  failpoint("input.received");
  await files.conversation(input.conversation).append([{ type: "user", id: inputId, nodeId, text }]);
  failpoint("input.written");
  const digest = summarizeForAudit({ content: text });
  return files.audit.record({ kind: "user.input", id: inputId, nodeId, input: digest }, new Date());
}

/** Records a phase: for those who list runs, for those who ask without Temporal, and in the audit log. */
export async function recordPhase(store: Store, input: PhaseInput): Promise<AuditHead> {
  const files = await openFiles(store, input.run);
  const { phase, nodeId, change, fault, question, usage } = input;
  const status = {
    phase,
    nodeId,
    change,
    usage,
    ...(fault === undefined ? {} : { fault }),
    ...(question === undefined ? {} : { question }),
  };
  await files.status.write(status, async (lock) => {
    failpoint("phase.status-written");
    await store.runs.setPhase(input.run, phase, new Date(), lock);
    failpoint("phase.indexed");
  });
  const why = fault === undefined ? {} : { code: fault.code, message: fault.message };
  return files.audit.record({ kind: "run.phase", id: String(change), phase, nodeId, ...why }, new Date());
}
