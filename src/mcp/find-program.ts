import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { delimiter, resolve } from "node:path";
import { notStartedWords, systemCode } from "../core/system-code.js";
import { PROJECT, namesProject } from "./project-paths.js";
import type { StdioServer } from "./server-settings.js";

/**
 * Why a server cannot be started, in a few words; undefined where nothing speaks against it. What is named by a way from
 * the project is known in a run only. `path` is the PATH of the worker.
 */
export async function missingProgram(
  { command, cwd, env }: StdioServer,
  { dir, path }: { readonly dir: string; readonly path: string },
): Promise<string | undefined> {
  if (cwd !== undefined && cwd !== PROJECT && !(await isDirectory(cwd)))
    return `its cwd ${cwd} is no directory that it can work in`;
  const isPath = command.includes("/") || process.platform === "win32";
  if (isPath) {
    if (cwd === PROJECT && resolve(command) !== command) return undefined;
    return (await isProgram(resolve(cwd ?? dir, command)))
      ? undefined
      : `${command} is no program that can be started${withoutShell(command)}`;
  }
  const directories = (env["PATH"] ?? path).split(delimiter).filter((directory) => directory !== "");
  if (directories.some(namesProject)) return undefined; // known in a run only, as above
  const found = await Promise.all(directories.map((directory) => isProgram(resolve(directory, command))));
  return found.includes(true) ? undefined : `no program ${command} is on the PATH${withoutShell(command)}`;
}

/** What somebody may have meant that a shell would do. */
function withoutShell(command: string): string {
  if (/^[~$]/.test(command)) return ": no shell reads it, so ~ and $ stand for nothing";
  return /\s/.test(command) ? ": no shell reads it, so what follows the program's name belongs in args" : "";
}

async function isProgram(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch {
    return false;
  }
}

/**
 * Why the system has not started a server that is a program, in a few words; undefined for an error of anything else. Nothing of the way to
 * the project: a model may read it.
 */
export async function whyNotStarted(
  error: unknown,
  { cwd }: StdioServer,
  { dir, projectRoot }: { readonly dir: string; readonly projectRoot: string },
): Promise<string | undefined> {
  if (!(error instanceof Error && "syscall" in error)) return undefined;
  const code = systemCode(error);
  const words = notStartedWords(code);
  if (words !== undefined) return words;
  if (cwd === PROJECT && !(await isDirectory(projectRoot)))
    return "the project's directory is none that it can work in";
  if (cwd === undefined && !(await isDirectory(dir))) return `${dir} is no directory that it can work in`;
  return code;
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isDirectory();
  } catch {
    return false;
  }
}
