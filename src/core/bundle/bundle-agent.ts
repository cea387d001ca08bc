import { type Result, fail, ok } from "../errors.js";
import { type JsonObject, type JsonValue, fieldOf, isList, isObject, textIn } from "../json.js";
import type { Agent } from "../package/schemas.js";
import { cutText } from "../text.js";
import { installed } from "./bundle-path.js";
import { type Element, findElement, findElements, plainText, withoutComments } from "./markup.js";

/** Something a user can ask an agent for. */
export interface BundleCommand {
  /** With its asterisk, as users see it: `*intake`. */
  readonly trigger: string;
  /** Shorter ways to say it. */
  readonly aliases: readonly string[];
  readonly description: string;
  /** The workflow it runs, as the agent names it. */
  readonly workflow?: string;
  /** What the workflow is given: a file, or words. */
  readonly data?: string;
  /** What it does instead, which a bundle run does not do: `exec {core-root}/tasks/review.xml`. */
  readonly notHere?: string;
}

/** An agent of a bundle, whichever form its file has. */
export interface BundleAgent {
  readonly name: string;
  readonly title: string;
  readonly icon?: string;
  readonly role: string;
  readonly identity: string;
  readonly communicationStyle: string;
  readonly principles: readonly string[];
  readonly criticalActions: readonly string[];
  readonly commands: readonly BundleCommand[];
  /** Stands in the place of the rendered persona. */
  readonly systemPrompt?: string;
}

const MAX_FILE_CHARS = 1024 * 1024;
const MAX_TEXT = 4000;
const MAX_ITEMS = 100;
const MAX_TRIGGER_CHARS = 300;

/**
 * Reads an agent in its XML-in-Markdown form: `<agent>` with `<persona>`, `<critical-actions>` or `<activation>`, `<cmds>` or
 * `<menu>`. Of an activation, only the steps that load a file are critical actions: the others say how an editor shows
 * the menu. Fault: `E_AGENT_NOT_FOUND` when the text holds no agent with a name.
 */
export function readAgentMarkup(text: string): Result<BundleAgent> {
  const agent = text.length > MAX_FILE_CHARS ? undefined : findElement(text, "agent");
  const name = short(agent?.attributes.get("name") ?? "");
  if (agent === undefined || name === "") {
    return fail("E_AGENT_NOT_FOUND", "The file holds no <agent name=…> element.");
  }
  const persona = findElement(agent.inner, "persona")?.inner ?? "";
  const textOf = (...names: readonly string[]): string => {
    const found = names.map((item) => findElement(persona, item)).find((item) => item !== undefined);
    return short(plainText(found?.inner ?? ""));
  };
  return ok({
    name,
    title: short(agent.attributes.get("title") ?? name),
    ...icon(agent.attributes.get("icon")),
    role: textOf("role"),
    identity: textOf("identity"),
    communicationStyle: textOf("communication_style", "communication-style"),
    principles: principlesOf(findElement(persona, "principles")),
    criticalActions: criticalActionsOf(agent.inner),
    commands: commandsOf(agent.inner),
  });
}

function icon(value: string | undefined): { readonly icon?: string } {
  return value === undefined || value === "" ? {} : { icon: short(value) };
}

function principlesOf(element: Element | undefined): readonly string[] {
  if (element === undefined) return [];
  const items = ["principle", "i", "p", "li"].flatMap((name) => findElements(element.inner, name));
  const texts = items.length > 0 ? items.map(({ inner }) => plainText(inner)) : [plainText(element.inner)];
  return list(texts);
}

function criticalActionsOf(agent: string): readonly string[] {
  const block = findElement(agent, "critical-actions") ?? findElement(agent, "critical_actions");
  if (block !== undefined) {
    const items = ["i", "action", "step"].flatMap((name) => findElements(block.inner, name));
    return list(items.map(({ inner }) => plainText(inner)));
  }
  const activation = findElement(agent, "activation");
  const steps = activation === undefined ? [] : findElements(activation.inner, "step");
  return list(steps.map(({ inner }) => plainText(inner)).filter((text) => pathsToLoad(text).length > 0));
}

