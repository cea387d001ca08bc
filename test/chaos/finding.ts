/**
 * What is wrong with a run. `lost`: something that should be there is not, or is something else. `doubled`: something is
 * there more often than it should be, or should not be there at all. `unknown`: it cannot be told.
 */
export interface Finding {
  readonly kind: "lost" | "doubled" | "unknown";
  readonly sentence: string;
}

export function lost(sentence: string): Finding {
  return { kind: "lost", sentence };
}

export function doubled(sentence: string): Finding {
  return { kind: "doubled", sentence };
}

export function unknown(sentence: string): Finding {
  return { kind: "unknown", sentence };
}

/** Compares lists of names in which each stands once; the order counts unless told otherwise. */
export function compareLists(
  what: string,
  actual: readonly string[],
  expected: readonly string[],
  order: "ordered" | "any order" = "ordered",
): readonly Finding[] {
  const findings: Finding[] = [];
  const left = new Map<string, number>();
  for (const item of actual) left.set(item, (left.get(item) ?? 0) + 1);
  for (const item of expected) {
    const count = left.get(item) ?? 0;
    if (count === 0) findings.push(lost(`${what}: ${item} is missing.`));
    left.set(item, count - 1);
  }
  for (const [item, count] of left) {
    if (count > 0) findings.push(doubled(`${what}: ${item} is there ${count} time(s) too often.`));
  }
  if (findings.length === 0 && order === "ordered" && actual.join("\n") !== expected.join("\n")) {
    findings.push(lost(`${what}: the order is ${actual.join(", ")} instead of ${expected.join(", ")}.`));
  }
  return findings;
}
