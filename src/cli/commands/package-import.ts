import { readdir, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { type Entry, type EntryForm, findEntries, leadsToWorkflow } from "../../core/import/ways/entries.js";
import { UNREAD_ENTRY, unreadEntries, unreadPaths } from "../../core/import/source/left-out.js";
import { type Imported, importPackage } from "../../core/import/import-package.js";
import { isBelow } from "../../core/import/source/references.js";
import { workflowBeside } from "../../core/import/source/source-tree.js";
import { type Finding, isError } from "../../core/package/findings.js";
import { requireSystemCode } from "../../core/system-code.js";
import { counted, excerpt, listSome, shellWord } from "../../core/text.js";
import { makeFolders } from "../../store/disk/make-folders.js";
import {
  MORE_BELOW,
  type ReadSource,
  isPackage,
  pathInTree,
  readSource,
  sourceRootOf,
} from "../../tools/import/read-source.js";
import { ALONE, REWRITE, otherForm } from "../../tools/import/other-forms.js";
import { writePackage } from "../../tools/import/write-package.js";
import { openEnvironment } from "../session/environment.js";
import { CommandError, EXIT, type ExitCode, UsageError, print, printJson } from "../terminal/output.js";
import { defined } from "../../core/defined.js";

interface ImportOptions {
  readonly out?: string;
  readonly workflow?: string;
  readonly all?: boolean;
  readonly install?: boolean;
  readonly json?: boolean;
}

/** `interlock package import`: makes a graph package of a workflow that is made of step files, or of a skill. */
export async function packageImportCommand(source: string, options: ImportOptions): Promise<ExitCode> {
  if (options.all === true && options.workflow !== undefined) {
    throw new UsageError("Say either --workflow or --all.");
  }
  const read = await readEntries(source);
  const chosen = choose(read, source, options);
  const out = resolve(options.out ?? (options.all === true ? "imported" : ""));
  const made: Made[] = [];
  const taken = new Set<string>();
  for (const entry of chosen) {
    const imported = importPackage(read.source.tree, entry);
    const name = freeName(imported.name, taken);
    const place = options.all === true || options.out === undefined ? join(out, name) : out;
    made.push(await makeOne(imported, place, options));
  }
  const { complete } = read.source;
  const bound = complete ? {} : { complete };
  const unread = options.all === true ? read.unread : [];
  const ok = made.every(isMade) && unread.length === 0;
  const others = options.all === true ? read.entries.filter(({ form }) => !isImportable(form)) : [];
  const left = {
    ...(unread.length === 0 ? {} : { unread }),
    ...(others.length === 0 ? {} : { notImported: others.map(({ path, form }) => ({ path, form })) }),
  };
  if (options.json === true) printJson({ ok, packages: made.map(toJson), ...left, ...bound });
  else {
    for (const one of made) printMade(one, options);
    for (const path of unread) print(`  error    ${path}  ${UNREAD_ENTRY}`);
    for (const { path, form } of others)
      print(`  left     ${path}  ${form === "yaml" ? RUNS_AS_IT_IS : IS_PERSONA}`);
  }
  if (!complete && options.json !== true) print(MORE_BELOW);
  if (options.all === true && options.json !== true) {
    const well = made.filter(isMade).length;
    print(
      `${well} of ${counted(made.length, "workflow")} ${well === 1 ? "was" : "were"} imported into ${out}.`,
    );
  }
  return ok ? EXIT.done : EXIT.failed;
}

const RUNS_AS_IT_IS = "a workflow.yaml is not imported: interlock bundle run runs it as it is";
const IS_PERSONA = "a persona, which has no workflow of its own: those of its menu are imported";

function isImportable(form: EntryForm): boolean {
  return form === "steps" || form === "instructions";
}

interface ReadEntries {
  readonly source: ReadSource;
  /** Those at or below the path that was named. */
  readonly entries: readonly Entry[];
  /** Files there with which a workflow begins, and directories, that could not be read. */
  readonly unread: readonly string[];
  /** Files there that would be one under another name, or if they could be read. */
  readonly near: readonly string[];
  /** Files there that are called as one is, and are taken for something else. */
  readonly passed: readonly string[];
  /** What is there instead, where none is. */
  readonly other?: string;
}

async function readEntries(named: string): Promise<ReadEntries> {
  const path = await realpath(resolve(named)).catch(() => spelledLike(resolve(named)));
  const entry = path === undefined ? undefined : await stat(path);
  if (path === undefined || entry === undefined) {
    const what = ADDRESS.test(named)
      ? "is no directory here: clone it first, and name its directory"
      : "does not exist";
    throw new UsageError(`"${excerpt(named)}" ${what}.`);
  }
  if (!entry.isDirectory() && !entry.isFile())
    throw new UsageError(`"${named}" is neither a directory nor a file.`);
  const folder = entry.isDirectory() ? path : dirname(path);
  const isArchive = entry.isFile() && /\.bmad$/i.test(path);
  if (isArchive || isPackage(await readdir(folder).catch(() => []))) {
    const runs = shellWord(isArchive ? path : folder);
    throw new CommandError(`"${named}" is a package already. It runs: interlock run ${runs}`);
  }
  const source = await readSource(await sourceRootOf(folder), folder);
  const given = pathInTree(source, path);
  const isOtherwise = entry.isFile() && !source.tree.has(given);
  const within = (isOtherwise ? source.tree.spelledLike(given) : undefined) ?? given;
  const all = findEntries(source.tree, basename(source.root));
  const entries = entry.isDirectory()
    ? all.filter((found) => isBelow(found.path, within))
    : all.filter(
        (found) =>
          [found.path, found.document].includes(within) ||
          (within === workflowBeside(found.path) && leadsToWorkflow(source.tree, found.path)),
      );
  const isWithin = (found: string): boolean => found === within || isBelow(found, within);
  const isNear = (found: string): boolean =>
    isWithin(found) && /(?:^|\/)(?:skill|workflow)\.md$/i.test(found);
  const isCalledSo = (found: string): boolean => /(?:^|\/)(?:SKILL|workflow)\.md$/.test(found);
  const alike = source.tree.paths.filter(isNear);
  const near = [...unreadPaths(source.tree).filter(isNear), ...alike.filter((found) => !isCalledSo(found))];
  const passed = alike.filter(isCalledSo);
  const unread = [...unreadEntries(source.tree), ...source.closed].filter(isWithin);
  const other =
    entries.length === 0
      ? await otherForm(path, source)
      : entries.every((found) => isFlowOfOthers(found, source))
        ? REWRITE
        : undefined;
  return { source, entries, unread, near, passed, ...defined({ other }) };
}

/** The one file of a folder that is called so but for capitals: a tree, and what is said of it, has `skill.md` as `SKILL.md`. */
async function spelledLike(path: string): Promise<string | undefined> {
  const names = await readdir(dirname(path)).catch(() => []);
  const [only, ...others] = names.filter((name) => name.toLowerCase() === basename(path).toLowerCase());
  if (only === undefined || others.length > 0) return undefined;
  return realpath(join(dirname(path), only)).catch(() => undefined);
}

/** A `workflow.yaml` that names no instructions is none of BMAD's. */
function isFlowOfOthers({ form, path }: Entry, { tree }: ReadSource): boolean {
  return form === "yaml" && !/^[ \t]{0,8}instructions[ \t]{0,4}:/m.test(tree.text(path));
}

/** What git clones. */
const ADDRESS = /^(?:(?:https?|ssh|git):\/\/|git@|github:)/;

function choose(
  read: Omit<ReadEntries, "source" | "unread">,
  source: string,
  options: ImportOptions,
): readonly Entry[] {
  const importable = read.entries.filter(({ form }) => isImportable(form));
  const { workflow } = options;
  if (workflow !== undefined) {
    const found = importable.filter(
      ({ name, path }) => name === workflow || `/${path}`.endsWith(`/${workflow}`),
    );
    if (found.length === 1) return found;
    const there = listSome(importable.map(({ name }) => name));
    throw new UsageError(
      found.length === 0
        ? `There is no workflow "${workflow}" to import (there are: ${there}).`
        : `Several workflows are called "${workflow}". Name one by its path: ${listSome(found.map(({ path }) => path))}`,
    );
  }
  if (importable.length === 0)
    throw new CommandError(`${nothingToImport(read, source)} ${read.other ?? ""}`.trim());
  if (importable.length === 1 || options.all === true) return importable;
  const steps = importable.filter(({ form }) => form === "steps");
  if (steps.length === 1 && importable.length < 3) return steps;
  throw new UsageError(
    `There are ${importable.length} workflows. Choose one with --workflow, or import them with --all: ${listSome(importable.map(({ path }) => path))}`,
  );
}

function nothingToImport(
  { entries, near, passed, other = "" }: Omit<ReadEntries, "source" | "unread">,
  source: string,
): string {
  const isYaml = entries.some(({ form }) => form === "yaml");
  if (isYaml && other !== "")
    return `There are only workflow.yaml files in "${source}", and none names instructions, as BMAD's do.`;
  if (isYaml) {
    return `There are only workflow.yaml files in "${source}". BMAD's run as they are: interlock bundle run <workflow.yaml>. Which these are: interlock bundle list ${shellWord(source)}`;
  }
  if (entries.length > 0) return `There are only agents in "${source}", which have no workflow of their own.`;
  const like =
    near.length === 0
      ? ""
      : ` ${listSome(near)} is like one: its name has to be spelled so, and its text UTF-8 of at most 1 MiB.`;
  const what =
    passed.length === 0
      ? "no SKILL.md, workflow.md or workflow-….md was found."
      : `${listSome(passed)} counts as a template, material or a tool's prompt, by where it lies or what its head says.`;
  const remedy = passed.length === 0 || other.includes(ALONE) ? "" : ` To import it, ${ALONE}.`;
  return `No workflow begins in "${source}": ${what}${remedy}${like}`;
}

function freeName(name: string, taken: Set<string>): string {
  let free = name;
  for (let count = 2; taken.has(free); count += 1) free = `${name}-${count}`;
  taken.add(free);
  return free;
}

interface Made {
  readonly imported: Imported;
  readonly out: string;
  /** What `package check` says of it. */
  readonly check: readonly Finding[];
  /** Why there is no package. */
  readonly problem?: string;
  readonly packageId?: string;
}

function isMade(made: Made): boolean {
  return made.problem === undefined;
}

async function makeOne(imported: Imported, out: string, options: ImportOptions): Promise<Made> {
  if (imported.files.size === 0)
    return { imported, out, check: [], problem: "The source has errors: mend them first." };
  if (options.all === true) {
    try {
      await makeFolders(dirname(out));
    } catch (error) {
      const problem = `"${dirname(out)}" cannot be made (${requireSystemCode(error)}).`;
      return { imported, out, check: [], problem };
    }
  }
  const written = await writePackage(imported.files, out);
  if (!written.ok) return { imported, out, check: [], problem: `"${out}" ${written.error.message}` };
  const check = written.value;
  if (check.some(isError)) return { imported, out, check, problem: "What was made is no valid package." };
  if (options.install !== true) return { imported, out, check };
  const { store } = await openEnvironment();
  const installed = await store.packages.install(out);
  if (!installed.ok) return { imported, out, check, problem: installed.error.message };
  return { imported, out, check, packageId: installed.value.packageId };
}

function toJson({ imported, out, check, problem, packageId }: Made): object {
  const { entry, name, nodes, edges, findings, needs, calls, configFiles, wholeRunConversation } = imported;
  return {
    ok: problem === undefined,
    name,
    source: entry.path,
    form: entry.form,
    out: problem === undefined ? out : null,
    ...defined({ packageId, problem }),
    nodes,
    edges,
    findings,
    check,
    needs,
    calls: calls.map((call) => ({ name: call.name, atHand: call.folder !== undefined })),
    configFiles,
    wholeRunConversation,
  };
}

function printMade({ imported, out, check, problem, packageId }: Made, options: ImportOptions): void {
  const { entry, nodes, edges, findings, needs, calls } = imported;
  const ends = nodes.filter(({ type }) => type === "end").length;
  const drawn = [counted(nodes.length, "node"), counted(edges.length, "edge"), counted(ends, "end")].join(
    ", ",
  );
  print(`${imported.name}  ${entry.path}  ${drawn}`);
  for (const { severity, file, line, message } of findings) {
    print(`  ${severity.padEnd(7)}  ${line === 0 ? file : `${file}:${line}`}  ${message}`);
  }
  for (const { severity, file, path, message } of check)
    print(`  ${severity.padEnd(7)}  ${file}  ${path}  ${message}`);
  for (const need of needs) {
    print(`  needs    ${need.name}, which no tool covers: ${need.instead} (${need.places.join(", ")})`);
  }
  const skills = calls.filter(({ folder }) => folder !== undefined).map(({ name }) => name);
  if (skills.length > 0) print(`  skills   taken along: ${listSome(skills)}`);
  if (problem !== undefined) return print(`  ${problem}`);
  if (options.all === true) return;
  if (packageId !== undefined) print(packageId);
  print(
    `Made ${out}. Walk it without a model: interlock run ${shellWord(packageId ?? out)} --project <dir> --rehearse`,
  );
}
