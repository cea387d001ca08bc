import { type JsonObject, jsonIn, objectOf } from "../core/json.js";
import type { ChatMessage } from "./wire.js";
import { messageText } from "./wire.js";

/** The parts of RUN_DIRECTIVE that the rehearsal follows. */
interface RunDirective {
  readonly intent: string;
  readonly workflow: string;
  readonly statePath: string;
  readonly graphPath: string | undefined;
  readonly artifactsRoot: string | undefined;
  /** Of a story, as far as the directive could show them. */
  readonly gateDecisions: JsonObject;
}

export interface OutputMapping {
  readonly declared: string;
  readonly path: string;
}

/** An edge out of the current node, as NODE_BRIEF or a refusal names it. */
export interface AllowedEdge {
  readonly to: string;
  readonly label: string;
  readonly isDefault: boolean;
  /** Present only where the runtime evaluates conditions. */
  readonly satisfied?: boolean;
}

interface NodeBrief {
  readonly nodeId: string;
  readonly nodeType: string;
  readonly stepFile: string;
  readonly outputs: readonly OutputMapping[];
  /** Undefined when the brief does not say; empty when it says there is none. */
  readonly allowedNext: readonly AllowedEdge[] | undefined;
}

/** Where the conversation stands: the last NODE_BRIEF, what frames it, and what came after. */
export interface Shells {
  readonly directive: RunDirective;
  readonly brief: NodeBrief;
  /** The user's words that came with the brief, if any. */
  readonly input: string | undefined;
  /** Every message after the one that holds the brief; USER_INPUT messages are among them. */
  readonly after: readonly ChatMessage[];
}

const HEADERS = ["RUN_DIRECTIVE", "NODE_BRIEF", "USER_INPUT"] as const;
type Header = (typeof HEADERS)[number];

interface Shell {
  readonly header: Header;
  readonly lines: readonly string[];
}

/**
 * Finds the shells of the node that is being visited (contracts §8). Only user messages hold shells, and the
 * last NODE_BRIEF counts: with the whole run's conversation kept, the earlier ones are history.
 */
export function readShells(messages: readonly ChatMessage[]): Shells | undefined {
  const at = messages.findLastIndex((message) => findShell(message, "NODE_BRIEF") !== undefined);
  const message = messages[at];
  const brief = message === undefined ? undefined : parseBrief(findShell(message, "NODE_BRIEF"));
  if (message === undefined || brief === undefined) return undefined;
  const directive = messages
    .slice(0, at + 1)
    .findLast((candidate) => findShell(candidate, "RUN_DIRECTIVE") !== undefined);
  return {
    directive: parseDirective(directive === undefined ? undefined : findShell(directive, "RUN_DIRECTIVE")),
    brief,
    input: userWords(message, brief.nodeId),
    after: messages.slice(at + 1),
  };
}

/** What the user said to this node in this message; words for another node, or none, are undefined. */
export function userWords(message: ChatMessage, nodeId: string): string | undefined {
  if (message.role !== "user") return undefined;
  const shells = splitShells(messageText(message));
  const shell = shells.find((candidate) => candidate.header === "USER_INPUT");
  if (shell === undefined) return shells.length === 0 ? messageText(message) : undefined;
  const forNodeId = field(shell, "forNodeId");
  if (forNodeId !== undefined && forNodeId !== nodeId) return undefined;
  return shell.lines.slice(forNodeId === undefined ? 0 : 1).join("\n");
}

export function hasShell(message: ChatMessage): boolean {
  return splitShells(messageText(message)).length > 0;
}

function findShell(message: ChatMessage, header: Header): Shell | undefined {
  if (message.role !== "user") return undefined;
  return splitShells(messageText(message)).findLast((shell) => shell.header === header);
}

/** USER_INPUT comes last and ends only with its message: a user may quote any line, shell headers included. */
function splitShells(text: string): Shell[] {
  const shells: { header: Header; lines: string[] }[] = [];
  for (const line of text.split(/\r?\n/)) {
    const current = shells.at(-1);
    const header = HEADERS.find((candidate) => candidate === line.trimEnd());
    if (header !== undefined && current?.header !== "USER_INPUT") shells.push({ header, lines: [] });
    else current?.lines.push(line);
  }
  return shells;
}

function field(shell: Shell | undefined, key: string): string | undefined {
  const prefix = `- ${key}:`;
  const line = shell?.lines.find((candidate) => candidate.startsWith(prefix));
  const value = line?.slice(prefix.length).trim();
  return value === undefined || value === "" ? undefined : value;
}

/** The indented items under a key; undefined when the shell does not have the key at all. */
function items(shell: Shell, key: string): string[] | undefined {
  const start = shell.lines.findIndex((line) => line.startsWith(`- ${key}:`));
  if (start === -1) return undefined;
  const rest = shell.lines.slice(start + 1);
  const end = rest.findIndex((line) => !/^\s+- /.test(line));
  return rest.slice(0, end === -1 ? rest.length : end).map((line) => line.trim().slice(2));
}

function parseDirective(shell: Shell | undefined): RunDirective {
  return {
    intent: field(shell, "intent") ?? "start",
    workflow: field(shell, "workflow") ?? "",
    statePath: field(shell, "state") ?? "@state/workflow.md",
    graphPath: field(shell, "graph"),
    artifactsRoot: field(shell, "artifactsRoot"),
    gateDecisions: objectOf(jsonIn(field(shell, "gateDecisions") ?? "")),
  };
}

function parseBrief(shell: Shell | undefined): NodeBrief | undefined {
  const current = /^(\S+)(?: \(type=([^)]*)\))?/.exec(field(shell, "currentNodeId") ?? "");
  const stepFile = field(shell, "stepFile");
  if (shell === undefined || current?.[1] === undefined || stepFile === undefined) return undefined;
  return {
    nodeId: current[1],
    nodeType: current[2] ?? "step",
    stepFile,
    outputs: (items(shell, "outputsMap") ?? []).flatMap(parseMapping),
    allowedNext: items(shell, "allowedNext")?.flatMap(parseEdge),
  };
}

const ARROW = " -> ";

function parseMapping(item: string): OutputMapping[] {
  const at = item.lastIndexOf(ARROW);
  if (at === -1) return [];
  return [{ declared: item.slice(0, at).trim(), path: item.slice(at + ARROW.length).trim() }];
}

/** `<to> (label=…, default=true|false, condition=…)`, with `satisfied=…` where conditions are evaluated. */
function parseEdge(item: string): AllowedEdge[] {
  const [, to, rest = ""] = /^([A-Za-z0-9][A-Za-z0-9._:-]*)(?: \((.*)\))?$/.exec(item) ?? [];
  if (to === undefined) return [];
  const label = /^label=(.*?)(?:, (?:default|condition|satisfied)=|$)/.exec(rest)?.[1] ?? "";
  const satisfied = /(?:^|, )satisfied=(true|false)(?:, condition=|$)/.exec(rest)?.[1];
  return [
    {
      to,
      label,
      isDefault: /(?:^|, )default=(true|false)/.exec(rest)?.[1] === "true",
      ...(satisfied === undefined ? {} : { satisfied: satisfied === "true" }),
    },
  ];
}
