import { readlinkSync } from "node:fs";
import { isUtf8 } from "node:buffer";
import { isAbsolute, relative, sep } from "node:path";
import { type AliasPath, describeAliasPath, mountLabel } from "../../core/tools/alias-path.js";
import { identityOf, sameIdentity } from "../../store/roots/root-places.js";
import { Refusal, systemErrorCode, systemFault } from "./faults.js";
import { type Access, protectingRulesIn } from "../../core/tools/name-rules.js";
import { type PinnedEntry, type Pins, pinIfPresent } from "./pinned-entry.js";
import { type Mount, type Workspace, mountOf } from "./workspace.js";

const MAX_LINKS = 40;
const MAX_DEPTH = 512;
const SEPARATOR = sep === "/" ? /\/+/ : /[\\/]+/;

/** Where an alias path leads: every directory from the mount's root on is pinned until `close`. */
export interface Trail {
  /** The mount's root, then what each of `names` stands for. */
  readonly entries: readonly [PinnedEntry, ...PinnedEntry[]];
  /** The names below the root after links were resolved. */
  readonly names: readonly string[];
  /** The names that do not exist below the last entry; empty when the target exists. */
  readonly missing: readonly string[];
  /** Lets go of all entries, or of all but one that the caller closes later. */
  readonly close: (keep?: PinnedEntry) => void;
}

/** What a path leads to, and the names from the mount's root to it after links were resolved. */
export interface ResolvedEntry {
  readonly entry: PinnedEntry;
  readonly names: readonly string[];
}

/** Resolves a path for reading: the target alone stays pinned, until the caller closes it. */
export function resolveExisting(workspace: Workspace, path: AliasPath): ResolvedEntry {
  const trail = resolve(workspace, path, "read");
  const target = trail.entries.at(-1);
  if (target === undefined || trail.missing.length > 0) {
    trail.close();
    throw new Refusal("ENOENT", `${describeAliasPath(path)} does not exist.`);
  }
  trail.close(target);
  return { entry: target, names: trail.names };
}

/**
 * Walks an alias path segment by segment from the mount's root (invariants W1 to W3 in `workspace.ts`).
 * Links are followed in `@project` only, by their text and from the root; whatever name is met on the way,
 * asked for or found in a link, is held against the protected names. Throws `Refusal` or a system error.
 */
export function resolve(workspace: Workspace, path: AliasPath, access: Access): Trail {
  const walk = new Walk(workspace, path, access);
  try {
    walk.run();
    return walk;
  } catch (error) {
    walk.close();
    throw error;
  }
}

class Walk implements Trail {
  readonly entries: [PinnedEntry, ...PinnedEntry[]];
  readonly names: string[] = [];
  missing: readonly string[] = [];
  /** What is still to be walked, the next name last. Only the text of a link can bring `..` into it. */
  private pending: string[];
  private linksFollowed = 0;
  private closed = false;
  private readonly isForbidden: (entry: PinnedEntry) => boolean;
  private readonly workspace: Workspace;
  private readonly mount: Mount;
  private readonly path: AliasPath;
  private readonly access: Access;

  constructor(workspace: Workspace, path: AliasPath, access: Access) {
    this.workspace = workspace;
    this.mount = mountOf(workspace, path);
    this.path = path;
    this.access = access;
    refuseNames(this.mount, path, path.segments, access);
    this.pending = path.segments.toReversed();
    this.isForbidden = forbiddenEntries(workspace, path);
    this.entries = [pinRoot(workspace.pins, this.mount)];
    if (!this.isForbidden(this.entries[0])) return;
    this.close();
    throw this.refusal("leads into a directory of the service.");
  }

  run(): void {
    for (let name = this.pending.pop(); name !== undefined; name = this.pending.pop()) {
      if (name === "..") this.leave();
      else if (!this.enter(name)) break;
    }
    // A rule may be a path of names, of which a link can hide some: it is held against where the way has led.
    refuseNames(this.mount, this.path, [...this.names, ...this.missing], this.access);
    if (!this.workspace.pins.holds) this.checkRealPath();
  }

  close(keep?: PinnedEntry): void {
    if (this.closed) return;
    this.closed = true;
    for (const entry of this.entries) if (entry !== keep) entry.close();
  }

  /** Steps into a child, or replaces a link by its text. False when the child does not exist. */
  private enter(name: string): boolean {
    const directory = this.last();
    if (directory.kind !== "directory") throw this.systemRefusal("ENOTDIR");
    if (this.names.length >= MAX_DEPTH) throw this.refusal("lies too deep.");
    const entry = pinIfPresent(this.workspace.pins, directory, name);
    if (entry === undefined) {
      this.missing = [name, ...this.pending.toReversed()];
      if (this.missing.includes("..")) throw this.systemRefusal("ENOENT");
      return false;
    }
    if (entry.kind === "link") {
      entry.close();
      this.follow(directory, name);
      return true;
    }
    this.entries.push(entry);
    this.names.push(name);
    if (this.isForbidden(entry)) throw this.refusal("leads into a directory of the service.");
    if (entry.kind === "other") throw this.refusal("is neither a file nor a directory.");
    return true;
  }

