import { type Stats, accessSync, constants, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { OtherServer } from "./stage.js";

/** The command line asks for something that there is not; its message says what. */
export class WrongUsage extends Error {}

/** The kernel's own limit. */
const MOST_PIDS = 4_194_304;

/**
 * What a program of the bench is asked for. With `--help` it ends with 0 and says how it is called; where `read` throws `WrongUsage`,
 * or `parseArgs` refuses, with 2 and says what is wrong as well.
 */
export function commandLine<T>(usage: string, read: (argv: readonly string[]) => T): T {
  const argv = process.argv.slice(2);
  const said = `${usage.trim()}\n`;
  if (argv.includes("--help")) {
    process.stdout.write(said);
    process.exit(0);
  }
  try {
    return read(argv);
  } catch (error) {
    return refuse(usage, error);
  }
}

/** What has to be looked up before anything is started; where that throws `WrongUsage`, the program ends as in `commandLine`. */
export async function lookedUp<T>(usage: string, look: () => Promise<T>): Promise<T> {
  try {
    return await look();
  } catch (error) {
    return refuse(usage, error);
  }
}

function refuse(usage: string, error: unknown): never {
  if (!isWrongUsage(error)) throw error;
  process.stderr.write(`${error.message}\n\n${usage.trim()}\n`);
  process.exit(2);
}

function isWrongUsage(error: unknown): error is Error {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  const isOfParser = typeof code === "string" && code.startsWith("ERR_PARSE_ARGS_");
  return error instanceof WrongUsage || isOfParser;
}

/** The words of a command line, each one of those that are known. Throws `WrongUsage`. */
export function wordsAmong<W extends string>(argv: readonly string[], known: readonly W[]): readonly W[] {
  return argv.map((said) => {
    const word = known.find((each) => each === said);
    if (word === undefined) throw new WrongUsage(`There is no ${said} to measure.`);
    return word;
  });
}

/** For a program without options: what it is given beside them, no more than `most`. Throws `WrongUsage`, or what `parseArgs` does. */
export function positionals(argv: readonly string[], most = Number.POSITIVE_INFINITY): readonly string[] {
  const { positionals: given } = parseArgs({ args: [...argv], allowPositionals: true, options: {} });
  if (given.length > most) throw new WrongUsage(`There is nothing to do with ${given[most]}.`);
  return given;
}

/** `--address` and `--server-pid`. Throws `WrongUsage`. */
export function otherServer(address: string | undefined, pid: string | undefined): OtherServer | undefined {
  if (address === undefined && pid === undefined) return undefined;
  if (address === undefined || pid === undefined)
    throw new WrongUsage("--address and --server-pid go together.");
  return { address, pid: count(pid, "--server-pid", 1, MOST_PIDS) };
}

/** A directory in which files can be made. Throws `WrongUsage`. */
export function placeFor(dir: string, option: string): string {
  if (found(dir)?.isDirectory() !== true) {
    throw new WrongUsage(`${option}: there is no directory ${dir}. Make it, or name another one.`);
  }
  if (!isWritable(dir)) {
    throw new WrongUsage(`${option}: nothing can be written in ${dir}. Name another directory.`);
  }
  return dir;
}

/** What is there; of a path that leads through a file, nothing. */
function found(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** A file that can be written once all is measured, which takes minutes. Throws `WrongUsage`. */
export function fileToWrite(path: string, option: string): string {
  if (found(path)?.isDirectory() === true) {
    throw new WrongUsage(`${option}: ${path} is a directory. Name a file.`);
  }
  placeFor(dirname(resolve(path)), option);
  if (found(path) !== undefined && !isWritable(path)) {
    throw new WrongUsage(`${option}: ${path} cannot be written. Name another file.`);
  }
  return path;
}

/** A whole number that was given as an option, or as what the usage calls `<option>`. Throws `WrongUsage`. */
export function count(text: string, option: string, least = 1, most = 1_000): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isInteger(value) || value < least || value > most) {
    throw new WrongUsage(`${option} takes whole numbers from ${least} to ${most}, not "${text}".`);
  }
  return value;
}
