import { execFile, type ExecFileException } from "node:child_process";
import { notStartedWords } from "../core/system-code.js";

const MAX_OUTPUT_BYTES = 4 * 1024 * 1024;
const MAX_REASON_CHARS = 300;
/** Where the stack traces begin in which a program in Go ends. */
export const GO_TRACES = /^(?:goroutine \d|runtime stack:)/m;

export interface CommandOptions {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
  /** Never the directory that the user happens to be in: what lies there may be somebody else's. */
  readonly cwd: string;
  /** All that the child gets. */
  readonly env: Readonly<Record<string, string>>;
  readonly onLine?: (line: string) => void;
}

/** Runs a program to its end and returns its standard output; anything but exit code 0 throws the reason. */
export function runCommand(file: string, args: readonly string[], options: CommandOptions): Promise<string> {
  const { timeoutMs, signal, cwd, env, onLine } = options;
  return new Promise((resolve, reject) => {
    const child = execFile(
      file,
      args,
      {
        encoding: "utf8",
        cwd,
        env,
        maxBuffer: MAX_OUTPUT_BYTES,
        ...(timeoutMs === undefined ? {} : { timeout: timeoutMs, killSignal: "SIGKILL" as const }),
      },
      (error, stdout, stderr) => {
        signal?.removeEventListener("abort", kill);
        if (error === null) resolve(stdout);
        else reject(signal?.aborted === true ? signal.reason : new Error(commandFailure(error, stderr)));
      },
    );
    // Killed and waited for: who called it off finds neither the child nor what it might still have written.
    function kill(): void {
      child.kill("SIGKILL");
    }
    if (signal?.aborted === true) kill();
    else signal?.addEventListener("abort", kill, { once: true });
    if (onLine !== undefined) {
      child.stdout?.on("data", (chunk: string) => {
        for (const line of chunk.split(/\r?\n/)) if (line.trim() !== "") onLine(line.trim());
      });
    }
  });
}

/** A command meant for this server must not reach another one: the user's Temporal configuration file is left unread. */
export const IGNORE_USER_CONFIG = ["--disable-config-file", "--disable-config-env"] as const;

function commandFailure(error: ExecFileException, stderr: string): string {
  if (error.code === "ENOENT") return "the program was not found";
  if (error.code === "EACCES") return "it may not be executed";
  if (error.killed === true) return "it did not end in time";
  // What a program in Go says where it may have no further thread.
  const code = stderr.includes("failed to create new OS thread") ? "EAGAIN" : String(error.code);
  const words = notStartedWords(code);
  if (words !== undefined) return words;
  const [said = ""] = stderr.split(GO_TRACES);
  const lines = said.split(/\r?\n/).filter((line) => line.trim() !== "");
  const telling =
    lines.findLast((line) => /error/i.test(line)) ?? lines.at(-1) ?? `it ended with ${error.message}`;
  return telling.trim().slice(0, MAX_REASON_CHARS);
}

/** One line that says why, with the cause that `fetch` hides. */
export function innerReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (!(cause instanceof Error)) return error.message;
  const code = (cause as NodeJS.ErrnoException).code;
  return cause.message === "" ? `${error.message} (${code ?? cause.name})` : cause.message;
}
