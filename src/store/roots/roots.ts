import type { BigIntStats } from "node:fs";
import { isAbsolute, join, relative, sep } from "node:path";
import { jsonFile } from "../../core/json.js";
import { z } from "zod";
import { type Failed, type Result, fail, ok } from "../../core/errors.js";
import { NewestKept } from "../../core/newest-kept.js";
import { mayPass, readingWords, systemCode, unreadNow } from "../../core/system-code.js";
import { excerpt, shellWord, utf8Length } from "../../core/text.js";
import {
  type Access,
  DEFAULT_PROTECTED_PATHS,
  type ProtectedPaths,
  protectingRulesIn,
} from "../../core/tools/name-rules.js";
import { removeTemporaries, writeFileAtomic } from "../disk/atomic-file.js";
import { withFileLock } from "../disk/fenced-lock.js";
import { NotOurFile, readOwnFileSync } from "../disk/own-file.js";
import {
  type FileIdentity,
  type Forbidden,
  forbiddenByName,
  forbiddenPlace,
  futurePath,
  identityNow,
  identityOf,
  isFileSystemRoot,
  isInside,
  keepingLast,
  keepsInodes,
  leadsStraightTo,
  parentsOf,
  realPathNow,
  realPathOf,
  withoutSlash,
} from "./root-places.js";

/** A directory, or an agent's file, that runs of this store may open. `write` holds `read`. */
export interface RegisteredRoot {
  /** Real path. */
  readonly path: string;
  readonly access: Access;
  /** ISO time. */
  readonly registeredAt: string;
  /**
   * A directory's inode, as decimal digits: another one in its place is not registered, where its file system keeps these numbers. Device
   * numbers are not kept, since many file systems get another one at each start; nor are those of files, since to save one is to replace it.
   */
  readonly inode?: string | undefined;
}

/** What the operator says of roots beside the registry. */
export interface RootPolicy {
  /** Absolute paths: they and what lies in them need no registering. */
  readonly projectRoots?: readonly string[];
  /** What else belongs to Interlock, directories and files: no root, and never shown inside one. */
  readonly privatePaths?: readonly string[];
  /** Below a root, a way through a protected name is none. */
  readonly protectedPaths?: ProtectedPaths | undefined;
}

/** A root that may be opened, and what it was when that was found. */
export interface PermittedRoot {
  /** Real path; of a directory that does not exist yet, that of the nearest one above it and its names. */
  readonly path: string;
  /** Absent for what does not exist yet. */
  readonly identity: FileIdentity | undefined;
}

export interface PermitOptions {
  /** `maybe` is a directory that a run may make. */
  readonly kind?: "directory" | "file" | "maybe";
  /** The path must be its own real path: so it was written down, and a link has taken its place since. */
  readonly isReal?: boolean;
}

const MAX_PATH_BYTES = 4096;

/** The calls of a turn, and the turns of a quick model, follow one another within it. */
const FREE_MS = 1_000;
const MOST_FREE = 1_000;

const rootSchema = z.strictObject({
  path: z.string().min(1),
  access: z.enum(["read", "write"]),
  registeredAt: z.string(),
  inode: z.string().regex(/^\d+$/).optional(),
});
const fileSchema = z.strictObject({ roots: z.array(rootSchema) });

/** Thrown when `roots.json` cannot be used. */
export class DamagedRoots extends Error {}

/**
 * Which directories runs may open (contracts §4). Temporal has no login where Interlock brings it, and a run's input names
 * directories; so the store keeps a list of those that somebody named on its own machine. The list lies in the store, which is
 * no root and is shown in none: no model and no package writes it.
 */
export class Roots {
  private readonly storeDir: string;
  private readonly file: string;
  private readonly policy: RootPolicy;
  /** Which directories are in no forbidden place, and how long that is taken for true, by `performance.now()`. */
  private readonly freeUntil = new NewestKept<string, number>(MOST_FREE);
  private readonly rootsIn = keepingLast(
    (text): readonly RegisteredRoot[] => fileSchema.parse(JSON.parse(text)).roots,
  );

  constructor(storeDir: string, policy: RootPolicy = {}) {
    this.storeDir = storeDir;
    this.file = join(storeDir, "roots.json");
    this.policy = policy;
  }

