import { type ChildProcess, execFileSync, fork } from "node:child_process";
import { once } from "node:events";
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Arming } from "./armed-failpoint.js";
import type { StoreTask } from "./store-child.js";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** A build of `src/` whose failpoints work, in a directory of its own. */
export interface ArmedBuild {
  /** Starts a worker and waits until it polls. */
  startWorker(environment: Record<string, string>, arming: Arming): Promise<Victim>;
  /** Works on a store; gives the result, or nothing when the process was killed. */
  runTask(task: StoreTask, arming: Arming): Promise<unknown>;
  /** The same build with some texts changed, in a directory of its own. */
  withPatches(patches: readonly TextPatch[]): ArmedBuild;
  remove(): void;
}

/** A process that is going to be killed or stopped. */
export interface Victim {
  readonly process: ChildProcess;
  /** The signal it ended by, if by any. */
  readonly ended: Promise<NodeJS.Signals | null>;
  readonly errors: () => string;
  /** Lets it end what it was doing. */
  shutDown(): Promise<void>;
  /** Ends it, stopped or not. */
  end(): Promise<void>;
}

/** A change of one compiled file. The text must be in it. */
export interface TextPatch {
  /** Below `src/`, such as `store/audit-log.js`. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** Compiles it. The bundle of workflow code is that of `dist/`: no failpoint is in it. */
export function buildArmed(): ArmedBuild {
  const dir = makeBuildDirectory();
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  execFileSync(process.execPath, [tsc, "-p", join(root, "test/crash"), "--outDir", dir], { stdio: "pipe" });
  copyFileSync(join(dir, "test/crash/armed-failpoint.js"), join(dir, "src/core/failpoint.js"));
  copyFileSync(join(root, "dist/workflow-bundle.cjs"), join(dir, "src/workflow-bundle.cjs"));
  return armedBuildIn(dir);
}

function makeBuildDirectory(): string {
  const builds = join(root, "test/.build");
  mkdirSync(builds, { recursive: true });
  return mkdtempSync(join(builds, "armed-"));
}

function armedBuildIn(dir: string): ArmedBuild {
  function start(
    module: string,
    args: readonly string[],
    environment: Record<string, string>,
  ): Victim & { output: () => string } {
    const child = fork(join(dir, "test/crash", module), args, {
      env: { ...environment, NODE_COMPILE_CACHE: join(dir, "cache") }, // a Node that knows it starts in half the time
      execArgv: [],
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    const texts = { output: "", errors: "" };
    child.stdout?.on("data", (chunk) => (texts.output += String(chunk)));
    child.stderr?.on("data", (chunk) => (texts.errors += String(chunk)));
    const ended = once(child, "close").then(([, signal]) => signal as NodeJS.Signals | null);
    return {
      process: child,
      ended,
      errors: () => texts.errors,
      output: () => texts.output,
      async shutDown() {
        child.send("shut down");
        await ended;
      },
      async end() {
        if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
        await ended;
      },
    };
  }

  return {
    async startWorker(environment, arming) {
      const victim = start("worker-child.js", [], {
        ...environment,
        INTERLOCK_TEST_FAILPOINT: JSON.stringify(arming),
      });
      const said = await Promise.race([once(victim.process, "message"), victim.ended]);
      if (!Array.isArray(said)) throw new Error(`The worker ended before it polled.\n${victim.errors()}`);
      return victim;
    },
    async runTask(task, arming) {
      const child = start("store-child.js", [JSON.stringify(task)], {
        INTERLOCK_TEST_FAILPOINT: JSON.stringify(arming),
      });
      const signal = await child.ended;
      if (signal !== null) return undefined;
      if (child.output() === "") throw new Error(`The process ended without a result.\n${child.errors()}`);
      return JSON.parse(child.output()) as unknown;
    },
    withPatches(patches) {
      const copy = makeBuildDirectory();
      cpSync(dir, copy, { recursive: true });
      for (const patch of patches) applyPatch(join(copy, "src", patch.file), patch);
      return armedBuildIn(copy);
    },
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
}

function applyPatch(path: string, { file, from, to }: TextPatch): void {
  const text = readFileSync(path, "utf8");
  if (!text.includes(from)) throw new Error(`${file} does not hold the text to be changed: ${from}`);
  writeFileSync(
    path,
    text.replaceAll(from, () => to),
  );
}

/** The failpoints that were hit, in order. */
export function readHits(hitsFile: string): readonly string[] {
  return existsSync(hitsFile) ? readFileSync(hitsFile, "utf8").split("\n").slice(0, -1) : [];
}
