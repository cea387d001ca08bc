// Runs an MCP server in a process group of its own, and ends the group when the server has ended, when it is told to (SIGTERM), and
// when whoever has started it is gone, however that came. Standard input and outputs are the server's: nothing passes through here.
// node keep-server.cjs <process id of who has started it> <program> [argument…]
const { spawn } = require("node:child_process");

const [parent, program, ...args] = process.argv.slice(2);
const LOOK_MS = 500;
/** Its input has closed: it may end by itself. */
const CLOSED_GRACE_MS = 2_000;
const TERM_GRACE_MS = 1_000;
/** What Node itself goes by is meant for the server: `transport.ts` has put this before it. */
const KEPT = "KEPT_";

const env = {};
for (const [name, value] of Object.entries(process.env)) {
  env[name.startsWith(KEPT) ? name.slice(KEPT.length) : name] = value;
}
const server = spawn(program, args, { detached: true, env, stdio: "inherit" });
server.on("error", (error) => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 127;
  clearInterval(looking);
});
server.on("exit", (code) => {
  signalGroup("SIGKILL"); // what it has started, and has not ended
  process.exit(code ?? 1);
});

// Only who has started it says when it ends: a Ctrl-C is meant for the worker, whose calls may go on for a moment.
for (const signal of ["SIGINT", "SIGHUP", "SIGQUIT"]) process.on(signal, () => undefined);
process.on("SIGTERM", end);

const looking = setInterval(() => {
  if (process.ppid === Number(parent)) return;
  clearInterval(looking);
  setTimeout(end, CLOSED_GRACE_MS);
}, LOOK_MS);

function end() {
  signalGroup("SIGTERM");
  setTimeout(() => signalGroup("SIGKILL"), TERM_GRACE_MS);
}

function signalGroup(signal) {
  try {
    if (server.pid !== undefined) process.kill(-server.pid, signal);
  } catch {
    // it has ended
  }
}