  /** The same registry with another policy. */
  with(policy: RootPolicy): Roots {
    return new Roots(this.storeDir, policy);
  }

  /** What the tools never show, should it lie inside a root. The directories of the store might be mounted by themselves. */
  get keepOut(): readonly string[] {
    const parts = ["packages", "projects", "locks"].map((name) => join(this.storeDir, name));
    return [this.storeDir, ...parts, ...(this.policy.privatePaths ?? [])];
  }

  /** The names in projects that the tools keep away from. */
  get protectedPaths(): ProtectedPaths {
    return this.policy.protectedPaths ?? DEFAULT_PROTECTED_PATHS;
  }

  /** The configured directories, in or under which everything is permitted. */
  get configured(): readonly string[] {
    return this.policy.projectRoots ?? [];
  }

  /** The registered roots, oldest first. Throws `DamagedRoots`. */
  list(): readonly RegisteredRoot[] {
    return this.read() ?? [];
  }

  /**
   * Registers a directory, or an agent's file for reading; again, it is the same entry, for the directory that is there now.
   * Faults: `E_PROJECT_INVALID` for what does not exist, `E_SANDBOX_VIOLATION` for what can be nobody's project.
   */
  async add(path: string, access: Access, now = new Date()): Promise<Result<RegisteredRoot>> {
    const problem = shapeProblem(path);
    if (problem !== undefined) return notUsable(path, problem);
    const real = realPathOf(path);
    const entry = real === undefined ? undefined : identityOf(real);
    if (real === undefined || entry === undefined) return missing(path);
    const forbidden = this.forbids(real);
    if (forbidden !== undefined) return notAllowed(real, forbidden);
    if (!isKind(entry, "directory") && (access === "write" || !isKind(entry, "file"))) {
      return fail("E_PROJECT_INVALID", `"${excerpt(path)}" is no directory.`);
    }
    const before = this.list().find((root) => root.path === real);
    const wanted = before?.access === "write" ? "write" : access;
    const inode = inodeOf(real);
    if (before?.access === wanted && before.inode === inode) return ok(before);
    const root = entryOf(real, wanted, now);
    await this.change((roots) => [...roots.filter((other) => other.path !== real), root]);
    return ok(root);
  }

  /** Whether it was registered until now. */
  async remove(path: string): Promise<boolean> {
    const names = new Set([path, realPathOf(path)]);
    let removed = false;
    await this.change((roots) => {
      const rest = roots.filter((root) => !names.has(root.path));
      removed = rest.length < roots.length;
      return rest;
    });
    return removed;
  }

  /**
   * Whether a run may open a path for this access. Faults, each with a sentence for the operator: `E_SANDBOX_VIOLATION`, and
   * `E_PROJECT_INVALID` for what would be permitted and is not there, `E_INTERNAL` where the system does not say it now. Whether anything
   * else exists is not told.
   */
  permit(path: unknown, access: Access, options: PermitOptions = {}): Result<PermittedRoot> {
    return orUnread(() => this.permitNow(path, access, options));
  }

  /** Whether a directory or an agent's file may be opened. */
  permits(path: string, access: Access): boolean {
    return (["directory", "file"] as const).some((kind) => this.permit(path, access, { kind }).ok);
  }

  private permitNow(path: unknown, access: Access, options: PermitOptions): Result<PermittedRoot> {
    const { kind = "directory", isReal = false } = options;
    const problem = shapeProblem(path);
    if (typeof path !== "string" || problem !== undefined) return notUsable(path, problem ?? "is no text");
    const real = kind === "maybe" ? futurePath(path) : realPathNow(path);
    const entry = real === undefined ? undefined : identityNow(real);
    if (real === undefined || (entry === undefined && kind !== "maybe")) return this.missing(path, access);
    if (isReal && real !== withoutSlash(path)) return notUsable(path, "is reached through a link now");
    const approved = this.approves(real, access, path, entry);
    if (!approved.ok) return approved;
    const forbidden = this.forbidsNow(real, entry);
    if (forbidden !== undefined) return notAllowed(path, forbidden);
    if (entry !== undefined && !isKind(entry, kind)) {
      return fail("E_PROJECT_INVALID", `"${excerpt(path)}" is no ${kind === "file" ? "file" : "directory"}.`);
    }
    return unexchanged(real, entry);
  }

