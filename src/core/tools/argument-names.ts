import { type JsonObject, type JsonValue, isList, isObject, objectOf } from "../json.js";

/** What every provider takes for the name of an argument. Claude refuses a request as a whole for one of another, such as `$filter`, `ids[]` or `from<`. */
const TAKEN = /^[\w.-]{1,64}$/;
const MAX_CHARS = 64;
/** Where properties of an object stand beside its own. */
const PARTS = ["allOf", "anyOf", "oneOf"];

/** The parameters of a tool as a model is told them: names of arguments that not every provider takes are spelled otherwise, and stand in the descriptions. */
export function withSpelledNames(parameters: JsonObject): JsonObject {
  const spelled = spellings(parameters);
  return spelled.size === 0 ? parameters : respelled(parameters, spelled);
}

/** What a model has said for such parameters, by the names that the tool knows. */
export function withOwnNames(args: JsonObject, parameters: JsonObject): JsonObject {
  const own = new Map([...spellings(parameters)].map(([name, spelling]) => [spelling, name]));
  if (own.size === 0) return args;
  return Object.fromEntries(
    Object.entries(args).map(([key, value]) => {
      const name = own.get(key) ?? key;
      return [Object.hasOwn(args, name) ? key : name, value];
    }),
  );
}

/** The spelling of each name that needs one: no other argument's name, nor its spelling. */
function spellings(parameters: JsonObject): ReadonlyMap<string, string> {
  const names = [parameters, ...partsOf(parameters)].flatMap((part) =>
    Object.keys(objectOf(part["properties"])),
  );
  const taken = new Set(names);
  const spelled = new Map<string, string>();
  for (const name of names) {
    if (TAKEN.test(name) || spelled.has(name)) continue;
    const plain = name.replaceAll(/[^\w.-]/gu, "_") || "_";
    let spelling = plain.slice(0, MAX_CHARS);
    for (let count = 2; taken.has(spelling); count += 1) {
      const end = `_${count}`;
      spelling = `${plain.slice(0, MAX_CHARS - end.length)}${end}`;
    }
    taken.add(spelling);
    spelled.set(name, spelling);
  }
  return spelled;
}

function partsOf(schema: JsonObject): readonly JsonObject[] {
  return PARTS.flatMap((name) => {
    const parts = schema[name];
    return isList(parts) ? parts.filter(isObject) : [];
  });
}

function respelled(schema: JsonObject, spelled: ReadonlyMap<string, string>): JsonObject {
  const parts = PARTS.flatMap((name) => {
    const all = schema[name];
    if (!isList(all)) return [];
    return [[name, all.map((part) => (isObject(part) ? respelled(part, spelled) : part))] as const];
  });
  const { properties, required } = schema;
  return {
    ...schema,
    ...Object.fromEntries(parts),
    ...(isObject(properties) && { properties: respelledProperties(properties, spelled) }),
    ...(isList(required) && {
      required: required.map((name) => (typeof name === "string" ? (spelled.get(name) ?? name) : name)),
    }),
  };
}

function respelledProperties(properties: JsonObject, spelled: ReadonlyMap<string, string>): JsonObject {
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => {
      const spelling = spelled.get(name);
      return spelling === undefined ? [name, property] : [spelling, named(property, name)];
    }),
  );
}

/** What an argument is for, under its own name: two that are spelled alike differ in nothing else, as `from<` and `from>`. */
function named(property: JsonValue, name: string): JsonValue {
  if (!isObject(property)) return property;
  const { description } = property;
  const own = JSON.stringify(name);
  return { ...property, description: typeof description === "string" ? `${own}: ${description}` : own };
}
