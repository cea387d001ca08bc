import type { Command } from "commander";
import type { InterlockClient, ListedRun } from "../../client/client.js";
import { isRunId, runIdIn, workflowIdOf } from "../../core/run/run-id.js";
import { excerpt } from "../../core/text.js";
import { type RunMetadata, workflowIdOfRun } from "../../store/runs/run-metadata.js";
import { lookAround } from "./environment.js";
import { isTemporalThere } from "./temporal-there.js";
import { CommandError, UsageError } from "../terminal/output.js";
import { interruption } from "../terminal/interruption.js";

/** Fewer characters say nothing: `run-`, which every run's workflow begins with, does not count. */
const SHORTEST = 4;
const MAX_CANDIDATES = 10;

/** A run that begins as somebody has written it. */
interface Candidate {
  readonly runId: string;
  readonly workflowId: string;
  /** What commands call it: no other run, whichever the workflow id is that of by now. */
  readonly name: string;
  readonly told: string;
}

/**
 * Gives each command the id of the run that it names by less: any beginning of a run's id or of its workflow's, with or without
 * `run-`. A hook for all commands whose argument is a run.
 */
export async function resolveRunArguments(command: Command): Promise<void> {
  for (const [index, argument] of command.registeredArguments.entries()) {
    if (!/^run(?:$|Id)/.test(argument.name())) continue;
    const given: unknown = command.processedArgs[index];
    if (typeof given === "string") command.processedArgs[index] = await resolveRun(given);
    else if (Array.isArray(given)) {
      const named = given.filter((each) => typeof each === "string");
      command.processedArgs[index] = await Promise.all(named.map(resolveRun));
    }
  }
}

/**
 * The id of the run that a text names: its id, its workflow's, or a beginning of either. A text that names no run is returned as it is:
 * what is not found is the command's to say. Throws `UsageError`, with the runs there are, for a beginning of several.
 */
export async function resolveRun(text: string): Promise<string> {
  const own = runIdIn(text) ?? text;
  if (isRunId(own)) return own;
  if (text.replace(/^run-/, "").length < SHORTEST || /[/\\\0]|\.json$/.test(text)) return text;
  const { config, store } = await lookAround();
  const exact = await store?.runs.findRun(text);
  if (exact?.ok === true) return text;
  const { runs } = (await store?.runs.surveyRuns()) ?? { runs: [] };
  const stored = runs
    .map((run) => ({
      runId: run.runId,
      workflowId: workflowIdOfRun(run),
      name: run.runId,
      told: toldStored(run),
    }))
    .filter((run) => begins(run, text));
  const isServing = await isTemporalThere(config, store);
  const listed = isServing ? await fromTemporal(text, stored.length > 0) : [];
  if (listed.some(({ workflowId }) => workflowId === text)) return text;
  return only(text, [...stored, ...listed]);
}

/** Ctrl-C ends the look; what the command waits for then has a signal of its own, or is ended the usual way. */
async function fromTemporal(text: string, isKnownHere: boolean): Promise<readonly Candidate[]> {
  const done = new AbortController();
  const signal = interruption(done.signal);
  try {
    const found = await listedInTemporal(text, signal).catch((error: unknown) => {
      if (error instanceof CommandError && isKnownHere) return []; // what the command itself will say
      throw error;
    });
    if (signal.aborted) throw new CommandError("Stopped before the run was found.");
    return found;
  } finally {
    done.abort();
  }
}

async function listedInTemporal(text: string, signal: AbortSignal): Promise<readonly Candidate[]> {
  const { config, store } = await lookAround();
  const { openTemporalSession } = await import("./temporal-session.js");
  const session = await openTemporalSession(config, store, signal);
  try {
    const start = text.startsWith("run-") ? text.slice("run-".length) : text;
    const found = await session.client.runsBeginningWith(start, MAX_CANDIDATES + 1);
    const under = start === text ? [] : await session.client.runsBeginningWith(text, MAX_CANDIDATES + 1);
    const runs = [...found, ...under].filter((run) => begins(run, text));
    return await Promise.all(
      runs.map(async (run) => {
        const { runId, workflowId } = run;
        return { runId, workflowId, name: await nameOf(session.client, run, text), told: toldListed(run) };
      }),
    );
  } finally {
    await session.close();
  }
}

/**
 * By its workflow id, a run is found also where Temporal has forgotten how it began; unless that is another run's by now. Whoever names the
 * workflow means no run elsewhere: which run a foreign workflow says it is, it has made up.
 */
async function nameOf(
  client: InterlockClient,
  { runId, workflowId }: ListedRun,
  text: string,
): Promise<string> {
  if (runIdIn(workflowId) !== undefined) return runId;
  if (!begins({ runId, workflowId: workflowIdOf(runId) }, text)) return workflowId;
  const newest = await client
    .handle(workflowId)
    .identify()
    .catch(() => undefined); // what the command itself will say
  return newest === undefined || newest.runId === runId ? workflowId : runId;
}

function begins({ runId, workflowId }: Pick<Candidate, "runId" | "workflowId">, text: string): boolean {
  return runId.startsWith(text) || workflowId.startsWith(text) || workflowIdOf(runId).startsWith(text);
}

function only(text: string, candidates: readonly Candidate[]): string {
  const runs = candidates.filter(({ runId, workflowId }, index) => {
    const same = (other: Candidate) => other.runId === runId && other.workflowId === workflowId;
    return candidates.findIndex(same) === index;
  });
  const [first] = runs;
  if (first === undefined) return text;
  if (runs.length === 1) return first.name;
  const shown = runs.slice(0, MAX_CANDIDATES).map(({ told }) => told);
  const more = runs.length > MAX_CANDIDATES ? ["and more"] : [];
  throw new UsageError(
    [`"${excerpt(text, 80)}" is the beginning of several runs. Write more of it:`, ...shown, ...more].join(
      "\n",
    ),
  );
}

function toldListed({ runId, workflowId, phase, packageId = "", startedAt }: ListedRun): string {
  return told(runId, workflowId, [phase, startedAt, packageId]);
}

function toldStored(run: RunMetadata): string {
  return told(run.runId, workflowIdOfRun(run), [run.phase, run.createdAt, run.packageId]);
}

function told(runId: string, workflowId: string, more: readonly string[]): string {
  const name = workflowId === workflowIdOf(runId) ? runId : `${workflowId}  ${runId}`;
  return [name, ...more].map((text) => excerpt(text)).join("  ");
}
