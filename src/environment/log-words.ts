export const LOG_FORMATS = ["text", "json"] as const;
export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error"] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];
export type LogLevel = (typeof LOG_LEVELS)[number];