  /** As `permit`, of a real path, for a program on this machine that names its directories itself: nothing has to be registered. */
  inspect(real: string): Result<PermittedRoot> {
    return orUnread(() => {
      const entry = identityNow(real);
      if (entry === undefined || realPathNow(real) !== real) return missing(real);
      const forbidden = this.forbids(real);
      return forbidden === undefined ? unexchanged(real, entry) : notAllowed(real, forbidden);
    });
  }

  /** Makes the registry of a store that has none, from the roots of the runs that it holds. */
  async begin(known: () => Promise<readonly Pick<RegisteredRoot, "path" | "access">[]>): Promise<void> {
    if (this.read() !== undefined) return;
    await this.locked(async (lock) => {
      if (this.read() !== undefined) return;
      const now = new Date();
      const roots = new Map<string, RegisteredRoot>();
      for (const { path, access } of await known()) {
        if (shapeProblem(path) !== undefined || realPathOf(path) !== path) continue;
        if (this.forbids(path) !== undefined || roots.get(path)?.access === "write") continue;
        roots.set(path, entryOf(path, access, now));
      }
      await writeFileAtomic(this.file, jsonFile({ roots: [...roots.values()] }), lock);
    });
  }

  /** That a path does not exist is told of roots only. */
  private missing(path: string, access: Access): Failed {
    const future = futurePath(path);
    return future !== undefined && this.approves(future, access).ok ? missing(path) : this.unregistered(path);
  }

  /** Of what could not be registered either, the sentence says so: by its name alone, whatever is there. */
  private unregistered(path: string, why = ""): Failed {
    const forbidden = forbiddenByName(withoutSlash(path), this.ours);
    return forbidden === undefined ? unregistered(path, why) : notAllowed(path, forbidden);
  }

  private get ours(): readonly string[] {
    return [this.storeDir, ...(this.policy.privatePaths ?? [])];
  }

  /** As `forbids`: of a directory that was found free a moment ago, and is the same one still, nothing more is looked up. */
  private forbidsNow(real: string, identity: FileIdentity | undefined): Forbidden | undefined {
    if (identity === undefined) return this.forbids(real);
    const key = `${identity.dev}:${identity.ino} ${real}`;
    const now = performance.now();
    if (now < (this.freeUntil.get(key) ?? 0)) return undefined;
    const forbidden = this.forbids(real);
    if (forbidden === undefined) this.freeUntil.set(key, now + FREE_MS);
    return forbidden;
  }

  private forbids(real: string): Forbidden | undefined {
    return forbiddenPlace(real, this.ours);
  }

  /** Whether a real path is a root, or lies in one by a way that no protected name bars. `shown` is for the sentence, `entry` what is there. */
  private approves(real: string, access: Access, shown = real, entry?: BigIntStats): Result<undefined> {
    const isFree = (root: string) =>
      protectingRulesIn(root, this.protectedPaths)(
        relative(root, real)
          .split(sep)
          .filter((name) => name !== ""),
        access,
      ) === undefined;
    const configured = this.configured
      .flatMap((root) => realPathOf(root) ?? [])
      .filter((root) => !isFileSystemRoot(root));
    if (configured.some((root) => isInside(root, real) && isFree(root))) return ok(undefined);
    const parents = new Set(parentsOf(real));
    const found = this.list().filter(
      (root) => parents.has(root.path) && (access === "read" || root.access === "write") && isFree(root.path),
    );
    const isStill = (root: RegisteredRoot) => isSameStill(root, root.path === real ? entry : undefined);
    if (found.some(isStill)) return ok(undefined);
    const [exchanged] = found.filter((root) => identityOf(root.path) !== undefined);
    if (found.length > 0 && exchanged === undefined) return ok(undefined); // it is missing, and said to be
    return this.unregistered(shown, exchanged === undefined ? "" : ANOTHER);
  }

  private read(): readonly RegisteredRoot[] | undefined {
    try {
      return this.rootsIn(readOwnFileSync(this.file).toString("utf8"));
    } catch (error) {
      if (systemCode(error) === "ENOENT") return undefined;
      throw this.damaged(error);
    }
  }

