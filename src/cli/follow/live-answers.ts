import type { StoreReader } from "../../contract/reads.js";
import { nextPause } from "../../core/pace.js";
import { type LiveAnswer, readLive } from "../../store/runs/live-answer.js";
import type { Store } from "../../store/store.js";
import type { WorkSource } from "./watch-work.js";

/** Reads what comes of a run's answers: from the store at hand once it holds the run, else from its own. */
export function liveAnswers(
  { store, reader }: { readonly store: Store | undefined; readonly reader: StoreReader },
  runId: string,
): WorkSource["live"] {
  const there = liveThere(reader, runId);
  let dir: string | undefined;
  return async (since, isAnswering) => {
    dir ??= store && (await dirOf(store, runId));
    return dir === undefined ? there(since, isAnswering) : readLive(dir, since);
  };
}

async function dirOf(store: Store, runId: string): Promise<string | undefined> {
  const found = await store.runs.findPlaced(runId);
  const files = found && (await store.runs.openFiles(found.projectId, found.runId));
  return files?.ok === true ? files.value.dir : undefined;
}

const PACE = { shortestMs: 2_000, longestMs: 8_000 };

/** Each look is a question to the store: while a model answers, and seldomer where nothing comes. */
function liveThere(reader: StoreReader, run: string): WorkSource["live"] {
  let lookAt = 0;
  let pauseMs = 0;
  return async (since, isAnswering) => {
    if (!isAnswering) return undefined;
    if (performance.now() < lookAt) return since && { ...since, text: "", restarts: false };
    const asked = since === undefined ? {} : { since: positionOf(since) };
    const got = await reader.ask("read.live", { run, ...asked });
    const answer = (got.ok ? (got.value.answer as LiveAnswer | null) : null) ?? undefined; // as its store has read it
    pauseMs = nextPause(PACE, pauseMs, isFurther(answer, since));
    lookAt = performance.now() + pauseMs;
    return answer;
  };
}

/** Something has come since: text, or what a model has thought or called. */
function isFurther(answer: LiveAnswer | undefined, since: LiveAnswer | undefined): boolean {
  return answer !== undefined && (since === undefined || answer.restarts || answer.offset > since.offset);
}

function positionOf({ execution, visit, turn, attempt, offset }: LiveAnswer) {
  return { execution, visit, turn, attempt, offset };
}
