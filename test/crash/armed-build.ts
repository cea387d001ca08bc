import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Plugin, rolldown } from "rolldown";
import { BUILT_WORKFLOWS } from "../setup/build.js";
import type { Arming } from "./armed-failpoint.js";
import type { StoreTask } from "./store-task.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const PROGRAMS = ["worker-child", "store-child"] as const;
const WASM_OF_SOURCE_MAP = join(root, "node_modules/source-map/lib/mappings.wasm");
const NATIVE_BRIDGE = join(root, "node_modules/@temporalio/core-bridge/releases");
const WITHOUT_SPACE = { compress: false, mangle: false, codegen: { removeWhitespace: true } } as const;
/** Memory enough never to collect garbage in so short a life. */
const NO_GARBAGE_COLLECTION = ["--min-semi-space-size=128", "--max-semi-space-size=128"];

/** A build of `src/` whose failpoints work, in a directory of its own. */
export interface ArmedBuild {
  readonly dir: string;
  /** Starts a worker and waits until it polls. */
  startWorker(environment: Record<string, string>, arming: Arming): Promise<Victim>;
  /** Works on a store; gives the result, or nothing when the process was killed, which `trouble` may do at any moment. */
  runTask(task: StoreTask, arming: Arming, trouble?: (process: ChildProcess) => void): Promise<unknown>;
  /** For workers of this process. */
  readonly workflowBundle: { readonly codePath: string };
}

/** A process that is going to be killed or stopped. */
export interface Victim {
  readonly process: ChildProcess;
  /** The signal it ended by, if by any. */
  readonly ended: Promise<NodeJS.Signals | null>;
  readonly errors: () => string;
  /** Wakes it up if it is stopped, and lets it end what it was doing. */
  shutDown(): Promise<void>;
  /** Ends it, stopped or not. */
  end(): Promise<void>;
}

