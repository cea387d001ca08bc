/** A setting that cannot be used: the message names the variable or the place in the file, and the remedy. */
export class ConfigError extends Error {}