function commandsOf(agent: string): readonly BundleCommand[] {
  const plain = withoutComments(agent);
  const block = findElement(plain, "cmds") ?? findElement(plain, "menu");
  if (block === undefined) return [];
  const items = [...findElements(block.inner, "c"), ...findElements(block.inner, "item")];
  return items.slice(0, MAX_ITEMS).flatMap(({ attributes, inner }) => {
    const description = plainText(inner);
    const trigger = attributes.get("cmd") ?? attributes.get("trigger");
    if (trigger !== undefined) return command(trigger, description, (key) => attributes.get(key));
    return findElements(inner, "handler").flatMap((handler) =>
      command(handler.attributes.get("match"), description, (key) => handler.attributes.get(key)),
    );
  });
}

/** An agent of package format 1.1. */
export function agentOfPackage(agent: Agent): BundleAgent {
  const { metadata, persona } = agent;
  return {
    name: short(metadata.name),
    title: short(metadata.title),
    ...icon(metadata.icon),
    role: short(persona.role),
    identity: short(persona.identity),
    communicationStyle: short(persona.communication_style),
    principles: list(typeof persona.principles === "string" ? [persona.principles] : persona.principles),
    criticalActions: list(agent.critical_actions ?? []),
    commands: (agent.menu ?? []).slice(0, MAX_ITEMS).flatMap(menuItem),
    ...(agent.systemPrompt === undefined ? {} : { systemPrompt: agent.systemPrompt }),
  };
}

/** An agent as module sources hold it, before an installer makes the XML form: the root key is `agent`. */
export function agentOfYaml(yaml: JsonObject): Result<BundleAgent> {
  const agent = fieldOf(yaml, "agent");
  const metadata = isObject(agent) ? fieldOf(agent, "metadata") : undefined;
  if (!isObject(agent) || !isObject(metadata) || textField(metadata, "name") === "") {
    return fail("E_AGENT_NOT_FOUND", "The file holds no agent with a name in its metadata.");
  }
  const found = fieldOf(agent, "persona");
  const persona = isObject(found) ? found : {};
  const principles = fieldOf(persona, "principles");
  return ok({
    name: textField(metadata, "name"),
    title: textField(metadata, "title") || textField(metadata, "name"),
    ...icon(textField(metadata, "icon")),
    role: textField(persona, "role"),
    identity: textField(persona, "identity"),
    communicationStyle: textField(persona, "communication_style"),
    principles: list(typeof principles === "string" ? principles.split(/\n(?=\s*- )/) : texts(principles)),
    criticalActions: list(texts(fieldOf(agent, "critical_actions"))),
    commands: items(fieldOf(agent, "menu")).slice(0, MAX_ITEMS).filter(isObject).flatMap(menuItem),
  });
}

function menuItem(item: Readonly<Record<string, unknown>>): readonly BundleCommand[] {
  const description = textIn(item, "description") ?? textIn(item, "multi") ?? "";
  const triggers = fieldOf(item, "triggers");
  if (Array.isArray(triggers)) {
    return triggers.slice(0, MAX_ITEMS).flatMap((trigger) => ofTrigger(trigger, description));
  }
  return command(textIn(item, "trigger") ?? textIn(item, "cmd"), description, (key) => textIn(item, key));
}

/** One of several triggers of an item: `name: [{ input }, { route }, { type }]`. What its route leads to, its type says, or its name. */
function ofTrigger(trigger: unknown, description: string): readonly BundleCommand[] {
  const parts: unknown[] =
    typeof trigger === "object" && trigger !== null ? Object.values(trigger).flat() : [];
  const said = new Map(
    parts.flatMap((part) => (typeof part === "object" && part !== null ? Object.entries(part) : [])),
  );
  const read = (key: string): string | undefined => {
    const value: unknown = said.get(key);
    return typeof value === "string" ? value : undefined;
  };
  const isWorkflow = read("type") === "workflow" || IS_YAML.test(read("route") ?? "");
  return command(read("input"), description, (key) => {
    if (key === "route") return undefined;
    return key === (isWorkflow ? "workflow" : "exec") ? (read(key) ?? read("route")) : read(key);
  });
}

