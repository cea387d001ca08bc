import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  realpathSync,
  statSync,
  statfsSync,
} from "node:fs";
import { access, stat } from "node:fs/promises";
import { userInfo } from "node:os";
import { basename, dirname, isAbsolute, join, parse, relative, sep } from "node:path";
import { mayPass, systemCode } from "../../core/system-code.js";
import type { Access } from "../../core/tools/name-rules.js";
import { homeDirectory } from "../disk/home-directory.js";

/** What a directory or a file is, whatever it is called. */
export interface FileIdentity {
  readonly dev: bigint;
  readonly ino: bigint;
}

/** Whether two looks saw the same entry of the file system: not where one saw nothing. */
export function sameIdentity(one: FileIdentity | undefined, other: FileIdentity | undefined): boolean {
  return one !== undefined && other !== undefined && one.dev === other.dev && one.ino === other.ino;
}

/** Why nobody's project can be in a place, as the end of a sentence, and where it can be. */
export interface Forbidden {
  readonly why: string;
  readonly instead: string;
}

/** Undefined where a project may be. `real` is a real path. */
export function forbiddenPlace(real: string, ours: readonly string[]): Forbidden | undefined {
  const named = forbiddenName(real);
  if (named !== undefined) return named;
  if (leadsIntoOneOf(real, ours)) return OURS;
  const self = identityNow(real);
  knownHomes ??= homeDirectories();
  const { homes, people } = knownHomes;
  if (homes.some((home) => home.path === real || sameIdentity(self, home.identity))) return HOME;
  if (people.some((home) => isInside(real, home))) return HOLDS_HOME;
  return undefined;
}

const IN_IT = "Make a directory in it for the project, and name that one";
const ELSEWHERE = "Name a project's directory outside of it";
const OURS: Forbidden = { why: "belongs to Interlock itself", instead: ELSEWHERE };
const HOME: Forbidden = { why: "is a home directory", instead: IN_IT };
const HOLDS_HOME: Forbidden = { why: "holds a home directory", instead: IN_IT };

/** What is no project on any machine: its name says so, and nothing has to be looked at. */
function forbiddenName(path: string): Forbidden | undefined {
  if (isFileSystemRoot(path)) return { why: "is the root of the file system", instead: IN_IT };
  const system = SYSTEM_PLACES.find((place) => isInside(place, path));
  const isOfSystem = system !== undefined && (path === SHARED_MEMORY || !isInside(SHARED_MEMORY, path));
  return isOfSystem
    ? { why: `belongs to the system (${path === SHARED_MEMORY ? path : system})`, instead: ELSEWHERE }
    : undefined;
}

/** Whether a real path is that: all else lies in it. */
export function isFileSystemRoot(real: string): boolean {
  return real === parse(real).root;
}

const SHARED_MEMORY = "/dev/shm";

/**
 * What a path that is not registered is by its name alone, where it could not be registered either. The names of home
 * directories are those that are usual: which are there is not told to whoever asks.
 */
export function forbiddenByName(path: string, ours: readonly string[]): Forbidden | undefined {
  if (ours.some((place) => isInside(place, path))) return OURS;
  if (path === "/root" || /^\/(?:home|Users)\/[^/]+$/u.test(path)) return HOME;
  if (path === "/home" || path === "/Users") return HOLDS_HOME;
  return path === homeDirectory() ? HOME : forbiddenName(path);
}

/** They show other directories under names of their own, and are written to at once. */
const SYSTEM_PLACES = ["/proc", "/sys", "/dev"];

/** Whether a real path is one of the places or lies in one, by its names, by what its parents are, or through a mount. */
function leadsIntoOneOf(real: string, places: readonly string[]): boolean {
  const targets = [...new Set(places)].map((place) => realPathOf(place) ?? place);
  if (targets.some((target) => isInside(target, real))) return true;
  const parents = parentsOf(real).map(identityNow);
  const table = mounts();
  const where = locationOf(real, table);
  return targets.some((target) => {
    const identity = identityOf(target);
    if (identity === undefined) return false;
    if (parents.some((parent) => sameIdentity(identity, parent))) return true;
    const other = locationOf(target, table);
    return where !== undefined && where.device === other?.device && isInside(other.path, where.path);
  });
}

