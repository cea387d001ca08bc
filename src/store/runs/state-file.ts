import { join } from "node:path";
import { defined } from "../../core/defined.js";
import { type ErrorCode, type Result, fail, ok } from "../../core/errors.js";
import { type JsonObject, jsonBytes } from "../../core/json.js";
import { EARLIER_ENTRIES } from "../../core/state/earlier-entries.js";
import { type Frontmatter, parseFrontmatter } from "../../core/state/state-frontmatter.js";
import { removeTemporaries, syncDirectory, writeFileAtomic } from "../disk/atomic-file.js";
import { type HeldLock, NO_LOCK } from "../disk/fenced-lock.js";
import {
  type FrontMatterDocument,
  MAX_FRONT_MATTER_BYTES,
  parseMarkdown,
} from "../../core/documents/front-matter.js";
import { readOwnFileSync } from "../disk/own-file.js";
import { sha256 } from "../disk/sha256.js";
import { systemCode } from "../../core/system-code.js";

/** A state document as it stands on disk. The SHA-256 of its bytes is its version (contracts §5). */
export interface StateDocument {
  readonly bytes: Uint8Array;
  readonly sha256: string;
  readonly parts: FrontMatterDocument;
  readonly frontmatter: Frontmatter;
}

/**
 * Parses and validates the bytes of a state document.
 * Faults: `E_INVALID_FRONTMATTER`, `E_SCHEMA_VALIDATION`; `oversize` for front matter beyond its limit, as it is written
 * or as it reads when its aliases are written out: a run carries all of it.
 */
export function parseStateDocument(
  bytes: Uint8Array,
  oversize: ErrorCode = "E_INVALID_FRONTMATTER",
): Result<StateDocument> {
  const parts = parseMarkdown(bytes, oversize);
  if (!parts.ok) return parts;
  const { frontmatter: all } = parts.value;
  // JSON has a quote more per key than the YAML we write.
  const size = jsonBytes(all) - Object.keys(all).length - 2;
  if (size > MAX_FRONT_MATTER_BYTES) {
    const sentence = `The front matter would be ${size} bytes written out; at most ${MAX_FRONT_MATTER_BYTES} are allowed.`;
    return fail(oversize, `${sentence} Keep large values in files.`);
  }
  const frontmatter = parseFrontmatter(parts.value.frontmatter);
  if (!frontmatter.ok) return frontmatter;
  return ok({ bytes, sha256: sha256(bytes), parts: parts.value, frontmatter: frontmatter.value });
}

/** A document as it stands after its frontmatter was replaced: what parsing its bytes would give. */
export function withNewFrontmatter(
  document: StateDocument,
  bytes: Uint8Array,
  frontmatter: Frontmatter,
): StateDocument {
  return { bytes, sha256: sha256(bytes), parts: { ...document.parts, frontmatter }, frontmatter };
}

/** `@state/workflow.md` of one run. Whoever saves it holds the run's state lock. */
export interface StateFile {
  /** Faults: `ENOENT` when it is missing, else those of {@link parseStateDocument}. */
  read(): Promise<Result<StateDocument>>;
  /**
   * Replaces the version that was read; false when another stands there by now, put by somebody who does not know
   * the lock. When it rejects, the version that stands there is the one to replace or, if only making it durable
   * failed, the new one. `lock` is the run's state lock. The new version is not there before `first` has come to its end, nor where that
   * rejects.
   */
  replace(sha256Before: string, bytes: Uint8Array, lock?: HeldLock, first?: Promise<void>): Promise<boolean>;
  /** Makes the version durable that stands there: who saved it may have died first. */
  sync(): Promise<void>;
  /** Makes a save impossible that a holder of the state lock before us was stopped in. */
  takeOver(): void;
  /** Saves the next reader of this version the parsing. */
  remember(document: StateDocument): void;
}

export function openStateFile(stateDir: string): StateFile {
  const path = join(stateDir, "workflow.md");
  /** The version that was read or saved last: nobody changes a parsed document. */
  let last: StateDocument | undefined;
  return {
    async read() {
      try {
        const bytes = readOwnFileSync(path);
        if (last !== undefined && sha256(bytes) === last.sha256) return ok(last);
        const parsed = parseStateDocument(bytes);
        if (parsed.ok) last = parsed.value;
        return parsed;
      } catch (error) {
        if (systemCode(error) !== "ENOENT") throw error;
        return fail("ENOENT", "@state/workflow.md does not exist.");
      }
    },
    remember(document) {
      last = document;
    },
    async replace(sha256Before, bytes, lock = NO_LOCK, first?: Promise<void>) {
      if (sha256(readOwnFileSync(path)) !== sha256Before) return false;
      await writeFileAtomic(path, bytes, lock, defined({ first }));
      return true;
    },
    sync: () => syncDirectory(stateDir),
    takeOver: () => removeTemporaries(path),
  };
}

/** The frontmatter of a fresh run, made from that of its workflow document (contracts §4, rule 5). */
export function freshRunFrontmatter(
  template: JsonObject,
  run: { runId: string; activeAgentId: string; workflowRef: string; now: string },
  variables: JsonObject = {},
): JsonObject {
  const { [EARLIER_ENTRIES]: _, ...rest } = template;
  return {
    ...rest,
    runId: run.runId,
    activeAgentId: run.activeAgentId,
    workflowRef: run.workflowRef,
    updatedAt: run.now,
    currentNodeId: "",
    stepsCompleted: [],
    decisionLog: [],
    artifacts: [],
    variables,
  };
}

/** The frontmatter of a forked run: that of the moment it is forked from, under the new run's name. */
export function forkedRunFrontmatter(
  document: JsonObject,
  run: { runId: string; activeAgentId: string; now: string },
  variables: JsonObject,
): JsonObject {
  const parsed = parseFrontmatter(document);
  const known = parsed.ok ? parsed.value.variables : {};
  return {
    ...document,
    runId: run.runId,
    activeAgentId: run.activeAgentId,
    updatedAt: run.now,
    variables: { ...known, ...variables },
  };
}