  private leave(): void {
    if (this.names.pop() === undefined) throw this.refusal("leads out of its mount.");
    this.entries.pop()?.close();
  }

  private follow(directory: PinnedEntry, name: string): void {
    if (!this.mount.followsLinks) {
      const label = mountLabel(this.path.mount);
      throw this.refusal(`is reached through a link: links in ${label} are not followed.`);
    }
    this.linksFollowed += 1;
    if (this.linksFollowed > MAX_LINKS) throw this.refusal("leads through too many links.");
    const text = readLink(`${directory.at}/${name}`);
    if (text === undefined) {
      this.pending.push(name); // no link any more: look again
      return;
    }
    if (!isUtf8(text)) throw this.refusal("leads through a link whose target is not valid UTF-8.");
    const steps = this.stepsOf(text.toString());
    refuseNames(
      this.mount,
      this.path,
      steps.filter((step) => step !== ".."),
      this.access,
    );
    this.pending.push(...steps.toReversed());
  }

  /** The names to walk for a link's text; for an absolute one below the root, starting again at the root. */
  private stepsOf(text: string): readonly string[] {
    const steps = splitHostPath(text);
    if (!isAbsolute(text)) return steps;
    const root = this.entries[0];
    const spellings = [this.mount.root, this.workspace.pins.realPath(root)];
    for (const spelling of spellings) {
      const prefix = splitHostPath(spelling);
      if (!prefix.every((name, index) => steps[index] === name)) continue;
      while (this.names.length > 0) this.leave();
      return steps.slice(prefix.length);
    }
    throw this.refusal("leads out of its mount.");
  }

  /** Where paths are not bound to what was checked, and names may be short or ignore case: look once more. */
  private checkRealPath(): void {
    const { pins } = this.workspace;
    const below = relative(pins.realPath(this.entries[0]), pins.realPath(this.last()));
    const names = below === "" ? [] : below.split(sep);
    if (isAbsolute(below) || names[0] === "..") throw this.refusal("leads out of its mount.");
    refuseNames(this.mount, this.path, [...names, ...this.missing], this.access);
  }

  private last(): PinnedEntry {
    return this.entries.at(-1) ?? this.entries[0];
  }

  private refusal(sentence: string): Refusal {
    return new Refusal("E_SANDBOX_VIOLATION", `${describeAliasPath(this.path)} ${sentence}`);
  }

  private systemRefusal(code: string): Refusal {
    const fault = systemFault(code, describeAliasPath(this.path), this.access);
    return new Refusal(fault.code, fault.message);
  }
}

/** The root as it was when the mount was made: one that took its place since is not opened. */
export function pinRoot(pins: Pins, { root, identity }: Pick<Mount, "root" | "identity">): PinnedEntry {
  const entry = pins.root(root);
  if (identity === undefined || sameIdentity(identity, entry.stats)) return entry;
  entry.close();
  throw new Refusal("E_SANDBOX_VIOLATION", "The directory of this mount was exchanged while it was opened.");
}

/** Tells the directories and files that a mount does not lead to, whatever they are called there. */
export function forbiddenEntries(workspace: Workspace, path: AliasPath): (entry: PinnedEntry) => boolean {
  const { keepOut } = mountOf(workspace, path);
  if (keepOut.length === 0) return () => false;
  const forbidden = keepOut.map(identityOf);
  return ({ stats }) => forbidden.some((other) => sameIdentity(other, stats));
}

/** Refuses a path that a setting protects, and on Windows names that would mean another file. */
function refuseNames(mount: Mount, path: AliasPath, names: readonly string[], access: Access): void {
  for (const name of names) {
    if (process.platform === "win32" && /[\\:*?"<>|]|[. ]$/u.test(name)) {
      throw new Refusal(
        "E_SANDBOX_VIOLATION",
        "The path holds a name that this system would read as another.",
      );
    }
  }
  const rule = protectingRulesIn(mount.root, mount.protectedPaths)(names, access);
  if (rule === undefined) return;
  const what = mount.protectedPaths.notAccessible.includes(rule)
    ? "can be neither read nor written"
    : "cannot be written";
  throw new Refusal(
    "E_SANDBOX_VIOLATION",
    `${describeAliasPath(path)} is protected: "${rule}" ${what} in ${mountLabel(path.mount)}.`,
  );
}

function readLink(path: string): Buffer | undefined {
  try {
    return readlinkSync(path, { encoding: "buffer" });
  } catch (error) {
    const code = systemErrorCode(error);
    if (code === "EINVAL" || code === "ENOENT") return undefined;
    throw error;
  }
}

function splitHostPath(path: string): string[] {
  return path.split(SEPARATOR).filter((name) => name !== "" && name !== ".");
}