/** Whether `path` is `directory` or lies in it, by its names. */
export function isInside(directory: string, path: string): boolean {
  const below = relative(directory, path);
  return below === "" || (below !== ".." && !below.startsWith(`..${sep}`) && !isAbsolute(below));
}

/** A path and all that it lies in, innermost first. */
export function parentsOf(path: string): readonly string[] {
  const parents = [path];
  for (let at = path; dirname(at) !== at; at = dirname(at)) parents.push(dirname(at));
  return parents;
}

/** Undefined for what is not there, and for what cannot be looked at. */
export function identityOf(path: string): BigIntStats | undefined {
  return ifSaid(() => identityNow(path));
}

/** As `identityOf`. Throws where the system cannot say it now: that nothing is there, nobody has said then. */
export function identityNow(path: string): BigIntStats | undefined {
  return saidNow(() => statSync(path, { bigint: true, throwIfNoEntry: false }));
}

/** What the system refuses with where this user may not read there, enter a directory, or write where that is wanted; undefined where all of it may be done. */
export async function accessRefusal(path: string, wanted: Access): Promise<unknown> {
  try {
    const search = (await stat(path)).isDirectory() ? constants.X_OK : 0;
    await access(path, constants.R_OK | search | (wanted === "write" ? constants.W_OK : 0));
    return undefined;
  } catch (error) {
    return error;
  }
}

/**
 * File systems that give a directory another inode number once they have forgotten it, for lack of memory or when they are mounted again, as
 * `statfs` names them: FUSE (sshfs), shares of Windows, 9P, FAT and exFAT. Layers of containers keep theirs where they lie on one file
 * system, as they do nearly everywhere.
 */
const FORGETFUL: ReadonlySet<number> = new Set([
  0x6573_5546, 0xff53_4d42, 0xfe53_4d42, 0x0102_1997, 0x4d44, 0x2011_bab0,
]);

/** Whether the inode number of what lies there says later on whether it still does. */
export function keepsInodes(path: string): boolean {
  const known = saidNow(() => statfsSync(path));
  return known === undefined || !FORGETFUL.has(known.type);
}

/**
 * A descriptor that names an object without opening it, so that a FIFO cannot block and a device is not touched. Node has no constant
 * for it; the value is the same on every Linux that Node runs on.
 */
export const O_PATH = 0o10000000;

/**
 * Whether a real path leads to that, by directories alone: a link that has come into the way since the path was found is not followed. Where
 * the system cannot walk so (other than Linux) it is taken for true. Throws as `identityNow`, by this path.
 */
export function leadsStraightTo(real: string, identity: FileIdentity): boolean {
  if (process.platform !== "linux") return true;
  let fd = openSync("/", O_PATH);
  try {
    for (const name of real.split("/").filter((part) => part !== "")) {
      const at = `/proc/self/fd/${fd}/${name}`;
      const next = saidNow(() => openSync(at, O_PATH | constants.O_NOFOLLOW));
      if (next === undefined) return false;
      closeSync(fd);
      fd = next;
    }
    return sameIdentity(fstatSync(fd, { bigint: true }), identity);
  } catch (error) {
    throw error instanceof Error ? Object.assign(error, { path: real }) : error;
  } finally {
    closeSync(fd);
  }
}

/** Undefined for what is not there, and for what cannot be looked at. */
export function realPathOf(path: string): string | undefined {
  return ifSaid(() => realPathNow(path));
}

/** As `realPathOf`. Throws where the system cannot say it now: that nothing is there, nobody has said then. */
export function realPathNow(path: string): string | undefined {
  return saidNow(() => realpathSync.native(path));
}

export function withoutSlash(path: string): string {
  return path.length > 1 ? path.replace(/[\\/]+$/u, "") || sep : path;
}

/**
 * The real path of what exists of a path, and the names that do not exist yet. A broken link is none. Throws where the system cannot say
 * it now.
 */
