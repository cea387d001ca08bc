import { counted, shellWord } from "../core/text.js";
import { type Stats, constants, lstatSync } from "node:fs";
import { access, lstat, readdir, stat, statfs } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { FileLock } from "../embedded/server-lock.js";
import { isDenied, systemCode } from "../core/system-code.js";
import { userHere } from "../store/runs/user-here.js";
import { checkStartSecret, hasStartSecret } from "../store/start-signatures.js";
import { DamagedIndex, RunIndex } from "../store/runs/run-index.js";
import { isStore, readStoreIdentity } from "../store/store.js";
import { type Finding, MAX_NAMED, failed, firstOf, passed, reasonOf, skipped, warning } from "./finding.js";

const MIB = 1024 * 1024;
const FEW_BYTES = 1024 * MIB;
const NO_BYTES = 16 * MIB;
const FEW_FILES = 10_000;
const NO_FILES = 100;
const LOCK_PATIENCE_MS = 2_000;
const LOCK_POLL_MS = 50;
const PRIVATE = 0o077;

/** Looks at a store without opening or making it. `starts` is what its workers are set to. */
export async function checkStore(
  path: string,
  starts: "open" | "signed",
  uid = process.getuid?.(),
): Promise<readonly Finding[]> {
  const dir = resolve(path);
  const entry = await statOf(dir);
  if (entry === undefined) return [await checkFuturePlace(dir), await checkSpace(await existing(dir))];
  if (!entry.isDirectory()) {
    return [failed("store", `${dir} is no directory`, "Move it away, or name another by INTERLOCK_STORE.")];
  }
  const place = await checkPlace(dir, entry, uid);
  const space = await checkSpace(dir);
  if (place.status === "failed") return [place, space];
  return [
    place,
    await checkModes(dir, entry),
    space,
    await checkLock(dir),
    ...(await checkRuns(dir)),
    checkStarts(dir, starts),
  ];
}

async function statOf(path: string): Promise<Stats | undefined> {
  return stat(path).catch((error: unknown) => {
    if (systemCode(error) === "ENOENT") return undefined;
    throw error;
  });
}

/** The nearest directory above that is there. */
async function existing(dir: string): Promise<string> {
  for (let at = dir; ; at = dirname(at)) {
    if (at === dirname(at) || (await statOf(at).catch(() => undefined)) !== undefined) return at;
  }
}

async function checkFuturePlace(dir: string): Promise<Finding> {
  const above = await existing(dir);
  return access(above, constants.W_OK | constants.X_OK).then(
    () => passed("store", `${dir} is not there yet: the first command that needs it makes it`),
    () => failed("store", `${dir} cannot be made: ${above} is closed to ${userHere()}`, OTHER_PLACE),
  );
}

const OTHER_PLACE = "Make it writable, or name another place by INTERLOCK_STORE.";

/** What stands in a directory that holds no `store.json`. */
async function withoutIdentity(dir: string): Promise<string> {
  return (await isStore(dir))
    ? `${dir}, which has lost its store.json: the next command that works with it makes it again from its runs`
    : `${dir} holds no store yet`;
}

async function checkPlace(dir: string, entry: Stats, uid: number | undefined): Promise<Finding> {
  const isOurs = uid === undefined || entry.uid === uid;
  const mine = `chown -R ${uid} ${shellWord(dir)}, or run Interlock as the store's owner.`;
  try {
    await access(dir, constants.R_OK | constants.W_OK | constants.X_OK);
    const identity = await readStoreIdentity(dir);
    if (isOurs) return passed("store", identity === undefined ? await withoutIdentity(dir) : dir);
    const owner = `${dir} belongs to user ${entry.uid}, and we are ${uid}`;
    return uid === 0
      ? warning("store", `${owner}: what we make there is closed to them`, mine)
      : failed("store", owner, mine);
  } catch (error) {
    if (!isOurs) return failed("store", `${dir} belongs to user ${entry.uid}, and we are ${uid}`, mine);
    return failed("store", reasonOf(error), `Restore what is named, or make it writable: ${dir}`);
  }
}

/** What lies in a private directory is private. One that was there before keeps its mode: then each entry counts. */
async function checkModes(dir: string, entry: Stats): Promise<Finding> {
  const name = "store modes";
  if (process.platform === "win32") return skipped(name, "this system has none");
  const open: string[] = [];
  const loose: string[] = [];
  for (const child of await readdir(dir)) {
    const { mode, isLink } = await modeOf(join(dir, child));
    if (isLink || (mode & PRIVATE) === 0) continue;
    loose.push(`${child} ${octal(mode)}`);
    open.push(join(dir, child));
  }
  const isClosed = (entry.mode & PRIVATE) === 0;
  if (isClosed && loose.length === 0) return passed(name, "closed to others");
  const listed = [...(isClosed ? [] : [`the directory ${octal(entry.mode)}`]), firstOf(loose)];
  return warning(
    name,
    `open to others: ${listed.filter(Boolean).join(", ")}${isClosed ? " (the directory itself is closed)" : ""}`,
    `chmod go= ${[dir, ...open.slice(0, MAX_NAMED)].map((path) => shellWord(path)).join(" ")}`,
  );
}

