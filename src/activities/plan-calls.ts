import type { PlannedCall } from "../contract/activities.js";
import type { StateChange } from "../core/run/state-change.js";
import { MAX_CALLS_PER_ANSWER, MAX_UPDATE_BYTES_PER_ANSWER } from "../core/run/limits.js";
import { bundleToolName, parseBundleCall } from "../core/bundle/bundle-tools.js";
import { type Fault, type Result, fail } from "../core/errors.js";
import { jsonBytes } from "../core/json.js";
import { excerpt } from "../core/text.js";
import { isStateDocument, parseAliasPath } from "../core/tools/alias-path.js";
import { MAX_ARGUMENT_VALUES, type ValueBudget } from "../core/tools/tool-arguments.js";
import { STATE_TOOL, type ToolCall, canonicalToolName, parseToolCall } from "../core/tools/tool-specs.js";
import type { RecordedModelCall } from "../core/tools/external-tool.js";
import type { ModelCall } from "../core/tools/model-call.js";
import { sha256 } from "../store/disk/sha256.js";
import { parseStateDocument } from "../store/runs/state-file.js";

const MAX_SUMMARY_CHARS = 120;

/** How much of state documents is parsed for one answer: reading them takes far longer than their updates' size says. */
const MAX_DOCUMENT_BYTES_PER_ANSWER = 144 * 1024;

/** What the faults of one answer may say in all: with the updates, the plan stays below a payload's limit. */
const MAX_FAULT_BYTES_PER_ANSWER = 24 * 1024;

/**
 * Reduces an answer's tool calls to what the workflow decides on: which tool, what the timeline shows, what change
 * of the state document is asked for, or why the call cannot run. A pure function of the recorded calls.
 */
export function planCalls(calls: readonly RecordedModelCall[]): readonly PlannedCall[] {
  let updateBytes = 0;
  const documents = { bytesLeft: MAX_DOCUMENT_BYTES_PER_ANSWER };
  return plan(calls, canonicalToolName, parseToolCall, (call, planned) => {
    const summary = summaryOf(call.tool, subjectOf(call));
    const { bytesLeft } = documents;
    const change = changeOf(call, documents);
    // Only what would be parsed is refused: whatever else the answer asks for has nothing to do with it.
    if (documents.bytesLeft < Math.min(bytesLeft, 0)) return { ...planned, summary, fault: TOO_LARGE_UPDATE };
    if (change === undefined) return { ...planned, summary };
    updateBytes += jsonBytes(change);
    if (updateBytes > MAX_UPDATE_BYTES_PER_ANSWER) return { ...planned, summary, fault: TOO_LARGE_UPDATE };
    return { ...planned, summary, ...change };
  });
}

/** As {@link planCalls}, for the tools of a bundle run: none of them changes a state document. */
export function planBundleCalls(calls: readonly ModelCall[]): readonly PlannedCall[] {
  return plan(calls, bundleToolName, parseBundleCall, ({ tool, arguments: args }, planned) => {
    const subject = "file_path" in args ? args.file_path : args.workflow_path;
    return { ...planned, summary: summaryOf(tool, subject) };
  });
}

/** What is the same for every tool: an id, a key, and why a call cannot run at all. */
function plan<Call>(
  calls: readonly RecordedModelCall[],
  toolOf: (name: string) => PlannedCall["tool"],
  parse: (name: string, argumentsJson: string, values: ValueBudget) => Result<Call>,
  planParsed: (call: Call, planned: Omit<PlannedCall, "summary">) => PlannedCall,
): readonly PlannedCall[] {
  let faultBytes = 0;
  const values = { left: MAX_ARGUMENT_VALUES };
  const bounded = (fault: Fault): Fault => {
    faultBytes += jsonBytes(fault);
    return faultBytes > MAX_FAULT_BYTES_PER_ANSWER ? { code: fault.code, message: SHORT_FAULT } : fault;
  };
  return calls.map((call, index) => {
    const { external } = call;
    const tool = external === undefined ? toolOf(call.name) : undefined;
    const name = external?.name ?? tool ?? call.name;
    const planned = {
      id: call.id,
      ...(tool === undefined ? {} : { tool }),
      key: sha256(`${name}\0${call.argumentsJson}`).slice(0, 32),
    };
    if (index >= MAX_CALLS_PER_ANSWER) {
      return { ...planned, summary: external?.name ?? tool ?? "unknown tool", fault: TOO_MANY_CALLS };
    }
    if (external !== undefined) {
      const { sha256: _, ...known } = external;
      return { ...planned, summary: excerpt(external.name), external: known };
    }
    const parsed = parse(call.name, call.argumentsJson, values);
    if (!parsed.ok) return { ...planned, summary: excerpt(name), fault: bounded(parsed.error) };
    return planParsed(parsed.value, planned);
  });
}

