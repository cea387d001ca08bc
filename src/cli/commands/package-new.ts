import { basename, resolve } from "node:path";
import { newPackage } from "../../core/package/new-package.js";
import {
  type WantedPackage,
  idsFrom,
  nameLike,
  nameProblem,
  wantedProblem,
} from "../../core/package/wanted-package.js";
import type { Fault } from "../../core/errors.js";
import { excerpt, shellWord } from "../../core/text.js";
import { canBeWritten, writePackage } from "../../tools/import/write-package.js";
import { type Ask, openPrompt } from "../terminal/questions.js";
import { CommandError, EXIT, type ExitCode, UsageError, print, printJson } from "../terminal/output.js";
import { printFindings } from "./package.js";

interface NewOptions {
  readonly name?: string;
  readonly steps?: string;
  readonly branch?: string;
  readonly gate?: boolean;
  readonly agents?: string;
  readonly json?: boolean;
}

/** `interlock package new`: a package to begin with, which is valid and can be rehearsed as it is. */
export async function packageNewCommand(dir: string, options: NewOptions): Promise<ExitCode> {
  if (dir.trim() === "") throw new UsageError("Name the directory that is to be made.");
  const out = resolve(dir);
  const place = await canBeWritten(out);
  if (!place.ok) throw refused(dir, place.error);
  const wanted = await wantedFrom(basename(out), options);
  const problem = wantedProblem(wanted);
  if (problem !== undefined) throw new UsageError(problem);
  const files = newPackage(wanted);
  const written = await writePackage(files, out);
  if (!written.ok) throw refused(dir, written.error);
  if (options.json === true) {
    printJson({ ok: true, name: wanted.name, out, files: [...files.keys()] });
    return EXIT.done;
  }
  printFindings(written.value);
  for (const path of files.keys()) print(`  ${path}`);
  print(`Made ${out}. Where a file says "Say here", it waits for your words.`);
  const binding = wanted.gate ? " --story story-1 --conditions" : "";
  print(`Walk it without a model: interlock run ${shellWord(dir)} --project <dir> --rehearse${binding}`);
  return EXIT.done;
}

function refused(dir: string, { message }: Fault): CommandError {
  return new CommandError(`"${excerpt(dir)}" ${message}`);
}

/** What the options say; without any, what somebody at a terminal answers. */
async function wantedFrom(name: string, options: NewOptions): Promise<WantedPackage> {
  const { json: _json, ...said } = options;
  const questions = Object.keys(said).length > 0 || options.json === true ? undefined : openPrompt();
  if (questions === undefined) {
    const branch = options.branch === undefined ? [] : idsFrom(options.branch, "way");
    if (options.branch !== undefined && branch.length === 0)
      throw new UsageError("--branch names none: name two ways or more, or leave it out.");
    return {
      name: options.name ?? name,
      steps: idsFrom(options.steps ?? "draft", "step"),
      branch,
      gate: options.gate === true,
      agents: idsFrom(options.agents ?? "author", "agent"),
    };
  }
  try {
    return await askForPackage(name, questions.ask);
  } finally {
    questions.close();
  }
}

/** An empty answer takes what is offered; a name that cannot be one ends the questions. */
export async function askForPackage(directory: string, ask: Ask): Promise<WantedPackage> {
  const name = await ask("What is the package called?", nameLike(directory));
  const problem = nameProblem(name);
  if (problem !== undefined) throw new UsageError(problem);
  return {
    name,
    steps: idsFrom(await ask("Which steps has it, in their order? Or how many?", "draft"), "step"),
    branch: idsFrom(
      await ask("Between which further steps does a decision choose? Nothing for no branch.", ""),
      "way",
    ),
    gate: /^y(es)?$/i.test(await ask("Is there a QA gate before the end?", "no")),
    agents: idsFrom(await ask("Which agents work on it? The last one decides and ends.", "author"), "agent"),
  };
}
