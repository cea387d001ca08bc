import { type Fault, fail } from "../../core/errors.js";
import type { JsonObject } from "../../core/json.js";
import type { Frontmatter } from "../../core/state/state-frontmatter.js";
import { validateWorkflowStateUpdate } from "../../core/state/transition-guard.js";
import { recordArtifact } from "../../core/state/update-frontmatter.js";
import type { ToolResult } from "../../core/tools/tool-result.js";
import { withFrontmatter } from "../../core/documents/front-matter.js";
import { sha256 } from "../../store/disk/sha256.js";
import type { CallOutcome } from "../../store/runs/call-journal.js";
import type { StateDocument } from "../../store/runs/state-file.js";
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
  const { calls, blobs } = environment.files;
  const earlier = calls.planOf(callId);
  const isOurs = (version: string): boolean => earlier?.["stateSha256After"] === version;
  const plan = (write: PlannedWrite, record: ArtifactRecord | undefined): Promise<void> => {
    const version = record === undefined ? {} : { stateSha256After: record.sha256 };
    return calls.plan(callId, { ...asJson(write), ...version }, environment.lock);
  };
  let record: ArtifactRecord | undefined;
  let state: CallOutcome["state"];
  let stateConflict = false;
  let whole: Uint8Array | undefined;
  const refuse = ({ fault, conflict }: Refused): Fault => {
    stateConflict = conflict;
    return fault;
  };
  const result = await change({
    assertOurs: () => environment.lock.assertHeld(),
    written: (bytes) => {
      whole = bytes;
    },
    beforeCommit: async (write) => {
      const drafted = await draftRecord(environment, write, isOurs);
      if (drafted !== undefined && "fault" in drafted) return refuse(drafted);
      record = drafted;
      await plan(write, record);
      return undefined;
    },
    afterCommit: async (write, placed) => {
      environment.lock.assertHeld();
      if (record === undefined) {
        // Nothing is to be recorded, or an attempt that was cut short has made the file.
        const drafted = await draftRecord(environment, write, isOurs);
        if (drafted === undefined) return undefined;
        if ("fault" in drafted) return refuse(drafted);
        if (!isOurs(drafted.sha256)) await plan(write, drafted);
        record = drafted;
      }
      const { artifact, sha256, next } = record;
      if (next === undefined) await environment.files.state.sync(); // an attempt that was cut short has saved it
      const fault = next && (await saveState(environment, next.before, next, placed));
      if (fault !== undefined) return refuse({ fault, conflict: fault.code === "E_PRECONDITION_FAILED" });
      state = { sha256, artifact };
      return undefined;
    },
    ...(earlier === undefined ? {} : { earlierAttempt: earlier as unknown as PlannedWrite }), // written above
  });
  if (result.ok && whole !== undefined) blobs.keep(whole);
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

/** How the state document comes to name a new artifact. */
interface ArtifactRecord {
  readonly artifact: string;
  /** The version that names it. */
  readonly sha256: string;
  /** What is to be saved; absent where the document names it already. */
  readonly next?: {
    readonly before: StateDocument;
    readonly bytes: Uint8Array;
    readonly frontmatter: Frontmatter;
  };
}

interface Refused {
  readonly fault: Fault;
  /** The document on disk is not the one that the engine holds. */
  readonly conflict: boolean;
}

/**
 * What is to be recorded of a write; undefined where it makes no artifact. `isOurs`: a version of the document that an attempt of this
 * call has made, or was about to.
 */
async function draftRecord(
  environment: CallEnvironment,
  write: PlannedWrite,
  isOurs: (version: string) => boolean,
): Promise<ArtifactRecord | Refused | undefined> {
  const artifact = artifactOf(write);
  if (artifact === undefined) return undefined;
  const read = await environment.files.state.read();
  if (!read.ok) return { fault: read.error, conflict: false };
  const before = read.value;
  const expected = environment.knowledge.stateSha256;
  const isKnown = expected === undefined || expected === before.sha256 || isOurs(before.sha256);
  if (isKnown && before.frontmatter.artifacts.includes(artifact)) {
    return { artifact, sha256: before.sha256 };
  }
  if (!isKnown) {
    const { error } = fail(
      "E_PRECONDITION_FAILED",
      "@state/workflow.md was changed from outside this run, so the artifact could not be recorded. Repeat the call.",
    );
    return { fault: error, conflict: true };
  }
  const now = environment.knowledge.now ?? new Date().toISOString();
  const next = recordArtifact(before.frontmatter, artifact, now);
  const verdict = validateWorkflowStateUpdate(before.frontmatter, next, environment.workflow.graph);
  if (!verdict.ok) return { fault: verdict.error, conflict: false };
  const rendered = withFrontmatter(before.parts, next);
  if (!rendered.ok) return { fault: rendered.error, conflict: false };
  const bytes = rendered.value;
  const frontmatter = next as Frontmatter; // the guard has said so
  return { artifact, sha256: sha256(bytes), next: { before, bytes, frontmatter } };
}
