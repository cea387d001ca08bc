import { namesSecret } from "../core/prompt/redact.js";
import { isSecretInTexts, redactKey } from "../core/prompt/redact-key.js";
import { type HttpServer, type McpServer, type StdioServer, tokenVariables } from "./server-settings.js";

/**
 * What a server is given and what is not to be read again in what it says: its token, variables that are called a secret, and what its URL,
 * its program's arguments and its other variables hold that is called one or stands where one does.
 */
export function secretsOf(
  server: McpServer,
  variable: (name: string) => string | undefined,
): readonly string[] {
  const given = "url" in server ? givenByHttp(server, variable) : givenToProgram(server, variable);
  // Blanks around a token are not sent.
  const secrets = new Set(given.map((value) => value.trim()));
  return [...secrets].filter((value) => isSecretInTexts(value) && !NAMES_FILE.test(value));
}

/** A file that holds a secret is none: its folder is named wherever the server speaks of what lies there. */
const NAMES_FILE = /^(?:@project|\.{0,2}|~|[A-Za-z]:)(?:[\\/][\w .@-]+)+\.\w{1,8}$/;

type Variable = (name: string) => string | undefined;

function givenByHttp(server: HttpServer, variable: Variable): readonly string[] {
  const told = tokenVariables(server).map((name) => variable(name) ?? "");
  // As a whole, and what of it is secret: `Basic …`, `ApiKey …`.
  const parts = told.map((value) => /^\w+ +(\S+)$/.exec(value.trim())?.[1] ?? "");
  return [...told, ...parts, ...secretsWithin(server.url)];
}

function givenToProgram({ env, envVariables, args }: StdioServer, variable: Variable): readonly string[] {
  const variables = [...envVariables.map((name) => [name, variable(name) ?? ""]), ...Object.entries(env)];
  return [
    ...variables.flatMap(([name = "", value = ""]) => (isSecretName(name) ? [value] : secretsWithin(value))),
    ...args.flatMap((arg, index) => [
      ...secretsWithin(arg),
      ...(/^--?[\w-]+$/.test(arg) && isSecretName(arg)
        ? args.slice(index + 1, index + 2).filter(isValue)
        : []),
    ]),
  ];
}

const isValue = (arg: string): boolean => !arg.startsWith("-");

/** What of a text is secret, also behind another name: `--header=Authorization: Bearer …`, `DATABASE_URL=postgres://…`. */
function secretsWithin(text: string): readonly string[] {
  const behind = /^[\w-]{1,100}=(.+)$/s.exec(text)?.[1];
  return [text, ...(behind === undefined ? [] : [behind])].flatMap(secretsSaid);
}

/** `--token=…`, `Authorization: Bearer …`, `Server=…;Password=…`, the password and the parameters of an address. */
function secretsSaid(text: string): readonly string[] {
  const named = /^-{0,2}([\w-]{1,100})(?:=|:\s*)(?:(?:Bearer|Basic|Token)\s+)?(\S+)$/i.exec(text);
  const passwords = [...text.matchAll(/(?:^|[;\s])(?:password|pwd)\s?=\s?([^;\s]+)/gi)].map(
    ([, value = ""]) => value,
  );
  const said = [...(named !== null && isSecretName(named[1] ?? "") ? [named[2] ?? ""] : []), ...passwords];
  if (!URL.canParse(text)) return said;
  const { password, searchParams } = new URL(text);
  const parameters = [...searchParams].filter(([name]) => isSecretName(name)).map(([, value]) => value);
  return [...said, password, decoded(password), ...parameters];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function isSecretName(name: string): boolean {
  return (namesSecret(name) || /(?:^|[_-])(?:key|pat|auth)$/i.test(name)) && !NAMES_NONE.test(name);
}

/** `--no-auth` is followed by something else, `TOKEN_FILE` by a path, and a tokenizer counts. */
const NAMES_NONE = /^--?(?:no|without|skip|disable)-|[_-](?:file|path|dir)$|tokenizer/i;

/** A text longer than this is looked through for a secret as it is, and not for its encodings. */
const LONGEST_LOOKED_THROUGH = 16 * 1024;

export function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets.reduce((clean, secret) => {
    return clean.length > LONGEST_LOOKED_THROUGH
      ? clean.replaceAll(secret, "<secret>")
      : redactKey(clean, secret);
  }, text);
}
