import { z } from "zod";
import { MAX_AMOUNT, isAmount } from "../core/run/budget.js";
import { type JsonBounds, boundsProblem } from "../core/json-bounds.js";
import { MAX_PERSON_CHARS } from "../core/run/limits.js";
import { isPrintable } from "../core/printable.js";
import { schemaErrors } from "../core/schema-errors.js";
import { signatureSchema } from "./signed.js";

/** What a run is told (contracts §14), as it is parsed before anything of it is used. */

const MAX_NODE_CHARS = 2_000;
const UPDATE_BOUNDS: JsonBounds = { maxDepth: 4, maxValues: 20 };

const amount = z.number();
const signature = signatureSchema.exactOptional();

export const answerSchema = z.strictObject({
  nodeId: z.string().min(1).max(MAX_NODE_CHARS),
  text: z.string().refine((text) => text.trim() !== "", "must not be empty"),
  question: z
    .string()
    .regex(/^\d{1,9}\.\d{1,9}$/, "must be a question's visit and turn, as in 2.1")
    .exactOptional(),
  by: z
    .string()
    .min(1)
    .max(MAX_PERSON_CHARS)
    .refine(isName, "must be a name on one line, without what is not printable")
    .exactOptional(),
  signature,
});

/** Whether a text can stand for who answers. Who it is nobody checks. */
function isName(text: string): boolean {
  return text.trim() === text && isPrintable(text);
}

export const raiseSchema = z.strictObject({
  scope: z.enum(["run", "node"]).exactOptional(),
  signature,
  add: z
    .strictObject({
      turns: amount.exactOptional(),
      tokens: amount.exactOptional(),
      cost: amount.exactOptional(),
    })
    .refine((add) => Object.keys(add).length > 0, "must name turns, tokens or cost")
    .refine(
      (add) => Object.entries(add).every(([unit, value]) => isAmount(unit, value)),
      `amounts are above 0 and at most ${MAX_AMOUNT}, turns and tokens whole`,
    ),
});

/** Pause, resume and finish are told nothing, but may be signed. */
export const wordlessSchema = z.strictObject({ signature }).optional();

/** What is wrong with an update's arguments, with its place; undefined where nothing is. */
export function updateProblem(schema: z.ZodType, args: readonly unknown[]): string | undefined {
  if (args.length > 1) return `an update has one argument, not ${args.length}`;
  const [argument] = args;
  const bounds = boundsProblem(argument, UPDATE_BOUNDS);
  const parsed = bounds === undefined ? schema.safeParse(argument) : undefined;
  if (parsed?.success === true) return undefined;
  const [first] = schemaErrors(bounds === undefined ? (parsed?.error.issues ?? []) : [bounds]);
  return first === undefined ? "is not valid" : `${first.path || "argument"}: ${first.message}`;
}

/**
 * Whether a run has refused an update for a field that it does not know: its worker is of an earlier version. All that such a worker says is
 * `updateProblem`'s sentence, and the words in it are zod's.
 */
export function namesUnknownField(refusal: string): boolean {
  return refusal.includes("nrecognized key");
}
