import { lstat, opendir, realpath } from "node:fs/promises";
import { basename, dirname, join, relative, sep } from "node:path";
import { type LeftOut, SourceTree, isEntryName } from "../../core/import/source/source-tree.js";
import { isBelow } from "../../core/import/source/references.js";

import { defined } from "../../core/defined.js";
import { isDenied, mayPass, requireSystemCode } from "../../core/system-code.js";
import { DEFAULT_PROTECTED_PATHS, protectingRule } from "../../core/tools/name-rules.js";
import { utf8In } from "../../core/written-text.js";
import { isThere } from "../../store/disk/is-there.js";
import { PackageFileRefused, readPackageFile } from "../../store/packages/package-files.js";

/** Bounds on what an import looks at. */
const MAX_DEPTH = 16;
const MAX_DIRECTORIES = 20_000;
const MAX_FILES = 20_000;
const MAX_FILE_BYTES = 1024 * 1024;
const MAX_BYTES = 128 * 1024 * 1024;
const MAX_LEVELS_UP = 8;
/** Files of other kinds in folders of workflows that are looked at, and their texts together: a whole project may lie beside one. */
const MAX_OTHERS = 500;
const MAX_OTHERS_BYTES = 8 * 1024 * 1024;
/** Hidden folders of workflows that may be named. */
const MAX_HIDDEN = 100;

const TEXTS = /\.(?:md|ya?ml|xml|csv|toml|txt|json|py|mjs|js|sh|html)$/i;

/** What is said of a directory that a bound was reached in. */
export const MORE_BELOW =
  "There is more below this directory than was looked at: name one nearer to the workflows.";

/** The texts of a directory, and whether all of them were looked at. */
export interface ReadSource {
  /** The real path that the tree's paths are relative to. */
  readonly root: string;
  readonly tree: SourceTree;
  readonly complete: boolean;
  /** Directories that are packages: what begins in them has been imported, and they are not looked into. */
  readonly packages: readonly string[];
  /** Directories that may not be opened: what begins in them nobody knows. */
  readonly closed: readonly string[];
}

/** The path that a place in a source has in its tree; empty for the source itself. */
export function pathInTree({ root }: Pick<ReadSource, "root">, path: string): string {
  return relative(root, path).split(sep).join("/");
}

/** Whether a directory with files of these names is a package of ours. */
export function isPackage(names: readonly string[]): boolean {
  return ["bmad.json", "workflow.graph.json"].every((name) => names.includes(name));
}

/**
 * Reads the texts below `root` for an import, those below `first` before all others. Links, hidden directories but `.skills`, those
 * of tools that hold `skills` and those of a workflow that it names a text of, `node_modules`, packages, what is no UTF-8 and what is
 * larger than 1 MiB are left out. Nothing is followed out of it.
 * Throws what the system says of a directory that cannot be read now, and of one that is named and may not be opened.
 */
export async function readSource(root: string, first: string = root): Promise<ReadSource> {
  const reader = new TreeReader(await realpath(root));
  const begin = relative(reader.root, await realpath(first));
  const isInside = begin !== "" && !begin.startsWith("..");
  const named = isInside ? begin.split(sep).join("/") : "";
  await (await opendir(join(reader.root, named))).close();
  const complete =
    (!isInside || (await reader.read(named))) && (await reader.read("")) && (await reader.readNamed());
  const { files, leftOut, packages, closed } = reader;
  return { root: reader.root, tree: new SourceTree(files, leftOut), complete, packages, closed };
}

class TreeReader {
  readonly root: string;
  readonly files = new Map<string, string>();
  readonly leftOut = new Map<string, LeftOut>();
  readonly packages: string[] = [];
  readonly closed: string[] = [];
  private readonly seen = new Set<string>();
  /** Hidden folders that were passed over, each with the folder of the workflow that it lies in. */
  private readonly hidden = new Map<string, string>();
  private bytes = 0;
  private others = 0;
  private othersBytes = 0;

