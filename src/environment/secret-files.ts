import { readFileSync } from "node:fs";
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

/** No message repeats the path: who sets the variable to the secret itself would read it there. */
function readSecret(path: string, variable: string): string {
  let text: string;
  try {
    text = readFileSync(path, "utf8").replace(/\r?\n$/, "");
  } catch {
    throw new ConfigError(`${variable} names a file that cannot be read. Correct it or unset it.`);
  }
  if (text !== "" && !/[\r\n\0]/.test(text)) return text;
  throw new ConfigError(`The file that ${variable} names must hold the secret, on one line. Correct it.`);
}

function valueOf(environment: Environment, name: string): string | undefined {
  return Object.hasOwn(environment, name) ? environment[name] : undefined;
}
