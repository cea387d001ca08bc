import { randomUUID } from "node:crypto";
import {
  Client,
  Connection,
  type ConnectionOptions,
  WorkflowFailedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  isGrpcServiceError,
} from "@temporalio/client";
import {
  ANSWER_UPDATE,
  DEFAULT_TASK_QUEUE,
  GRAPH_RUN_WORKFLOW,
  GRAPH_STATE_QUERY,
  RUN_STATE_QUERY,
  SEARCH_ATTRIBUTES,
  workflowIdOf,
} from "./contract/names.js";
import { newestAuditHead } from "./audit-head.js";
import type { AuditHead, GraphRunInput, RunResult, RunState } from "./contract/run.js";
import { ERROR_CODES, type Fault } from "./core/errors.js";

/** A request that was refused, or a run that failed: `code` is one of contracts §15. */
export class InterlockError extends Error {
  readonly code: Fault["code"];

  constructor(fault: Fault, cause?: unknown) {
    super(fault.message, { cause });
    this.name = "InterlockError";
    this.code = fault.code;
  }
}

export interface InterlockClientOptions {
  /** As for Temporal's own `Connection.connect`; absent means 127.0.0.1:7233. */
  readonly connection?: ConnectionOptions;
  readonly namespace?: string;
  /** The queue of the store that is to work on the runs. */
  readonly taskQueue?: string;
}

/** What starts a run. */
export type StartRun = Omit<GraphRunInput, "runId" | "carried" | "searchAttributes"> & {
  /** A UUID; made when absent. */
  readonly runId?: string;
};

/** A typed handle on Interlock's runs. */
export class InterlockClient {
  readonly taskQueue: string;
  readonly namespace: string;
  readonly temporal: Client;
  private registered: Promise<readonly string[]> | undefined;

  private constructor(temporal: Client, taskQueue: string) {
    this.temporal = temporal;
    this.namespace = temporal.options.namespace;
    this.taskQueue = taskQueue;
  }

  /** Connects to Temporal. Rejects when nothing answers there. */
  static async connect(options: InterlockClientOptions = {}): Promise<InterlockClient> {
    const connection = await Connection.connect(options.connection ?? {});
    const namespace = options.namespace ?? "default";
    return new InterlockClient(
      new Client({ connection, namespace }),
      options.taskQueue ?? DEFAULT_TASK_QUEUE,
    );
  }

  async close(): Promise<void> {
    await this.temporal.connection.close();
  }

  /** Starts a run and returns its handle. The same run id again is the same run. */
  async start(request: StartRun): Promise<RunHandle> {
    const runId = request.runId ?? randomUUID();
    const missing = await this.missingSearchAttributes();
    const input: GraphRunInput = { ...request, runId, searchAttributes: missing.length === 0 };
    const handle = await this.temporal.workflow.start(GRAPH_RUN_WORKFLOW, {
      workflowId: workflowIdOf(runId),
      taskQueue: this.taskQueue,
      args: [input],
      workflowIdConflictPolicy: "USE_EXISTING",
      workflowIdReusePolicy: "REJECT_DUPLICATE",
      // A dead worker's workflow task is given to another after this long.
      workflowTaskTimeout: "5 seconds",
      staticSummary: `${request.packageId}${request.workflowRef ? ` · ${request.workflowRef}` : ""}`.slice(
        0,
        200,
      ),
      staticDetails: `Run \`${runId}\` of package \`${request.packageId}\` on \`${request.projectRoot}\`.`,
    });
    return new RunHandle(this, runId, handle.firstExecutionRunId);
  }

  /** A handle on a run that exists. */
  handle(runId: string): RunHandle {
    return new RunHandle(this, runId);
  }

  /** The search attributes of contracts §14 that the namespace lacks. Empty where that cannot be known. */
  async missingSearchAttributes(): Promise<readonly string[]> {
    this.registered ??= this.listSearchAttributes();
    const known = await this.registered;
    return Object.keys(SEARCH_ATTRIBUTES).filter((name) => !known.includes(name));
  }

  private async listSearchAttributes(): Promise<readonly string[]> {
    const { namespace } = this;
    const response = await this.temporal.connection.operatorService
      .listSearchAttributes({ namespace })
      .catch(() => ({ customAttributes: {} }));
    return Object.keys(response.customAttributes);
  }

