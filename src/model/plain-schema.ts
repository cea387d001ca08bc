import { fieldOf, textOf } from "../core/json.js";
import { type Fields, fieldsOf, listOf } from "../http/answer-json.js";

type Schema = Record<string, unknown>;

/** Of references a schema may have any number, each to some that have more. */
const MAX_SCHEMAS = 5_000;
const MAX_DEPTH = 50;
/** Of their words and lists: each reference to a schema has them again. */
const MAX_LENGTH = 4 * 1024 * 1024;

/**
 * The parameters of a tool in what every server knows of JSON Schema: types, properties, items, texts to choose from and alternatives
 * below the top. Whatever else a schema says is left out: whoever runs the tool checks its arguments.
 */
export function plainParameters(parameters: Fields): Schema {
  const whole = new PlainSchemas(parameters).object(parameters);
  return { type: "object", properties: {}, ...fitting(MAX_LEVELS, whole) };
}

/** So deep below its top a schema may go: for a deeper one Meta and Moonshot refuse all tools, and Gemini does. */
const MAX_LEVELS = 9;

/** A schema without the properties and alternatives that are deeper; undefined where it is nothing without what is in it. */
function fitting(levels: number, schema: Fields): Schema | undefined {
  const { properties, required, items, anyOf, ...own } = schema;
  if (levels === 0) return items === undefined && anyOf === undefined ? own : undefined;
  const below = (part: unknown): Schema | undefined => fitting(levels - 1, fieldsOf(part) ?? {});
  const named = Object.entries(fieldsOf(properties) ?? {}).flatMap(([name, part]) => {
    const kept = below(part);
    return kept === undefined ? [] : [[name, kept] as const];
  });
  const names = new Set(named.map(([name]) => name));
  const duties = listOf(required).filter((name) => names.has(textOf(name)));
  const item = items === undefined ? undefined : below(items);
  const alternatives = anyOf === undefined ? undefined : listOf(anyOf).flatMap((one) => below(one) ?? []);
  if ((items !== undefined && item === undefined) || alternatives?.length === 0) return undefined;
  return {
    ...own,
    ...(named.length === 0 ? {} : { properties: Object.fromEntries(named) }),
    ...(duties.length === 0 ? {} : { required: duties }),
    ...(item === undefined ? {} : { items: item }),
    ...(alternatives === undefined ? {} : { anyOf: alternatives }),
  };
}

class PlainSchemas {
  private readonly root: Fields;
  private left = MAX_SCHEMAS;
  private lengthLeft = MAX_LENGTH;

  constructor(root: Fields) {
    this.root = root;
  }

  /** Of an object, or of alternatives that are objects: one that has the properties of all. */
  object(schema: Fields): Schema {
    const { anyOf, ...own } = this.built(schema, [], 0);
    const all = Array.isArray(anyOf) ? (anyOf as readonly Schema[]) : [];
    return { ...merged([own, ...all.map(withoutDuties)]), type: "object" };
  }

  private built(value: unknown, refs: readonly string[], depth: number): Schema {
    const schema = fieldsOf(value);
    this.left -= 1;
    if (schema === undefined || this.left < 0 || depth > MAX_DEPTH) return {};
    const below = (part: unknown): Schema => this.built(part, refs, depth + 1);
    const ref = textOf(schema["$ref"]);
    if (ref !== "") {
      // One that holds itself is any object in there.
      const named = refs.includes(ref)
        ? { type: "object" }
        : this.built(this.named(ref), [...refs, ref], depth + 1);
      return { ...named, ...this.wordsOf(schema) };
    }
    const own = { ...this.wordsOf(schema), ...this.typed(schema, below) };
    const whole = merged([own, ...listOf(schema["allOf"]).map(below)]);
    const alternatives = [...listOf(schema["anyOf"]), ...listOf(schema["oneOf"])]
      .filter((part) => fieldsOf(part)?.["type"] !== "null")
      .map(below);
    const [only] = alternatives;
    if (only === undefined) return whole;
    if (alternatives.length === 1) return merged([whole, only]);
    if (whole["type"] === "object") return merged([whole, ...alternatives.map(withoutDuties)]);
    return { ...whole, anyOf: alternatives };
  }