/** `*name`, `name`, or as newer files say it `XY or fuzzy match on name`. `read` gives what the item says by key. */
function command(
  trigger: string | undefined,
  description: string,
  read: (key: string) => string | undefined,
): readonly BundleCommand[] {
  const [first = "", ...others] = (trigger ?? "")
    .slice(0, MAX_TRIGGER_CHARS)
    .split(/\s+or\s+(?:fuzzy match\s+(?:on\s+)?)?/)
    .map(bare);
  const name = others.at(-1) ?? first;
  if (name === "") return [];
  return [
    {
      trigger: `*${name}`,
      aliases: [first, ...others].filter((item) => item !== name && item !== ""),
      description: short(description.trim()),
      ...deedOf(read),
    },
  ];
}

const IS_YAML = /\.ya?ml$/i;
const RUNS = ["run-workflow", "workflow"];
/** Other things than workflows that items of menus do. */
const OTHER_DEEDS = ["exec", "validate-workflow", "run-task", "action", "skill", "prompt", "task", "route"];

/**
 * What an item does: a workflow, also as what it executes, with the data that it is given; or something that is none. One that says several
 * things does none of them here: whichever was run, it might be the wrong one.
 */
function deedOf(
  read: (key: string) => string | undefined,
): Pick<BundleCommand, "workflow" | "notHere" | "data"> {
  const said = (key: string): string => read(key)?.trim() ?? "";
  const isMade = (key: string): boolean => !["", "todo", "null"].includes(said(key));
  const data = isMade("data") ? { data: short(said("data")) } : {};
  const deeds = [...RUNS, ...OTHER_DEEDS].filter(isMade);
  const paths = new Set(deeds.map(said));
  const [path = ""] = paths;
  const isRun = deeds.every(
    (key) => RUNS.includes(key) || (key === "exec" && /(?:^|\/)workflow\.ya?ml$/.test(path)),
  );
  if (deeds.length > 0 && isRun && paths.size === 1 && !path.endsWith(".md"))
    return { workflow: short(path), ...data };
  const other =
    deeds.length > 0 ? deeds : [...RUNS, "exec", "tmpl"].filter((key) => said(key) !== "").slice(0, 1);
  return other.length === 0 ? {} : { notHere: short(other.map((key) => `${key} ${said(key)}`).join(", ")) };
}

function bare(trigger: string): string {
  return trigger.trim().replace(/^\*/, "").replaceAll(/\s+/g, "-").slice(0, 100);
}

/**
 * Which command a first input picks: its number as the prompt lists them, its trigger or an alias, any case; without the
 * asterisk only when nothing follows. Undefined for any other text: that is for the agent to answer.
 */
export function pickCommand(agent: BundleAgent, input: string): BundleCommand | undefined {
  const [, word = "", rest = ""] = /^\s*(\S+)\s*([^]*)$/.exec(input) ?? [];
  const isNumber = /^\d{1,3}$/.test(word);
  if (!word.startsWith("*") && rest !== "") return undefined;
  const name = word.replace(/^\*/, "").toLowerCase();
  return isNumber
    ? agent.commands[Number(word) - 1]
    : agent.commands.find(({ trigger, aliases }) =>
        [trigger.slice(1), ...aliases].some((item) => item.toLowerCase() === name),
      );
}

/** The files that an action names with a path variable, as it names them. */
export function pathsToLoad(action: string): readonly string[] {
  const found = installed(action).matchAll(/\{(?:bundle|core|project)[-_]root\}\/[^\s"'`,;:()<>{}|]{1,300}/g);
  return [...found]
    .map(([path]) => path.replace(/[.]+$/, ""))
    .filter((path) => /\.[A-Za-z0-9]{1,8}$/.test(path));
}

function textField(object: JsonObject, key: string): string {
  return short((textIn(object, key) ?? "").trim());
}

function items(value: JsonValue | undefined): readonly JsonValue[] {
  return isList(value) ? value : [];
}

function texts(value: JsonValue | undefined): readonly string[] {
  return items(value).filter((item) => typeof item === "string");
}

function list(values: readonly string[]): readonly string[] {
  return values
    .slice(0, MAX_ITEMS)
    .map((text) => short(text.trim().replace(/^- /, "")))
    .filter((text) => text !== "");
}

function short(text: string): string {
  return cutText(text, MAX_TEXT);
}
