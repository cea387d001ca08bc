// Runs command lines of Interlock one after the other for the tests that have started it, each with an environment, a directory and a
// standard input of its own. What a process loads for its first command costs ten times what the command does.
import { createRequire } from "node:module";
import { Readable } from "node:stream";
import { main } from "../../dist/cli/program.js";
import { printJsonOfError } from "../../dist/cli/terminal/output.js";

const loaded = createRequire(import.meta.url).cache;
const said = { stdout: [], stderr: [] };
for (const stream of ["stdout", "stderr"]) {
  process[stream].write = (chunk, ...more) => {
    said[stream].push(Buffer.from(chunk));
    for (const each of more) if (typeof each === "function") each();
    return true;
  };
}
process.setMaxListeners(0); // each command adds its own
process.once("disconnect", () => process.exit());
process.on("message", (command) => void run(command));

async function run({ args, environment, dir, input }) {
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, environment);
  process.chdir(dir);
  const stdin = Readable.from(input === "" ? [] : [Buffer.from(input)]);
  Object.defineProperty(process, "stdin", { value: stdin, configurable: true });
  const code = await main(args);
  printJsonOfError(args, code);
  const [stdout, stderr] = [said.stdout, said.stderr].map((chunks) =>
    Buffer.concat(chunks.splice(0)).toString(),
  );
  process.send({ outcome: { code, stdout, stderr }, isSpent: hasRuntime() });
}

/** Whether a command has left its runtime of workers behind: a process has one at a time. It goes with the last worker and connection. */
function hasRuntime() {
  const path = Object.keys(loaded).find((each) => each.endsWith("@temporalio/worker/lib/runtime.js"));
  return path !== undefined && loaded[path].exports.Runtime._instance !== undefined;
}