  private damaged(cause: unknown): DamagedRoots {
    const code = cause instanceof NotOurFile ? undefined : systemCode(cause);
    if (code !== undefined) return new DamagedRoots(unreadNow(this.file, code), { cause });
    const sentence = `${this.file} is damaged, or of a later version: it must hold the registered roots. Use the later version that has written it, if one has. Else restore it from a backup, or remove it: then it is made again from the runs of this store.`;
    return new DamagedRoots(sentence, { cause });
  }

  private async change(make: (roots: readonly RegisteredRoot[]) => readonly RegisteredRoot[]): Promise<void> {
    await this.locked((lock) => writeFileAtomic(this.file, jsonFile({ roots: make(this.list()) }), lock));
  }

  private locked(action: Parameters<typeof withFileLock<void>>[1]): Promise<void> {
    return withFileLock(join(this.storeDir, "roots.lock"), action, () => removeTemporaries(this.file));
  }
}

const ANOTHER = " Another directory lies there than the one that was registered.";

const BLANK = " The path begins or ends with white space, which is taken as part of the name.";

function entryOf(path: string, access: Access, now: Date): RegisteredRoot {
  const inode = inodeOf(path);
  return { path, access, registeredAt: now.toISOString(), ...(inode === undefined ? {} : { inode }) };
}

/** That of a directory. Throws where the system cannot say it now. */
function inodeOf(path: string, entry = identityNow(path)): string | undefined {
  return entry?.isDirectory() === true ? String(entry.ino) : undefined;
}

/** Whether what lies there is what was registered, as far as its file system can say. */
function isSameStill({ path, inode }: RegisteredRoot, entry?: BigIntStats): boolean {
  const now = inodeOf(path, entry);
  return now === inode || (now !== undefined && inode !== undefined && !keepsInodes(path));
}

/** What was looked at by its path, if it is that still. */
function unexchanged(path: string, identity: FileIdentity | undefined): Result<PermittedRoot> {
  if (identity === undefined || leadsStraightTo(path, identity)) return ok({ path, identity });
  return fail("E_INTERNAL", `"${excerpt(path)}" was exchanged while it was looked at.`);
}

/** Fault of a look that the system does not allow now: `E_INTERNAL`. */
function orUnread<T>(look: () => Result<T>): Result<T> {
  try {
    return look();
  } catch (error) {
    if (!mayPass(systemCode(error))) throw error;
    return fail("E_INTERNAL", readingWords(error));
  }
}

function unregistered(path: string, why: string): Failed {
  const blank = path === path.trim() ? "" : BLANK;
  const sentence = `"${excerpt(path, MAX_SHOWN)}" is not registered in this worker's store.${why}${blank} If runs may work there, register it on the store's machine: interlock project add ${shellWord(path, "<dir>")}`;
  return fail("E_SANDBOX_VIOLATION", sentence);
}

const MAX_SHOWN = 400;

function notUsable(path: unknown, why: string): Failed {
  const shown = typeof path === "string" ? `"${excerpt(path)}"` : "A root";
  return fail(
    "E_SANDBOX_VIOLATION",
    `${shown} ${why}: no run works there. Name a project's directory by its absolute path; to register one: interlock project add <dir>`,
  );
}

/** For what nobody can register: no word of registering it. */
function notAllowed(path: string, { why, instead }: Forbidden): Failed {
  return fail("E_SANDBOX_VIOLATION", `"${excerpt(path, MAX_SHOWN)}" ${why}: no run works there. ${instead}.`);
}

function missing(path: string): Failed {
  return fail(
    "E_PROJECT_INVALID",
    `"${excerpt(path)}" does not exist or cannot be read. Name an existing directory.`,
  );
}

/** What is wrong with a path before anything is looked up. */
function shapeProblem(path: unknown): string | undefined {
  if (typeof path !== "string") return "is no text";
  if (path === "") return "is empty";
  if (path.includes("\0")) return "has a NUL byte";
  if (utf8Length(path) > MAX_PATH_BYTES) return "is too long for a path";
  if (!isAbsolute(path)) return "is not absolute";
  return path.split(/[\\/]/u).some((name) => name === "." || name === "..")
    ? 'has a "." or ".." in it'
    : undefined;
}

function isKind(entry: BigIntStats, kind: "directory" | "file" | "maybe"): boolean {
  return kind === "file" ? entry.isFile() : entry.isDirectory();
}
