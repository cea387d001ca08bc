import { readFileSync, statSync } from "node:fs";
import { stat } from "node:fs/promises";
import { writtenText } from "../core/written-text.js";
import { ConfigError } from "./config-error.js";

type Environment = Readonly<Record<string, string | undefined>>;

/** A variable, or what stands in the file that `<name>_FILE` names, as container secrets do. Throws `ConfigError`. */
export function secretOf(environment: Environment, name: string): string | undefined {
  const value = valueOf(environment, name);
  const path = valueOf(environment, `${name}_FILE`);
  if (path === undefined) return value;
  if (value !== undefined) throw new ConfigError(`${name} and ${name}_FILE are both set. Unset one of them.`);
  return readSecret(path, `${name}_FILE`);
}

/** The environment with the secrets of these names in place of the files that hold them. Throws `ConfigError`. */
export function withSecrets(
  environment: Readonly<Record<string, string>>,
  names: readonly string[],
): Record<string, string> {
  const read = { ...environment };
  for (const name of names) {
    const secret = secretOf(environment, name);
    if (secret !== undefined) read[name] = secret;
    delete read[`${name}_FILE`];
  }
  return read;
}

/** A file with a secret, and the variable that names it. */
export interface SecretFile {
  readonly variable: string;
  readonly path: string;
}

/** Temporal's and OpenTelemetry's own variables for the key of a client's certificate. */
const CLIENT_KEYS = [
  "TEMPORAL_TLS_CLIENT_KEY_PATH",
  "OTEL_EXPORTER_OTLP_CLIENT_KEY",
  "OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY",
];

/** The files that hold secrets of these names, and of those that the settings say under `…Variable`. */
export function secretFilesOf(
  environment: Environment,
  names: readonly string[],
  settings: object,
): readonly SecretFile[] {
  const variables = [...names, ...namesIn(settings)].map((name) => `${name}_FILE`);
  return [...new Set([...variables, ...CLIENT_KEYS])].flatMap((variable) => {
    const path = valueOf(environment, variable);
    return path === undefined ? [] : [{ variable, path }];
  });
}

function namesIn(value: unknown, ofHeaders = false): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, said]) =>
    typeof said === "string" && (ofHeaders || key.endsWith("Variable"))
      ? [said]
      : namesIn(said, key === "headerVariables"),
  );
}

/** A file's mode, as `ls` would have it in digits, where its owner is who asks and others may read or change it. */
export async function modeOpenToOthers(path: string): Promise<string | undefined> {
  const file = await stat(path).catch(() => undefined);
  // What another user has put there, as a container's secrets are, is not for us to close.
  if (file === undefined || file.uid !== process.getuid?.() || (file.mode & 0o077) === 0) return undefined;
  return (file.mode & 0o777).toString(8).padStart(4, "0");
}

/** Secrets by the pipes that they came through, as of `<(…)` in a shell: who reads one again reads nothing, or waits for good. */
const fromPipes = new Map<string, string>();

function readSecret(path: string, variable: string): string {
  const known = fromPipes.get(path);
  if (known !== undefined) return known;
  const text = readSecretFile(path, variable).replace(/\r?\n$/, "");
  if (text === "" || /[\r\n\0]/.test(text)) {
    throw new ConfigError(`The file that ${variable} names must hold the secret, on one line. Correct it.`);
  }
  if (statSync(path, { throwIfNoEntry: false })?.isFile() === false) fromPipes.set(path, text);
  return text;
}

/**
 * The text of a file that a variable names for a secret. Throws `ConfigError`, whose message does not repeat the path: who sets the
 * variable to the secret itself would read it there.
 */
export function readSecretFile(path: string, variable: string): string {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch {
    throw new ConfigError(`${variable} names a file that cannot be read. Correct it or unset it.`);
  }
  const written = writtenText(bytes);
  if ("problem" in written) throw new ConfigError(`The file that ${variable} names ${written.problem}.`);
  return written.text;
}

export function valueOf(environment: Environment, name: string): string | undefined {
  return Object.hasOwn(environment, name) ? environment[name] : undefined;
}
