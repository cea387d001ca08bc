import { execFileSync } from "node:child_process";
import { readFileSync, readlinkSync } from "node:fs";
import { readdir, readFile, readlink } from "node:fs/promises";

const PS = "/bin/ps";
/** In `/proc/<pid>/stat`, counted from the field after the name of the program. */
const STATE_FIELD = 0;
const GROUP_FIELD = 2;
const START_TIME_FIELD = 19;
const TCP_LISTEN = "0A";

/**
 * What tells a process from a later one with the same id: when it started. Null when there is no such process
 * any more, or it has ended and only waits to be reaped.
 */
export function processIdentity(pid: number): string | null {
  try {
    return process.platform === "linux" ? linuxIdentity(pid) : psIdentity(pid);
  } catch {
    return null;
  }
}

/** Whether a process lives, and is no later one with its id where that is cheap to say. */
export function lives({ pid, identity }: { readonly pid: number; readonly identity: string }): boolean {
  // Elsewhere, asking who it is costs a process each time.
  if (process.platform === "linux") return processIdentity(pid) === identity;
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

function linuxIdentity(pid: number): string | null {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = fieldsOf(stat);
  const state = fields[STATE_FIELD];
  const startTime = fields[START_TIME_FIELD];
  if (startTime === undefined || state === "Z" || state === "X") return null;
  const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  return `${boot}/${startTime}`;
}

function psIdentity(pid: number): string | null {
  const started = execFileSync(PS, ["-o", "lstart=", "-p", String(pid)], {
    encoding: "utf8",
    cwd: "/",
    env: { LC_ALL: "C" },
  }).trim();
  return started === "" ? null : started;
}

/** The arguments of a process, where the system tells them. */
export async function commandLine(pid: number): Promise<readonly string[] | null> {
  const bytes = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => null);
  return bytes === null ? null : bytes.split("\0");
}

/**
 * Whether it is this process, or one of the group that it leads, that listens on the port; true where the system does not
 * tell.
 */
export async function listensOn(pid: number, port: number): Promise<boolean> {
  const table = await readFile(`/proc/${pid}/net/tcp`, "utf8").catch(() => null);
  const descriptors = await socketsOf(pid);
  if (table === null || descriptors === null) return true;
  const sockets = new Set(listeningSockets(table, port));
  if (descriptors.some((socket) => sockets.has(socket))) return true;
  for (const member of await groupOf(pid)) {
    if ((await socketsOf(member))?.some((socket) => sockets.has(socket)) === true) return true;
  }
  return false;
}

/** Whether a process has the network that we have: in another one its loopback addresses are somebody else's. True where the system does not tell. */
export function sharesNetwork(pid: number): boolean {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`) === readlinkSync("/proc/self/ns/net");
  } catch {
    return true;
  }
}

/** What the descriptors of a process lead to; null where that cannot be known. */
async function socketsOf(pid: number): Promise<readonly string[] | null> {
  const descriptors = await readdir(`/proc/${pid}/fd`).catch(() => null);
  if (descriptors === null) return null;
  return Promise.all(
    descriptors.map((descriptor) => readlink(`/proc/${pid}/fd/${descriptor}`).catch(() => "")),
  );
}

/** The processes of the group that this one leads, without it. */
async function groupOf(leader: number): Promise<readonly number[]> {
  const names = await readdir("/proc").catch(() => []);
  const members = await Promise.all(
    names.map(async (name) => {
      const pid = Number(name);
      if (!Number.isInteger(pid) || pid === leader) return [];
      const stat = await readFile(`/proc/${name}/stat`, "utf8").catch(() => "");
      return Number(fieldsOf(stat)[GROUP_FIELD]) === leader ? [pid] : [];
    }),
  );
  return members.flat();
}

function fieldsOf(stat: string): readonly string[] {
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

function listeningSockets(table: string, port: number): readonly string[] {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  return table
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local, , state]) => local?.endsWith(suffix) === true && state === TCP_LISTEN)
    .map((columns) => `socket:[${columns[9]}]`);
}
