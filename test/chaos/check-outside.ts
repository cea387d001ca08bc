import type { ReceivedNotice, RunOperations } from "./evidence.js";
import { type Finding, doubled, lost } from "./finding.js";
import type { PlannedRun } from "./plan.js";
import { ACT } from "./plan-visits.js";
import type { SaidCall } from "./check-records.js";
import { isOutside } from "./script.js";
import { WEBHOOK } from "./surroundings.js";

/**
 * What a tool from outside was asked for: each call that came to its end was made, and one that has an effect once. A run that
 * was retried begins its visit again, and makes its calls again; the engine gives those another id where the model does not.
 */
export function checkOutside(
  { failures }: RunOperations,
  calls: readonly SaidCall[],
  outcomes: ReadonlyMap<string, string>,
  ledger: Readonly<Record<string, number>>,
): readonly Finding[] {
  const outside = calls.filter(isOutside);
  return [...new Set(outside.map(tokenIn))].flatMap((token) => {
    const made = ledger[token] ?? 0;
    const same = outside.filter((call) => tokenIn(call) === token);
    // One that was not begun before the run was retried is said again under the same id.
    const ended = [...new Set(same.map(({ id }) => id))].filter((id) => outcomes.get(id) === "ok").length;
    const isActed = same.some(({ name }) => name === ACT);
    return [
      ...(made < ended
        ? [lost(`the call ${token} says ok ${ended} times, and was made ${made} times.`)]
        : []),
      ...(isActed && made > 1 + failures.length
        ? [doubled(`the call ${token}, which has an effect, was made ${made} times.`)]
        : []),
    ];
  });
}

/** What a call outside is known by there: it says so itself. */
function tokenIn({ argumentsJson }: SaidCall): string {
  return String((JSON.parse(argumentsJson) as { id?: unknown }).id);
}

type PhaseLine = Readonly<Record<string, unknown>>;

/** Whoever is to be told of the run was told of each question and of its end, of each by one id and in the same words. */
export function checkNotices(
  { runId }: PlannedRun,
  auditEvents: readonly PhaseLine[],
  notices: readonly ReceivedNotice[],
): readonly Finding[] {
  const findings: Finding[] = [];
  const phases = auditEvents.filter(({ kind }) => kind === "run.phase");
  const idOf = (change: unknown) => `notice-${runId}-${String(change)}-${WEBHOOK}`;
  const worthTelling = new Set(
    phases.flatMap(({ id, phase }) =>
      ["waiting-user", "completed"].includes(String(phase)) ? [idOf(id)] : [],
    ),
  );
  const own = new Map<string, Set<string>>();
  for (const { id, body } of notices) {
    if (id.startsWith(`notice-${runId}-`)) own.set(id, (own.get(id) ?? new Set()).add(body));
  }
  for (const [index, { id, phase }] of phases.entries()) {
    // A pause while it waits changes what is recorded, and nothing that anybody has to be told again. Who is cancelled as he asks may be unheard.
    const isNews = phase !== phases[index - 1]?.["phase"] && phases[index + 1]?.["phase"] !== "failed";
    if (isNews && worthTelling.has(idOf(id)) && !own.has(idOf(id))) {
      findings.push(lost(`nobody was told that it was ${String(phase)} (change ${String(id)}).`));
    }
  }
  for (const [id, bodies] of own) {
    if (!worthTelling.has(id))
      findings.push(doubled(`somebody was sent ${id}, and its audit log knows nothing of it.`));
    if (bodies.size > 1) findings.push(doubled(`${id} was told in ${bodies.size} ways.`));
  }
  return findings;
}
