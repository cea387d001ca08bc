#!/usr/bin/env node
import { keepCompiledCode } from "./compile-cache.js";
import { EXIT, brokenOutput, printError, printJsonOfError, watchOutput } from "./terminal/output.js";
import { endIfHungUp, exitCodeOnceRead } from "./terminal/interruption.js";

const EXIT_GRACE_MS = 500;
/** As many as a worker needs for all its tasks, and some. */
const ENOUGH_FILES = 1024;

// Of what libraries call, such as Node's TLS with an IP address: whoever calls a command can do nothing about it, and logs are JSON.
Object.assign(process, { noDeprecation: true });
watchOutput();
keepCompiledCode();
const argv = process.argv.slice(2);
const exitCode = await run();
printJsonOfError(argv, exitCode);
const code = await exitCodeOnceRead(exitCode);
process.exitCode = brokenOutput() ?? code;
endIfHungUp();
// What a library has left open when a command failed must not keep it from ending: somebody waits for its exit code.
setTimeout(() => process.exit(), EXIT_GRACE_MS).unref();

/** Loads the program while it can be said what is wrong: Node opens many of its files at once. */
async function run(): Promise<number> {
  const program = await import("./program.js").catch((error: unknown) => {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code !== "EMFILE" && code !== "ENFILE") throw error;
  });
  if (program !== undefined) return program.main(argv);
  printError(
    `This process may open too few files and connections. Raise the limit, for example with: ulimit -n ${ENOUGH_FILES}`,
  );
  return EXIT.failed;
}
