import { Client, Connection } from "@temporalio/client";
import type { Payload } from "@temporalio/common";
import { grpcReason } from "../client/temporal/grpc-reason.js";
import { BUNDLE_RUN_WORKFLOW, GRAPH_RUN_WORKFLOW } from "../contract/names.js";
import { RUN_MEMO } from "../contract/run-memo.js";
import { STORE_MEMO, STORE_WORKFLOW } from "../contract/store-record.js";
import { SealCodec, isSealed } from "../seal/seal-codec.js";
import { SealError } from "../seal/seal-error.js";
import type { SealKeys } from "../seal/seal-keys.js";
import type { TemporalPlace } from "./check-temporal.js";
import { CHECK_MS, type Finding, failed, passed, skipped, warning } from "./finding.js";

const NAME = "sealed histories";
/** The newest executions that are looked at. */
const LOOKED_AT = 50;
const RUN_TYPES = [GRAPH_RUN_WORKFLOW, BUNDLE_RUN_WORKFLOW].map((type) => `"${type}"`);
const TYPES = [...RUN_TYPES, `"${STORE_WORKFLOW}"`];

/** Whether the keys here open what workers have sealed lately, and what open runs were started with. Undefined `place`: no server runs. */
export async function checkSeal(
  keys: SealKeys | undefined,
  place: TemporalPlace | undefined,
): Promise<readonly Finding[]> {
  const here = keys === undefined ? "no keys" : keysOf(keys);
  if (place === undefined) return [skipped(NAME, `${here}; no server runs`)];
  const { connection: options, namespace, taskQueue } = place;
  const connection = Connection.lazy({ ...options, interceptors: [] });
  try {
    const { workflowService } = new Client({ connection, namespace });
    const found = await connection.withDeadline(Date.now() + CHECK_MS - 500, async () => [
      ...(await newestMemos(workflowService, namespace, taskQueue)),
      ...(await startsOfOpenRuns(workflowService, namespace, taskQueue)),
    ]);
    return [await judgeSealed(keys, found, namespace)];
  } catch (error) {
    if (error instanceof SealError) throw error;
    return [skipped(NAME, `${here}; Temporal does not tell: ${grpcReason(error)}`)];
  } finally {
    await connection.close();
  }
}

/** Something that was said to Temporal, perhaps sealed. */
interface Said {
  readonly payload: Payload;
  readonly workflowId: string;
}

type Service = Client["workflowService"];

/** What runs and stores have said of themselves last. */
async function newestMemos(service: Service, namespace: string, taskQueue: string): Promise<readonly Said[]> {
  const query = `WorkflowType IN (${TYPES.join(", ")}) AND TaskQueue = ${JSON.stringify(taskQueue)}`;
  const { executions } = await service.listWorkflowExecutions({ namespace, query, pageSize: LOOKED_AT });
  return executions.flatMap(({ execution, memo }) =>
    [memo?.fields?.[RUN_MEMO], memo?.fields?.[STORE_MEMO]].flatMap((payload) =>
      payload ? [{ payload, workflowId: execution?.workflowId ?? "" }] : [],
    ),
  );
}

/** What open runs were started with: sealed by the oldest key that their histories need. */
async function startsOfOpenRuns(
  service: Service,
  namespace: string,
  taskQueue: string,
): Promise<readonly Said[]> {
  const query = `WorkflowType IN (${RUN_TYPES.join(", ")}) AND TaskQueue = ${JSON.stringify(taskQueue)} AND ExecutionStatus = "Running"`;
  const { executions } = await service.listWorkflowExecutions({ namespace, query, pageSize: LOOKED_AT });
  const found = executions.map(async ({ execution }) => {
    const asked = { namespace, execution: execution ?? null, maximumPageSize: 1 };
    const { history } = await service.getWorkflowExecutionHistory(asked);
    const { input } = history?.events?.[0]?.workflowExecutionStartedEventAttributes ?? {};
    return (input?.payloads ?? []).map((payload) => ({ payload, workflowId: execution?.workflowId ?? "" }));
  });
  return (await Promise.all(found)).flat();
}

/** What is sealed, and whether it can be opened. */
async function judgeSealed(
  keys: SealKeys | undefined,
  said: readonly Said[],
  namespace: string,
): Promise<Finding> {
  const codec = new SealCodec(keys, "client");
  const sealed = said.filter(({ payload }) => isSealed(payload));
  for (const { payload, workflowId } of sealed) {
    try {
      await codec.decode([payload], { type: "workflow", namespace, workflowId });
    } catch (error) {
      if (!(error instanceof SealError)) throw error;
      return failed(NAME, `${error.reason}: ${error.message}`, REMEDIES[error.reason]);
    }
  }
  if (keys === undefined) return passed(NAME, "none, and no keys");
  const open = said.length - sealed.length;
  const here = `${keysOf(keys)}; ${sealed.length} of ${said.length} looked at are sealed, and can be opened`;
  if (keys.writer === undefined || open === 0 || sealed.length > 0) return passed(NAME, here);
  return warning(NAME, here, "Give every worker the keys, and start it again: nothing is sealed yet.");
}

const REMEDIES: Readonly<Record<SealError["reason"], string>> = {
  "no key": "Ask whoever runs the workers for the file of keys, and name it in INTERLOCK_SEAL_KEYS_FILE.",
  "unknown key": "Add that key to those here, after the first: whoever runs the workers has it.",
  "wrong key": "Replace the key of that id by the one that the workers have.",
  altered: "Somebody has changed what Temporal keeps: look who may write to its database.",
  moved: "Somebody has moved what Temporal keeps: look who may write to its database.",
};

function keysOf({ writer, readers }: SealKeys): string {
  const ids = [...readers.keys()].join(", ");
  return writer === undefined
    ? `reads with ${ids}, seals nothing`
    : `seals with ${writer.id}, reads with ${ids}`;
}
