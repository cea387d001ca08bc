import { joinPath, folderOf, isEntryName, nameOf, type SourceTree } from "./source-tree.js";

/** Something in a line that looks like a path or a variable, and where it stands. */
export interface Token {
  readonly text: string;
  readonly at: number;
}

/** One class of characters, so that a line is walked once. */
const TOKEN_CHARACTERS = String.raw`[\w{}@./*:~\\%-]+`;
const TOKEN = new RegExp(TOKEN_CHARACTERS, "g");
const ONE_TOKEN = new RegExp(`^${TOKEN_CHARACTERS}$`);
/** A path with blanks or letters of any alphabet counts where it is set apart: as code, in quotes, as a link's target. */
const SET_APART = /[`"'(<]([^`"'()<>[\]|*\n]{1,400}\.md)(?=[`"')>\s])/giu;
const MAX_TOKENS = 200;
/** `step-XX-name`, `step-N`, `step-0X-c-`, `step-##`: how steps are called, and none of them. `step-n-01` is one of a mode. */
const PLACEHOLDER = /(?:^|\/)step[-_](?:\d?(?:x{1,3}|n{1,3})|#{1,3})(?![a-z\d]|-\d)|-$/i;
const FILE_NAME = /\.(?:md|xml|csv|ya?ml|json|toml|txt|py|mjs|js|sh|html)$/i;

/** The paths, folders and variables in a line, without the punctuation around them. */
export function tokensOf(line: string): readonly Token[] {
  const tokens: Token[] = line.includes(".md") ? [...setApart(line)] : [];
  const spans = tokens.map(({ at, text }) => ({ from: at, to: at + text.length }));
  for (const match of line.matchAll(TOKEN)) {
    if (tokens.length === MAX_TOKENS) break;
    const lead = leadOf(match[0]);
    const bare = withoutEmphasis(match[0].slice(lead).replace(/(?<![.:])[.:]{1,4}$/, ""));
    const at = match.index + lead + bare.at;
    const { text } = bare;
    if (isPathLike(text) && !spans.some(({ from, to }) => at >= from && at < to)) tokens.push({ text, at });
  }
  return spans.length === 0 ? tokens : tokens.sort((one, other) => one.at - other.at);
}

/** With a blank in it, only what begins like a path is one. */
function* setApart(line: string): Generator<Token> {
  for (const match of line.matchAll(SET_APART)) {
    const [, whole = ""] = match;
    const text = whole.replace(/^\$(?=\{)/, ""); // the mark of a variable is none of a path
    const isPath = /\s/.test(text) ? /^(?:\.{1,2}|\{[\w-]{1,80}\})[\\/]\S/.test(text) : !text.includes("//");
    if (!ONE_TOKEN.test(text) && isPath) yield { text, at: match.index + 1 + whole.length - text.length };
  }
}

/** `[[snapshot:step.md]]` and `File:step.md` name what stands behind the colon. */
function leadOf(word: string): number {
  const colon = word.lastIndexOf(":");
  return colon === -1 || colon === word.length - 1 || word.startsWith("//", colon + 1) ? 0 : colon + 1;
}

/** `**x.md**`, `*x.md*` and `__x.md__`, or one side of what is set in bold. `*` in a pattern stays, and `_` in a name. */
const EMPHASIS = /^(\*{1,3}|_{1,3}|)(.*?)(\*{1,3}|_{1,3}|)$/s;

function withoutEmphasis(word: string): { readonly text: string; readonly at: number } {
  const [, left = "", text = "", right = ""] = EMPHASIS.exec(word) ?? [];
  const isPair = left === right && left !== "";
  const isHalf = (left === "" ? right : right === "" ? left : "").startsWith("**");
  const isPath = /^(?:[\w{@]|\.{1,2}\/)/.test(text) && /[\w}]$/.test(text);
  return (isPair || isHalf) && isPath ? { text, at: left.length } : { text: word, at: 0 };
}

function isPathLike(text: string): boolean {
  if (text.length > 400 || text.includes("//")) return false;
  return FILE_NAME.test(text) || /^\{[\w-]{1,80}\}$/.test(text) || (text.includes("/") && /[\w}]/.test(text));
}

/** `../leaves/`, `../leaves/**`, `{skill-root}/leaves/*.md`: behind a folder's name, what of it is meant. A bare `src/*.ts` may be the project's. */
const PATTERN = /\/(?:\*{1,2}(?:\/\*{1,2})?(?:\.\w{1,8})?)?$/;

/** A token that names a folder, and which of its files: `/`, `/**`. Undefined where it names none. */
export function folderIn(token: string): { readonly folder: string; readonly pattern: string } | undefined {
  const [pattern = ""] = PATTERN.exec(token) ?? [];
  if (pattern === "" || (pattern !== "/" && !/^(?:\{|\.{1,2}\/)/.test(token))) return undefined;
  return { folder: `${token.slice(0, -pattern.length)}/`, pattern };
}

/** Whether a name says how steps are called: no file is missing there. */
export function isPlaceholder(name: string): boolean {
  return PLACEHOLDER.test(name);
}

/** What a token stands for. */
export type Target =
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "folder"; readonly path: string }
  /** A file of the workflow that is not there; its own where the text says that it lies in its folder. */
  | { readonly kind: "missing"; readonly path: string; readonly isOwn?: true }
  | { readonly kind: "outside"; readonly path: string }
  /** A place of the project, or something that only the run knows. */
  | { readonly kind: "other" };

const OTHER: Target = { kind: "other" };

/** The names under which a workflow knows the folder it lies in. */
export const OWN_FOLDER: ReadonlySet<string> = new Set([
  "installed_path",
  "workflow_path",
  "skill-root",
  "skill_root",
  "bundle-root",
  "workflow-root",
  "CLAUDE_SKILL_DIR",
  "baseDir",
]);
/** The folder of the plugin that a skill lies in: some folder above it. */
const PLUGIN_ROOT = "CLAUDE_PLUGIN_ROOT";
const MAX_LEVELS_UP = 4;
/** The names of the project's folder. */
export const PROJECT_ROOT: ReadonlySet<string> = new Set(["project-root", "project_root"]);
const OF_SKILL_AT_HOME =
  /^@?~\/\.[\w-]{1,40}\/skills\/([\w.-]{1,80})\/((?:[\w.-]{1,80}\/){0,8}[\w.-]{1,80})$/;
/** In the folder of a tool in somebody's home. */
const AT_HOME = /^@?~\/\.[\w-]{1,40}\/((?:[\w.-]{1,80}\/){1,8}[\w.-]{1,80}\.md)$/;
/** `steps/x`, `tea/steps-c/x` */
const OF_STEPS = /(?:^|\/)(?:steps?|\w+-steps|steps-\w+)\//;
const INSTALLED = /^(?:_bmad|\.bmad|bmad|\{bmad_folder\}|\{_bmad\})\//;

/** Where references of one file lead. */
export class References {
  private readonly tree: SourceTree;
  private readonly entryFolder: string;
  private readonly file: string;
  private readonly variables: ReadonlyMap<string, string>;

  /** `variables` are the texts of the file's own front matter, then those of its workflow. */
  constructor(tree: SourceTree, entryFolder: string, file: string, variables: ReadonlyMap<string, string>) {
    this.tree = tree;
    this.entryFolder = entryFolder;
    this.file = file;
    this.variables = variables;
  }

  resolve(token: string): Target {
    const text = this.expand(
      plainPath(token).replace(/^@(?!(?:project|pkg|state)(?:\/|$))(?=[\w.][^@]*\.md$)/, ""),
    );
    const [, variable = "", rest = ""] = /^\{([\w-]{1,80})\}\/?(.*)$/s.exec(text) ?? [];
    if (OWN_FOLDER.has(variable)) return this.inOwnFolder(rest);
    if (PROJECT_ROOT.has(variable)) return this.installed(rest);
    if (INSTALLED.test(text)) return this.installed(text);
    const path = this.inNamedFolder(variable, rest) ?? this.inSkillsFolder(text) ?? this.inRepository(text);
    if (path !== undefined) return { kind: "file", path };
    const folder = variable === PLUGIN_ROOT && rest.endsWith("/") ? this.folderInPlugin(rest) : undefined;
    if (folder !== undefined) return { kind: "folder", path: folder };
    if (/[{}*<>@~\\]|^\//.test(text)) return OTHER;
    return this.inTree([folderOf(this.file), this.entryFolder], text);
  }

  /** `~/.claude/skills/tea/pots.md`, wherever the skill `tea` is installed: its file, where that is there, of this skill or another one. */
  private inSkillsFolder(text: string): string | undefined {
    const own = `skills/${nameOf(this.entryFolder)}/`;
    const at = this.entryFolder === "" ? -1 : `/${text}`.lastIndexOf(`/${own}`);
    const path = `${this.entryFolder}/${text.slice(at + own.length)}`;
    if (at !== -1 && nameOf(path) !== "SKILL.md" && this.tree.has(path)) return path;
    const [, skill = "", rest = ""] = OF_SKILL_AT_HOME.exec(text) ?? [];
    return skill === "" ? undefined : this.inSkill(skill, rest);
  }

  /** A file of another skill that is at hand, the one in the nearest folder of that name; what begins it is called, and not read so. */
  private inSkill(skill: string, rest: string): string | undefined {
    if (isEntryName(nameOf(rest))) return undefined;
    const path = this.tree.endingLike(`${skill}/${rest}`, this.file) ?? "";
    const isThere = `/${path}`.endsWith(`/${skill}/${rest}`);
    const begin = `${path.slice(0, -rest.length)}SKILL.md`;
    return isThere && this.tree.has(begin) ? path : undefined;
  }

  /** `cup/references/rim.md`, from where all skills lie. Another one's steps are its own. */
  private inOtherSkill(text: string): string | undefined {
    const [, skill = "", rest = ""] =
      /^([\w-]{1,80})\/((?:[\w.-]{1,80}\/){1,8}[\w.-]{1,80})$/.exec(text) ?? [];
    return skill === "" || OF_STEPS.test(rest) ? undefined : this.inSkill(skill, rest);
  }

  /** `{SKILL_DIR}/x`, `{skillsRoot}/tea/x`: what many call a skill's own folder, and that of all skills. A file that is there is meant. */
  private inNamedFolder(variable: string, rest: string): string | undefined {
    if (variable === PLUGIN_ROOT) return this.inPlugin(rest);
    const name = variable.replaceAll(/[-_]/g, "").toLowerCase();
    if (/^skills(?:dir|root|folder)$/.test(name)) {
      const [skill = "", ...names] = rest.split("/");
      return this.inSkill(skill, names.join("/"));
    }
    if (!/^skill(?:dir|root|folder)$/.test(name) || isEntryName(nameOf(rest))) return undefined;
    const path = joinPath(this.entryFolder, rest);
    return path.ok && this.tree.has(path.value) ? path.value : undefined;
  }

  /** `~/.claude/kit/brew.md`: where a repository that is installed so has that file, the one with the whole path. */
  private inRepository(text: string): string | undefined {
    const [, rest = ""] = AT_HOME.exec(text) ?? [];
    if (rest === "" || nameOf(rest) === "SKILL.md") return undefined;
    const path = this.tree.endingLike(rest, this.file);
    return `/${path}`.endsWith(`/${rest}`) ? path : undefined;
  }

  private inPlugin(rest: string): string | undefined {
    return this.above(rest, (path) => this.tree.has(path));
  }

  private folderInPlugin(rest: string): string | undefined {
    return this.above(rest.replace(/\/+$/, ""), (path) => this.tree.hasFolder(path));
  }

  /** The path in the nearest folder above the workflow that has it. */
  private above(rest: string, isThere: (path: string) => boolean): string | undefined {
    let folder = this.entryFolder;
    for (let level = 0; level < MAX_LEVELS_UP && folder !== ""; level += 1) {
      folder = folderOf(folder);
      const path = folder === "" ? rest : `${folder}/${rest}`;
      if (isThere(path)) return path;
    }
    return undefined;
  }

  /** Replaces variables of the front matter that stand at the beginning, again and again. */
  private expand(token: string): string {
    let text = token;
    for (let round = 0; round < 5; round += 1) {
      const [whole = "", name = ""] = /^\{\{?([\w-]{1,80})\}?\}/.exec(text) ?? [];
      const value = this.variables.get(name);
      if (value === undefined || value.length > 400 || /\s/.test(value)) return text;
      text = value + text.slice(whole.length);
    }
    return text;
  }

  /** A path that says it is the workflow's own: a file that is not there is missing, whatever it is. */
  private inOwnFolder(rest: string): Target {
    if (/[{}*<>@~\\]/.test(rest)) return OTHER; // a name that is filled in later
    const target = this.inTree([this.entryFolder], rest);
    if (target.kind !== "other" || !FILE_NAME.test(rest)) return target;
    const joined = joinPath(this.entryFolder, rest);
    return joined.ok ? { kind: "missing", path: joined.value, isOwn: true } : target;
  }

  private installed(rest: string): Target {
    const inModule = rest.replace(INSTALLED, "");
    const inOther = inModule === rest ? this.inEntryFolder(rest.replace(/^[^/]+\//, ""), 2) : undefined;
    if (inOther !== undefined && this.tree.has(inOther)) return { kind: "file", path: inOther }; // `{tea_folder}/…`: whatever it was installed as
    if (/[{}*]/.test(inModule) || !FILE_NAME.test(inModule)) return OTHER;
    const path = this.tree.endingLike(inModule, this.file);
    const isInstalled = inModule !== rest;
    const own = this.inEntryFolder(inModule);
    const isElsewhere =
      path !== undefined && !isBelow(path, this.entryFolder) && !`/${path}`.endsWith(`/${inModule}`);
    if (own !== undefined && isElsewhere) return { kind: "missing", path: own }; // another workflow has one that is called alike
    if (path !== undefined && (isInstalled || isBelow(path, this.entryFolder))) return { kind: "file", path };
    if (!isInstalled) return OTHER;
    return /(?:^|\/)(?:steps?(?:-\w+)?|\w+-steps)\/[^/]+$/.test(inModule)
      ? { kind: "missing", path: inModule }
      : OTHER;
  }

  /**
   * The path in this tree of what lies, by its path from where modules are installed, in the workflow's own folder: so many folders at
   * least are the same. A project may have a `docs/tea` of its own.
   */
  private inEntryFolder(installed: string, least = 1): string | undefined {
    const parts = installed.split("/");
    const most = Math.min(parts.length - 1, this.entryFolder.split("/").length);
    for (let count = most; count >= least; count -= 1) {
      const folder = parts.slice(0, count).join("/");
      if (`/${this.entryFolder}`.endsWith(`/${folder}`))
        return `${this.entryFolder}/${parts.slice(count).join("/")}`;
    }
    return undefined;
  }

  private inTree(folders: readonly string[], rest: string): Target {
    const isRelative = /^\.{1,2}\//.test(rest);
    let first: string | undefined;
    for (const folder of folders) {
      const joined = joinPath(folder, rest);
      if (!joined.ok) return { kind: "outside", path: rest };
      first ??= joined.value;
      if (this.tree.has(joined.value)) return { kind: "file", path: joined.value };
      if (rest === "" || FILE_NAME.test(rest)) continue;
      if (this.tree.hasFolder(joined.value)) return { kind: "folder", path: joined.value };
      const page = `${joined.value}.md`;
      if (!rest.endsWith("/") && this.tree.has(page)) return { kind: "file", path: page };
    }
    const path = first ?? rest;
    const meant =
      this.tree.spelledLike(path) ??
      this.inSkillAbove(rest) ??
      this.inOtherSkill(rest) ??
      this.besideSkills(rest) ??
      this.belowOwnFolder(rest);
    if (meant !== undefined) return { kind: "file", path: meant };
    if (!path.endsWith(".md") || isPlaceholder(rest)) return OTHER;
    const nearby = this.tree.named(nameOf(path)).filter((known) => isBelow(known, this.entryFolder));
    if (/^(?:\.\/)?step-[^/]+$/.test(rest) && nearby.length === 1)
      return { kind: "file", path: nearby[0] ?? path };
    return isRelative || /(?:^|\/)step-?\d/.test(path) ? { kind: "missing", path } : OTHER;
  }

  /** `references/cups.md` of a workflow that is one of a skill's: a path from the skill's own folder. */
  private inSkillAbove(rest: string): string | undefined {
    if (!/^[\w-]/.test(rest) || !rest.includes("/") || isEntryName(nameOf(rest))) return undefined;
    let folder = folderOf(this.entryFolder);
    for (let level = 0; level < MAX_LEVELS_UP && folder !== ""; level += 1, folder = folderOf(folder))
      if (this.tree.has(`${folder}/SKILL.md`))
        return this.tree.has(`${folder}/${rest}`) ? `${folder}/${rest}` : undefined;
    return undefined;
  }

  /**
   * `shared/cups.md`, `knowledge/tea.md`, `skills/shared/cups.md`: what several skills have in common lies in the folder that they lie in,
   * and is named from there or from further up. Another skill's steps are its own.
   */
  private besideSkills(rest: string): string | undefined {
    if (!/^(?!\.{1,2}\/).{1,80}\//.test(rest) || isEntryName(nameOf(rest)) || OF_STEPS.test(rest))
      return undefined;
    for (let folder = this.entryFolder; folder !== "";) {
      folder = folderOf(folder);
      const path = folder === "" ? rest : `${folder}/${rest}`;
      if (this.tree.has(path) && this.tree.liesBesideSkills(path)) return path;
    }
    return undefined;
  }

  /** `../../data/pots.md` in a step, with one `../` too many: people move steps into folders, and not the paths in them. */
  private belowOwnFolder(rest: string): string | undefined {
    const [, below = ""] = /^(?:\.\.\/){1,8}((?:[^/]+\/)+[^/]+)$/.exec(rest) ?? [];
    const path = this.entryFolder === "" ? below : `${this.entryFolder}/${below}`;
    return below !== "" && this.tree.has(path) ? path : undefined;
  }
}

/** A path as it is meant, however it is spelled: without marks around it, with `/` between names, `%20` as a blank. */
function plainPath(token: string): string {
  const bare = token.trim().replace(/^[`"'<]{1,2}|[`"'>]{1,2}$/g, "");
  const path = bare.replaceAll(/\\([_*#`])/g, "$1").replaceAll("\\", "/");
  return /%[0-9a-f]{2}/i.test(path) ? decoded(path) : path;
}

function decoded(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}

export function isBelow(path: string, folder: string): boolean {
  return folder === "" || path.startsWith(`${folder}/`);
}
