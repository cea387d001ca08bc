import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { builtFile } from "../package-place.js";
import type { GateOptions } from "./gate.js";
import { chooseUiPort, HOST } from "./ports.js";
import { processIdentity } from "./process-identity.js";
import { type ServerFiles, type ServerRecord, writeServerRecord } from "./server-record.js";

const ATTEMPTS = 5;
const END_GRACE_MS = 5_000;
const POLL_MS = 20;
const SCRIPT = builtFile("embedded/gate-main.js");

/**
 * Starts the gate of a server that has none, where it was announced before; elsewhere only when somebody has taken that
 * port. A server of an earlier version has no gate and gets none. Only for the holder of the turn.
 */
export async function ensureGate(files: ServerFiles, record: ServerRecord): Promise<ServerRecord> {
  if (record.front === undefined || gateLives(record)) return record;
  let { uiPort } = record;
  const tried = new Set<number>();
  for (let attempt = 1; ; attempt += 1) {
    const { gate, word } = await startGate(files, record, record.front, uiPort);
    if (word === "open") {
      const guarded = { ...record, uiPort, front: { ...record.front, gate } };
      writeServerRecord(files, guarded);
      return guarded;
    }
    if (word !== "taken" || attempt === ATTEMPTS) {
      throw new Error(`the gate before its Web UI did not open (${word})`);
    }
    uiPort = await chooseUiPort(tried.add(uiPort));
  }
}

/** Ends the gate of a server, if it lives. */
export async function stopGate(record: ServerRecord | null): Promise<void> {
  const gate = record?.front?.gate;
  if (record === null || gate === null || gate === undefined || !gateLives(record)) return;
  process.kill(gate.pid, "SIGKILL"); // it holds nothing
  const deadline = performance.now() + END_GRACE_MS;
  while (gateLives(record) && performance.now() < deadline) await pause(POLL_MS);
}

function gateLives({ front }: ServerRecord): boolean {
  const gate = front?.gate;
  if (gate === null || gate === undefined || gate.identity === "") return false;
  return processIdentity(gate.pid) === gate.identity;
}

interface StartedGate {
  readonly gate: { readonly pid: number; readonly identity: string };
  /** "open", "taken", or what went wrong. */
  readonly word: string;
}

async function startGate(
  files: ServerFiles,
  { pid, identity }: ServerRecord,
  ui: NonNullable<ServerRecord["front"]>,
  uiPort: number,
): Promise<StartedGate> {
  const options: GateOptions = {
    announced: { host: HOST, port: uiPort },
    ui: { host: ui.uiHost, port: ui.uiPort },
    server: { pid, identity },
  };
  const child = spawn(process.execPath, [SCRIPT, JSON.stringify(options)], {
    cwd: files.storeDir,
    detached: true, // a Ctrl-C meant for us does not end it
    env: {},
    stdio: ["ignore", "pipe", "ignore"],
  });
  const failed = new Promise<string>((resolve) => child.once("error", (error) => resolve(error.message)));
  const said = firstLine(child.stdout);
  const word = await Promise.race([failed, said]);
  child.stdout.destroy();
  child.unref();
  const gatePid = child.pid ?? 0;
  return { gate: { pid: gatePid, identity: processIdentity(gatePid) ?? "" }, word };
}

async function firstLine(stream: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface({ input: stream })) return line;
  return "it ended without a word";
}
