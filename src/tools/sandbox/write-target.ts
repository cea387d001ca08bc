import { closeSync, mkdirSync, openSync, rmdirSync } from "node:fs";
import { isPrintable } from "../../core/printable.js";
import { excerpt } from "../../core/text.js";
import { syncFile } from "../../store/disk/atomic-file.js";
import { type AliasPath, describeAliasPath, mountLabel } from "../../core/tools/alias-path.js";
import { Refusal, systemErrorCode, systemFault } from "./faults.js";
import { foldName } from "../../core/tools/name-rules.js";
import { type PinnedEntry, isStillAt } from "./pinned-entry.js";
import { type Trail, resolve } from "./resolve.js";
import { type Workspace, mountOf } from "./workspace.js";

/** Where a file is to be written: its directory, pinned, and its name in there. */
export interface WriteTarget {
  readonly directory: PinnedEntry;
  readonly name: string;
  /** The path after links were resolved. */
  readonly resolvedPath: AliasPath;
  /** The directories that got a new child directory for this write. */
  readonly parentsOfMade: readonly PinnedEntry[];
  /** Removes the directories that were made for this write, as far as they are still empty. */
  readonly removeMade: () => void;
  readonly close: () => void;
}

/**
 * Finds the directory of a file to be written and makes it if it is missing. Undefined when it is missing and
 * may not be made. Refuses what the runtime alone may write in `@state`, and a target that is a directory.
 */
export function openWriteTarget(
  workspace: Workspace,
  path: AliasPath,
  mayMakeDirectories: boolean,
): WriteTarget | undefined {
  refuseReservedName(workspace, path);
  const trail = resolve(workspace, path, "write");
  const made: MadeDirectory[] = [];
  const close = () => {
    trail.close();
    for (const { entry } of made) entry.close();
  };
  try {
    refuseReserved(workspace, path, trail);
    refuseHiddenNames(trail.missing);
    const exists = trail.missing.length === 0;
    const below = exists ? trail.names.slice(-1) : trail.missing;
    const base = trail.entries.at(exists ? -2 : -1);
    const name = below.at(-1);
    if (base === undefined || name === undefined || (exists && trail.entries.at(-1)?.kind === "directory")) {
      throw new Refusal("TOOL_ARGS_INVALID", `${describeAliasPath(path)} is a directory.`);
    }
    if (below.length > 1 && !mayMakeDirectories) {
      close();
      return undefined;
    }
    const directory = makeDirectories(workspace, path, base, below.slice(0, -1), made);
    return {
      directory,
      name,
      resolvedPath: { mount: path.mount, segments: [...trail.names, ...trail.missing] },
      parentsOfMade: made.map(({ parent }) => parent),
      removeMade: () => removeDirectories(made),
      close,
    };
  } catch (error) {
    try {
      removeDirectories(made);
    } finally {
      close();
    }
    throw error;
  }
}

/** What is there already may have any name; nothing new gets one that a list could not show as it is. */
function refuseHiddenNames(names: readonly string[]): void {
  const hidden = names.find((name) => !isPrintable(name));
  if (hidden === undefined) return;
  const sentence = `The name "${excerpt(hidden, 80)}" holds a control, direction or invisible character. Choose a name without it.`;
  throw new Refusal("E_SANDBOX_VIOLATION", sentence);
}

function refuseReservedName(workspace: Workspace, path: AliasPath): void {
  const [first = ""] = path.segments; // what a link leads to is looked at in `refuseReserved`
  const name = workspace.pins.holds ? first : foldName(first);
  if (mountOf(workspace, path).reserved.includes(name)) throw reserved(path, name);
}

/** Compares what the path leads to, not its spelling: a file system may take `Logs` for `logs`. */
function refuseReserved(workspace: Workspace, path: AliasPath, trail: Trail): void {
  const [root, top] = trail.entries;
  if (top === undefined) return;
  const same = mountOf(workspace, path).reserved.find((name) => isStillAt(`${root.at}/${name}`, top));
  if (same !== undefined) throw reserved(path, same);
}

function reserved(path: AliasPath, name: string): Refusal {
  return new Refusal(
    "E_SANDBOX_VIOLATION",
    `${mountLabel(path.mount)}/${name} is written by the runtime only.`,
  );
}

interface MadeDirectory {
  readonly parent: PinnedEntry;
  readonly name: string;
  readonly entry: PinnedEntry;
  /** False for one that somebody else made in the same moment. */
  readonly isOurs: boolean;
}

function makeDirectories(
  workspace: Workspace,
  path: AliasPath,
  base: PinnedEntry,
  names: readonly string[],
  made: MadeDirectory[],
): PinnedEntry {
  let parent = base;
  for (const name of names) {
    if (parent.kind !== "directory") break;
    const at = `${parent.at}/${name}`;
    const isOurs = makeDirectory(at, mountOf(workspace, path).isPrivate ? 0o700 : 0o777);
    try {
      const entry = workspace.pins.child(parent, name);
      made.push({ parent, name, entry, isOurs });
      parent = entry;
    } catch (error) {
      if (isOurs) removeIfEmpty(at);
      throw error;
    }
  }
  if (parent.kind === "directory") return parent;
  const fault = systemFault("ENOTDIR", describeAliasPath(path), "write");
  throw new Refusal(fault.code, fault.message);
}

/** Whether it was made here: somebody else may have done so in the same moment. */
export function makeDirectory(at: string, mode: number): boolean {
  try {
    mkdirSync(at, { mode });
    return true;
  } catch (error) {
    if (systemErrorCode(error) === "EEXIST") return false;
    throw error;
  }
}

function removeDirectories(made: readonly MadeDirectory[]): void {
  for (const { parent, name, entry, isOurs } of made.toReversed()) {
    if (!isOurs) continue;
    const at = `${parent.at}/${name}`;
    if (isStillAt(at, entry)) removeIfEmpty(at);
  }
}

function removeIfEmpty(at: string): void {
  try {
    rmdirSync(at);
  } catch {
    // somebody uses it by now
  }
}

/** Makes the names in a pinned directory durable, where the system can do that. */
export async function syncDirectory(directory: PinnedEntry): Promise<void> {
  try {
    const fd = openSync(directory.at, "r");
    try {
      await syncFile(fd);
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    if (!CANNOT_SYNC.has(systemErrorCode(error) ?? "")) throw error;
  }
}

const CANNOT_SYNC: ReadonlySet<string> = new Set(["EACCES", "EPERM", "EINVAL", "ENOTSUP", "EISDIR"]);
