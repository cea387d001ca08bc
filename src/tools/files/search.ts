import { closeSync, readSync } from "node:fs";
import { formatAliasPath } from "../../core/tools/alias-path.js";
import type { ToolResult } from "../../core/tools/tool-result.js";
import type { SearchArguments } from "../../core/tools/tool-specs.js";
import { readChildren } from "../sandbox/directory-children.js";
import { systemErrorCode } from "../sandbox/faults.js";
import { protectingRulesIn } from "../../core/tools/name-rules.js";
import { Pacer } from "../sandbox/pacer.js";
import { type PinnedEntry, openPinnedFileSync } from "../sandbox/pinned-entry.js";
import { forbiddenEntries, resolveExisting } from "../sandbox/resolve.js";
import { runTool, succeed } from "../sandbox/run-on-path.js";
import { type Finder, parsePattern } from "./search-pattern.js";
import { type Context, FileScan, type LineMatch, ResultBudget } from "./search-scan.js";
import { TextCheck } from "../sandbox/text-bytes.js";
import { type FileLimits, type Workspace, mountOf } from "../sandbox/workspace.js";

/** What one search may cost, whatever it is asked for. */
export interface SearchBounds {
  readonly maxDurationMs: number;
  readonly maxFiles: number;
  /** In one file met on the way; a file that was named is searched up to the total. */
  readonly maxFileBytes: number;
  readonly maxTotalBytes: number;
  readonly maxDepth: number;
}

export const SEARCH_BOUNDS: SearchBounds = {
  maxDurationMs: 5000,
  maxFiles: 50_000,
  maxFileBytes: 32 * 1024 * 1024,
  maxTotalBytes: 512 * 1024 * 1024,
  maxDepth: 200,
};

/**
 * `fs.search`: lines of text files that match, in code unit order of their paths, one match per line (its
 * first). Walking leaves out hidden entries, `node_modules`, links, binaries and protected names; the path that
 * was asked for may itself be hidden. `truncated` is there only when something was left out: matches over the
 * limit, bytes over the agent's `maxReadBytes`, or work over the bounds.
 *
 * Faults: `ENOENT`, `E_SANDBOX_VIOLATION`; `TOOL_ARGS_INVALID` for a pattern that is not understood;
 * `ENGINE_ABORTED` when the signal fires.
 */
export function searchFiles(
  workspace: Workspace,
  args: SearchArguments,
  limits: Pick<FileLimits, "maxReadBytes">,
  signal?: AbortSignal,
  bounds: SearchBounds = SEARCH_BOUNDS,
): Promise<ToolResult> {
  return runTool(args.path, "read", async (path) => {
    const finder = parsePattern(args.pattern);
    const { entry: target, names } = resolveExisting(workspace, path);
    try {
      const { root, protectedPaths } = mountOf(workspace, path);
      const ruleOf = protectingRulesIn(root, protectedPaths);
      const isProtected = (below: readonly string[]) => ruleOf(below, "read", below.length - 1) !== undefined;
      const budget = new ResultBudget(args.maxMatches ?? DEFAULT_MATCHES, limits.maxReadBytes);
      const context = { before: args.before ?? DEFAULT_CONTEXT, after: args.after ?? DEFAULT_CONTEXT };
      const pacer = new Pacer(bounds.maxDurationMs, signal);
      const isForbidden = forbiddenEntries(workspace, path);
      const plan = { workspace, finder, context, isProtected, isForbidden, pacer, bounds };
      const search = new Search(plan, budget);
      await pacer.pause();
      if (target.kind === "directory") await search.directory(target, formatAliasPath(path), names);
      else await search.file(target, formatAliasPath(path), bounds.maxTotalBytes);
      return succeed(search.result());
    } finally {
      target.close();
    }
  });
}

const DEFAULT_MATCHES = 50;
const DEFAULT_CONTEXT = 1;
const CHUNK_BYTES = 256 * 1024;

/** What stays the same during a search. */
interface SearchPlan {
  readonly workspace: Workspace;
  readonly finder: Finder;
  readonly context: Context;
  /** By the names from the mount's root on. */
  readonly isProtected: (names: readonly string[]) => boolean;
  readonly isForbidden: (entry: PinnedEntry) => boolean;
  readonly pacer: Pacer;
  readonly bounds: SearchBounds;
}

class Search {
  private readonly matches: (LineMatch & { readonly path: string })[] = [];
  private filesScanned = 0;
  private bytesScanned = 0;
  /** Whether some part of what was asked for was not searched. */
  private incomplete = false;
  private readonly buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  private readonly plan: SearchPlan;
  private budget: ResultBudget;