/** A change of one source file. The text must be in it. */
export interface TextPatch {
  /** Below `src/`, such as `store/audit-log.ts`. Of what decides for workflows the compiled text is changed. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/**
 * Bundles each program with all it needs but native code into one file: a process that is to be killed starts in a third
 * of the time. The bundle of workflow code is that of `dist/`: no failpoint is in it.
 */
export async function buildArmed(
  patches: readonly TextPatch[] = [],
): Promise<ArmedBuild & { remove(): void }> {
  const builds = join(root, "test/.build");
  mkdirSync(builds, { recursive: true });
  const made = mkdtempSync(join(builds, "armed-"));
  const dir = join(made, "dist");
  const programs = programsIn(made);
  mkdirSync(programs, { recursive: true });
  copyFileSync(join(root, "package.json"), join(made, "package.json"));
  await Promise.all(PROGRAMS.map((program) => bundleProgram(program, programs, patches)));
  copyFileSync(join(root, "test/crash/load-cached.cjs"), join(programs, "load-cached.cjs"));
  mkdirSync(join(dir, "mcp"));
  copyFileSync(join(root, "src/mcp/keep-server.cjs"), join(dir, "mcp/keep-server.cjs"));
  symlinkSync(NATIVE_BRIDGE, join(programs, "releases"));
  copyFileSync(WASM_OF_SOURCE_MAP, join(programs, "mappings.wasm"));
  const workflows = patches.filter(isOfWorkflows);
  const bundle = patched(readFileSync(BUILT_WORKFLOWS, "utf8"), workflows);
  writeFileSync(join(dir, "workflow-bundle.cjs"), bundle);
  return { ...armedBuild(made), remove: () => rmSync(made, { recursive: true, force: true }) };
}

/** A build that is there. */
export function armedBuild(made: string): ArmedBuild {
  const programs = programsIn(made);

  function start(
    program: (typeof PROGRAMS)[number],
    args: readonly string[],
    environment: Record<string, string>,
  ): Victim & { output: () => string } {
    const child = fork(join(programs, "load-cached.cjs"), [`${program}.cjs`, ...args], {
      env: environment,
      execArgv: NO_GARBAGE_COLLECTION,
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
        // Again and again: on a busy machine it may only now come to stop itself.
        const waking = setInterval(() => child.kill("SIGCONT"), 100);
        await ended.finally(() => clearInterval(waking));
      },
      async end() {
        if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
        await ended;
      },
    };
  }

  return {
    async startWorker(environment, arming) {
      const victim = start("worker-child", [], {
        ...environment,
        TEMPORAL_DEBUG: "1", // workflow code runs in the main thread: no second one starts
        INTERLOCK_TEST_FAILPOINT: JSON.stringify(arming),
      });
      const said = await Promise.race([once(victim.process, "message"), victim.ended]);
      if (!Array.isArray(said)) throw new Error(`The worker ended before it polled.\n${victim.errors()}`);
      return victim;
    },
    async runTask(task, arming, trouble) {
      const child = start("store-child", [JSON.stringify(task)], {
        INTERLOCK_TEST_FAILPOINT: JSON.stringify(arming),
      });
      trouble?.(child.process);
      const signal = await child.ended;
      if (signal !== null) return undefined;
      if (child.output() === "") throw new Error(`The process ended without a result.\n${child.errors()}`);
      return JSON.parse(child.output()) as unknown;
    },
    dir: made,
    workflowBundle: { codePath: join(made, "dist/workflow-bundle.cjs") },
  };
}

/** As deep as dist/worker/, whose code looks for the bundle of workflow code one folder above, and for the manifest two. */
function programsIn(made: string): string {
  return join(made, "dist/worker");
}

/** Trouble for a task: its process is killed after so long. */
export function killAfter(ms: number): (process: ChildProcess) => void {
  return (child) => {
    const timer = setTimeout(() => child.kill("SIGKILL"), ms);
    child.once("exit", () => clearTimeout(timer));
  };
}

/** Trouble for a task: its process is stopped after so long, and goes on some time later. */
export function stopAfter(ms: number, forMs: number): (process: ChildProcess) => void {
  return (child) => {
    const timers = [
      setTimeout(() => child.kill("SIGSTOP"), ms),
      setTimeout(() => child.kill("SIGCONT"), ms + forMs),
    ];
    child.once("exit", () => timers.forEach(clearTimeout));
  };
}

/** The failpoints that were hit, in order. */
export function readHits(hitsFile: string): readonly string[] {
  return existsSync(hitsFile) ? readFileSync(hitsFile, "utf8").split("\n").slice(0, -1) : [];
}

async function bundleProgram(program: string, dir: string, patches: readonly TextPatch[]): Promise<void> {
  const bundle = await rolldown({
    input: join(root, `test/crash/${program}.ts`),
    platform: "node",
    external: ["fs-native-extensions"],
    plugins: [armed, patching(patches.filter((patch) => !isOfWorkflows(patch)))],
    logLevel: "silent",
  });
  await bundle.write({
    file: join(dir, `${program}.cjs`),
    format: "cjs",
    codeSplitting: false,
    minify: WITHOUT_SPACE,
  });
  await bundle.close();
}

/** Failpoints that work; and no bundler of workflow code, which would bring webpack along. */
const armed: Plugin = {
  name: "armed",
  load(id) {
    if (id === join(root, "src/core/failpoint.ts")) {
      return `export * from ${JSON.stringify(join(root, "test/crash/armed-failpoint.ts"))};`;
    }
    if (id.endsWith("worker/lib/workflow/bundler.js")) {
      return "module.exports = { defaultWorkflowInterceptorModules: [] };";
    }
    return undefined;
  },
};

/** Breaks the build on purpose: for those who check whether that is noticed. */
function patching(patches: readonly TextPatch[]): Plugin {
  return {
    name: "patching",
    load(id) {
      const wanted = patches.filter(({ file }) => id === join(root, "src", file));
      return wanted.length === 0 ? undefined : patched(readFileSync(id, "utf8"), wanted);
    },
  };
}

function isOfWorkflows({ file }: TextPatch): boolean {
  return ["workflows/", "core/engine/", "core/run/"].some((room) => file.startsWith(room));
}

function patched(text: string, patches: readonly TextPatch[]): string {
  return patches.reduce((changed, { file, from, to }) => {
    if (!changed.includes(from)) throw new Error(`${file} does not hold the text to be changed: ${from}`);
    return changed.replaceAll(from, () => to);
  }, text);
}
