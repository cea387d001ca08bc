import { namesSecret } from "../core/prompt/redact.js";
import { isSecretInTexts, redactKey } from "../core/prompt/redact-key.js";
import type { McpServer } from "./server-settings.js";

/** What a server is given and what is not to be read again in what it says: its token, and variables that are called a secret. */
export function secretsOf(
  server: McpServer,
  variable: (name: string) => string | undefined,
): readonly string[] {
  const given =
    "url" in server
      ? [server.bearerVariable === undefined ? undefined : variable(server.bearerVariable)]
      : [
          ...server.envVariables.filter(isSecretName).map(variable),
          ...Object.entries(server.env).flatMap(([name, value]) => (isSecretName(name) ? [value] : [])),
        ];
  return given.filter((value) => value !== undefined).filter(isSecretInTexts);
}

function isSecretName(name: string): boolean {
  return namesSecret(name) || /(?:^|_)(?:key|pat|auth)$/i.test(name);
}

/** A text longer than this is looked through for a secret as it is, and not for its encodings. */
const LONGEST_LOOKED_THROUGH = 16 * 1024;

export function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets.reduce((clean, secret) => {
    return clean.length > LONGEST_LOOKED_THROUGH
      ? clean.replaceAll(secret, "<secret>")
      : redactKey(clean, secret);
  }, text);
}
