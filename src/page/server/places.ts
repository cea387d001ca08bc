import type { InterlockClient, RunHandle } from "../../client/client.js";
import { RunDescriber } from "../../client/runs/describe-run.js";
import { isAway, isUnanswered } from "../../client/temporal/grpc-status.js";
import type { StoreReader } from "../../contract/reads.js";
import { NewestKept } from "../../core/newest-kept.js";
import { runIdIn } from "../../core/run/run-id.js";
import type { WorkflowGraph } from "../../core/package/graph.js";
import { type PageRefusal, answered, noWorker, noWorkerYet } from "./faults.js";

/** What the page works with. */
export interface PageDeps {
  /** With the queue of the store at hand, and its signer. */
  readonly client: InterlockClient;
  /** Reads the store of a queue: at hand where it is, else over Temporal. */
  readonly readerOf: (client: InterlockClient) => StoreReader;
  /** Whether a worker of that identity may live. */
  readonly mayLive: (identity: string) => boolean;
  readonly version: string;
  /** Base URL of Temporal's Web UI. */
  readonly webUi: string | undefined;
  /** The command that starts a worker of a store for this Temporal. */
  readonly startWorker: string;
  /** Who answers are said to be from. */
  readonly by: string;
}

/** A run, and how it is reached. */
export interface RunPlace {
  readonly runId: string;
  readonly workflowId: string;
  readonly handle: RunHandle;
  /** With the queue of the run's store. */
  readonly client: InterlockClient;
  readonly reader: StoreReader;
  readonly describer: RunDescriber;
  /** The command that starts a worker of its store. */
  readonly startWorker: string;
  /** The graph of its package; null for a bundle run. */
  readonly graph: () => Promise<WorkflowGraph | null>;
}

const MAX_KNOWN = 1_000;
/** How long a worker is waited for that a run is asked or told something by. */
const ANSWER_WITHIN_MS = 5_000;

/** The runs that were asked for. A run's ids and its queue stay what they are, so Temporal is asked for them once. */
export class KnownRuns {
  private readonly deps: PageDeps;
  private readonly known = new NewestKept<string, RunPlace>(MAX_KNOWN);

  constructor(deps: PageDeps) {
    this.deps = deps;
  }

  /** By its id or its workflow's, which is that of another run when it is started again. Throws `E_RUN_NOT_FOUND`. */
  async find(run: string): Promise<RunPlace> {
    const known = this.known.get(runIdIn(run) ?? run);
    if (known !== undefined) return known;
    const asked = this.deps.client.handle(run);
    const ids = await asked.identify();
    const same = this.known.get(ids.runId);
    if (same !== undefined) return same;
    const client = this.deps.client.onQueue(await asked.taskQueue());
    const reader = this.deps.readerOf(client);
    const handle = client.handle(ids);
    const place = {
      ...ids,
      client,
      handle,
      reader,
      describer: new RunDescriber(client, handle),
      startWorker: this.deps.startWorker,
      graph: graphIn(reader, ids.runId),
    };
    this.known.set(ids.runId, place);
    return place;
  }
}

/** The graph of a run stays what it is, so its store is asked for it once. */
function graphIn(reader: StoreReader, run: string): RunPlace["graph"] {
  let known: WorkflowGraph | null | undefined;
  return async () => {
    known ??= answered(await reader.ask("read.graph", { run })).graph as unknown as WorkflowGraph | null; // of an installed package
    return known;
  };
}

/** What a run's worker answers, in time, to what it is asked. Throws `NO_WORKER` where Temporal answers and no worker does. */
export function byWorker<T>(place: RunPlace, ask: (handle: RunHandle) => Promise<T>): Promise<T> {
  return inTime(place, ask, noWorker);
}

/** As `byWorker`, of what the run is told: a worker that comes later may still take it. */
export function toWorker<T>(place: RunPlace, tell: (handle: RunHandle) => Promise<T>): Promise<T> {
  return inTime(place, tell, noWorkerYet);
}

async function inTime<T>(
  { client, handle, startWorker }: RunPlace,
  ask: (handle: RunHandle) => Promise<T>,
  refusal: (startWorker: string, cause: unknown) => PageRefusal,
): Promise<T> {
  try {
    return await client.temporal.withDeadline(Date.now() + ANSWER_WITHIN_MS, () => ask(handle));
  } catch (error) {
    if (!isUnanswered(error) && !isAway(error)) throw error;
    await handle.executionStatus(); // throws where it is Temporal that does not answer
    throw refusal(startWorker, error);
  }
}
