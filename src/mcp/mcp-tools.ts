import { z } from "zod";
import { canonicalJson } from "../core/canonical-json.js";
import { boundsProblem } from "../core/json-bounds.js";
import { type JsonObject, type JsonValue, fieldOf, isList } from "../core/json.js";
import type { ToolEffect } from "../core/tools/external-tool.js";
import { sayingOnce } from "../core/saying-once.js";
import { placesOf } from "../core/find-text.js";
import { excerpt, listSome } from "../core/text.js";
import type { ExternalTool, ToolAnswer, ToolPlace, ToolSource } from "../tools/external/tool-source.js";
import { Connection, type McpAnswer } from "./connection.js";
import { withRealPaths } from "./project-paths.js";
import { type McpServer, type McpServers, isOfProject } from "./server-settings.js";

/** What a worker gives its MCP servers. */
export interface McpOptions {
  readonly servers: McpServers;
  /** Where servers work that name no directory. */
  readonly dir: string;
  readonly version: string;
  /** A variable of the worker's environment. */
  readonly variable: (name: string) => string | undefined;
  readonly note: (sentence: string) => void;
}

/** A hint that is none says nothing, and the others hold. */
const hint = z.boolean().optional().catch(undefined);
const toolSchema = z.looseObject({
  name: z.string(),
  description: z.string().nullish(),
  inputSchema: z.record(z.string(), z.unknown()).nullish(),
  annotations: z.looseObject({ readOnlyHint: hint, idempotentHint: hint }).optional().catch(undefined),
  execution: z.looseObject({ taskSupport: z.string().optional() }).optional().catch(undefined),
});
type DescribedTool = z.infer<typeof toolSchema>;

/** Processes that work in projects: the idle one that was not used for longest is ended for one more. */
const MAX_PROJECT_CONNECTIONS = 32;

/** Of the tools that the settings name and that are not there. */
const MAX_NAMED = 5;

/** The first idle one where there are too many; none where all are asked something: who works on a call is not ended for another. */
export function oneToEnd<T extends { readonly isIdle: boolean }>(
  connections: readonly (readonly [string, T])[],
  max: number,
): readonly [string, T] | undefined {
  return connections.length > max ? connections.find(([, { isIdle }]) => isIdle) : undefined;
}

/** What the names of a server's tools begin with. */
function familyOf(server: string): string {
  return `mcp.${server}.`;
}

/** The tools of the operator's MCP servers, for agents whose policy names them. */
export function mcpTools(options: McpOptions): ToolSource {
  const { servers } = options;
  const connections = new Map<string, Connection>();
  /** What was made of a list, which may be long: it is asked for at each turn and each call. */
  const made = new WeakMap<readonly unknown[], readonly ExternalTool[]>();
  /** A list is asked for anew after each call that is refused. */
  const tellOnce = sayingOnce(options.note);

  function connectionTo(name: string, server: McpServer, projectRoot: string): Connection {
    const key = isOfProject(server) ? `${name}\0${projectRoot}` : name;
    const known = connections.get(key);
    const connection = known ?? new Connection({ ...options, name, server, projectRoot });
    connections.delete(key);
    connections.set(key, connection); // the last one used is the last one ended
    const others = [...connections].filter(([other]) => other.includes("\0") && other !== key);
    const ended = oneToEnd(others, MAX_PROJECT_CONNECTIONS - 1);
    if (ended !== undefined) {
      connections.delete(ended[0]);
      void ended[1].close();
    }
    return connection;
  }

  async function toolsOf(
    name: string,
    server: McpServer,
    place: ToolPlace,
  ): Promise<readonly ExternalTool[]> {
    const listed = await connectionTo(name, server, place.projectRoot).tools();
    const tools = made.get(listed) ?? toolsIn(listed, name, server);
    made.set(listed, tools);
    return tools;
  }

  function toolsIn(listed: readonly unknown[], name: string, server: McpServer): readonly ExternalTool[] {
    const described = describedTools(listed, name, server, tellOnce);
    return described.flatMap((tool): readonly ExternalTool[] => {
      if (server.tools !== undefined && !server.tools.includes(tool.name)) return [];
      return [
        {
          name: familyOf(name) + tool.name,
          family: familyOf(name),
          description: tool.description ?? "",
          parameters: ofObject(tool.inputSchema ?? {}) as JsonObject, // it came as JSON
          effect: effectOf(tool, server),
          timeoutMs: server.timeoutSeconds * 1_000,
          run: async (args, { signal, projectRoot }) => {
            const told = isOfProject(server) ? withRealPaths(args, projectRoot) : args;
            const connection = connectionTo(name, server, projectRoot);
            const answer = toAnswer(await connection.call(tool, told, signal));
            return { ...answer, content: connection.clean(answer.content) };
          },
        },
      ];
    });
  }

  return {
    async tools(place, tool) {
      const allowed = Object.entries(servers).filter(
        ([name]) =>
          place.allowedServers.includes(name) && (tool === undefined || tool.startsWith(familyOf(name))),
      );
      return (await Promise.all(allowed.map(([name, server]) => toolsOf(name, server, place)))).flat();
    },
    async close() {
      await Promise.all([...connections.values()].map((connection) => connection.close()));
    },
  };
}

