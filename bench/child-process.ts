import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** A process of the bench's own, so that its CPU time can be told from that of the others. */
export interface Child {
  readonly pid: number;
  /** What the child said when it was ready. */
  readonly ready: string;
  stop(): Promise<void>;
  /** By SIGKILL. */
  kill(): Promise<void>;
}

const READY_MS = 60_000;
const STOP_MS = 30_000;

/** Starts a module of this directory as a process, with one value for it, and waits until it is ready. */
export async function startChild(
  module: string,
  settings: unknown,
  nodeOptions: readonly string[] = [],
  variables: Readonly<Record<string, string>> = {},
): Promise<Child> {
  const path = fileURLToPath(new URL(module, import.meta.url));
  const child = fork(path, [JSON.stringify(settings)], {
    execArgv: [...nodeOptions],
    env: { ...process.env, ...variables }, // oxlint-disable-line node/no-process-env -- its own, and what is measured by
  });
  const ready = await firstMessage(child, module);
  return {
    pid: child.pid ?? 0,
    ready,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, "exit");
      const timer = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
      if (child.connected) child.disconnect();
      await exited;
      clearTimeout(timer);
    },
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    },
  };
}

async function firstMessage(child: ChildProcess, module: string): Promise<string> {
  const timer = setTimeout(() => child.kill("SIGKILL"), READY_MS);
  try {
    return await new Promise<string>((resolve, reject) => {
      // It says a text first, and nothing else.
      child.once("message", (message) => resolve(message as string));
      child.once("error", reject);
      child.once("exit", () => reject(new Error(`${module} ended before it was ready.`)));
    });
  } finally {
    clearTimeout(timer);
  }
}

/** In the child: starts, says that it is ready, and ends when the parent lets go or is gone. */
export async function serveParent(
  start: (settings: unknown) => Promise<{ readonly ready: string; stop(): Promise<void> }>,
): Promise<void> {
  const settings: unknown = JSON.parse(process.argv[2] ?? "null");
  // Ctrl-C goes to all processes of the terminal: the parent ends its children in order.
  process.on("SIGINT", () => undefined);
  const parentGone = once(process, "disconnect");
  const service = await start(settings);
  process.send?.(service.ready);
  await parentGone;
  await service.stop();
}