function summaryOf(tool: string, subject: string): string {
  return excerpt(`${tool} ${subject}`, MAX_SUMMARY_CHARS - 1);
}

const SHORT_FAULT = "The call was not run. Too many calls of this answer were wrong to say more.";

const TOO_MANY_CALLS: Fault = fail(
  "TOOL_ARGS_INVALID",
  `An answer may hold at most ${MAX_CALLS_PER_ANSWER} tool calls; this one was not run. Send it in your next answer.`,
).error;

const TOO_LARGE_UPDATE: Fault = fail(
  "E_WRITE_LIMIT",
  `The state updates of one answer may have at most ${MAX_UPDATE_BYTES_PER_ANSWER} bytes together. Keep large values in files, and send updates one at a time.`,
).error;

/** What the timeline shows of a call beside its tool. */
function subjectOf(call: ToolCall): string {
  if (call.tool !== STATE_TOOL) return call.arguments.path;
  const gates = call.arguments["gateDecisions"];
  const named = typeof gates === "object" && gates !== null ? Object.entries(gates) : [];
  return named.length === 0
    ? Object.keys(call.arguments).join(" ")
    : named.map(([gate, decision]) => `${gate}=${JSON.stringify(decision)}`).join(" ");
}

/** What of an answer's state documents may still be parsed; below zero once there was too much. */
interface DocumentBudget {
  bytesLeft: number;
}

/** A little more than front matter may have (contracts §5). */
const LONGEST_PARSED = 128 * 1024 + 16;

/** How much of a document is YAML: nothing where that is more than may be, and so is not parsed. */
function frontMatterChars(content: string): number {
  const end = content.slice(0, LONGEST_PARSED).search(/\n---\r?(?:\n|$)/);
  return Math.max(end, 0);
}

/** What the workflow has to judge before the call runs. */
function changeOf(
  call: ToolCall,
  documents: DocumentBudget,
): Pick<PlannedCall, "change" | "record"> | undefined {
  if (call.tool === STATE_TOOL) return { record: call.arguments };
  const change = stateChangeOf(call, documents);
  return change && { change };
}

/**
 * The change a call wants to make to the state document; nothing for any other call, nor for a document that cannot be
 * read: the tool host refuses it, after the agent's limit and the version it names.
 */
function stateChangeOf(
  call: Exclude<ToolCall, { tool: typeof STATE_TOOL }>,
  documents: DocumentBudget,
): StateChange | undefined {
  if (call.tool !== "fs.write" && call.tool !== "fs.apply_patch") return undefined;
  const path = parseAliasPath(call.arguments.path);
  if (!path.ok || !isStateDocument(path.value)) return undefined;
  if (call.tool === "fs.apply_patch") {
    const { update, ifMatchSha256 } = call.arguments.patch;
    return { kind: "patch", update, ...(ifMatchSha256 === undefined ? {} : { ifMatchSha256 }) };
  }
  const { content, ifMatchSha256 } = call.arguments;
  const bytes = Buffer.from(content, "utf8");
  documents.bytesLeft -= frontMatterChars(content);
  if (documents.bytesLeft < 0) return undefined;
  const document = parseStateDocument(bytes);
  if (!document.ok) return undefined;
  const { frontmatter } = document.value;
  return { kind: "document", frontmatter, ...(ifMatchSha256 === undefined ? {} : { ifMatchSha256 }) };
}
