import { counted, ended as asSentence } from "../../core/text.js";
import { InterlockError, type RunHandle } from "../../client/client.js";
import { hasCode } from "../../client/temporal/interlock-error.js";
import { type ExecutionStanding, standingOf } from "../../client/runs/execution-status.js";
import { LONGEST_DELIVERY_MS, noticeIdOf } from "../../contract/notice.js";
import {
  type PrunableRun,
  type PruneRule,
  prunableRuns,
  withoutNeeded,
} from "../../core/run/choose-pruned.js";
import { closedWords, wordsOf } from "../../core/system-code.js";
import { NotOurFile } from "../../store/disk/own-file.js";
import { DamagedIndex } from "../../store/runs/run-index.js";
import { type RunMetadata, workflowIdOfRun } from "../../store/runs/run-metadata.js";
import { collectGarbage } from "../../store/collect-garbage.js";
import type { Store } from "../../store/store.js";
import { RUN_PHASES, isOverPhase } from "../../core/run/phase.js";
import { countAloud } from "../terminal/count-aloud.js";
import { sealErrorIn } from "../../seal/seal-error.js";
import { storeAtHand } from "../session/environment.js";
import { wholeNumber } from "../options/numbers.js";
import {
  CommandError,
  EXIT,
  type ExitCode,
  UsageError,
  print,
  printJson,
  printNote,
} from "../terminal/output.js";
import { sinceOf } from "../report/run-filter.js";
import { referenceOf } from "../session/run-session.js";
import { type TemporalSession, withTemporal } from "../session/temporal-session.js";
import { temporalWords } from "../../client/temporal/temporal-words.js";
import { someAtOnce } from "../../core/some-at-once.js";

