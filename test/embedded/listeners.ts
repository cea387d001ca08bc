import { readdir, readFile, readlink } from "node:fs/promises";
import { readServerRecord, serverFiles } from "../../src/embedded/server-record.js";

export interface Listener {
  readonly address: string;
  readonly port: number;
}

/** The server, the gate before its Web UI, and all that they have started. */
export async function processesOfServer(serverPid: number, storeDir: string): Promise<readonly number[]> {
  const gate = readServerRecord(serverFiles(storeDir))?.front?.gate;
  const roots = [serverPid, ...(gate ? [gate.pid] : [])];
  const parents = new Map<number, number>();
  for (const name of await readdir("/proc")) {
    const stat = /^\d+$/.test(name) ? await readFile(`/proc/${name}/stat`, "utf8").catch(() => "") : "";
    const [, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (parent !== undefined) parents.set(Number(name), Number(parent));
  }
  const found = new Set(roots);
  for (let before = 0; before !== found.size;) {
    before = found.size;
    for (const [pid, parent] of parents) if (found.has(parent)) found.add(pid);
  }
  return [...found];
}

/** The TCP ports that processes listen on, from the tables of the kernel. */
export async function listenersOf(pids: readonly number[]): Promise<readonly Listener[]> {
  const found: Listener[] = [];
  for (const pid of pids) {
    const links = await Promise.all(
      (await readdir(`/proc/${pid}/fd`)).map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => "")),
    );
    for (const table of ["tcp", "tcp6"]) {
      const lines = (await readFile(`/proc/${pid}/net/${table}`, "utf8").catch(() => "")).split("\n");
      for (const columns of lines.slice(1).map((line) => line.trim().split(/\s+/))) {
        const [, local = "", , state] = columns;
        if (state !== "0A" || !links.includes(`socket:[${columns[9]}]`)) continue;
        const [address = "", port = ""] = local.split(":");
        const quads = [...address.matchAll(/../g)].map(([byte]) => Number.parseInt(byte, 16)).toReversed();
        found.push({ address: table === "tcp" ? quads.join(".") : address, port: Number.parseInt(port, 16) });
      }
    }
  }
  return found;
}