async function modeOf(path: string): Promise<{ readonly mode: number; readonly isLink: boolean }> {
  const entry = await lstat(path).catch(() => undefined);
  return { mode: entry?.mode ?? 0, isLink: entry?.isSymbolicLink() ?? false };
}

function octal(mode: number): string {
  return (mode & 0o777).toString(8).padStart(4, "0");
}

async function checkSpace(dir: string): Promise<Finding> {
  const { bavail, bsize, files, ffree } = await statfs(dir);
  return judgeSpace(bavail * bsize, files === 0 ? Number.POSITIVE_INFINITY : ffree, dir);
}

/** What free bytes are worth, and inodes: of those some file systems have a fixed number. */
export function judgeSpace(bytes: number, files: number, dir: string): Finding {
  const room = `${Math.floor(bytes / MIB)} MiB free at ${dir}`;
  const found = files < FEW_FILES ? `${room}, and room for ${counted(files, "file")} (df -i)` : room;
  if (bytes >= FEW_BYTES && files >= FEW_FILES) return passed("space", found);
  const remedy = "Make room there, or move the store (INTERLOCK_STORE).";
  return bytes < NO_BYTES || files < NO_FILES
    ? failed("space", found, remedy)
    : warning("space", found, remedy);
}

/** The lock that each command takes when it opens the store. One that is not there yet is not made. */
async function checkLock(dir: string): Promise<Finding> {
  const path = join(dir, "store.lock");
  if ((await statOf(path)) === undefined) return skipped("locks", "no lock was ever needed");
  let lock: FileLock;
  try {
    lock = new FileLock(path);
  } catch (error) {
    return failed("locks", reasonOf(error), `Give it to the store's owner, with mode 0600: ${path}`);
  }
  try {
    for (let waited = 0; !lock.tryExclusive(); waited += LOCK_POLL_MS) {
      if (waited >= LOCK_PATIENCE_MS) {
        return failed(
          "locks",
          `${path} is held by a process that does not let go: every command waits for it`,
          `End that process, or let it go on when it is stopped (lsof ${path} names it).`,
        );
      }
      await pause(LOCK_POLL_MS);
    }
    return passed("locks", "a lock can be taken");
  } catch (error) {
    return failed("locks", reasonOf(error), "Move the store there: INTERLOCK_STORE says where it is.");
  } finally {
    lock.close();
  }
}

/** The indexes of runs, and whether their folders are open to whoever looks. */
async function checkRuns(dir: string): Promise<readonly Finding[]> {
  const projects = join(dir, "projects");
  const all = (await namesIn(projects)).map((name) => join(projects, name));
  const closed = all.filter(isClosed);
  const open = all.filter((project) => !closed.includes(project));
  for (const runs of open.map((project) => join(project, "runs"))) {
    if (isClosed(runs)) closed.push(runs);
    else closed.push(...(await namesIn(runs)).map((name) => join(runs, name)).filter(isClosed));
  }
  return [await checkIndexes(open), ...(closed.length === 0 ? [] : [closedFinding(closed)])];
}

async function namesIn(dir: string): Promise<readonly string[]> {
  return readdir(dir).catch((error: unknown) => {
    if (systemCode(error) === "ENOENT") return [];
    throw error;
  });
}

/** Whether a folder cannot be entered, such as what a command with sudo has made: those of a store are closed to all but their owner. */
function isClosed(dir: string): boolean {
  try {
    lstatSync(join(dir, "any"), { throwIfNoEntry: false });
    return false;
  } catch (error) {
    return isDenied(systemCode(error));
  }
}

function closedFinding(closed: readonly string[]): Finding {
  const paths = closed.slice(0, MAX_NAMED).map((path) => shellWord(path));
  const remedy = `chown -R ${process.getuid?.()} ${paths.join(" ")}, or run Interlock as the user whose they are.`;
  return failed("run folders", `closed to ${userHere()}: ${firstOf(closed)}`, remedy);
}

async function checkIndexes(projects: readonly string[]): Promise<Finding> {
  let runs = 0;
  const broken: string[] = [];
  for (const project of projects) {
    try {
      runs += await new RunIndex(project).count();
    } catch (error) {
      if (!(error instanceof DamagedIndex)) throw error;
      broken.push(error.path);
    }
  }
  if (broken.length === 0) {
    return passed("run index", `${counted(runs, "run")} of ${counted(projects.length, "project")}`);
  }
  const remedy =
    "Restore it from a backup. Without one, move it away: its runs are listed no longer, and their folders stay.";
  return failed("run index", `cannot be read: ${firstOf(broken)}`, remedy);
}

function checkStarts(dir: string, starts: "open" | "signed"): Finding {
  const name = "starts";
  if (!hasStartSecret({ dir })) {
    const found =
      starts === "signed" ? "signed; the secret is made with the first" : "open: whoever reaches Temporal";
    return passed(name, found);
  }
  try {
    checkStartSecret({ dir });
  } catch (error) {
    return failed(name, reasonOf(error), "Do what the sentence says: without the secret nothing is started.");
  }
  return passed(
    name,
    starts === "signed" ? "signed" : "open here, though the store has a secret to sign with",
  );
}
