import { FAILPOINTS } from "../../src/core/failpoint.js";
import { ARCHIVING } from "./archivist.js";
import type { RunVerdict, Verdict } from "./checker.js";
import type { Figures } from "./evidence.js";
import { MODEL_FAULTS } from "./faulty-model.js";
import type { Finding } from "./finding.js";
import { HOUSEKEEPING } from "./housekeeper.js";
import { DEEDS_OF_USERS } from "./operator.js";

/** Everything that must have happened for a chaos run to say anything. */
export const FAULT_KINDS: readonly string[] = [
  ...MODEL_FAULTS,
  "workers killed at any point",
  "workers stopped for a moment",
  "workers stopped past their heartbeat",
  "restart the server",
  "fill the disk",
  ...DEEDS_OF_USERS,
  ...HOUSEKEEPING,
  ...ARCHIVING,
];

const CONFIRMED_SHARE = 0.9;

export function countVerdicts(verdicts: readonly RunVerdict[]): Readonly<Record<Verdict, number>> {
  const counts = { ok: 0, lost: 0, doubled: 0, unknown: 0 };
  for (const { verdict } of verdicts) counts[verdict] += 1;
  return counts;
}

/** Why a chaos run does not pass, each reason a sentence; empty when it passes. */
export function reasonsToRefuse(
  verdicts: readonly RunVerdict[],
  ofStore: readonly Finding[],
  figures: Figures,
): readonly string[] {
  const reasons: string[] = [];
  const counts = countVerdicts(verdicts);
  if (counts.lost > 0) reasons.push(`${counts.lost} runs have lost something.`);
  if (counts.doubled > 0) reasons.push(`${counts.doubled} runs have something twice.`);
  if (counts.ok < verdicts.length * CONFIRMED_SHARE || verdicts.length === 0) {
    reasons.push(
      `Only ${counts.ok} of ${verdicts.length} runs were confirmed; at least ${CONFIRMED_SHARE * 100} % must be.`,
    );
  }
  reasons.push(...ofStore.map(({ sentence }) => sentence));
  const missing = FAULT_KINDS.filter((kind) => (figures.faults[kind] ?? 0) === 0);
  if (missing.length > 0) reasons.push(`These faults never happened: ${missing.join(", ")}.`);
  const unseen = FAILPOINTS.filter((name) => (figures.hits[name] ?? 0) === 0);
  if (unseen.length > 0) reasons.push(`These failpoints were never hit: ${unseen.join(", ")}.`);
  return reasons;
}