  constructor(plan: SearchPlan, budget: ResultBudget) {
    this.plan = plan;
    this.budget = budget;
  }

  result() {
    return {
      matches: this.matches.map((match) => ({ ...match })),
      ...(this.incomplete || this.budget.cut ? { truncated: true } : {}),
      stats: { filesScanned: this.filesScanned, matchesFound: this.matches.length },
    };
  }

  /** `names` lead from the mount's root to the directory; it lies `depth` below the one that was asked for. */
  async directory(directory: PinnedEntry, path: string, names: readonly string[], depth = 0): Promise<void> {
    if (depth > this.plan.bounds.maxDepth) {
      this.incomplete = true;
      return;
    }
    const children = await readChildren(directory, this.plan.pacer);
    if (!children.complete) this.incomplete = true;
    for (const child of children.names) {
      if (this.isOver()) return;
      const name = child.endsWith("/") ? child.slice(0, -1) : child;
      const below = [...names, name];
      const isSkipped = name === "node_modules" || this.plan.isProtected(below);
      if (!isSkipped) await this.child(directory, `${path}/${name}`, below, depth);
      if (this.plan.pacer.due) await this.plan.pacer.pause();
    }
  }

  /** Searches one entry that was met on the way; one that cannot be read, or is gone, is passed over. */
  private async child(
    directory: PinnedEntry,
    path: string,
    names: readonly string[],
    depth: number,
  ): Promise<void> {
    let entry: PinnedEntry | undefined;
    try {
      entry = this.plan.workspace.pins.child(directory, names.at(-1) ?? "");
      if (this.plan.isForbidden(entry)) return;
      if (entry.kind === "directory") await this.directory(entry, path, names, depth + 1);
      else if (entry.kind === "file") await this.file(entry, path, this.plan.bounds.maxFileBytes);
    } catch (error) {
      if (!PASSED_OVER.has(systemErrorCode(error) ?? "")) throw error;
    } finally {
      entry?.close();
    }
  }

  async file(entry: PinnedEntry, path: string, maxBytes: number): Promise<void> {
    if (this.filesScanned >= this.plan.bounds.maxFiles) {
      this.incomplete = true;
      return;
    }
    const budget = this.budget.copy(); // what a file costs counts only once it has proved to be text
    const scan = new FileScan(path, this.plan.finder, this.plan.context, budget);
    const fd = openPinnedFileSync(this.plan.workspace.pins, entry);
    try {
      if (!(await this.scanText(fd, Number(entry.stats.size), maxBytes, scan))) return;
    } finally {
      closeSync(fd);
    }
    this.filesScanned += 1;
    this.budget = budget;
    if (scan.skippedText) this.incomplete = true;
    for (const match of scan.matches) this.matches.push({ path, ...match });
  }

  /** False when the file is not text. */
  private async scanText(fd: number, size: number, maxBytes: number, scan: FileScan): Promise<boolean> {
    const check = new TextCheck();
    const { needle } = this.plan.finder;
    for (let fileBytes = 0; ;) {
      const length = readSync(fd, this.buffer, 0, CHUNK_BYTES, null);
      if (length === 0) break;
      const chunk = this.buffer.subarray(0, length);
      const text = check.accept(chunk);
      if (text === undefined) return false;
      const isWhole = fileBytes === 0 && length >= size;
      fileBytes += length;
      this.bytesScanned += length;
      if (isWhole && needle !== undefined && !chunk.includes(needle)) break;
      for (const _ of scan.lines(text.toString())) {
        if (this.plan.pacer.due && (await this.pauseIsEnd())) return true;
      }
      // When nothing more is wanted the rest is still read: it may show that the file is binary.
      if (this.plan.pacer.due && (await this.pauseIsEnd())) return true;
      if (fileBytes < maxBytes && !this.isOver()) continue;
      this.incomplete = true;
      return true;
    }
    scan.end();
    return check.ends();
  }

  private async pauseIsEnd(): Promise<boolean> {
    await this.plan.pacer.pause();
    return this.isOver();
  }

  /** Whether nothing more may be searched, and if that leaves something out, notes it. */
  private isOver(): boolean {
    if (this.budget.cut) return true;
    const over = this.plan.pacer.expired || this.bytesScanned >= this.plan.bounds.maxTotalBytes;
    if (over) this.incomplete = true;
    return over;
  }
}

/** Errors that concern one entry of a tree, not the search. */
const PASSED_OVER: ReadonlySet<string> = new Set(["ENOENT", "EACCES", "EPERM", "ENOTDIR", "ELOOP", "ENXIO"]);
