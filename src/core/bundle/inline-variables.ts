import { type Result, fail, ok } from "../errors.js";
import { type JsonObject, type JsonValue, fieldOf, isList, scalarText } from "../json.js";
import { pathVariable } from "./bundle-path.js";

/** Bounds: a few keys that name each other can ask for any amount of text. */
const MAX_CHARS = 1024 * 1024;
const MAX_DEPTH = 100;
/** Each time that a variable is looked up anew counts as so many characters: what it comes to may be short. */
const LOOK_UP_CHARS = 128;

/** What a value says that the runtime does not know: the model fills it in. */
const LEFT_TO_MODEL: readonly string[] = ["", "system-generated"];

/**
 * Resolves the variables that a workflow's YAML defines itself (contracts §13): `{key}` of any key of the file or of its
 * `variables`, in any order; `{config_source}:key` from the config file. Left as they are: the path variables,
 * `{{mustache}}`, names that nobody defines, keys whose value is empty, no text or `system-generated`, and cycles.
 *
 * Fault: `E_SCHEMA_VALIDATION` when the result would be larger than 1 MiB of text, or takes as much work.
 */
export function inlineVariables(workflow: JsonObject, config: JsonObject = {}): Result<JsonObject> {
  const inliner = new Inliner(workflow, config);
  try {
    return ok(inliner.root());
  } catch (error) {
    if (error instanceof TooLarge) {
      return fail(
        "E_SCHEMA_VALIDATION",
        `The variables of the file expand to more than ${MAX_CHARS} characters.`,
      );
    }
    /* v8 ignore next -- a bug */
    throw error;
  }
}

/** The keys of the config that a workflow's texts still name once its variables are resolved: the config has none of them. */
export function lackingConfigKeys(resolved: JsonValue, depth = 0): readonly string[] {
  if (typeof resolved === "string") return CONFIG_REFERENCE.exec(resolved.trim())?.slice(1, 2) ?? [];
  if (resolved === null || typeof resolved !== "object" || depth > MAX_DEPTH) return [];
  return [...new Set(Object.values(resolved).flatMap((item) => lackingConfigKeys(item, depth + 1)))];
}

/** Resolves a workflow's variables in texts; once they are larger than 1 MiB together, the further ones stay as they are. */
export function textInliner(workflow: JsonObject): (text: string) => string {
  const inliner = new Inliner(workflow, {});
  return (text) => {
    try {
      return inliner.text(text, 0);
    } catch (error) {
      if (error instanceof TooLarge) return text;
      /* v8 ignore next -- a bug */
      throw error;
    }
  };
}

class TooLarge extends Error {}

class Inliner {
  private chars = 0;
  private readonly open = new Set<string>();
  /** What names have come to. Where a cycle was met on the way, that depends on where it was entered, and is not kept. */
  private readonly known = new Map<string, string>();
  private cycles = 0;
  private readonly workflow: JsonObject;
  private readonly config: JsonObject;

  constructor(workflow: JsonObject, config: JsonObject) {
    this.workflow = workflow;
    this.config = config;
  }

  root(): JsonObject {
    const entries = Object.entries(this.workflow).map(([key, item]) => {
      this.open.add(key); // a value does not contain itself
      const value = this.value(item, 1);
      this.open.delete(key);
      return [key, value] as const;
    });
    return Object.fromEntries(entries);
  }

  private object(value: JsonObject, depth: number): JsonObject {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.value(item, depth + 1)]));
  }

  private value(value: JsonValue, depth: number): JsonValue {
    if (typeof value === "string") return this.text(value, 0);
    if (value === null || typeof value !== "object" || depth > MAX_DEPTH) return value;
    return isList(value) ? value.map((item) => this.value(item, depth + 1)) : this.object(value, depth);
  }

  text(text: string, depth: number): string {
    const fromConfig = this.configReference(text, depth);
    if (fromConfig !== undefined) return fromConfig;
    const inlined = text.replace(PLACEHOLDER, (whole: string, name?: string) =>
      name === undefined || depth > MAX_DEPTH ? whole : (this.lookUp(name, depth) ?? whole),
    );
    this.spend(inlined.length);
    return inlined;
  }

  /** `{config_source}:key`, also with a path after it, whatever the key that holds the config's path is called. */
  private configReference(text: string, depth: number): string | undefined {
    const [, key, path = ""] = CONFIG_REFERENCE.exec(text.trim()) ?? [];
    if (key === undefined) return undefined;
    const found = scalarText(fieldOf(this.config, key));
    if (found === undefined) return undefined;
    const name = `config ${key}`;
    return this.once(name, () => this.text(found + path, depth + 1), name + path);
  }

  private lookUp(name: string, depth: number): string | undefined {
    if (pathVariable(name) !== undefined) return undefined;
    const found = this.definition(name);
    if (found === undefined || LEFT_TO_MODEL.includes(found)) return undefined;
    const value = this.once(name, () => this.text(found, depth + 1));
    return value === undefined || LEFT_TO_MODEL.includes(value) ? undefined : value;
  }

  private definition(name: string): string | undefined {
    const own = Object.hasOwn(this.workflow, name);
    return scalarText(fieldOf(own ? this.workflow : fieldOf(this.workflow, "variables"), name));
  }

  /** Undefined where the name is being resolved already: a cycle. What it comes to is kept under `as`. */
  private once(name: string, resolve: () => string, as = name): string | undefined {
    if (this.open.has(name)) {
      this.cycles += 1;
      return undefined;
    }
    const known = this.known.get(as);
    if (known !== undefined) return known;
    this.spend(LOOK_UP_CHARS);
    const { cycles } = this;
    this.open.add(name);
    try {
      const value = resolve();
      if (this.cycles === cycles) this.known.set(as, value);
      return value;
    } finally {
      this.open.delete(name);
    }
  }

  private spend(chars: number): void {
    this.chars += chars;
    if (this.chars > MAX_CHARS) throw new TooLarge();
  }
}

const CONFIG_REFERENCE = /^\{config_source\}:([\w.-]+)\}?(\/[^]*)?$/;

/**
 * `{{anything}}` first, so that nothing inside double braces is taken for a name; then what stands for a key of the config, which
 * stays as it is where the config has none.
 */
const PLACEHOLDER = /\{\{[^{}]*\}\}|\{config_source\}:[\w.-]+|\{([A-Za-z_][\w.-]*)\}/g;
