import { z } from "zod";
import { sha256Schema } from "../core/sha256.js";

/** What questions to a store are made of. */

export const id = z.string().min(1).max(1_000);
export const path = z.string().min(1).max(4_096);
export const count = z.int().min(0).max(1_000_000_000);
export const sha256 = sha256Schema;
/** A run's id, or its workflow's. */
export const run = { run: id };
