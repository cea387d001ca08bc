import { z } from "zod";

/** What questions to a store are made of. */

export const id = z.string().min(1).max(1_000);
export const path = z.string().min(1).max(4_096);
export const count = z.int().min(0).max(1_000_000_000);
export const sha256 = z.string().regex(/^[0-9a-f]{64}$/, "must be a SHA-256 as 64 hexadecimal digits");
/** A run's id, or its workflow's. */
export const run = { run: id };