  /** Whether any worker polls the task queue for workflows. */
  async hasWorker(): Promise<boolean> {
    const response = await this.temporal.workflowService.describeTaskQueue({
      namespace: this.namespace,
      taskQueue: { name: this.taskQueue },
    });
    return (response.pollers ?? []).length > 0;
  }
}

/** Longer than it takes until a dead worker's task is given to another one. */
const MAX_ANSWER_ATTEMPTS = 30;
const ANSWER_PAUSE_MS = 1_000;

/** Temporal takes no update while a workflow task is being tried again and again. */
function isBetweenWorkers(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return isGrpcServiceError(cause) && cause.details.includes("Workflow Task in failed state");
}

/** One run. */
export class RunHandle {
  readonly runId: string;
  /** Temporal's id of the run's first execution, where this handle started it. */
  readonly firstExecutionRunId: string | undefined;
  private readonly client: InterlockClient;

  constructor(client: InterlockClient, runId: string, firstExecutionRunId?: string) {
    this.client = client;
    this.runId = runId;
    this.firstExecutionRunId = firstExecutionRunId;
  }

  /** Where the run stands. Needs a worker on the run's queue. Throws `E_RUN_NOT_FOUND`. */
  async state(): Promise<RunState> {
    return this.guarded(() => this.workflow().query<RunState>(RUN_STATE_QUERY));
  }

  /** The typed graph state of a run that carries a story; null for one that carries none. */
  async graphState(): Promise<unknown> {
    return this.guarded(() => this.workflow().query<unknown>(GRAPH_STATE_QUERY));
  }

  /**
   * Answers the question the run waits with. `answerId` makes it idempotent: the same id again is the same answer.
   * Where Temporal takes none because the run's worker has just died, it is sent again for a while. Throws `E_PRECONDITION_FAILED` when the run does not wait at that node.
   */
  async answer(answer: {
    readonly nodeId: string;
    readonly text: string;
    readonly answerId?: string;
  }): Promise<void> {
    const { nodeId, text, answerId = randomUUID() } = answer;
    const send = () =>
      this.workflow().executeUpdate(ANSWER_UPDATE, { args: [{ nodeId, text }], updateId: answerId });
    await this.guarded(async () => {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await send();
        } catch (error) {
          if (attempt === MAX_ANSWER_ATTEMPTS || !isBetweenWorkers(error)) throw error;
          await new Promise((resolve) => setTimeout(resolve, ANSWER_PAUSE_MS));
        }
      }
    });
  }

  /** Waits for the run's end. Throws an `InterlockError` with the failure's code when it fails. */
  async result(): Promise<RunResult> {
    return this.guarded(() => this.workflow().result() as Promise<RunResult>); // what graphRun returns
  }

  /**
   * The newest head of the audit log's chain that Temporal's history holds: what the log on disk is checked against.
   * Needs no worker. Undefined before the first event.
   */
  async auditHead(): Promise<AuditHead | undefined> {
    const history = await this.guarded(() => this.workflow().fetchHistory());
    return newestAuditHead(history);
  }

  /** Temporal's id of the current execution, for links into its Web UI. */
  async executionRunId(): Promise<string> {
    return this.guarded(async () => (await this.workflow().describe()).runId);
  }

  private workflow() {
    return this.client.temporal.workflow.getHandle(workflowIdOf(this.runId));
  }

  private async guarded<T>(action: () => Promise<T>): Promise<T> {
    try {
      return await action();
    } catch (error) {
      throw toInterlockError(error, this.runId);
    }
  }
}

function toInterlockError(error: unknown, runId: string): unknown {
  if (error instanceof WorkflowNotFoundError) {
    return new InterlockError({ code: "E_RUN_NOT_FOUND", message: `Temporal knows no run ${runId}.` }, error);
  }
  if (error instanceof WorkflowFailedError || error instanceof WorkflowUpdateFailedError) {
    const cause: unknown = error.cause;
    const type = typeof cause === "object" && cause !== null && "type" in cause ? cause.type : undefined;
    const code = ERROR_CODES.find((known) => known === type) ?? "ENGINE_ABORTED";
    const message = cause instanceof Error ? cause.message : error.message;
    return new InterlockError({ code, message }, error);
  }
  return error;
}
