import { type ChildProcess, type SpawnOptions, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import type { Outcome } from "../integration/shell.js";

const NETWORK = "10.213.77";
/** Where the hosts of a network find what runs on it. */
export const COMMON_ADDRESS = `${NETWORK}.1`;
const HUB_ADDRESS = "02:00:0a:d5:4d:01";
const PATIENCE_MS = 90_000;
const isRoot = process.getuid?.() === 0;
/** Who is not root is one in a user namespace of their own, where the system allows that. */
const AS_ROOT = isRoot ? [] : ["--user", "--map-root-user"];
const ENTER_AS_ROOT = isRoot ? [] : ["--user", "--preserve-credentials"];

type Environment = Readonly<Record<string, string>>;

/** A process that other ones enter the namespaces of. They end with it: the kernel takes networks and mounts away. */
interface Anchor {
  /** Of the process whose namespaces they are. */
  readonly pid: number;
  end(): Promise<void>;
}

/** A network of its own with a bridge, and hosts on it. */
export interface Network {
  /** Starts a process at the address that all hosts can reach. Resolves once it has said `ready`. */
  start(command: readonly string[], ready: RegExp, env: Environment): Promise<ChildProcess>;
  host(options: HostOptions): Promise<Host>;
  close(): Promise<void>;
}

export interface HostOptions {
  /** From 2 to 250: the end of its address. */
  readonly number: number;
  readonly hostname: string;
  /** Directories in whose place there is nothing. */
  readonly hidden: readonly string[];
}

/** What has network, processes, mounts and host name of its own. */
export interface Host {
  run(command: readonly string[], env: Environment, cwd: string): Promise<Outcome>;
  /** Starts a process under this process id. Resolves once it has said `ready`. */
  start(
    command: readonly string[],
    options: { readonly ready: RegExp; readonly env: Environment; readonly asPid: number },
  ): Promise<ChildProcess>;
  /** As by a power cut: every process of it is gone. */
  kill(): Promise<void>;
}

/** Why this system makes no namespaces; undefined where it does. */
export async function whyNoNamespaces(): Promise<string | undefined> {
  if (process.platform !== "linux") return `there are no namespaces on ${process.platform}`;
  try {
    const network = await openNetwork();
    await network.close();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

export async function openNetwork(): Promise<Network> {
  const script = [
    "ip link set lo up",
    // Of its own: else it is the lowest of its ports', changes as they come and go, and whoever knows the old one waits.
    `ip link add hub address ${HUB_ADDRESS} type bridge`,
    `ip addr add ${COMMON_ADDRESS}/24 dev hub`,
    "ip link set hub up",
  ];
  const anchor = await openAnchor(["unshare", ...AS_ROOT, "--net", "--mount"], script);
  const enter = enterer(anchor, ["--net", "--mount"]);
  const hosts: Host[] = [];
  const started: ChildProcess[] = [];
  return {
    async start(command, ready, env) {
      const child = await startUntil(enter(command), ready, { env });
      started.push(child);
      return child;
    },
    async host(options) {
      const host = await openHost(enter, options);
      hosts.push(host);
      return host;
    },
    async close() {
      for (const host of hosts) await host.kill();
      for (const child of started) await endChild(child);
      await anchor.end();
    },
  };
}

type Enter = (command: readonly string[]) => readonly string[];

function enterer({ pid }: Pick<Anchor, "pid">, kinds: readonly string[]): Enter {
  return (command) => ["nsenter", "--target", String(pid), ...ENTER_AS_ROOT, ...kinds, "--", ...command];
}

async function openHost(enter: Enter, { number, hostname, hidden }: HostOptions): Promise<Host> {
  const kinds = ["--net", "--mount", "--uts", "--pid"];
  const anchor = await openAnchor(enter(["unshare", ...kinds, "--fork", "--kill-child", "--mount-proc"]), [
    `hostname ${hostname}`,
    "ip link set lo up",
    ...hidden.map((dir) => `mount -t tmpfs -o size=64k none '${dir}'`),
  ]);
  const [outside, inside] = [`out${number}`, `in${number}`];
  for (const command of [
    `ip link add ${outside} type veth peer name ${inside} netns ${anchor.pid}`,
    `ip link set ${outside} master hub`,
    `ip link set ${outside} up`,
  ]) {
    await said(enter(command.split(" ")));
  }
  const enterHost = enterer(anchor, kinds);
  await said(enterHost(["ip", "addr", "add", `${NETWORK}.${number}/24`, "dev", inside]));
  await said(enterHost(["ip", "link", "set", inside, "up"]));
  return {
    run: (command, env, cwd) => outcomeOf(enterHost(["env", "-C", cwd, ...command]), env),
    start(command, { ready, env, asPid }) {
      const script = `echo ${asPid - 1} > /proc/sys/kernel/ns_last_pid; "$@"; exit $?`;
      return startUntil(enterHost(["sh", "-c", script, "sh", ...command]), ready, { env });
    },
    kill: () => anchor.end(),
  };
}

/** Runs the script in new namespaces and keeps them. Rejects with what was said where that cannot be. */
async function openAnchor(make: readonly string[], script: readonly string[]): Promise<Anchor> {
  const forks = make.includes("--fork");
  const keep = ["set -e", ...script, "echo ready", "exec sleep 3600"].join("\n");
  const child = await startUntil([...make, "sh", "-c", keep], /ready/, {});
  const pid = child.pid ?? 0;
  const own = forks ? Number(await readFile(`/proc/${pid}/task/${pid}/children`, "utf8")) : pid;
  return {
    pid: own,
    async end() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, "exit");
      process.kill(own, "SIGKILL");
      await ended;
    },
  };
}

async function endChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}

async function startUntil(
  [program = "", ...args]: readonly string[],
  ready: RegExp,
  options: SpawnOptions,
): Promise<ChildProcess> {
  const child = spawn(program, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
  let heard = "";
  await new Promise<void>((resolve, reject) => {
    const hear = (chunk: Buffer): void => {
      heard += chunk.toString();
      if (ready.test(heard)) resolve();
    };
    child.stdout?.on("data", hear);
    child.stderr?.on("data", hear);
    child.once("error", reject);
    child.once("exit", () => reject(new Error(`${program} ${args.join(" ")} has ended: ${heard.trim()}`)));
  });
  return child;
}

/** Rejects with what a command has said that does not succeed. */
async function said(command: readonly string[]): Promise<void> {
  const { code, stderr } = await outcomeOf(command, undefined);
  if (code !== 0) throw new Error(`${command.join(" ")}: ${stderr.trim()}`);
}

function outcomeOf(
  [program = "", ...args]: readonly string[],
  env: Environment | undefined,
): Promise<Outcome> {
  const limits = { timeout: PATIENCE_MS, killSignal: "SIGKILL" as const, ...(env && { env }) };
  return new Promise((resolve) => {
    const child = execFile(program, args, limits, (error, stdout, stderr) => {
      const code = typeof error?.code === "number" ? error.code : error === null ? 0 : -1;
      resolve({ code, stdout, stderr });
    });
    child.stdin?.end();
  });
}
