import type { ReceivedNotice, RunOperations } from "./evidence.js";
import { type Finding, doubled, lost } from "./finding.js";
import type { PlannedRun } from "./plan.js";
import { ACT } from "./plan-visits.js";
import { isOutside, tokenOf } from "./script.js";
import { WEBHOOK } from "./surroundings.js";

/**
 * What a tool from outside was asked for: each call that came to its end was made, and one that has an effect once. A run that
 * was retried begins its visit again, and makes its calls again.
 */
export function checkOutside(
  run: PlannedRun,
  { failures }: RunOperations,
  calls: readonly { readonly id: string; readonly name: string }[],
  outcomes: ReadonlyMap<string, string>,
  ledger: Readonly<Record<string, number>>,
): readonly Finding[] {
  const findings: Finding[] = [];
  const names = new Map(calls.map(({ id, name }) => [id, name]));
  for (const [id, name] of names) {
    if (!isOutside({ name })) continue;
    const made = ledger[tokenOf(run, id)] ?? 0;
    if (made === 0 && outcomes.get(id) === "ok")
      findings.push(lost(`the call ${id} says ok, and was never made.`));
    if (name === ACT && made > 1 + failures.length) {
      findings.push(doubled(`the call ${id}, which has an effect, was made ${made} times.`));
    }
  }
  return findings;
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
    // A pause while it waits changes what is recorded, and nothing that anybody has to be told again.
    const isNews = phase !== phases[index - 1]?.["phase"];
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
