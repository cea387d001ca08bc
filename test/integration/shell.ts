import { execFile } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { inject } from "vitest";
import { runInHost } from "../fakes/command-host.js";
import { type Script, ScriptedModel } from "../fakes/scripted-model.js";
import { type Bench, temporaryDirectory } from "./harness.js";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));
export const MAIN = join(ROOT, "dist/cli/main.js");

/** Longer than any command takes here that does one thing. */
const PATIENCE_MS = 90_000;
/** What a command says of a Temporal that is there and takes seconds to answer: of a busy machine, and of no command. */
const BUSY = /^Temporal does not answer at .+\. It is asked until .+\.\n/gm;

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A user's shell: a directory and an environment in which nothing is configured but the store and the cache. */
export class Shell {
  readonly dir: string;
  readonly environment: Record<string, string>;

  constructor(dir: string, environment: Record<string, string> = {}) {
    this.dir = dir;
    this.environment = {
      PATH: process.env["PATH"] ?? "",
      HOME: dir,
      INTERLOCK_STORE: join(dir, "store"),
      INTERLOCK_CACHE: inject("cacheDir"),
      ...environment,
    };
  }

  with(environment: Record<string, string>): Shell {
    return new Shell(this.dir, environment);
  }

  /**
   * Runs one command line with this text on standard input. Rejects when it does not end. Its process has run other command lines before:
   * `runAlone` is for what is about the process itself.
   */
  async run(args: readonly string[], input = "", patienceMs = PATIENCE_MS): Promise<Outcome> {
    const outcome = await runInHost(
      { args, input, environment: this.environment, dir: this.dir },
      patienceMs,
    );
    return { ...outcome, stderr: outcome.stderr.replace(BUSY, "") };
  }

  /** As `run`, one after the other. */
  async runEach(commands: Iterable<readonly string[]>): Promise<readonly Outcome[]> {
    const outcomes: Outcome[] = [];
    for (const args of commands) outcomes.push(await this.run(args));
    return outcomes;
  }

  /** As `run`, in a process of its own. Rejects with what it has said when it does not end. */
  runAlone(args: readonly string[], input = "", patienceMs = PATIENCE_MS): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      const child = execFile(
        process.execPath,
        [MAIN, ...args],
        { env: this.environment, cwd: this.dir },
        (error, stdout, stderr) => {
          clearTimeout(watch);
          const code = typeof error?.code === "number" ? error.code : error === null ? 0 : -1;
          if (hangs) reject(new Error(`interlock ${args.join(" ")} does not end.\n${stdout}\n${stderr}`));
          else resolve({ code, stdout, stderr: stderr.replace(BUSY, "") });
        },
      );
      let hangs = false;
      const watch = setTimeout(() => {
        hangs = true;
        child.kill("SIGKILL");
      }, patienceMs);
      child.stdin?.end(input);
    });
  }
}

/** The shell of somebody who works with a bench's store, by default on its Temporal. */
export function shellOf(
  bench: Pick<Bench, "store" | "environment">,
  changes: Record<string, string> = {},
): Shell {
  return new Shell(dirname(bench.store.dir), { ...bench.environment, ...changes });
}

/** Somebody who has nothing but Temporal's address: no store, no settings, a home directory that nobody may write to. */
export async function strangerShell(
  bench: Bench,
  taskQueue?: string,
): Promise<Shell & { readonly home: string }> {
  const dir = await temporaryDirectory();
  const home = join(dir, "home");
  await mkdir(home, { mode: 0o555 });
  const shell = new Shell(dir, {
    HOME: home,
    INTERLOCK_STORE: "",
    INTERLOCK_CACHE: join(dir, "cache"), // a newer Node keeps there what it has compiled, and root may write to any home
    TEMPORAL_ADDRESS: bench.environment["TEMPORAL_ADDRESS"] ?? "",
    TEMPORAL_CONFIG_FILE: join(dir, "none.toml"),
    ...(taskQueue === undefined ? {} : { INTERLOCK_TASK_QUEUE: taskQueue }),
  });
  return Object.assign(shell, { home });
}

/** What a command has told a program. */
export function jsonOf({ stdout, stderr }: Outcome): unknown {
  if (stdout.trim().split("\n").length !== 1) throw new Error(`Not one JSON value: ${stdout}${stderr}`);
  return JSON.parse(stdout);
}

/** A shell in a directory of its own, with an empty project. */
export async function newShell(): Promise<Shell> {
  const dir = await temporaryDirectory();
  await mkdir(join(dir, "project"));
  return new Shell(dir);
}

/** A scripted model for the time of an action, and the variables that name it. */
export async function withModel<T>(
  script: Script,
  action: (model: ScriptedModel, variables: Record<string, string>) => Promise<T>,
) {
  const model = await ScriptedModel.start(script);
  try {
    return await action(model, { OPENAI_BASE_URL: model.baseUrl, INTERLOCK_MODEL: "scripted" });
  } finally {
    await model.close();
  }
}
