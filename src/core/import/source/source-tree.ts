import { addToList } from "../../add-to-list.js";
import type { Result } from "../../errors.js";
import { fail, ok } from "../../errors.js";

/**
 * What is imported: texts by their paths, relative to one root, with `/` between names, no `.` or `..` in them. Whoever reads
 * them has bounded their number and size; links and what is no text are not among them.
 */
export type SourceFiles = ReadonlyMap<string, string>;

/**
 * Why a file is not among the texts: it could not be read (no UTF-8, or too large), may not be opened, is of a kind that is not read,
 * or a link. A folder may not be opened.
 */
export type LeftOut = "unread" | "denied" | "no text" | "link";

const OF_ALL = /^(?:_\w[\w-]*|shared|common|references?|knowledge|resources|templates?)\//i;
/** Of so many files of one name the one that is meant is looked for. */
const MAX_CANDIDATES = 200;

/** The files of a tree, found by path, by name and by folder. */
export class SourceTree {
  readonly files: SourceFiles;
  /** What lies there and is not among the texts. */
  readonly leftOut: ReadonlyMap<string, LeftOut>;
  /** Sorted. */
  readonly paths: readonly string[];
  private readonly byName = new Map<string, string[]>();
  private readonly folders = new Map<string, string[]>();
  private readonly bySpelling = new Map<string, string[]>();
  private readonly ancestors = new Set<string>([""]);
  /** The folders in which several skills lie side by side, and those in which several folders of skills do. */
  private readonly ofSkills: ReadonlySet<string>;
  private readonly aboveSkills: ReadonlySet<string>;

  constructor(files: SourceFiles, leftOut: ReadonlyMap<string, LeftOut> = new Map()) {
    this.leftOut = leftOut;
    this.files = withPlainNames(files);
    this.paths = [...this.files.keys()].sort();
    for (const path of this.paths) {
      addToList(this.byName, nameOf(path), path);
      addToList(this.bySpelling, spellingOf(path), path);
      addToList(this.folders, folderOf(path), path);
      for (let folder = folderOf(path); !this.ancestors.has(folder); folder = folderOf(folder))
        this.ancestors.add(folder);
    }
    const skills = this.named("SKILL.md").map((path) => folderOf(path));
    this.ofSkills = new Set(parentsOfSeveral(skills));
    this.aboveSkills = new Set(parentsOfSeveral(skills.map(folderOf)));
  }

  text(path: string): string {
    return this.files.get(path) ?? "";
  }

  has(path: string): boolean {
    return this.files.has(path);
  }

  /** The files that lie in a folder itself, sorted. */
  filesIn(folder: string): readonly string[] {
    return this.folders.get(folder) ?? [];
  }

  /** The files that lie in a folder or below it, sorted. */
  filesBelow(folder: string): readonly string[] {
    return folder === "" ? this.paths : this.paths.filter((path) => path.startsWith(`${folder}/`));
  }

  hasFolder(folder: string): boolean {
    return this.ancestors.has(folder);
  }

  /** The one file whose path is spelled so but for capitals and composed letters; undefined where there are several. */
  spelledLike(path: string): string | undefined {
    const [only, ...others] = this.bySpelling.get(spellingOf(path)) ?? [];
    return others.length === 0 ? only : undefined;
  }

  /**
   * Whether a file lies in a folder that several skills lie in, or below it. At the root, where a project's own files may lie as well, and
   * in a folder of such folders only what is called as material of all does.
   */
  liesBesideSkills(path: string): boolean {
    for (let folder = path; folder !== "";) {
      folder = folderOf(folder);
      const isDirect = this.ofSkills.has(folder);
      if (isDirect && folder !== "") return true;
      if (
        (isDirect || this.aboveSkills.has(folder)) &&
        OF_ALL.test(path.slice(folder === "" ? 0 : folder.length + 1))
      )
        return true;
    }
    return false;
  }

  named(name: string): readonly string[] {
    return this.byName.get(name) ?? [];
  }