  private typed(schema: Fields, below: (part: unknown) => Schema): Schema {
    const { type } = schema;
    const lists = [type, schema["enum"], schema["required"]].map(listOf);
    if (!this.takes(lists.reduce((sum, { length }) => sum + length, 0))) return {};
    const types = [...new Set(Array.isArray(type) ? (type as readonly unknown[]) : [type])].filter(
      (one) => one !== "null",
    );
    if (types.length > 1) return { anyOf: types.map((one) => this.typed({ ...schema, type: one }, below)) };
    const choices = listOf(schema["enum"] ?? (schema["const"] === undefined ? [] : [schema["const"]]));
    const texts = choices.filter((choice) => typeof choice === "string" && choice !== "");
    const kind = textOf(types[0]) || kindOf(schema, texts, choices);
    switch (kind) {
      case "":
        return {};
      case "object": {
        const properties = [
          ...Object.entries(fieldsOf(schema["properties"]) ?? {}),
          ...namesIn(schema).map((name) => [name, schema["additionalProperties"]] as const),
        ].map(([name, part]) => [name, complete(below(part))] as const);
        const names = new Set(properties.map(([name]) => name));
        const required = listOf(schema["required"]).filter((name) => names.has(textOf(name)));
        return {
          type: kind,
          ...(properties.length === 0 ? {} : { properties: Object.fromEntries(properties) }),
          ...(required.length === 0 ? {} : { required }),
        };
      }
      case "array": {
        const item = schema["items"] ?? listOf(schema["prefixItems"])[0];
        return { type: kind, items: item === undefined ? { type: "string" } : complete(below(item)) };
      }
      case "string":
        return { type: kind, ...(texts.length === 0 || !this.takes(lengthOf(texts)) ? {} : { enum: texts }) };
      default: {
        const { minimum, maximum } = schema;
        return {
          type: kind,
          ...(isSmall(minimum) ? { minimum } : {}),
          ...(isSmall(maximum) ? { maximum } : {}),
        };
      }
    }
  }

  private wordsOf({ title, description }: Fields): Schema {
    return {
      ...(typeof title === "string" && this.takes(title.length) ? { title } : {}),
      ...(typeof description === "string" && this.takes(description.length) ? { description } : {}),
    };
  }

  /** Whether there is still room for so many characters, or items of lists: then they have it, and else nothing has any more. */
  private takes(length: number): boolean {
    this.lengthLeft = length > this.lengthLeft ? 0 : this.lengthLeft - length;
    return this.lengthLeft > 0;
  }

  /** What a reference names, as `#/$defs/Place`. */
  private named(ref: string): unknown {
    const path = ref.startsWith("#/") ? ref.slice(2).split("/") : [];
    let found: unknown = this.root;
    for (const step of path) found = fieldOf(found, step.replaceAll("~1", "/").replaceAll("~0", "~"));
    return path.length === 0 ? undefined : found;
  }
}

/** Servers read bounds into 32 bits, where larger ones become others, or refuse them. */
function isSmall(bound: unknown): boolean {
  return typeof bound === "number" && Math.abs(bound) < 2 ** 31;
}

function lengthOf(texts: readonly unknown[]): number {
  return texts.reduce<number>((sum, text) => sum + textOf(text).length, 0);
}

/** The names that the properties of an object may have, where they are told by themselves. */
function namesIn(schema: Fields): readonly string[] {
  const names = listOf(fieldsOf(schema["propertyNames"])?.["enum"]).map(textOf);
  return schema["properties"] === undefined ? names.filter((name) => name !== "") : [];
}

/** What a schema is of that does not say so. */
function kindOf(schema: Fields, texts: readonly unknown[], choices: readonly unknown[]): string {
  if (schema["properties"] !== undefined) return "object";
  if (schema["items"] !== undefined || schema["prefixItems"] !== undefined) return "array";
  if (texts.length > 0) return "string";
  const kinds = ["number", "boolean"] as const;
  return kinds.find((kind) => choices.some((choice) => typeof choice === kind)) ?? "";
}

/** Any value; Gemini and Kimi refuse all tools for one of which a part has no type. */
const ANY: readonly Schema[] = [
  { type: "string" },
  { type: "number" },
  { type: "boolean" },
  { type: "object" },
  { type: "array", items: { type: "string" } },
];

/** A part of a schema, its type said. What belongs to several alternatives stands in them: Vertex AI takes nothing beside them. */
function complete(schema: Schema): Schema {
  const { anyOf, ...own } = schema;
  if (anyOf === undefined && own["type"] !== undefined) return schema;
  const { title: _, description, ...common } = own;
  const all = ((anyOf ?? ANY) as readonly Schema[]).flatMap((one) => {
    const whole = complete(merged([one, common]));
    return (whole["anyOf"] as readonly Schema[] | undefined) ?? [whole];
  });
  const [first, ...others] = all;
  return { anyOf: [{ ...first, ...(description === undefined ? {} : { description }) }, ...others] };
}

/** Both at once; the first one's words. */
function merged(schemas: readonly Schema[]): Schema {
  const whole = firstsOf(schemas);
  const properties = firstsOf(schemas.map((schema) => fieldsOf(schema["properties"]) ?? {}));
  const required = new Set(schemas.flatMap((schema) => listOf(schema["required"])));
  return {
    ...Object.fromEntries(whole),
    ...(properties.size === 0 ? {} : { properties: Object.fromEntries(properties) }),
    ...(required.size === 0 ? {} : { required: [...required] }),
  };
}

/** Each field as the first has it that has one. */
function firstsOf(all: readonly Fields[]): ReadonlyMap<string, unknown> {
  const firsts = new Map<string, unknown>();
  for (const fields of all) {
    for (const [name, value] of Object.entries(fields)) if (!firsts.has(name)) firsts.set(name, value);
  }
  return firsts;
}

/** As one of several: nothing of it has to be there. */
function withoutDuties(schema: Schema): Schema {
  const { required: _, ...rest } = schema;
  return rest;
}
