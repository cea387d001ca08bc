import type { ModelTurnInput, ModelTurnResult, ToolCallOutcome } from "../contract/activities.js";
import { QUICK_TURN_MS } from "../core/step-size.js";
import { syncedTogether } from "../store/disk/sync-together.js";

/** One turn and the plain calls of its answer; undefined where the answer is not there in time. */
type Take = (asked: ModelTurnInput, withinMs: number) => Promise<ModelTurnResult | undefined>;

/**
 * Takes a turn, and with it those that follow in the same moment, as many as `input.ahead` allows: each time all calls of the answer have
 * worked and none was an update of the state document, so that the workflow has nothing to decide before the next. Together they take as long as one
 * turn may; one that is not over then is taken over by whoever asks for it next, and makes the whole slow. What they write is made durable together, before
 * they are reported.
 */
export function quickTurns(input: ModelTurnInput, take: Take): Promise<ModelTurnResult | undefined> {
  return syncedTogether(() => takeTurns(input, take));
}

async function takeTurns(input: ModelTurnInput, take: Take): Promise<ModelTurnResult | undefined> {
  const startedAt = performance.now();
  const passedMs = () => performance.now() - startedAt;
  const first = await take(input, QUICK_TURN_MS);
  if (first === undefined) return undefined;
  const ahead: ModelTurnResult[] = [];
  let asked = input;
  let last = first;
  let bytes = bytesOf(first);
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
    bytes += bytesOf(next);
    last = next;
  }
  const tookMs = Math.max(Math.round(passedMs()), isLeft ? QUICK_TURN_MS + 1 : 0);
  return { ...first, tookMs, ...(ahead.length === 0 ? {} : { ahead }) };
}

/** A payload has 256 KiB at most, and a turn with a large change of the document more than half of that. */
const MAX_BYTES_BEFORE = 64 * 1_024;

function bytesOf(turn: ModelTurnResult): number {
  return Buffer.byteLength(JSON.stringify(turn));
}

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
