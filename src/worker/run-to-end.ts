import { GracefulShutdownPeriodExpiredError, IllegalStateError, type Worker } from "@temporalio/worker";

/** Workers that somebody has asked to end. */
const asked = new WeakSet<Worker>();

export function markAsked(worker: Worker): void {
  asked.add(worker);
}

export interface Reasons {
  /** Why Temporal refuses what it is asked, or does not answer: the SDK says less, or nothing. */
  readonly why: () => Promise<string | undefined>;
  /** Why it will not answer this worker any more. */
  readonly isOver: () => string | undefined;
}

/** Rejects with why a worker has ended that nobody has asked to. */
export async function runToEnd(
  worker: Worker,
  { why, isOver }: Reasons,
  close: () => Promise<void>,
): Promise<void> {
  let over: string | undefined;
  const stop = onceOver({ why, isOver }, (words) => {
    if (worker.getState() !== "RUNNING") return;
    over = words;
    worker.shutdown();
  });
  try {
    await runUntilFailed(worker);
  } catch (error) {
    const refusal = over ?? (asked.has(worker) ? undefined : await why());
    await close().catch(() => undefined); // why the worker has ended says more
    if (refusal !== undefined) throw new Error(`${ENDED} ${refusal}`, { cause: error });
    throw isCutOff(error) ? new Error(CUT_OFF, { cause: error }) : error;
  } finally {
    stop();
  }
  await close();
  if (over !== undefined) throw new Error(`${ENDED} ${over}`);
}

const OVER_LOOK_MS = 10_000;

/** A worker that Temporal will not answer any more would ask for good. What started it may start one that is answered. Returns what ends the looking. */
function onceOver({ why, isOver }: Reasons, end: (words: string) => void): () => void {
  let silent = 0;
  const look = async (): Promise<void> => {
    const words = isOver();
    if (words === undefined) return;
    silent = (await why()) === undefined ? 0 : silent + 1;
    if (silent === 2) end(words);
  };
  const looking = setInterval(() => void look(), OVER_LOOK_MS);
  looking.unref();
  return () => clearInterval(looking);
}

const FAILED_LOOK_MS = 2_000;

/** Once it has failed, the SDK waits for its last polls, some of which never end: where they are refused, `run` may not either. */
async function runUntilFailed(worker: Worker): Promise<void> {
  let looking: NodeJS.Timeout | undefined;
  const failed = new Promise<never>((_, reject) => {
    let looks = 0;
    looking = setInterval(() => {
      looks = worker.getState() === "FAILED" ? looks + 1 : 0;
      if (looks === 2) reject(new Error("The worker has failed: its log says why."));
    }, FAILED_LOOK_MS).unref();
  });
  try {
    await Promise.race([worker.run(), failed]);
  } finally {
    clearInterval(looking);
  }
}

const ENDED = "The worker has ended. Nothing is lost: the next worker goes on with what it was at.";
const CUT_OFF =
  "The worker was stopped before all that it was at had ended, or was told to Temporal. Nothing is lost: the next worker does it again.";

/** Where work goes on after `shutdownForceTime`, the SDK says so, or stumbles over it when it cleans up. */
function isCutOff(error: unknown): boolean {
  return error instanceof GracefulShutdownPeriodExpiredError || error instanceof IllegalStateError;
}
