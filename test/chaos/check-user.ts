import type { Budget } from "../../src/core/run/budget.js";
import { QUICK_TURN_MS, TURNS_AHEAD } from "../../src/core/step-size.js";
import type { ModelRequest, Pause, Raise, RunOperations } from "./evidence.js";
import { type Finding, doubled, lost } from "./finding.js";
import type { PlannedRun } from "./plan.js";

/** When a turn was asked for first: for the budget a turn asked for again is one turn. */
interface FirstAsked {
  readonly turn: string;
  readonly visit: string;
  readonly worker: string;
  readonly at: number;
}

/** What the user's deeds have come to, by what the model was asked. */
export function checkSteering(
  run: PlannedRun,
  { pauses, raises, failures }: RunOperations,
  requests: readonly ModelRequest[],
): readonly Finding[] {
  const turns = firstAsked(requests);
  return [
    ...pauses.flatMap((pause) => checkPause(pause, run, turns)),
    ...checkBound("run", run, raises, turns),
    // A visit that was begun again has its own budget, and asks for its turns again.
    ...(failures.length > 0 ? [] : visitsOf(turns).flatMap((own) => checkBound("node", run, raises, own))),
  ];
}

/** While a run is paused no turn is begun but the one that was under way, and by nodes those that its activity takes along. */
function checkPause(
  { from, to = Number.POSITIVE_INFINITY }: Pause,
  { steps }: PlannedRun,
  turns: readonly FirstAsked[],
) {
  const [underWay, ...others] = turns.filter(({ at }) => at > from && at < to);
  if (underWay === undefined) return [];
  return others
    .filter((turn) => steps !== "nodes" || !isTakenAlong(turn, underWay))
    .map(({ turn, at }) => doubled(`turn ${turn} was begun ${at - from} ms after the run was paused.`));
}

/** Whether one activity may have taken both: a worker that stood still takes it up behind the back of the one that has taken its place. */
function isTakenAlong(later: FirstAsked, first: FirstAsked): boolean {
  const ahead = numberIn(later) - numberIn(first);
  const isSame = later.worker === first.worker && later.visit === first.visit;
  return isSame && ahead > 0 && ahead <= TURNS_AHEAD && later.at - first.at < QUICK_TURN_MS;
}

function numberIn({ turn }: FirstAsked): number {
  return Number(turn.split(".")[1]);
}

/** At no moment were more turns asked for than the budget allowed with all that was sent to raise it. */
function checkBound(
  scope: "run" | "node",
  { user }: PlannedRun,
  raises: readonly Raise[],
  turns: readonly FirstAsked[],
): readonly Finding[] {
  const planned = user.budget?.[scope]?.turns;
  if (planned === undefined) return [];
  const own = raises.filter((raise) => raise.scope === scope);
  return turns.flatMap(({ turn, at }, index) => {
    const allowed = sumOf(
      planned,
      own.filter((raise) => raise.at <= at),
    );
    if (index < allowed) return [];
    return [doubled(`turn ${turn} is number ${index + 1}, and the budget per ${scope} was ${allowed}.`)];
  });
}

/** The budget that the run ends with holds each raise that was taken, once. */
export function checkBudget(
  run: PlannedRun,
  { raises }: RunOperations,
  raiseIds: readonly string[],
  status: { readonly budget?: Budget; readonly usage: { readonly modelTurns: number } },
): readonly Finding[] {
  const findings: Finding[] = [];
  const taken = new Set(raiseIds);
  for (const { raiseId, isAccepted } of raises) {
    if (isAccepted && !taken.has(raiseId)) findings.push(lost(`the ${raiseId} is in no history.`));
  }
  for (const id of taken) {
    if (!raises.some(({ raiseId }) => raiseId === id)) {
      findings.push(doubled(`the ${id} is in the history, and nobody sent it.`));
    }
  }
  for (const scope of ["run", "node"] as const) {
    const planned = run.user.budget?.[scope]?.turns;
    if (planned === undefined) continue;
    const own = raises.filter((raise) => raise.scope === scope && taken.has(raise.raiseId));
    const [is, should] = [status.budget?.[scope]?.turns ?? 0, sumOf(planned, own)];
    const sentence = `the budget per ${scope} is ${is} turns; with its raises it should be ${should}.`;
    if (is !== should) findings.push((is > should ? doubled : lost)(sentence));
  }
  const limit = status.budget?.run?.turns;
  if (limit !== undefined && status.usage.modelTurns > limit) {
    findings.push(doubled(`it made ${status.usage.modelTurns} turns with a budget of ${limit}.`));
  }
  return findings;
}

function sumOf(planned: number, raises: readonly Raise[]): number {
  return raises.reduce((sum, { turns }) => sum + turns, planned);
}

function firstAsked(requests: readonly ModelRequest[]): readonly FirstAsked[] {
  const turns = new Map<string, FirstAsked>();
  for (const { turn, worker, at } of requests) {
    const known = turns.get(turn);
    if (turn === "" || (known !== undefined && known.at <= at)) continue;
    turns.set(turn, { turn, visit: turn.split(".")[0] ?? "", worker, at });
  }
  return [...turns.values()].sort((a, b) => a.at - b.at);
}

function visitsOf(turns: readonly FirstAsked[]): readonly (readonly FirstAsked[])[] {
  const visits = new Set(turns.map(({ visit }) => visit));
  return [...visits].map((visit) => turns.filter((turn) => turn.visit === visit));
}
