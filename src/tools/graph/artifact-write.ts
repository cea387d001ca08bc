import { type Fault, fail } from "../../core/errors.js";
import type { JsonObject } from "../../core/json.js";
import type { Frontmatter } from "../../core/state/state-frontmatter.js";
import { validateWorkflowStateUpdate } from "../../core/state/transition-guard.js";
import { recordArtifact } from "../../core/state/update-frontmatter.js";
import type { ToolResult } from "../../core/tools/tool-result.js";
import { withFrontmatter } from "../../core/documents/front-matter.js";
import { sha256 } from "../../store/disk/sha256.js";
import type { CallOutcome } from "../../store/runs/call-journal.js";
import type { CallEnvironment } from "./call-context.js";
import { saveState } from "./state-change.js";
import type { PlannedWrite, WriteHooks } from "../files/replace-file.js";

/** Where results land, as the first segment of a project path (contracts §10). */
const ARTIFACTS_ROOT = "artifacts";

/**
 * Writes a file, as a whole or a part of it. A new one under the artifacts root is recorded in the state document; file and
 * record go together (contracts §10). The caller holds the run's state lock.
 */
export async function changeFile(
  environment: CallEnvironment,
  callId: string,
  change: (hooks: WriteHooks) => Promise<ToolResult>,
): Promise<CallOutcome> {
  const earlier = environment.files.calls.planOf(callId);
  let state: CallOutcome["state"];
  let stateConflict = false;
  let whole: Uint8Array | undefined;
  const result = await change({
    assertOurs: () => environment.lock.assertHeld(),
    written: (bytes) => {
      whole = bytes;
    },
    beforeCommit: (write) => environment.files.calls.plan(callId, asJson(write), environment.lock),
    afterCommit: async (write) => {
      environment.lock.assertHeld();
      const artifact = artifactOf(write);
      if (artifact === undefined) return undefined;
      const recorded = await saveRecord(environment, artifact, {
        isOurs: (version) => earlier?.["stateSha256After"] === version,
        plan: (version) =>
          environment.files.calls.plan(
            callId,
            { ...asJson(write), stateSha256After: version },
            environment.lock,
          ),
      });
      if ("fault" in recorded) {
        stateConflict = recorded.conflict;
        return recorded.fault;
      }
      state = { sha256: recorded.sha256, artifact };
      return undefined;
    },
    ...(earlier === undefined ? {} : { earlierAttempt: earlier as unknown as PlannedWrite }), // written above
  });
  if (result.ok && whole !== undefined) environment.files.blobs.keep(whole);
  return { result, ...(state === undefined ? {} : { state }), ...(stateConflict ? { stateConflict } : {}) };
}

function asJson(write: PlannedWrite): JsonObject {
  return write as unknown as JsonObject; // plain data
}

/** A new file's name under the artifacts root: as it was asked for, else as links led there. */
function artifactOf(write: PlannedWrite): string | undefined {
  if (!write.created) return undefined;
  const path = [write.path, write.resolvedPath].find(
    ({ mount, segments }) => mount === "project" && segments[0] === ARTIFACTS_ROOT && segments.length > 1,
  );
  return path?.segments.join("/");
}

type Recorded = { readonly sha256: string } | { readonly fault: Fault; readonly conflict: boolean };

/** Which version of the state document the call is about to make, or was by an attempt cut short. */
interface RecordPlan {
  readonly isOurs: (version: string) => boolean;
  readonly plan: (version: string) => Promise<void>;
}

async function saveRecord(
  environment: CallEnvironment,
  artifact: string,
  own: RecordPlan,
): Promise<Recorded> {
  const read = await environment.files.state.read();
  if (!read.ok) return { fault: read.error, conflict: false };
  const document = read.value;
  const expected = environment.knowledge.stateSha256;
  const isKnown = expected === undefined || expected === document.sha256 || own.isOurs(document.sha256);
  if (isKnown && document.frontmatter.artifacts.includes(artifact)) return { sha256: document.sha256 };
  if (!isKnown) {
    const { error } = fail(
      "E_PRECONDITION_FAILED",
      "@state/workflow.md was changed from outside this run, so the artifact could not be recorded. Repeat the call.",
    );
    return { fault: error, conflict: true };
  }
  const now = environment.knowledge.now ?? new Date().toISOString();
  const next = recordArtifact(document.frontmatter, artifact, now);
  const verdict = validateWorkflowStateUpdate(document.frontmatter, next, environment.workflow.graph);
  if (!verdict.ok) return { fault: verdict.error, conflict: false };
  const rendered = withFrontmatter(document.parts, next);
  if (!rendered.ok) return { fault: rendered.error, conflict: false };
  const version = sha256(rendered.value);
  await own.plan(version);
  const fault = await saveState(environment, document, rendered.value, next as Frontmatter);
  if (fault !== undefined) return { fault, conflict: fault.code === "E_PRECONDITION_FAILED" };
  return { sha256: version };
}
