import { BUNDLE_BASE, SESSION_BASE, parseBundlePath } from "../../core/bundle/bundle-path.js";
import { type BundleToolCall, MAX_BUNDLE_FILE_BYTES } from "../../core/bundle/bundle-tools.js";
import type { BundleToolResult } from "../../core/bundle/bundle-result.js";
import type { Fault } from "../../core/errors.js";
import type { JsonObject } from "../../core/json.js";
import { formatAliasPath } from "../../core/tools/alias-path.js";
import { recordSessionFile } from "../../store/runs/bundle-session.js";
import type { HeldLock } from "../../store/disk/fenced-lock.js";
import type { CallOutcome } from "../../store/runs/call-journal.js";
import type { RunFiles } from "../../store/runs/run-files.js";
import { preloadResult, preloadWorkflow } from "./bundle-preload.js";
import { onSessionFolder } from "./held-folder.js";
import { outsideSession, readTextFile } from "./bundle-read.js";
import type { BundlePlace } from "./bundle-workspace.js";
import { Refusal } from "../sandbox/faults.js";
import { runOnPath } from "../sandbox/run-on-path.js";
import { mountOf } from "../sandbox/workspace.js";
import type { PlannedWrite } from "../files/replace-file.js";
import { writeText } from "../files/write.js";

/** Everything one call works with. */
export interface BundleEnvironment {
  readonly files: RunFiles;
  /** Of the run, for a call that has an effect. */
  readonly lock: HeldLock;
  readonly place: BundlePlace;
  readonly now: Date;
}

export function refusedCall(fault: Fault, path?: string): CallOutcome<BundleToolResult> {
  const result = { success: false, error: fault.message, ...(path === undefined ? {} : { path }) } as const;
  return { result, code: fault.code };
}

export async function runBundleCall(
  environment: BundleEnvironment,
  callId: string,
  call: BundleToolCall,
): Promise<CallOutcome<BundleToolResult>> {
  switch (call.tool) {
    case "read_file":
      return readBundleFile(environment, call.arguments.file_path);
    case "save_output":
      return saveOutput(environment, callId, call.arguments);
    case "preload_workflow":
      return preload(environment, call.arguments.workflow_path);
  }
}

async function readBundleFile(
  { place }: BundleEnvironment,
  text: string,
): Promise<CallOutcome<BundleToolResult>> {
  const path = parseBundlePath(text, place.layout, SESSION_BASE);
  if (!path.ok) return refusedCall(path.error);
  const name = formatAliasPath(path.value);
  const read = await runOnPath(path.value, "read", () => readTextFile(place.workspace, path.value));
  if (!read.ok) {
    const isBare = path.value.mount === "session-folder" && !text.trimStart().startsWith("{");
    const { code, message } = read.error;
    return refusedCall(
      code === "ENOENT" && isBare ? { code, message: `${message} ${BARE}` } : read.error,
      name,
    );
  }
  return { result: { success: true, path: name, content: read.value.text, size: read.value.bytes } };
}

/** A workflow's own files name others of it so. */
const BARE =
  "A path without a variable lies there: one of the workflow's own files begins with the directory of its workflow.yaml, {bundle-root}/….";

async function preload({ place }: BundleEnvironment, text: string): Promise<CallOutcome<BundleToolResult>> {
  const path = workflowPath(place, text);
  if (!path.ok) return refusedCall(path.error);
  const loaded = await preloadWorkflow(place, path.value);
  if (!loaded.ok) return refusedCall(loaded.error, formatAliasPath(path.value));
  return { result: { success: true, ...preloadResult(loaded.value) } };
}

/** The path of a workflow's YAML; a directory stands for the `workflow.yaml` in it. */
export function workflowPath(place: BundlePlace, text: string): ReturnType<typeof parseBundlePath> {
  const path = parseBundlePath(text.trim(), place.layout, BUNDLE_BASE);
  if (!path.ok || /\.ya?ml$/i.test(path.value.segments.at(-1) ?? "")) return path;
  const { mount, segments } = path.value;
  return { ok: true, value: { mount, segments: [...segments, "workflow.yaml"] } };
}

/**
 * Writes a file of the session folder and its entry in the manifest; they go together: when the entry cannot be saved, a new
 * file is removed and the call fails. The caller holds the run's lock.
 */
async function saveOutput(
  environment: BundleEnvironment,
  callId: string,
  args: { readonly file_path: string; readonly content: string },
): Promise<CallOutcome<BundleToolResult>> {
  const { place, files, lock } = environment;
  const path = parseBundlePath(args.file_path, place.layout, SESSION_BASE);
  if (!path.ok) return refusedCall(path.error);
  const name = formatAliasPath(path.value);
  const earlier = files.calls.planOf(callId);
  const saved = await runOnPath(path.value, "write", () => {
    if (path.value.mount !== "session-folder") throw outsideSession(path.value);
    if (path.value.segments.length === 0)
      throw new Refusal("TOOL_ARGS_INVALID", "Name a file in {session-folder}.");
    return writeText(
      place.workspace,
      path.value,
      args,
      { maxWriteBytes: MAX_BUNDLE_FILE_BYTES },
      {
        assertOurs: () => lock.assertHeld(),
        beforeCommit: async (write) => {
          await files.calls.plan(callId, write as unknown as JsonObject, lock); // plain data
          return undefined;
        },
        afterCommit: async (write, placed) => {
          await placed;
          return record(environment, write);
        },
        ...(earlier === undefined ? {} : { earlierAttempt: earlier as unknown as PlannedWrite }), // written above
      },
    );
  });
  if (!saved.ok) return refusedCall(saved.error, name);
  return { result: { success: true, path: name, size: saved.value.bytes } };
}

async function record(
  { place, now, lock }: BundleEnvironment,
  write: PlannedWrite,
): Promise<Fault | undefined> {
  const file = {
    path: write.path.segments.join("/"),
    size: write.bytes,
    sha256: write.sha256After,
    savedAt: now.toISOString(),
  };
  const { root: path, identity } = mountOf(place.workspace, SESSION_BASE);
  const recorded = await onSessionFolder({ path, identity }, (dir) => recordSessionFile(dir, file, lock));
  return recorded.ok ? undefined : recorded.error;
}