export function futurePath(path: string): string | undefined {
  const names: string[] = [];
  for (let at = withoutSlash(path); ; at = dirname(at)) {
    const real = realPathNow(at);
    if (real !== undefined) return join(real, ...names);
    if (standsInTheWay(at) || dirname(at) === at) return undefined;
    names.unshift(basename(at));
  }
}

/** A broken link, and what cannot be looked at: a name that is too long, a directory that is closed to us. */
function standsInTheWay(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
  } catch {
    return true;
  }
}

/** What a look finds; undefined where there is nothing, or it is closed to us. Throws where the system cannot say it now. */
export function saidNow<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if (mayPass(systemCode(error))) throw error;
    return undefined;
  }
}

function ifSaid<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}

/** Where in its file system a path lies: a bind mount shows the same place under another name. Linux only. */
function locationOf(
  path: string,
  table: readonly MountPoint[],
): { readonly device: string; readonly path: string } | undefined {
  let found: MountPoint | undefined;
  const place = `${path}/`;
  for (const mount of table) {
    // Of two mounts in one place, the later one is on top.
    if (place.startsWith(mount.below) && mount.point.length >= (found?.point.length ?? 0)) found = mount;
  }
  return found && { device: found.device, path: join(found.root, relative(found.point, path)) };
}

interface MountPoint {
  readonly device: string;
  /** What of the file system is mounted. */
  readonly root: string;
  readonly point: string;
  /** How the real paths of what lies there begin; `point` itself does with a slash behind it. */
  readonly below: string;
}

function mounts(): readonly MountPoint[] {
  if (process.platform !== "linux") return [];
  // Throws where it cannot be read now: what is mounted where decides what may be opened.
  return saidNow(() => mountsIn(readFileSync("/proc/self/mountinfo", "utf8"))) ?? [];
}

const mountsIn = keepingLast((text): readonly MountPoint[] =>
  text.split("\n").flatMap((line) => {
    const [, , device, root, point] = line.split(" ");
    if (device === undefined || root === undefined || point === undefined) return [];
    const at = unescapeMount(point);
    return [{ device, root: unescapeMount(root), point: at, below: at === "/" ? at : `${at}/` }];
  }),
);

/** As `read`, which is asked again only for another text than the last one: what is on disk is looked at each time. */
export function keepingLast<T>(read: (text: string) => T): (text: string) => T {
  let last: { readonly text: string; readonly value: T } | undefined;
  return (text) => {
    if (last?.text !== text) last = { text, value: read(text) };
    return last.value;
  };
}

/** The kernel writes spaces and the like as three octal digits. */
function unescapeMount(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/gu, (_, digits: string) =>
    String.fromCodePoint(Number.parseInt(digits, 8)),
  );
}

interface HomeDirectories {
  readonly homes: readonly { readonly path: string; readonly identity: FileIdentity | undefined }[];
  /** Those that belong to people. */
  readonly people: readonly string[];
}

/** Looked up once: whoever registers a directory is a process of its own. */
let knownHomes: HomeDirectories | undefined;

/** The home directories of this machine. */
function homeDirectories(): HomeDirectories {
  const people = new Set<string>(["/root"]);
  const homes = new Set<string>();
  const ours = homeDirectory();
  if (ours !== undefined) people.add(ours);
  try {
    people.add(userInfo().homedir);
  } catch {
    // a user that the machine does not know has none
  }
  for (const line of passwdLines()) {
    const [, , uid = "", , , home = "", shell = ""] = line.split(":");
    if (!isAbsolute(home) || home === "/") continue;
    homes.add(home);
    if (Number(uid) >= 500 && !/\/(?:nologin|false)$/u.test(shell)) people.add(home);
  }
  const real = (paths: Iterable<string>) =>
    [...paths].filter((path) => isAbsolute(path)).map((path) => realPathOf(path) ?? path);
  const ofPeople = real(people);
  return {
    homes: [...new Set([...ofPeople, ...real(homes)])].map((path) => ({ path, identity: identityOf(path) })),
    people: ofPeople.filter((path) => path !== "/"),
  };
}

function passwdLines(): readonly string[] {
  try {
    return readFileSync("/etc/passwd", "utf8").split("\n");
  } catch {
    return [];
  }
}