/** The tools of a server's list that can be called; of the others the operator is told. */
function describedTools(
  listed: readonly unknown[],
  name: string,
  server: McpServer,
  tell: (sentence: string) => void,
): readonly DescribedTool[] {
  const parsed = listed.map((described) => toolSchema.safeParse(described));
  const wrong = parsed.flatMap(({ error }, index) =>
    error === undefined ? [] : [`${calledIn(listed[index])} (${whatIsWrong(error.issues)})`],
  );
  if (wrong.length > 0)
    tell(`The MCP server ${name} describes tools that cannot be offered: ${listSome(wrong, MAX_NAMED)}.`);
  const described = parsed.flatMap(({ data }) => data ?? []);
  const tasks = described.filter(isTask).map((tool) => tool.name);
  if (tasks.length > 0) {
    const left = listSome(tasks, MAX_NAMED);
    tell(`The MCP server ${name} takes calls of ${left} as tasks only, which are not made: left out.`);
  }
  const names = new Set(described.map((tool) => tool.name));
  const absent = [...(server.tools ?? []), ...Object.keys(server.effects)].filter((tool) => !names.has(tool));
  if (absent.length > 0) {
    tell(`The MCP server ${name} has no tool ${listSome(absent, MAX_NAMED)}, which its settings name.`);
  }
  return described.filter((tool) => !isTask(tool));
}

function calledIn(described: unknown): string {
  const called = fieldOf(described, "name");
  return typeof called === "string" && called !== "" ? called : "one without a name";
}

function whatIsWrong(issues: readonly z.core.$ZodIssue[]): string {
  return issues.map(({ path, message }) => [...path.map(String), message].join(": ")).join("; ");
}

/** Servers leave out what all arguments are, an object, where a tool has none; PHP's have an empty list of its properties then. */
function ofObject(schema: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { type = null, ...rest } = schema;
  const isObject = type === null || (Array.isArray(type) && type.includes("object"));
  const whole = isObject ? { type: "object", ...rest } : schema;
  const { properties } = rest;
  return Array.isArray(properties) && properties.length === 0 ? { ...whole, properties: {} } : whole;
}

/** A call has to be begun as a task, whose answer is come back for. */
function isTask({ execution }: DescribedTool): boolean {
  return execution?.taskSupport === "required";
}

/** The operator's word, else the server's: the operator has chosen it. */
function effectOf({ name, annotations }: DescribedTool, server: McpServer): ToolEffect {
  if (Object.hasOwn(server.effects, name)) return server.effects[name] ?? "once";
  if (annotations?.readOnlyHint === true) return "none";
  return annotations?.idempotentHint === true ? "idempotent" : "once";
}

const blockSchema = z.looseObject({
  type: z.string().nullish(),
  name: z.string().nullish().catch(undefined),
  title: z.string().nullish().catch(undefined),
  description: z.string().nullish().catch(undefined),
  text: z.string().nullish(),
  mimeType: z.string().nullish(),
  uri: z.string().nullish(),
  resource: z
    .looseObject({
      text: z.string().nullish(),
      mimeType: z.string().nullish(),
      uri: z.string().nullish(),
    })
    .nullish(),
});

/** As later versions of the protocol ask for a person's word or a model's in place of an answer. */
const WANTS_INPUT =
  "The server asks for more before it answers, from a person or a model, and nobody gives it that here.";

/** What an answer says in words; of what is none, what it is. */
function toAnswer({
  content,
  structuredContent,
  isError,
  _meta,
  resultType,
  ...rest
}: McpAnswer): ToolAnswer {
  if (content === undefined && (resultType === "input_required" || rest["inputRequests"] !== undefined))
    throw new Error(WANTS_INPUT);
  const texts = (content ?? []).map(blockText);
  const said = texts.join("\n");
  // Without content it is in another version's form: what the model can make of it is better than nothing.
  const isOther = !Array.isArray(content) && Object.keys(rest).length > 0;
  const structure = structuredContent ?? (isOther ? rest : undefined);
  const more = structure === undefined ? "" : structuredText(structure, said, leftOut(content ?? []));
  return { content: [said, more].filter((text) => text !== "").join("\n"), isError: isError === true };
}

function blockText(block: unknown): string {
  const words = wordsIn(block);
  if (words !== undefined) return words;
  const parsed = blockSchema.safeParse(block);
  if (!parsed.success) return "[a part that cannot be read is left out]";
  const { type, mimeType, uri, resource } = parsed.data;
  if (type === "resource_link") return linkText(parsed.data);
  const what = [type, mimeType ?? resource?.mimeType, uri ?? resource?.uri].filter(
    (part) => typeof part === "string",
  );
  return `[${excerpt(what.join(" "))} is left out]`;
}

function wordsIn(block: unknown): string | undefined {
  if (typeof block === "string") return block; // of servers that are written by hand
  const { data } = blockSchema.safeParse(block);
  return data?.text ?? data?.resource?.text ?? undefined;
}

