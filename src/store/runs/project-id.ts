import { realpathSync, statSync } from "node:fs";
import { basename } from "node:path";
import { type Result, fail, ok } from "../../core/errors.js";
import { systemCode, unreadFault } from "../../core/system-code.js";
import { projectSlug } from "../../core/run/project-slug.js";
import { sha256 } from "../disk/sha256.js";

/** A project directory and the id under which the store keeps its runs. */
export interface Project {
  readonly projectId: string;
  /** Real path. */
  readonly root: string;
}

/**
 * Resolves a project root to its real path and its id (contracts §3).
 * Faults: `E_PROJECT_INVALID` when it is not an existing directory, `E_INTERNAL` where the system does not say it now.
 */
export async function resolveProject(projectRoot: string): Promise<Result<Project>> {
  const invalid = (why: string) =>
    fail("E_PROJECT_INVALID", `The project root ${why}. Name an existing directory.`, { projectRoot });
  if (projectRoot === "" || projectRoot.includes("\0")) return invalid("is empty or has a NUL byte");
  try {
    const root = realpathSync.native(projectRoot);
    if (!statSync(root).isDirectory()) return invalid(`"${projectRoot}" is not a directory`);
    return ok(projectAt(root));
  } catch (error) {
    const unread = unreadFault(`"${projectRoot}"`, systemCode(error));
    return unread ?? invalid(`"${projectRoot}" does not exist or cannot be read`);
  }
}

/** The project of a directory, by its real path. */
export function projectAt(root: string): Project {
  return { projectId: projectIdOf(root), root };
}

/** Whether a text has the form of a project's id, and so may name a folder. */
export function isProjectId(text: string): boolean {
  return /^[a-z0-9-]{1,80}$/.test(text);
}

function projectIdOf(root: string): string {
  const slug = projectSlug(basename(root));
  const hash = sha256(root).slice(0, 12);
  return slug === "" ? hash : `${slug}-${hash}`;
}
