import type { ModelTurnInput, ModelTurnResult, ToolCallOutcome } from "../contract/activities.js";
import { defined } from "../core/defined.js";
import type { KeptBoundary } from "../core/run/kept-boundary.js";
import { QUICK_TURN_MS } from "../core/step-size.js";
import { syncedTogether } from "../store/disk/sync-together.js";
import { jsonBytes } from "../core/json.js";

export interface QuickSteps {
  /** One turn and the plain calls of its answer; undefined where the answer is not there in time. */
  readonly take: (asked: ModelTurnInput, withinMs: number) => Promise<ModelTurnResult | undefined>;
  /** Keeps the boundary of a visit, where its last call has led the run on with this version of the state document. */
  readonly keep: (asked: ModelTurnInput, stateSha256: string) => Promise<KeptBoundary | undefined>;
}

/**
 * Takes a turn, and with it those that follow in the same moment, as many as `input.ahead` allows: each time all calls of the answer have
 * worked and none was an update of the state document, so that the workflow has nothing to decide before the next. Together they take as long as one
 * turn may; one that is not over then is taken over by whoever asks for it next, and makes the whole slow. What they write is made durable together, before
 * they are reported. Where the last of them leads the run on, the boundary of the visit is kept with it (`input.keeps`).
 */
export function quickTurns(input: ModelTurnInput, steps: QuickSteps): Promise<ModelTurnResult | undefined> {
  return syncedTogether(() => takeTurns(input, steps));
}

async function takeTurns(
  input: ModelTurnInput,
  { take, keep }: QuickSteps,
): Promise<ModelTurnResult | undefined> {
  const startedAt = performance.now();
  const passedMs = () => performance.now() - startedAt;
  const first = await take(input, QUICK_TURN_MS);
  if (first === undefined) return undefined;
  const ahead: ModelTurnResult[] = [];
  let asked = input;
  let last = first;
  let bytes = jsonBytes(first);
  let isLeft = false;
  const mayFollow = (): boolean =>
    ahead.length < (input.ahead ?? 0) && bytes < MAX_BYTES_BEFORE && passedMs() < QUICK_TURN_MS / 2;
  while (isFollowed(last) && mayFollow()) {
    asked = following(asked, last.ran?.outcomes ?? []);
    const next = await take(asked, QUICK_TURN_MS - passedMs());
    if (next === undefined) {
      isLeft = true;
      break;
    }
    ahead.push(next);
    bytes += jsonBytes(next);
    last = next;
  }
  const stateSha256 = input.keeps === true && !isLeft ? stateAfter(last) : undefined;
  const kept = stateSha256 === undefined ? undefined : await keep(asked, stateSha256);
  const tookMs = Math.max(Math.round(passedMs()), isLeft ? QUICK_TURN_MS + 1 : 0);
  return { ...first, tookMs, ...(ahead.length === 0 ? {} : { ahead }), ...defined({ kept }) };
}

/** What an answer whose calls have all run and worked has made of the state document; undefined where it has not changed it. */
function stateAfter({ calls, ran }: ModelTurnResult): string | undefined {
  const outcomes = ran?.outcomes ?? [];
  const isDone = outcomes.length === calls.length && outcomes.every(({ ok }) => ok);
  return isDone && calls.at(-1)?.change !== undefined ? outcomes.at(-1)?.state?.sha256 : undefined;
}

/** A payload has 256 KiB at most, and a turn with a large change of the document more than half of that. */
const MAX_BYTES_BEFORE = 64 * 1_024;

function isFollowed({ calls, ran }: ModelTurnResult): boolean {
  return (
    calls.length > 0 &&
    ran?.outcomes.length === calls.length &&
    ran.outcomes.every(({ ok, stateConflict }) => ok && stateConflict !== true) &&
    calls.every(({ change }) => change === undefined)
  );
}

/** What the workflow would ask for next: what is said once has been said. */
function following(
  { correction: _correction, resumes: _resumes, story: _story, runs, ...asked }: ModelTurnInput,
  outcomes: readonly ToolCallOutcome[],
): ModelTurnInput {
  const turn = asked.turn + 1;
  if (runs === undefined) return { ...asked, turn };
  const { sha256: stateSha256 = runs.stateSha256 } = outcomes.findLast(({ state }) => state)?.state ?? {};
  return { ...asked, turn, runs: { stateSha256, now: new Date().toISOString() } };
}
