import { type Fault, fail } from "../../core/errors.js";
import type { JsonObject } from "../../core/json.js";
import type { Frontmatter } from "../../core/state/state-frontmatter.js";
import { STALE_VERSION } from "../../core/state/stale-version.js";
import { updateFault } from "../../core/state/update-fault.js";
import { updateFrontmatter } from "../../core/state/update-frontmatter.js";
import type { ToolCall } from "../../core/tools/tool-specs.js";
import { LockLost } from "../../store/disk/fenced-lock.js";
import { withFrontmatter } from "../../core/documents/front-matter.js";
import { sha256 } from "../../store/disk/sha256.js";
import { type StateDocument, parseStateDocument, withNewFrontmatter } from "../../store/runs/state-file.js";
import type { CallOutcome } from "../../store/runs/call-journal.js";
import { type StateEnvironment, refused } from "./call-context.js";
import { systemErrorCode, systemFault } from "../sandbox/faults.js";

type StateCall = Extract<ToolCall, { tool: "fs.write" | "fs.apply_patch" }>;

/**
 * Changes `@state/workflow.md`, by patch or as a whole: sections 5 and 6 hold for both. The caller holds the run's
 * state lock. What is about to be written is planned first, so that an attempt cut short after its save is found
 * to have succeeded.
 */
export async function changeStateDocument(
  environment: StateEnvironment,
  callId: string,
  call: StateCall,
): Promise<CallOutcome> {
  const read = await environment.files.state.read();
  if (!read.ok) return refused(read.error);
  const document = read.value;
  const plan = environment.files.calls.planOf(callId);
  if (plan?.["sha256After"] === document.sha256) {
    await environment.files.state.sync();
    const sha256Before = plan["sha256Before"] as string; // planned below
    return success(call, sha256Before, document.sha256, document.bytes.length);
  }
  const expected = environment.knowledge.stateSha256;
  if (expected !== undefined && expected !== document.sha256) {
    return { ...refused(CHANGED_FROM_OUTSIDE), stateConflict: true };
  }
  const ifMatch =
    call.tool === "fs.write" ? call.arguments.ifMatchSha256 : call.arguments.patch.ifMatchSha256;
  if (ifMatch !== undefined && ifMatch !== document.sha256) {
    return refused(STALE_VERSION.error);
  }
  const next = nextDocument(environment, document, call);
  if ("refusal" in next) return refused(next.refusal);
  const sha256After = sha256(next.bytes);
  await environment.files.calls.plan(
    callId,
    { sha256Before: document.sha256, sha256After },
    environment.lock,
  );
  const fault = await saveState(environment, document, next);
  if (fault !== undefined) {
    return { ...refused(fault), ...(fault === CHANGED_FROM_OUTSIDE ? { stateConflict: true } : {}) };
  }
  return success(call, document.sha256, sha256After, next.bytes.length);
}

const CHANGED_FROM_OUTSIDE: Fault = fail(
  "E_PRECONDITION_FAILED",
  "@state/workflow.md was changed from outside this run. Read it again and repeat the change on what it says now.",
).error;

/**
 * Saves the document in place of the version that was read, once `first` has come to its end. A fault means that the old bytes are still
 * there.
 */
export async function saveState(
  environment: StateEnvironment,
  document: StateDocument,
  { bytes, frontmatter }: { readonly bytes: Uint8Array; readonly frontmatter?: Frontmatter },
  first?: Promise<void>,
): Promise<Fault | undefined> {
  try {
    const isSaved = await environment.files.state.replace(document.sha256, bytes, environment.lock, first);
    if (isSaved && frontmatter !== undefined) {
      environment.files.state.remember(withNewFrontmatter(document, bytes, frontmatter));
    }
    return isSaved ? undefined : CHANGED_FROM_OUTSIDE;
  } catch (error) {
    if (error instanceof LockLost) throw error;
    const now = await environment.files.state.read();
    if (now.ok && now.value.sha256 === sha256(bytes)) return undefined; // it is there, if not yet durable
    const code = systemErrorCode(error);
    if (code === undefined) throw error;
    return systemFault(code, "@state/workflow.md", "write");
  }
}

type Next = { readonly bytes: Uint8Array; readonly frontmatter?: Frontmatter } | { readonly refusal: Fault };

/** Parse → guard → what the lists gain → size: the order of contracts §6. */
function nextDocument(environment: StateEnvironment, document: StateDocument, call: StateCall): Next {
  const { graph } = environment.workflow;
  const { conditions } = environment.knowledge;
  if (call.tool === "fs.write") {
    const bytes = Buffer.from(call.arguments.content, "utf8");
    if (bytes.length > environment.limits.maxWriteBytes) {
      return { refusal: writeLimit(bytes.length, environment.limits.maxWriteBytes) };
    }
    if (!call.arguments.content.isWellFormed()) return { refusal: NOT_UNICODE };
    const parsed = parseStateDocument(bytes, "E_WRITE_LIMIT");
    if (!parsed.ok) return { refusal: parsed.error };
    const refusal = updateFault(document.frontmatter, parsed.value.frontmatter, graph, conditions);
    if (refusal !== undefined) return { refusal };
    // Aliases may say more than fits when it is written out, as every later update will.
    const rendered = withFrontmatter(parsed.value.parts, parsed.value.frontmatter);
    return rendered.ok ? { bytes } : { refusal: rendered.error };
  }
  const now = environment.knowledge.now ?? new Date().toISOString();
  const frontmatter: JsonObject = updateFrontmatter(document.frontmatter, call.arguments.patch.update, now);
  const refusal = updateFault(document.frontmatter, frontmatter, graph, conditions);
  if (refusal !== undefined) return { refusal };
  const rendered = withFrontmatter(document.parts, frontmatter);
  if (!rendered.ok) return { refusal: rendered.error };
  return { bytes: rendered.value, frontmatter: frontmatter as Frontmatter }; // the guard has said so
}

const NOT_UNICODE: Fault = fail(
  "TOOL_ARGS_INVALID",
  "The content holds half a surrogate pair: UTF-8 cannot hold it.",
).error;

function writeLimit(bytes: number, limit: number) {
  return fail("E_WRITE_LIMIT", `The content is ${bytes} bytes; at most ${limit} are allowed.`).error;
}

function success(call: StateCall, sha256Before: string, sha256After: string, bytes: number): CallOutcome {
  const path = "@state/workflow.md";
  return {
    result:
      call.tool === "fs.write"
        ? { ok: true, path, bytesWritten: bytes, sha256After }
        : { ok: true, path, sha256Before, sha256After },
    state: { sha256: sha256After },
  };
}
