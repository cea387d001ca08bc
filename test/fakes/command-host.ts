import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const HOST = fileURLToPath(new URL("command-host.mjs", import.meta.url));

interface HostedCommand {
  readonly args: readonly string[];
  readonly input: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly dir: string;
}

interface HostedOutcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** What a host answers. */
interface HostAnswer {
  readonly outcome: HostedOutcome;
  /** Whether it takes no further command. */
  readonly isSpent: boolean;
}

/** Those that wait for their next command. Each ends with this process. */
const idle: ChildProcess[] = [];
const MOST_IDLE = 3;

/** Runs a command line in a process that has run others and runs no other beside it. Rejects where that does not end. */
export async function runInHost(command: HostedCommand, patienceMs: number): Promise<HostedOutcome> {
  const host = idle.pop() ?? startHost();
  const over = new AbortController();
  const signal = AbortSignal.any([over.signal, AbortSignal.timeout(patienceMs)]);
  try {
    const ended = once(host, "exit", { signal }).then(() =>
      Promise.reject(new Error("Its process has ended.")),
    );
    const answered = once(host, "message", { signal });
    host.send(command);
    const [{ outcome, isSpent }] = (await Promise.race([answered, ended])) as [HostAnswer]; // what a host sends
    if (isSpent || idle.length === MOST_IDLE) host.disconnect(); // most commands listen to signals, and go on listening
    else idle.push(host);
    return outcome;
  } catch (error) {
    host.kill("SIGKILL");
    throw new Error(`interlock ${command.args.join(" ")} has not ended in order.`, { cause: error });
  } finally {
    over.abort();
  }
}

function startHost(): ChildProcess {
  const host = fork(HOST, { execArgv: [], stdio: ["ignore", "inherit", "inherit", "ipc"] });
  host.unref();
  host.channel?.unref();
  return host;
}