  constructor(root: string) {
    this.root = root;
  }

  /** Of a workflow's folder, or of any. False when a bound was reached. */
  async read(from: string, of?: string): Promise<boolean> {
    const queue: Place[] = [{ folder: from, depth: 0, ...defined({ workflow: of }) }];
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      if (this.seen.has(next.folder)) continue;
      this.seen.add(next.folder);
      if (this.seen.size > MAX_DIRECTORIES) return false;
      const children = await this.childrenOf(next.folder);
      if (next.folder !== from && isPackage(children.map(({ name }) => name))) {
        this.packages.push(next.folder);
        continue;
      }
      const begins = children.some(
        ({ name, kind }) => kind === "text" && (isEntryName(name) || name === "skill.md"),
      );
      const workflow = next.workflow ?? (begins ? next.folder : undefined);
      for (const { name, kind } of children) {
        const path = next.folder === "" ? name : `${next.folder}/${name}`;
        if (kind === "folder") {
          if (next.depth < MAX_DEPTH)
            queue.push({ folder: path, depth: next.depth + 1, ...defined({ workflow }) });
        } else if (kind === "hidden") {
          if (workflow !== undefined && this.hidden.size < MAX_HIDDEN) this.hidden.set(path, workflow);
        } else if (kind === "other") {
          if (workflow === undefined || !(await this.isTakenAsText(path))) this.leave(path, "no text");
        } else if (!(await this.readFile(path))) return false;
      }
    }
    return true;
  }

  /**
   * Reads the hidden folders of workflows that a text of theirs names a page of: "Refer to `.lines/first.md`". What a repository's own
   * document names so is its tools'. False when a bound was reached.
   */
  async readNamed(): Promise<boolean> {
    const asked = new Map<string, boolean>();
    for (const [path, workflow] of this.hidden) {
      if (mayBeSecret(path) || (await isThere(join(this.root, workflow, ".git")))) continue;
      const question = `${workflow}\n${basename(path)}`;
      const isNamed = asked.get(question) ?? this.namesPage(workflow, basename(path));
      asked.set(question, isNamed);
      if (isNamed && !(await this.read(path, workflow))) return false;
    }
    return true;
  }

  /** Whether a text of a workflow names a page in a folder of this name. */
  private namesPage(workflow: string, folder: string): boolean {
    return [...this.files].some(([file, text]) => isBelow(file, workflow) && namesPageIn(text, folder));
  }

  private async childrenOf(folder: string): Promise<Child[]> {
    const children: Child[] = [];
    const directory = await opendir(join(this.root, folder)).catch((error: unknown) => {
      const code = requireSystemCode(error);
      if (mayPass(code)) throw error;
      if (folder === "" || !isDenied(code)) return; // what a source lies in need not be open
      this.leave(folder, "denied");
      this.closed.push(folder);
    });
    if (directory === undefined) return children;
    for await (const entry of directory) {
      if (entry.isDirectory()) {
        if (await this.isSearched(folder, entry.name)) children.push({ name: entry.name, kind: "folder" });
        else if (/^\.(?!git$)/.test(entry.name)) children.push({ name: entry.name, kind: "hidden" });
      } else if (entry.isFile()) {
        children.push({ name: entry.name, kind: TEXTS.test(entry.name) ? "text" : "other" });
      } else if (entry.isSymbolicLink()) {
        this.leave(folder === "" ? entry.name : `${folder}/${entry.name}`, "link");
      } else {
        this.leave(folder === "" ? entry.name : `${folder}/${entry.name}`, "unread"); // a pipe, a device
      }
      if (children.length > MAX_FILES) break;
    }
    return children.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  private leave(path: string, why: LeftOut): void {
    if (this.leftOut.size < MAX_FILES && !basename(path).startsWith(".")) this.leftOut.set(path, why);
  }

  /** Of hidden directories those that hold skills: `.claude/skills`, `.opencode/skill`, `skills/.curated`. */
  private async isSearched(folder: string, name: string): Promise<boolean> {
    if (!name.startsWith(".")) return name !== "node_modules";
    if ([".bmad", ".skills"].includes(name)) return true;
    if (name !== ".git" && basename(join(this.root, folder)) === "skills") return true;
    const below = ["skills", "skill"].map((skills) => join(this.root, folder, name, skills));
    const found = await Promise.all(below.map((path) => lstat(path).catch(() => undefined)));
    return found.some((entry) => entry?.isDirectory() === true);
  }

  /** Templates, sources and scripts without an ending, which a workflow has beside its texts: what they are their bytes say. */
  private async isTakenAsText(path: string): Promise<boolean> {
    if (basename(path).startsWith(".") || mayBeSecret(path)) return false;
    if (this.files.has(path)) return true;
    if (this.others >= MAX_OTHERS || this.othersBytes >= MAX_OTHERS_BYTES) return false;
    this.others += 1;
    const before = this.bytes;
    const isRead = await this.readFile(path);
    this.othersBytes += this.bytes - before;
    const isText = this.files.get(path)?.includes("\0") === false;
    if (!isText) this.files.delete(path);
    return isRead && isText;
  }

  private async readFile(path: string): Promise<boolean> {
    if (this.files.has(path)) return true;
    if (this.files.size >= MAX_FILES || this.bytes >= MAX_BYTES) return false;
    try {
      const bytes = await readPackageFile(this.root, path, MAX_FILE_BYTES);
      const text = utf8In(bytes);
      if (text === undefined) this.leftOut.set(path, "unread");
      else {
        this.files.set(path, text);
        this.bytes += bytes.length;
      }
    } catch (error) {
      if (!(error instanceof PackageFileRefused)) throw error;
      this.leftOut.set(path, isDenied(error.code) ? "denied" : "unread");
    }
    return true;
  }
}