/** What parts hold that are no words, such as the bytes of a picture: a structure that repeats them says nothing more. */
function leftOut(blocks: readonly unknown[]): ReadonlySet<string> {
  const parts = blocks.filter((block) => wordsIn(block) === undefined);
  if (boundsProblem(parts, STRUCTURE_BOUNDS) !== undefined) return new Set();
  return new Set(valuesIn(parts as readonly JsonValue[])); // they came as JSON
}

/** A link is all that there is of it: what it leads to, and what that is. */
function linkText({ name, title, description, mimeType, uri }: z.infer<typeof blockSchema>): string {
  const parts = [title ?? name, mimeType, uri].flatMap((part) =>
    part ? [excerpt(part, MAX_LINK_CHARS)] : [],
  );
  const more = description ? `: ${excerpt(description, MAX_LINK_CHARS)}` : "";
  return `[a link to ${parts.join(", ")}${more}]`;
}

const MAX_LINK_CHARS = 500;
const STRUCTURE_BOUNDS = { maxDepth: 100, maxValues: 100_000 };

/** A structure as JSON, unless the texts have said it: servers are to do so, in words of their own or as JSON. */
function structuredText(structured: unknown, said: string, known: ReadonlySet<string>): string {
  const problem = boundsProblem(structured, STRUCTURE_BOUNDS);
  if (problem !== undefined) return `[an answer that ${problem.message} is left out]`;
  if (said === "") return JSON.stringify(structured);
  if (isSaidAsJson(structured, said)) return "";
  const shown = said.slice(0, MAX_COMPARED_CHARS);
  const value = structured as JsonValue; // it came as JSON
  const isSaid = valuesIn(value)
    .filter((each) => !known.has(each))
    .slice(0, Math.min(MAX_COMPARED_VALUES, Math.ceil(MAX_COMPARED / shown.length)))
    .every((each) => isSaidIn(shown, each) || isSaidIn(shown, JSON.stringify(each).slice(1, -1)));
  if (!isSaid) return JSON.stringify(value);
  // A yes or no is not found in words: of a structure that is said else, those fields are shown that have one.
  const open = unsaidFlags(value, shown);
  return open === undefined ? "" : JSON.stringify(open);
}

/** Whether a text is a structure as JSON, or its one value: FastMCP wraps what is no object. */
function isSaidAsJson(structured: unknown, said: string): boolean {
  if (typeof structured !== "object" || structured === null || said.length > MAX_COMPARED_CHARS) return false;
  const [only, ...others] = Object.values(structured) as readonly unknown[];
  try {
    const value: unknown = JSON.parse(said);
    if (boundsProblem(value, STRUCTURE_BOUNDS) !== undefined) return false;
    const text = canonicalJson(value);
    return text === canonicalJson(structured) || (others.length === 0 && text === canonicalJson(only));
  } catch {
    return false; // words
  }
}

/** What of a structure holds `true` or `false` that no text says; undefined where nothing does. */
function unsaidFlags(value: JsonValue, said: string): JsonValue | undefined {
  const unsaid = [true, false].filter((flag) => !said.includes(String(flag)));
  const holds = (part: JsonValue): boolean => {
    if (typeof part === "boolean") return unsaid.includes(part);
    return typeof part === "object" && part !== null && Object.values(part).some(holds);
  };
  if (!holds(value)) return undefined;
  if (typeof value !== "object" || value === null || isList(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([, part]) => holds(part)));
}

/** Whether a text has a value by itself: no 2 is said by 12 or 2.5, and no "ok" by "looked". */
function isSaidIn(text: string, value: string): boolean {
  if (value === "") return true;
  const [begin, end] = [value.slice(0, 2), value.slice(-2)];
  let looks = 0;
  for (const at of placesOf(value, text)) {
    const [before, after] = [text.slice(Math.max(at - 2, 0), at), text.slice(at + value.length).slice(0, 2)];
    if (!goesOnBefore(before, begin) && !goesOnAfter(after, end)) return true;
    looks += 1;
    if (looks === MAX_LOOKS) break;
  }
  return false;
}

const MAX_LOOKS = 1_000;
const goesOnBefore = (before: string, begin: string): boolean =>
  (/^[\p{L}\p{N}]/u.test(begin) && /[\p{L}\p{N}]$/u.test(before)) ||
  (/^\d/.test(begin) && /\d[.,]$|-$/.test(before));
const goesOnAfter = (after: string, end: string): boolean =>
  (/[\p{L}\p{N}]$/u.test(end) && /^[\p{L}\p{N}]/u.test(after)) || (/\d$/.test(end) && /^[.,]\d/.test(after));

const MAX_COMPARED_VALUES = 1_000;
const MAX_COMPARED_CHARS = 1_000_000;
/** Values of a structure, times characters of the text that has said them. */
const MAX_COMPARED = 50_000_000;

function valuesIn(value: JsonValue): readonly string[] {
  if (typeof value === "string" || typeof value === "number") return [String(value)];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(valuesIn) : [];
}
