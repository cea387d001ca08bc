import { z } from "zod";
import { excerpt } from "../core/text.js";

export const LOG_FORMATS = ["text", "json"] as const;
export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error"] as const;

/** One of these words; what is said instead is named beside them. */
export function wordOf<const T extends readonly [string, ...string[]]>(words: T) {
  return z.enum(words, {
    error: ({ input }) => `${excerpt(JSON.stringify(String(input)))} is not one of ${words.join(", ")}`,
  });
}

export type LogFormat = (typeof LOG_FORMATS)[number];
export type LogLevel = (typeof LOG_LEVELS)[number];