/** A package is handed on: keys and logins stay where they are. */
function mayBeSecret(path: string): boolean {
  return protectingRule(DEFAULT_PROTECTED_PATHS, path.split("/"), "read") !== undefined;
}

/** Whether a text names a Markdown file in a folder of this name. */
function namesPageIn(text: string, folder: string): boolean {
  const begin = `${folder}/`;
  for (let at = text.indexOf(begin); at !== -1; at = text.indexOf(begin, at + 1))
    if (PAGE_IN.test(text.slice(at + begin.length, at + begin.length + MAX_NAME))) return true;
  return false;
}

const MAX_NAME = 200;
const PAGE_IN = /^[\w./-]+\.md\b/;

interface Place {
  readonly folder: string;
  readonly depth: number;
  /** The folder of the workflow that it lies in. */
  readonly workflow?: string;
}

interface Child {
  readonly name: string;
  readonly kind: "folder" | "hidden" | "text" | "other";
}

const HOLDS_SKILLS = /^\.?skills?$/;
const MARKS = ["_bmad", ".bmad", "bmad", ".git", "src/core", "src/core-skills"];

/**
 * Where to look for what a workflow uses beside its own folder, such as its module's configuration and the core: the nearest
 * directory above it that holds an installation, a module or a repository. Where there is none, a skill's folder among others in
 * `skills`, and else the folder itself.
 */
export async function sourceRootOf(folder: string): Promise<string> {
  let at = folder;
  for (let level = 0; level < MAX_LEVELS_UP; level += 1) {
    for (const mark of MARKS) if (await isThere(join(at, mark))) return at;
    if (["_bmad", ".bmad", "bmad"].includes(basename(at))) return dirname(at);
    if (dirname(at) === at) break;
    at = dirname(at);
  }
  return HOLDS_SKILLS.test(basename(dirname(folder))) ? dirname(folder) : folder;
}
