import { isRecord } from "../../core/json.js";
import { z } from "zod";
import { RUN_PHASES } from "../../core/run/phase.js";
import type { RunMetadata } from "./run-metadata.js";

/** A line of `runs.jsonl`, the index of a project's runs: a run begins, ends or goes on after its end. */
export const changeSchema = z.object({
  runId: z.string(),
  phase: z.enum(RUN_PHASES),
  lastUpdatedAt: z.string(),
});
/** A run is taken out again: its creation has failed. */
export const removalSchema = z.object({ runId: z.string(), removed: z.literal(true) });

/** A run was removed with its files, and when, ISO. The workflow is named where it is not the one that the run's id says. */
export const pruningSchema = z.object({
  runId: z.string(),
  pruned: z.string(),
  workflowId: z.string().optional(),
});

export type Change = z.infer<typeof changeSchema>;
export type PrunedRun = z.infer<typeof pruningSchema>;
export type Line = RunMetadata | Change | z.infer<typeof removalSchema> | PrunedRun;

/** The lines as the index has them. */
export function textOf(lines: readonly Line[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}

/** Whether a line says something under this name. */
export function has(line: unknown, field: string): line is object {
  return typeof line === "object" && line !== null && field in line;
}

/** What lines of JSON hold: all by one call of the parser, which is much quicker than one for each. */
export function linesIn(text: string): readonly unknown[] {
  try {
    const values: unknown = JSON.parse(`[${text.slice(0, -1).replaceAll("\n", ",")}]`);
    if (Array.isArray(values) && values.length === linesOf(text)) return values;
  } catch {
    // one of them says why
  }
  return text
    .slice(0, -1)
    .split("\n")
    .map((line): unknown => JSON.parse(line));
}

function linesOf(text: string): number {
  let lines = 0;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) lines += 1;
  return lines;
}

const PHASES: ReadonlySet<unknown> = new Set(RUN_PHASES);
const PLAIN_FIELDS: ReadonlySet<string> = new Set([
  "runId",
  "workflowId",
  "projectId",
  "packageId",
  "workflowRef",
  "activeAgentId",
  "phase",
  "createdAt",
  "lastUpdatedAt",
  "parentRunId",
]);
const NEEDED_FIELDS = 8;
const CHANGE_FIELDS = 3;

/**
 * What the schema takes as it is: nearly every line. An index may have hundreds of thousands of them, and this look takes a
 * fraction of the schema's time; what does not pass it, the schema decides about.
 */
export function isPlainRun(line: object): line is RunMetadata {
  let needed = 0;
  for (const field in line) {
    if (!PLAIN_FIELDS.has(field) || typeof line[field as keyof typeof line] !== "string") return false;
    if (field !== "workflowId" && field !== "parentRunId") needed += 1;
  }
  return needed === NEEDED_FIELDS && "phase" in line && PHASES.has(line.phase);
}

/** The same of a change. */
export function isPlainChange(line: unknown): line is Change {
  if (typeof line !== "object" || line === null || Object.keys(line).length !== CHANGE_FIELDS) return false;
  const { runId, phase, lastUpdatedAt } = line as Partial<Change>; // checked here
  return typeof runId === "string" && typeof lastUpdatedAt === "string" && PHASES.has(phase);
}

/** What a line has beside what is known of it, also within its fields. */
export function besideOf(line: object, known: object): object | undefined {
  const others = Object.entries(line).flatMap(([field, value]: [string, unknown]) => {
    if (!Object.hasOwn(known, field)) return [[field, value] as const];
    const inner: unknown = known[field as keyof typeof known];
    const beside = isRecord(value) && isRecord(inner) ? besideOf(value, inner) : undefined;
    return beside === undefined ? [] : [[field, beside] as const];
  });
  return others.length === 0 ? undefined : Object.fromEntries(others);
}

/** What is known, with what was beside it. */
export function withBeside<T extends object>(known: T, beside: object = {}): T {
  const fields = Object.entries(beside).map(([field, value]: [string, unknown]) => {
    const inner: unknown = known[field as keyof T];
    return [field, isRecord(value) && isRecord(inner) ? withBeside(inner, value) : value];
  });
  return { ...known, ...(Object.fromEntries(fields) as object) };
}