interface PruneOptions {
  readonly olderThan?: string;
  readonly keep?: string;
  readonly withHistory?: boolean;
  readonly unknown?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

interface CollectOptions {
  readonly grace?: string;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

/** Why a run that the options mean stays. */
type Reason = "open" | "unknown" | "history" | "ended later" | "notices" | "fork" | "gone on";

const REASONS: Readonly<Record<Reason, string>> = {
  open: "Temporal says that it goes on",
  unknown:
    "not over by its files, and unknown to this Temporal; interlock restore <run> lets it go on, --unknown takes it",
  history: "Temporal still has its history; --with-history takes both",
  "ended later": "Temporal says that it has ended later than its files say: a worker's clock was slow",
  notices: "webhooks are still to be told of it",
  fork: "a run that stays is forked from it, or has started it",
  "gone on": "it went on meanwhile",
};
/** Later than any time of Temporal's. */
const NEVER = "9999";
/** How many runs Temporal is asked about at once. */
const ASKED_AT_ONCE = 16;

/** `interlock runs prune`: removes runs that are over, each all or nothing. */
export async function runsPruneCommand(options: PruneOptions): Promise<ExitCode> {
  const rule = ruleOf(options, new Date());
  const isLook = options.dryRun === true;
  const { config, store } = await storeAtHand({ isLook });
  return unlessDamaged(async () => {
    const { ended, notRemoved } = isLook ? { ended: [], notRemoved: [] } : await store.runs.sweep();
    const all = await store.runs.listAllRuns();
    const hasLeft = options.withHistory === true && (await store.runs.prunedRuns()).length > 0;
    const whyLeft = notRemoved.map(({ runId, why }) => [runId, why] as const);
    const outcome: Outcome = { pruned: [], kept: new Map(), ended: [...ended], left: new Map(whyLeft) };
    if (prunableRuns(all.map(asOver), rule).length > 0 || hasLeft) {
      await withTemporal({ config, store }, ({ session }) =>
        prune({ store, session, options, rule }, all, outcome),
      );
    }
    report(options, outcome);
    return outcome.left.size === 0 ? EXIT.done : EXIT.failed;
  });
}

interface Outcome {
  readonly pruned: string[];
  readonly kept: Map<string, Reason>;
  /** Whose pruning an earlier call had begun. */
  readonly ended: string[];
  /** Runs that could not be removed, and why. */
  readonly left: Map<string, string>;
}

interface Place {
  readonly store: Store;
  readonly session: TemporalSession;
  readonly options: PruneOptions;
  readonly rule: PruneRule;
}

async function prune(place: Place, all: readonly RunMetadata[], outcome: Outcome): Promise<void> {
  const { pruned, kept, left } = outcome;
  const { store, options } = place;
  const isDry = options.dryRun === true;
  const meant = await meantRuns(place, all, kept);
  const executions = await freeToGo(place, meant, outcome);
  const free = meant.filter(({ runId }) => executions.has(runId));
  const going = free.length === 0 ? [] : withoutNeeded([...all, ...(await unopenedForks(place, all))], free);
  const ids = new Set(going.map(({ runId }) => runId));
  for (const { runId } of free) if (!ids.has(runId)) kept.set(runId, "fork");
  const removed = countAloud((done) => `${done} of ${going.length} runs are removed …`);
  for (const run of going) {
    removed();
    const execution = executions.get(run.runId) ?? 1;
    try {
      const isPruned = isDry || (await store.runs.prune(run, execution, new Date(), { isClosed: true }));
      if (isPruned) pruned.push(run.runId);
      else kept.set(run.runId, "gone on");
    } catch (error) {
      left.set(run.runId, whyStuck(error));
    }
  }
  if (isDry) return;
  for (const runId of (await store.runs.sweep()).ended) {
    if (left.delete(runId)) pruned.push(runId);
    else outcome.ended.push(runId);
  }
  if (options.withHistory === true) await forgetPruned(place);
}

/**
 * The forks of this store that Temporal has and no worker has opened yet: no index lists them, and they begin with files of their source.
 * What is sealed with a key that is not here may be a fork of any run.
 */
async function unopenedForks(
  { store, session: { client } }: Place,
  all: readonly RunMetadata[],
): Promise<readonly PrunableRun[]> {
  const listed = new Set(all.map(({ runId }) => runId));
  const open = await client.runs({ phases: OPEN_PHASES, taskQueues: [store.taskQueue] }, Infinity);
  const forks = new Map<string, PrunableRun>(); // one for each source
  await someAtOnce(
    open.filter(({ runId }) => !listed.has(runId)),
    ASKED_AT_ONCE,
    async ({ runId, workflowId, startedAt }) => {
      const sources = await sourcesOf(client.handle({ runId, workflowId }), all);
      for (const forkedFrom of sources)
        forks.set(forkedFrom.runId, {
          runId,
          phase: "idle",
          createdAt: startedAt,
          lastUpdatedAt: startedAt,
          forkedFrom,
        });
    },
  );
  return [...forks.values()];
}

/** The runs that one that is not opened yet may be forked from. */
async function sourcesOf(
  run: RunHandle,
  all: readonly RunMetadata[],
): Promise<readonly { readonly runId: string }[]> {
  try {
    const { kind, input } = await run.startedWith();
    return kind === "graph" && input.fork !== undefined ? [input.fork] : [];
  } catch (error) {
    if (sealErrorIn(error) !== undefined) return all;
    if (!(error instanceof InterlockError) && temporalWords(error) !== undefined) throw error;
    return []; // it has ended meanwhile, or is no run that a worker could open
  }
}

const OPEN_PHASES = RUN_PHASES.filter((phase) => !isOverPhase(phase));

/** A run whose files do not say that it is over, as one that ended when it was last heard of. */
function asOver(run: RunMetadata): RunMetadata {
  return isOverPhase(run.phase) ? run : { ...run, phase: "failed" };
}

/**
 * The runs that the rule means. One that Temporal has closed by itself (terminated, timed out) ended then, whatever its files say: no
 * worker was there to write it down.
 */
async function meantRuns(
  { session, options, rule }: Place,
  all: readonly RunMetadata[],
  kept: Map<string, Reason>,
): Promise<readonly RunMetadata[]> {
  const standing = new Map(all.map((run) => [run.runId, run]));
  const unknown = new Set<string>();
  const open = all.filter(({ phase }) => !isOverPhase(phase));
  const asked = countAloud(
    (done) => `Temporal is asked about ${done} of ${open.length} runs that are not over …`,
  );
  await someAtOnce(open, ASKED_AT_ONCE, async (run) => {
    asked();
    const known = await knownStanding(session, run);
    if (known === undefined) unknown.add(run.runId);
    else if (known.closedAt !== undefined) {
      standing.set(run.runId, { ...asOver(run), lastUpdatedAt: known.closedAt });
    }
  });
  const runs = [...standing.values()];
  const withUnknown = runs.map((run) => (unknown.has(run.runId) ? asOver(run) : run));
  const meant = prunableRuns(withUnknown, rule);
  if (options.unknown === true) return meant;
  for (const { runId } of meant) if (unknown.has(runId)) kept.set(runId, "unknown");
  return prunableRuns(runs, rule);
}

/** Of all that are known to have been pruned: an earlier call may have been cut short before it came to this. */
async function forgetPruned({ store, session: { client } }: Place): Promise<void> {
  const runs = (await store.runs.prunedRuns()).map(({ runId, workflowId }) => {
    return { runId, workflowId: workflowIdOfRun({ runId, workflowId }) };
  });
  const known = await client.knowsOf(runs.map(({ workflowId }) => workflowId));
  const left = runs.filter(({ workflowId }) => known.has(workflowId));
  const forgotten = countAloud((done) => `${done} of ${left.length} histories are deleted …`);
  await someAtOnce(left, ASKED_AT_ONCE, (run) => {
    forgotten();
    return client.forget(run);
  });
}

function ruleOf({ olderThan, keep }: PruneOptions, now: Date): PruneRule {
  if (olderThan === undefined && keep === undefined) {
    throw new UsageError("Say which runs are to go: --older-than 30d, --keep 1000, or both.");
  }
  return {
    endedBefore: olderThan === undefined ? undefined : sinceOf(olderThan, now, "--older-than"),
    keep: keep === undefined ? undefined : wholeNumber("--keep", keep, 0),
  };
}

/**
 * The runs that Temporal and webhooks let go, each with its newest execution at that time; why the others stay is noted in `kept`, and in
 * `left` where their files cannot be looked at.
 */
async function freeToGo(
  place: Place,
  runs: readonly RunMetadata[],
  { kept, left }: Outcome,
): Promise<ReadonlyMap<string, number>> {
  const free = new Map<string, number>();
  const asked = countAloud((done) => `Temporal is asked about ${done} of ${runs.length} runs that may go …`);
  await someAtOnce(runs, ASKED_AT_ONCE, async (run) => {
    asked();
    try {
      const execution = place.store.runs.newestExecution(run); // before Temporal is asked: one that begins later shows
      const reason = await reasonToStay(place, run);
      if (reason === undefined) free.set(run.runId, execution);
      else kept.set(run.runId, reason);
    } catch (error) {
      left.set(run.runId, whyStuck(error));
    }
  });
  return free;
}

/** Of what the system refuses of the files of one run, or what stands in their place: the others go. Any other error is thrown on. */
function whyStuck(error: unknown): string {
  if (error instanceof NotOurFile || (error instanceof Error && "syscall" in error)) {
    return closedWords(error) ?? wordsOf(error);
  }
  throw error;
}

async function reasonToStay(
  { store, session, options, rule }: Place,
  run: RunMetadata,
): Promise<Reason | undefined> {
  if (await isToBeTold(store, session, run)) return "notices";
  const known = await knownStanding(session, run);
  if (known === undefined) return undefined;
  if (known.closedAt === undefined) return "open";
  if (options.withHistory !== true) return "history";
  // Its files have the time of the worker that ended it, whose clock may have been years behind.
  return known.closedAt < (rule.endedBefore ?? NEVER) ? undefined : "ended later";
}

/** Undefined where Temporal does not have the run. One that cannot be told from others of its workflow may go on. */
async function knownStanding(
  { client }: TemporalSession,
  run: RunMetadata,
): Promise<ExecutionStanding | undefined> {
  try {
    return await standingOf(client.temporal, await client.handle(referenceOf(run) ?? run.runId).address());
  } catch (error) {
    if (hasCode(error, "E_RUN_NOT_FOUND")) return undefined;
    if (hasCode(error, "E_PRECONDITION_FAILED")) return { closedAt: undefined };
    throw error;
  }
}

/**
 * Whether a webhook is still told of a run. What was given up lies there until its run goes; what Temporal does not know may still be
 * handed to it, for as long as a delivery may take.
 */
async function isToBeTold(store: Store, { client }: TemporalSession, run: RunMetadata): Promise<boolean> {
  const { storeId } = store;
  const { projectId, runId } = run;
  const files = await store.runs.openFiles(projectId, runId);
  for (const { change, receiver, keptAt } of files.ok ? files.value.notices.waiting() : []) {
    const workflowId = noticeIdOf({ storeId, projectId, runId, change, webhook: receiver });
    const delivery = await standingOf(client.temporal, { workflowId });
    const isRecent = Date.now() - keptAt.getTime() < LONGEST_DELIVERY_MS;
    if (delivery === undefined ? isRecent : delivery.closedAt === undefined) return true;
  }
  return false;
}

function report(
  { dryRun = false, json = false }: PruneOptions,
  { pruned, kept, ended, left }: Outcome,
): void {
  const notRemoved = [...left].map(([runId, why]) => ({ runId, why }));
  if (json) {
    printJson({
      dryRun,
      pruned,
      kept: [...kept].map(([runId, reason]) => ({ runId, reason })),
      ended,
      notRemoved,
    });
    return;
  }
  if (ended.length > 0) print(`Ended the pruning of ${counted(ended.length, "run")} that was cut short.`);
  for (const runId of pruned) print(runId);
  print(`${dryRun ? "Would remove" : "Removed"} ${counted(pruned.length, "run")}.`);
  for (const [reason, sentence] of Object.entries(REASONS)) {
    const count = [...kept.values()].filter((each) => each === reason).length;
    if (count > 0) print(`${counted(count, "run")} ${count === 1 ? "stays" : "stay"}: ${sentence}.`);
  }
  noteStuck(notRemoved);
}

function noteStuck(runs: readonly { readonly runId: string; readonly why: string }[]): void {
  for (const { runId, why } of runs) {
    printNote(`Run ${runId} is not removed as a whole: ${asSentence(why)} The next call goes on with it.`);
  }
}

/** `interlock store gc`: removes what no run refers to. */
export async function storeGcCommand(options: CollectOptions): Promise<ExitCode> {
  const { grace = "1d", dryRun = false, json = false } = options;
  const before = new Date(sinceOf(grace, new Date(), "--grace"));
  const { store } = await storeAtHand({ isLook: dryRun });
  return unlessDamaged(async () => {
    const garbage = await collectGarbage(store, { before, stays: dryRun });
    const { runs, packages, cutShort, uploads, notRemoved } = garbage;
    const { pruned, unmade, lost } = runs;
    const stuck = [...runs.notRemoved, ...notRemoved];
    const code = stuck.length === 0 ? EXIT.done : EXIT.failed;
    if (json) {
      printJson({ dryRun, packages, cutShort, uploads, pruned, unmade, lost, notRemoved: stuck });
      return code;
    }
    for (const packageId of packages) print(packageId);
    const parts = [
      counted(packages.length, "package"),
      ...(cutShort.length === 0
        ? []
        : [`what ${counted(cutShort.length, "package")} left in being installed or removed`]),
      counted(uploads.length, "upload"),
      `${counted(pruned.length, "run")} whose pruning was cut short`,
      `${counted(unmade.length, "run")} whose making was cut short`,
    ];
    print(`${dryRun ? "Would remove" : "Removed"} ${parts.join(", ")}.`);
    for (const runId of lost) print(`Run ${runId} has been worked in, and no index lists it: it stays.`);
    if (lost.length > 0) print("All packages stay: which one such a run is of, no index says.");
    noteStuck(runs.notRemoved);
    for (const { packageId, why } of notRemoved) printNote(`${packageId} is not removed: ${why}`);
    return code;
  });
}

async function unlessDamaged(action: () => Promise<ExitCode>): Promise<ExitCode> {
  try {
    return await action();
  } catch (error) {
    if (!(error instanceof DamagedIndex)) throw error;
    throw new CommandError(`Nothing is removed where an index cannot be read. ${error.message}`, {
      cause: error,
    });
  }
}
