import { type Fault, fail } from "../../core/errors.js";
import { failpoint } from "../../core/failpoint.js";
import type { JsonObject, JsonValue } from "../../core/json.js";
import { printableText } from "../../core/printable.js";
import { redactAbsolutePaths, redactSecrets } from "../../core/prompt/redact.js";
import { cutBytes, excerpt, listSome } from "../../core/text.js";
import type { OfferedTool, RecordedModelCall } from "../../core/tools/external-tool.js";
import { type ArgumentSpec, parseToolArguments } from "../../core/tools/tool-arguments.js";
import type { ToolResult } from "../../core/tools/tool-result.js";
import type { CallOutcome } from "../../store/runs/call-journal.js";
import type { RunFiles } from "../../store/runs/run-files.js";
import { z } from "zod";
import { type ExecutedCall, runRecorded } from "../recorded-call.js";
import { type ExternalTools, offeredTool } from "./external-tools.js";
import {
  type ExternalTool,
  Interrupted,
  NotReached,
  Reopenable,
  type ToolAnswer,
  type ToolCallScope,
  type ToolPlace,
  WrongArguments,
} from "./tool-source.js";
import { thrownWords } from "./tool-words.js";

/** A call of an external tool whose turn has come. */
export interface ExternalCall {
  readonly call: RecordedModelCall & { readonly external: OfferedTool };
  readonly place: ToolPlace;
  readonly scope: Omit<ToolCallScope, "callId" | "projectRoot" | "agentId">;
  /** Bytes of an answer that the model is shown. */
  readonly maxResultBytes: number;
}

const MAX_ARGUMENT_CHARS = 1_000_000;
/** They are handed on, not looked at one by one. */
const MAX_EXTERNAL_VALUES = 100_000;
/** How often a call that changes nothing is made again when the tool goes away under it. */
const MAX_ATTEMPTS = 2;
const MAX_ERROR_CHARS = 500;
const MAX_NAMED_LOOKS = 5;

/**
 * Runs a call of an external tool and records it, with one audit event. A call that may take effect once is claimed in the
 * journal before it is made: whoever finds it claimed and not recorded makes it no more, and tells the model that nobody knows
 * what has come of it. Rejects where the signal has fired for a call that can be made again.
 */
export function runExternalCall(
  tools: ExternalTools,
  files: RunFiles,
  asked: ExternalCall,
): Promise<ExecutedCall> {
  const { call, place, scope } = asked;
  const { external } = call;
  const recorded = {
    toolCallId: call.id,
    name: external.name,
    toolName: external.name,
    argumentsJson: call.argumentsJson,
    agentId: place.agentId,
    nodeId: scope.nodeId,
    startedAt: performance.now(),
    hasEffect: external.effect !== "none",
    isExclusive: false, // it may take an hour, and writes nothing of the run's
  };
  return runRecorded<ToolResult>(files, recorded, () => attempt(tools, files, asked));
}

/** What the engine could not record of a call before the run ended: whether it took effect is unknown. */
export async function recordUnknown(files: RunFiles, { id, external }: RecordedModelCall): Promise<void> {
  if (external?.effect !== "once") return;
  const known = await files.calls.find(id);
  if (known !== undefined || files.calls.planOf(id) === undefined) return;
  await files.calls.record(id, unknown(external, []));
}

async function attempt(tools: ExternalTools, files: RunFiles, asked: ExternalCall): Promise<CallOutcome> {
  const { call, place } = asked;
  const { external } = call;
  const looks = (): Promise<readonly string[]> => tools.looksOf(place, external.name);
  if (external.effect === "once" && files.calls.planOf(call.id) !== undefined) {
    return unknown(external, await looks());
  }
  const parsed = parseToolArguments(
    { ...ANY_OBJECT, name: external.name },
    call.argumentsJson,
    "TOOL_ARGS_INVALID",
    { left: MAX_EXTERNAL_VALUES },
  );
  if (!parsed.ok) return refused(parsed.error);
  const found = await tools.find(place, external.name).catch((error: unknown) => {
    if (error instanceof NotReached) return failed(external, `${error.message} Nothing was done.`);
    throw error;
  });
  if (found !== undefined && "result" in found) return found;
  if (found === undefined || offeredTool(found).sha256 !== external.sha256) {
    const what = found === undefined ? "is not there any more" : "has another definition by now";
    const sentence = `${external.name} ${what}. Nothing was done. Look at the tools that you have now.`;
    return refused(fail("TOOL_NOT_AVAILABLE", sentence).error);
  }
  if (external.effect === "once" && !(await files.calls.claim(call.id)))
    return unknown(external, await looks());
  const args = parsed.value as JsonObject; // ANY_OBJECT takes nothing else
  const again = async (): Promise<ExternalTool | undefined> => {
    const now = await tools.find(place, external.name).catch(() => undefined);
    return now !== undefined && offeredTool(now).sha256 === external.sha256 ? now : undefined;
  };
  return callTool(found, args, asked, { looks, again });
}

/** What is asked of all tools while one is called: those to look with, and the same one once more. */
interface Questions {
  readonly looks: () => Promise<readonly string[]>;
  readonly again: () => Promise<ExternalTool | undefined>;
}

