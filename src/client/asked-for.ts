import { z } from "zod";
import { defined } from "../core/defined.js";
import { RUN_PHASES } from "../core/run/phase.js";
import { schemaErrors } from "../core/schema-errors.js";
import { notValid } from "./temporal/interlock-error.js";
import type { RunFilter } from "./runs/list-runs.js";

/** A run's name as a program without types may give it: the id of a run or a workflow, or both as fields. */
const runNameSchema = z.union([
  z.string().min(1),
  z.object({ runId: z.string().min(1), workflowId: z.string().min(1) }),
]);

/** Throws `E_SCHEMA_VALIDATION` for what names no run. */
export function requireRunName(value: unknown): void {
  if (runNameSchema.safeParse(value).success) return;
  throw notValid(
    "a run is named by its id, by its workflow's, or by an object with both as runId and workflowId",
  );
}

/** A text that is not empty. Throws `E_SCHEMA_VALIDATION` for anything else. */
export function requireText(what: string, value: unknown): void {
  if (!z.string().min(1).safeParse(value).success) throw notValid(`${what} must be a text that is not empty`);
}

/** A list of such texts: of one text its letters would be looked for. */
export function requireTexts(what: string, values: unknown): void {
  if (!z.array(z.string().min(1)).safeParse(values).success) {
    throw notValid(`${what} must be a list of texts that are not empty`);
  }
}

/** In one form: as texts, times of several forms cannot be compared. */
const timeSchema = z
  .string()
  .refine((text) => /^\d{4}-\d\d-\d\d/.test(text) && !Number.isNaN(Date.parse(text)), {
    error: "must be a time as ISO 8601 has it, such as 2026-11-22T09:30:00Z",
  })
  .transform((text) => new Date(text).toISOString());

const limitSchema = z.union([z.int().min(0), z.literal(Infinity)], {
  error: "must be a whole number, or Infinity for all",
});

/** How many of a listing are wanted. Throws `E_SCHEMA_VALIDATION`. */
export function requireLimit(limit: unknown): void {
  const { error } = limitSchema.safeParse(limit);
  if (error !== undefined) throw notValid(`limit: ${error.issues[0]?.message}`);
}

const listingSchema = z.strictObject({
  filter: z.strictObject({
    phases: z.array(z.enum(RUN_PHASES)).optional(),
    package: z.string().optional(),
    project: z.string().optional(),
    since: timeSchema.optional(),
    taskQueues: z.array(z.string()).optional(),
    query: z.string().optional(),
  }),
  limit: limitSchema,
});

/** What a listing is narrowed to. Throws `E_SCHEMA_VALIDATION` with the field. */
export function parseListing(
  filter: unknown,
  limit: unknown,
): { readonly filter: RunFilter; readonly limit: number } {
  const parsed = listingSchema.safeParse({ filter, limit });
  if (parsed.success) return { filter: defined(parsed.data.filter), limit: parsed.data.limit };
  const [first] = schemaErrors(parsed.error.issues);
  throw notValid(`${first?.path}: ${first?.message}`);
}
