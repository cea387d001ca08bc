import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Ajv } from "ajv";
import { parse } from "yaml";

const require = createRequire(import.meta.url);

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** One service of a Compose file, as far as the tests look at it. The schema vouches for the form. */
export interface Service {
  readonly image: string;
  readonly build?: { readonly context: string; readonly args: Readonly<Record<string, string>> };
  readonly restart: string;
  readonly logging?: { readonly driver: string };
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly environment: Readonly<Record<string, string>>;
  readonly profiles?: readonly string[];
  readonly volumes?: readonly (string | { readonly source: string; readonly target: string })[];
  readonly ports?: readonly string[];
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly entrypoint?: readonly string[];
}

export interface ComposeFile {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

export function readText(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

/** `<<` merges keys, as Compose does it. */
export function parseCompose(text: string): ComposeFile {
  return parse(text, { merge: true }) as ComposeFile;
}

/** What the schema of the Compose Specification says against a file; empty when it is valid. */
export function composeFindings(file: unknown): readonly string[] {
  // The schema as the specification's authors publish it, in the package of a linter that ships it unchanged.
  const linter = dirname(require.resolve("dclint/package.json"));
  const schema = JSON.parse(readFileSync(join(linter, "schemas/compose.schema.json"), "utf8")) as object;
  const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });
  // It names its dialect with https, which is draft 07 all the same.
  const validate = ajv.compile({ ...schema, $schema: "http://json-schema.org/draft-07/schema#" });
  if (validate(file)) return [];
  return (validate.errors ?? []).map(
    (error) => `${error.instancePath} ${error.message ?? ""} ${JSON.stringify(error.params)}`,
  );
}

const SUBSTITUTION = /\$(?:\$|\{(?<name>[A-Z_]+)(?:(?<operator>:-|:\?)(?<argument>[^}]*))?\})?/g;

/** The variables that a text takes from the user's environment. */
export function variablesOf(text: string): readonly string[] {
  const names = [...text.matchAll(SUBSTITUTION)].flatMap((match) => match.groups?.["name"] ?? []);
  return [...new Set(names)].sort();
}

/** Substitutes as Compose does. Throws for a required variable that is unset, and for a form not used here. */
export function interpolate(text: string, environment: Readonly<Record<string, string>>): string {
  return text.replace(SUBSTITUTION, (whole, ...rest) => {
    if (whole === "$$") return "$";
    const { name, operator, argument = "" } = rest.at(-1) as Record<string, string | undefined>;
    if (name === undefined || operator === undefined)
      throw new Error(`"${whole}…" is neither \${NAME:-default} nor \${NAME:?why} in: ${text}`);
    const value = environment[name] ?? "";
    if (value !== "") return value;
    if (operator === ":?") throw new Error(`${name} is required: ${argument}`);
    return argument;
  });
}

/** The environment a service's container gets. */
export function environmentOf(service: Service, variables: Readonly<Record<string, string>>) {
  return Object.fromEntries(
    Object.entries(service.environment).map(([key, value]) => [key, interpolate(value, variables)]),
  );
}

/** Where a service's volumes and mounts appear in its container, by where they come from. */
export function mountsOf(service: Service): ReadonlyMap<string, string> {
  const mounts = (service.volumes ?? []).map((volume): [string, string] => {
    if (typeof volume !== "string") return [volume.source, volume.target];
    const [source = "", target = ""] = volume.split(":");
    return [source, target];
  });
  return new Map(mounts);
}