async function callTool(
  found: ExternalTool,
  args: JsonObject,
  asked: ExternalCall,
  { looks, again }: Questions,
): Promise<CallOutcome> {
  let tool = found;
  const { external } = asked.call;
  const isOnce = external.effect === "once";
  for (let nth = 1; ; nth += 1) {
    try {
      failpoint("tool.before-call");
      const answer = await answerOf(tool, args, asked);
      failpoint("tool.answered");
      return shown(answer, external, asked);
    } catch (error) {
      if (asked.scope.signal.aborted && !isOnce) throw asked.scope.signal.reason;
      if (error instanceof WrongArguments) {
        return refused(
          fail("TOOL_ARGS_INVALID", `The arguments of ${external.name} do not fit: ${error.message}`).error,
        );
      }
      const other = error instanceof Reopenable && nth < MAX_ATTEMPTS ? await again() : undefined;
      if (other !== undefined) {
        tool = other;
        continue;
      }
      if (error instanceof NotReached) return failed(external, `${error.message} Nothing was done.`);
      if (!(error instanceof Interrupted)) return failed(external, thrownWords(error));
      if (isOnce) return unknown(external, await looks(), error.message);
      if (nth === MAX_ATTEMPTS || error instanceof TimedOut) return failed(external, error.message);
    }
  }
}

class TimedOut extends Interrupted {}

/** Waits no longer than the tool may take, whatever the tool makes of the signal. */
async function answerOf(
  tool: ExternalTool,
  args: JsonObject,
  { call, place, scope }: ExternalCall,
): Promise<ToolAnswer> {
  const own = new AbortController();
  const signal = AbortSignal.any([scope.signal, own.signal]);
  const { agentId, projectRoot } = place;
  let timer: NodeJS.Timeout | undefined;
  const givenUp = new Promise<never>((_resolve, reject) => {
    const stop = (error: Error): void => {
      own.abort(error);
      reject(error);
    };
    timer = setTimeout(
      () => stop(new TimedOut(`It has not answered within ${tool.timeoutMs / 1_000} seconds.`)),
      tool.timeoutMs,
    );
    const onAbort = (): void => stop(new Interrupted("The call was cancelled while it ran."));
    if (scope.signal.aborted) onAbort();
    else scope.signal.addEventListener("abort", onAbort, { once: true, signal: own.signal });
  });
  try {
    const running = tool.run(args, { ...scope, agentId, projectRoot, callId: call.id, signal });
    return await Promise.race([running, givenUp]);
  } finally {
    clearTimeout(timer);
    own.abort();
  }
}

/** Whatever object it is: whether it fits, the tool says. */
const ANY_OBJECT: Omit<ArgumentSpec, "name"> = {
  maxArgumentChars: MAX_ARGUMENT_CHARS,
  parameters: z.record(z.string(), z.unknown()), // what was parsed is JSON
};

function refused(error: Fault): CallOutcome {
  return { result: { ok: false, error } };
}

/** What a tool says of its failure is for the model: on one line, without secrets and paths. */
function failed(external: OfferedTool, words: string): CallOutcome {
  const said = excerpt(
    redactAbsolutePaths(redactSecrets(words.slice(0, 4 * MAX_ERROR_CHARS))),
    MAX_ERROR_CHARS,
  );
  return refused(fail("TOOL_FAILED", `${external.name} failed: ${said}`).error);
}

function unknown(external: OfferedTool, looks: readonly string[], why?: string): CallOutcome {
  const how =
    looks.length === 0
      ? "look, or ask your user,"
      : `look, for instance with ${listSome(looks, MAX_NAMED_LOOKS)},`;
  const { error } = fail(
    "TOOL_OUTCOME_UNKNOWN",
    `${why ?? "The worker ended while the call ran."} Whether ${external.name} has taken effect is not known, and it was not made again. First ${how} and repeat the call only if it has not.`,
  );
  return refused(error);
}

/** A tool's answer as the model is shown it. The project's own directory is `@project` there. */
function shown(
  answer: ToolAnswer,
  external: OfferedTool,
  { place, maxResultBytes }: ExternalCall,
): CallOutcome {
  const whole = answer.content;
  // Cut before anything else is done with it: it may be very long. What hides something gets longer.
  const cut = cutBytes(whole.slice(0, maxResultBytes), maxResultBytes);
  const isShorter = cut.length < whole.length;
  const named = withMount(isShorter ? withoutBeginning(cut, place.projectRoot) : cut, place.projectRoot);
  const content = cutBytes(printableText(named), maxResultBytes);
  const isCut = isShorter || content.length < cut.length;
  const bytes = Buffer.byteLength(whole);
  const hint = `These are the first ${maxResultBytes} bytes at most. Ask for less at once.`;
  const cutAt: Record<string, JsonValue> = isCut ? { bytes, truncated: true, hint } : {};
  if (answer.isError === true) {
    const said = { ...cutAt, content };
    const { error } = fail("TOOL_FAILED", `${external.name} says that it has failed.`, said);
    return refused(error);
  }
  return { result: { ok: true, bytes, ...cutAt, content } };
}

/** Of a name in a path. */
const MAX_NAME = 255;

/** The project's directory as `@project`; another one whose path begins or ends like it stays. */
function withMount(text: string, projectRoot: string): string {
  return text.replaceAll(projectRoot, (root, at: number) => {
    const isPart = /\/[\p{L}\p{N}_.-]+$/u.test(text.slice(Math.max(at - MAX_NAME, 0), at)); // behind a name of its own
    const end = at + root.length;
    return isPart || /^(?:[\p{L}\p{N}_-]|\.[\p{L}\p{N}_])/u.test(text.slice(end, end + 2))
      ? root
      : "@project";
  });
}

/** Without what may be the beginning of the project's path at the end of a text that was cut. */
function withoutBeginning(text: string, projectRoot: string): string {
  for (let length = Math.min(projectRoot.length - 1, text.length); length > 1; length -= 1)
    if (text.endsWith(projectRoot.slice(0, length))) return text.slice(0, -length);
  return text;
}