  /**
   * The file that a path of an installation stands for, wherever the module lies: the one that shares the most names at its
   * end with the path, two at least; of equals the one nearest to `from`.
   */
  endingLike(path: string, from: string): string | undefined {
    const names = path.split("/");
    let best: { readonly path: string; readonly shared: number; readonly near: number } | undefined;
    for (const candidate of this.named(names.at(-1) ?? "").slice(0, MAX_CANDIDATES)) {
      const shared = sharedEnd(candidate.split("/"), names);
      const near = sharedStart(candidate.split("/"), from.split("/"));
      if (shared < Math.min(2, names.length)) continue;
      if (best === undefined || shared > best.shared || (shared === best.shared && near > best.near)) {
        best = { path: candidate, shared, near };
      }
    }
    return best?.path;
  }
}

function* parentsOfSeveral(folders: readonly string[]): Generator<string> {
  const once = new Set<string>();
  for (const folder of new Set(folders)) {
    if (folder === "") continue;
    if (once.has(folderOf(folder))) yield folderOf(folder);
    once.add(folderOf(folder));
  }
}

/** Letters composed, `.MD` as `.md` and `skill.md` as `SKILL.md`, as packages have them; a name that would then stand for two files stays. */
function withPlainNames(files: SourceFiles): SourceFiles {
  const plain = new Map<string, string>();
  for (const [path, text] of files) {
    const name = plainName(path, text);
    plain.set(files.has(name) || plain.has(name) ? path : name, text);
  }
  return plain;
}

/** A prompt of a coding tool that is called `skill`. */
const OF_TOOLS = /(?:^|\/)(?:commands?|agents?|rules|prompts|chatmodes|steering|droids|docs)\/[^/]*$/i;

/** The name by which a tree has a file, whatever its spelling. Skills in small letters are read by some tools: those with a skill's head are meant. */
function plainName(path: string, text: string): string {
  const name = path.normalize("NFC").replace(/\.md$/i, ".md");
  if (nameOf(name) !== "skill.md" || OF_TOOLS.test(name)) return name;
  const head = /^\ufeff?---[ \t]*\r?\n(.{0,8000}?)\r?\n---/s.exec(text)?.[1] ?? "";
  const isSkill = /^name:/m.test(head) && /^description:/m.test(head);
  return isSkill ? name.replace(/skill\.md$/, "SKILL.md") : name;
}

function spellingOf(path: string): string {
  return path.normalize("NFC").toLowerCase();
}

function sharedEnd(one: readonly string[], other: readonly string[]): number {
  let count = 0;
  while (count < one.length && count < other.length && one.at(-1 - count) === other.at(-1 - count))
    count += 1;
  return count;
}

function sharedStart(one: readonly string[], other: readonly string[]): number {
  let count = 0;
  while (count < one.length && one[count] === other[count]) count += 1;
  return count;
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Whether a name is one that a workflow begins with. */
export function isEntryName(name: string): boolean {
  return name === "SKILL.md" || /^workflow(?:-[\w-]{1,80})?\.(?:md|ya?ml)$/.test(name);
}

/** The folder that a path lies in; empty for the root. */
export function folderOf(path: string): string {
  return path.slice(0, Math.max(path.lastIndexOf("/"), 0));
}

/** The `workflow.md` in the folder of a document, such as a `SKILL.md`. */
export function workflowBeside(path: string): string {
  const folder = folderOf(path);
  return folder === "" ? "workflow.md" : `${folder}/workflow.md`;
}

/** A path relative to a folder, its dot segments removed. Fault: `E_SANDBOX_VIOLATION` for one that leaves the tree. */
export function joinPath(folder: string, path: string): Result<string> {
  const names = folder === "" ? [] : folder.split("/");
  for (const name of path.split("/")) {
    if (name === "" || name === ".") continue;
    if (name !== "..") names.push(name);
    else if (names.pop() === undefined)
      return fail("E_SANDBOX_VIOLATION", "leaves the directory that is imported");
  }
  return ok(names.join("/"));
}
