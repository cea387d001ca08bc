import { counted } from "../core/text.js";
import { readFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { satisfies } from "semver";
import { z } from "zod";
import { packageFile } from "../package-place.js";
import type { WorkerSize } from "../environment/worker-size.js";
import { type Machine, capacityText, readMachine, workerCapacity } from "../worker/capacity.js";
import { type Finding, failed, firstOf, passed, skipped, warning } from "./finding.js";
import { wordsOf } from "../core/system-code.js";

const MIB = 1024 * 1024;
/** A worker with some runs takes about as much. */
const ENOUGH_MEMORY = 512 * MIB;

const manifestSchema = z.object({ engines: z.object({ node: z.string() }) });

/** Whether this Node is one of those that the package is made for. */
export async function checkNode(version = process.versions.node): Promise<Finding> {
  const manifest = await readFile(packageFile("package.json"), "utf8");
  const { node } = manifestSchema.parse(JSON.parse(manifest)).engines;
  if (satisfies(version, node)) return passed("node", version);
  return failed("node", `${version}; ${node} is needed`, "Install a newer Node.js.");
}

/** How much a worker does at once here, and whether it may open as many files and connections as all of that needs. */
export function checkCapacity(machine = readMachine(), set: WorkerSize = {}): readonly Finding[] {
  const open = checkDescriptors(machine, set);
  if (open.status === "failed") return [open];
  return [open, passed("worker", capacityText(workerCapacity(machine, set)))];
}

function checkDescriptors(machine: Machine, set: WorkerSize): Finding {
  const { descriptors } = machine;
  const name = "open files";
  if (descriptors.limit === undefined) return skipped(name, "the system does not say how many there may be");
  try {
    const { note } = workerCapacity(machine, set);
    if (note === undefined) return passed(name, `up to ${descriptors.limit}`);
    return warning(name, note, "Raise the limit in the shell or the service that starts the worker.");
  } catch (error) {
    return failed(name, wordsOf(error), "ulimit -n 1024");
  }
}

/** Whether there is memory left for a worker. In bytes; a limit of the container counts, and what the system can take back from its caches. */
export function checkMemory(free = process.availableMemory(), total = readMachine().memory): Finding {
  const found = `${Math.round(free / MIB)} MiB of ${Math.round(total / MIB)} MiB free`;
  return free >= ENOUGH_MEMORY
    ? passed("memory", found)
    : warning("memory", found, `Give it more: a worker should find ${ENOUGH_MEMORY / MIB} MiB.`);
}

/** How strangers on this machine could start runs. */
export interface Exposure {
  /** Any user of the machine can connect to the server, which has no login. */
  readonly reachable: boolean;
  readonly starts: "open" | "signed";
}

const NO_LOGIN = /\/(?:nologin|false|sync|shutdown|halt)$/;
const FIRST_PERSON = 1_000;
/** Nobody's, and nobody's in 32 bits. */
const NOBODY = [65_534, 4_294_967_294];

/** Whether other people have accounts on this machine, and what they could do. `table` is for tests. */
export async function checkOtherUsers(
  { reachable, starts }: Exposure,
  table = "/etc/passwd",
): Promise<Finding> {
  const name = "other users";
  const text = await readFile(table, "utf8").catch(() => undefined);
  if (text === undefined) return skipped(name, `not known on this system: ${table} cannot be read`);
  const others = peopleIn(text).filter(({ uid }) => uid !== ownUid());
  if (others.length === 0) return passed(name, `none in ${table}`);
  const named = firstOf(others.map((person) => person.name));
  const who = `${counted(others.length, "other account")} with a login (${named})`;
  if (!reachable) return passed(name, `${who}; Temporal is not one that asks nobody who they are`);
  if (starts === "signed") return passed(name, `${who}; starts and answers are signed`);
  return warning(
    name,
    `${who}: this machine's Temporal server has no login, so they can start installed packages on registered projects, read runs and answer them`,
    'Sign starts: INTERLOCK_STARTS=signed, or "starts": "signed" in settings.json. Or use a Temporal with a login (docs/security.md).',
  );
}

function ownUid(): number {
  return process.getuid?.() ?? userInfo().uid;
}

function peopleIn(table: string): readonly { readonly name: string; readonly uid: number }[] {
  return table.split("\n").flatMap((line) => {
    const [name = "", , id = "", , , , shell = ""] = line.split(":");
    const uid = Number(id);
    const isPerson = /^\d+$/.test(id) && uid >= FIRST_PERSON && !NOBODY.includes(uid);
    return isPerson && !NO_LOGIN.test(shell.trim()) ? [{ name, uid }] : [];
  });
}
