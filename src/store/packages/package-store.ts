import { randomBytes } from "node:crypto";
import { lstatSync, mkdirSync, statSync } from "node:fs";
import { readdir, rename, utimes } from "node:fs/promises";
import { dirname, join } from "node:path";
import { compareBuild } from "semver";
import { type Failed, type Result, fail, ok } from "../../core/errors.js";
import { failpoint } from "../../core/failpoint.js";
import { NewestKept } from "../../core/newest-kept.js";
import { MANIFEST_FILE, checkManifest } from "../../core/package/check-package.js";
import { type Finding, WHOLE_PACKAGE, errorFinding, isError, quote } from "../../core/package/findings.js";
import { isPackageId, mayBeCalled, packageIdOf } from "../../core/package/package-id.js";
import { requireSystemCode, writeRemedy, unreadNow } from "../../core/system-code.js";
import { syncDirectory } from "../disk/atomic-file.js";
import { withFileLock, withFileLockUnless } from "../disk/fenced-lock.js";
import { standsThere } from "../disk/own-file.js";
import { unpackArchive } from "./package-archive.js";
import { contentDigest, digestFiles } from "./package-digest.js";
import {
  PackageFileRefused,
  type PackageListing,
  PackageUnreadNow,
  listPackage,
  readPackageFile,
} from "./package-files.js";
import { type LoadedPackage, loadPackage, loadNewPackage } from "./package-loader.js";
import { kindOfSource, sourceFinding } from "./package-source.js";
import { copyPackage, removeTree, sealTree } from "./package-tree.js";

export interface InstalledPackage {
  readonly packageId: string;
  readonly name: string;
  readonly version: string;
  readonly dir: string;
}

/** The outcome of an installation: what was installed, and what is odd about it. */
export interface Installation extends InstalledPackage {
  readonly findings: readonly Finding[];
}

/** The packages of a store: `<storeDir>/packages/<packageId>/`, each one immutable (contracts §2, §3). */
export interface PackageStore {
  /**
   * Installs a directory or a `.bmad` archive, atomically and idempotently: the same bytes give the same id.
   * Faults: `E_PACKAGE_NOT_FOUND` when there is nothing at `source`; `E_PACKAGE_INVALID` with
   * `details.findings[]`; `E_INTERNAL` when the store cannot be written.
   */
  install(source: string): Promise<Result<Installation>>;
  /** Faults: `E_PACKAGE_NOT_FOUND`, `E_PACKAGE_INVALID` (somebody changed it on disk), `E_INTERNAL` (it cannot be read now). */
  open(packageId: string): Promise<Result<LoadedPackage>>;
  /**
   * The id of an installed package, by that id, by its name or by `name@version`: of several the one that `newestOf` says, unless
   * `preferred` is one of them. Faults: `E_PACKAGE_NOT_FOUND`; `E_INTERNAL` where one that may be meant cannot be read now.
   */
  resolve(named: string, preferred?: string): Promise<Result<string>>;
  /** Sorted by id, without those that cannot be read now. */
  list(): Promise<readonly InstalledPackage[]>;
  /** The SHA-256 of an installed package's content; undefined where there is none. */
  digest(packageId: string): Promise<string | undefined>;
  /** Whether a package is installed, changed on disk or not. */
  has(packageId: string): Promise<boolean>;
  /**
   * Whether runs still need the package is for callers to ask: before, or by `isNeeded`, when nobody finds the package any more; one that
   * is needed is put back. Faults: `E_PACKAGE_NOT_FOUND`, `E_PRECONDITION_FAILED` (needed), `E_INTERNAL`.
   */
  remove(packageId: string, isNeeded?: () => Promise<boolean>): Promise<Result<void>>;
  /**
   * Ends installations and removals that were cut short, unless they `stay`; a removal before it was known whether the package is needed
   * is undone. Returns what was found. Fault: `E_INTERNAL`.
   */
  tidy(stays: boolean): Promise<Result<readonly string[]>>;
}

const STAGED = ".tmp-";
const LEAVING = ".leaving-";

export function openPackageStore(storeDir: string): PackageStore {
  return new DirectoryPackageStore(storeDir);
}

const MAX_OPEN_PACKAGES = 16;
const MAX_MANIFEST_BYTES = 4 * 1024 * 1024;

/**
 * 1. Whatever stands under a package's id is complete, validated and never written again: it was staged under
 *    a `.tmp-` name beside it, made durable and renamed.
 * 2. `.tmp-` names are used only while holding `packages.lock`, which the kernel takes from a process that
 *    dies. So whoever holds the lock knows that every `.tmp-` it finds belongs to nobody, and deletes it.
 * 3. A package that is to go is `.leaving-<id>` while its runs are looked for: whoever finds one under the lock puts it back.
 */
class DirectoryPackageStore implements PackageStore {
  private readonly packagesDir: string;
  private readonly lockFile: string;
  /** Those that were used last. */
  private readonly opened = new NewestKept<
    string,
    { readonly stamp: string; readonly loaded: LoadedPackage }
  >(MAX_OPEN_PACKAGES);

  constructor(storeDir: string) {
    this.packagesDir = join(storeDir, "packages");
    this.lockFile = join(storeDir, "packages.lock");
  }

  async install(source: string): Promise<Result<Installation>> {
    const kind = await kindOfSource(source);
    if (kind === "nothing") {
      return fail("E_PACKAGE_NOT_FOUND", "There is no package directory or .bmad archive at this path.");
    }
    const problem = sourceFinding(kind);
    if (problem !== undefined) return invalid([problem]);
    return this.exclusively((staging) =>
      kind === "directory" ? this.installDirectory(source, staging) : this.installArchive(source, staging),
    );
  }

  async open(packageId: string): Promise<Result<LoadedPackage>> {
    const found = await this.find(packageId);
    if (found === undefined) return unknown(packageId);
    const known = this.opened.get(packageId);
    if (known?.stamp === found.stamp) return ok(this.remember(packageId, found.stamp, known.loaded));
    try {
      const loaded = await loadInstalled(packageId, found.dir);
      if (loaded.ok) return ok(this.remember(packageId, found.stamp, loaded.value));
      // What was removed while it was read, or put in its place again, says nothing about the package.
      return (await this.find(packageId))?.stamp === found.stamp ? loaded : await this.open(packageId);
    } catch (error) {
      if (error instanceof PackageUnreadNow) return fail("E_INTERNAL", error.message);
      throw error;
    }
  }

  async list(): Promise<readonly InstalledPackage[]> {
    return (await this.described()).installed;
  }

  async resolve(named: string, preferred?: string): Promise<Result<string>> {
    if ((await this.find(named)) !== undefined) return ok(named);
    const { installed, unread } = await this.described();
    const candidates = installed.filter(
      ({ name, version }) => name === named || `${name}@${version}` === named,
    );
    if (candidates.some(({ packageId }) => packageId === preferred)) return ok(preferred ?? named);
    for (const [packageId, { code }] of unread)
      if (mayBeCalled(packageId, named))
        return fail("E_INTERNAL", unreadNow(`packages/${packageId}/${MANIFEST_FILE}`, code));
    const newest = newestOf(candidates);
    return newest === undefined ? unknown(named) : ok(newest.packageId);
  }

  async digest(packageId: string): Promise<string | undefined> {
    const found = await this.find(packageId);
    return found && digestOf(await listPackage(found.dir));
  }

  async has(packageId: string): Promise<boolean> {
    return (await this.find(packageId)) !== undefined;
  }

  async remove(
    packageId: string,
    isNeeded: () => Promise<boolean> = () => Promise.resolve(false),
  ): Promise<Result<void>> {
    if ((await this.find(packageId)) === undefined) return unknown(packageId);
    return this.exclusively(async (staging) => {
      const found = await this.find(packageId);
      if (found === undefined) return unknown(packageId);
      this.opened.delete(packageId);
      const leaving = join(this.packagesDir, `${LEAVING}${packageId}`);
      await rename(found.dir, leaving);
      const putBack = (): Promise<void> => rename(leaving, found.dir);
      const isTaken = await isNeeded().catch(async (error: unknown) => {
        await putBack(); // whether a run needs it, nobody knows
        throw error;
      });
      if (isTaken) {
        await putBack();
        return fail("E_PRECONDITION_FAILED", "A run needs this package.");
      }
      await rename(leaving, staging);
      await syncDirectory(this.packagesDir);
      return ok(undefined); // what lies under `staging` now is deleted on the way out
    });
  }

  private async installDirectory(source: string, staging: string): Promise<Result<Installation>> {
    const listing = await listPackage(source);
    if (listing.findings.some(isError)) return invalid((await loadPackage(listing)).findings);
    try {
      await copyPackage(listing, staging);
    } catch (error) {
      if (error instanceof PackageFileRefused) return invalid([error.finding]);
      throw error;
    }
    return this.adopt(staging);
  }

  private async installArchive(source: string, staging: string): Promise<Result<Installation>> {
    const findings = await unpackArchive(source, staging);
    return findings.length > 0 ? invalid(findings) : this.adopt(staging);
  }

  /** Validates what is staged, which nobody else can change, and gives it its name. */
  private async adopt(staging: string): Promise<Result<Installation>> {
    failpoint("package.staged");
    const listing = await listPackage(staging);
    const report = await loadNewPackage(listing);
    if (report.package === undefined) return invalid(report.findings);
    const { name, version } = report.package.manifest;
    const digest = contentDigest(await digestFiles(listing));
    const packageId = packageIdOf(name, version, digest);
    const dir = join(this.packagesDir, packageId);
    const installation = { packageId, name, version, dir, findings: report.findings };
    const isThere = (await this.find(packageId)) !== undefined;
    if (isThere && (await digestOf(await listPackage(dir))) === digest) {
      const now = new Date();
      await utimes(dir, now, now); // of two builds it is the one installed last, and too young to be garbage
      await this.syncNames(); // who placed it may have died first
      return ok(installation);
    }
    await sealTree(listing);
    failpoint("package.sealed");
    if (standsThere(dir)) await rename(dir, `${staging}-changed`); // deleted on the way out
    await rename(staging, dir);
    failpoint("package.placed");
    await this.syncNames();
    return ok(installation);
  }

  private async syncNames(): Promise<void> {
    for (const folder of [this.packagesDir, dirname(this.packagesDir)]) await syncDirectory(folder);
  }

  /** Runs `action` with a fresh staging path while no other process installs or removes. */
  private async exclusively<T>(action: (staging: string) => Promise<Result<T>>): Promise<Result<T>> {
    try {
      mkdirSync(this.packagesDir, { recursive: true, mode: 0o700 });
      return await withFileLock(this.lockFile, async () => {
        await this.clearStaging();
        try {
          return await action(join(this.packagesDir, `${STAGED}${randomBytes(8).toString("hex")}`));
        } finally {
          await this.clearStaging();
        }
      });
    } catch (error) {
      return notWritten(error);
    }
  }

  async tidy(stays: boolean): Promise<Result<readonly string[]>> {
    if (!standsThere(this.packagesDir)) return ok([]);
    try {
      return await withFileLockUnless(stays, this.lockFile, async () => {
        const names = await readdir(this.packagesDir);
        if (!stays) await this.clearStaging();
        return ok(names.filter((name) => name.startsWith(STAGED) || name.startsWith(LEAVING)));
      });
    } catch (error) {
      return notWritten(error);
    }
  }

  private async clearStaging(): Promise<void> {
    for (const name of await readdir(this.packagesDir)) {
      const path = join(this.packagesDir, name);
      const leaving = name.startsWith(LEAVING) ? name.slice(LEAVING.length) : undefined;
      if (leaving !== undefined && isPackageId(leaving) && (await this.find(leaving)) === undefined) {
        await rename(path, join(this.packagesDir, leaving));
      } else if (leaving !== undefined || name.startsWith(STAGED)) await removeTree(path);
    }
  }

  /** The directory of an installed package; a link in its place is none. */
  private async find(packageId: string): Promise<FoundPackage | undefined> {
    if (!isPackageId(packageId)) return undefined;
    const dir = join(this.packagesDir, packageId);
    const entry = lstatSync(dir, { bigint: true, throwIfNoEntry: false });
    if (entry?.isDirectory() !== true) return undefined;
    return { dir, stamp: [entry.dev, entry.ino, entry.ctimeNs, entry.mtimeNs].join("-") };
  }

  /** All packages, sorted by id; beside them those of which that cannot be said now. */
  private async described(): Promise<{
    readonly installed: readonly InstalledPackage[];
    readonly unread: ReadonlyMap<string, PackageUnreadNow>;
  }> {
    const installed: InstalledPackage[] = [];
    const unread = new Map<string, PackageUnreadNow>();
    const names = standsThere(this.packagesDir) ? await readdir(this.packagesDir) : [];
    for (const name of names.sort()) {
      try {
        const item = await this.describe(name);
        if (item !== undefined) installed.push(item);
      } catch (error) {
        if (!(error instanceof PackageUnreadNow)) throw error;
        unread.set(name, error);
      }
    }
    return { installed, unread };
  }

  /** Undefined for what is none. Throws `PackageUnreadNow`. */
  private async describe(packageId: string): Promise<InstalledPackage | undefined> {
    const dir = (await this.find(packageId))?.dir;
    if (dir === undefined) return undefined;
    const bytes = await readPackageFile(dir, MANIFEST_FILE, MAX_MANIFEST_BYTES).catch((error: unknown) => {
      if (error instanceof PackageUnreadNow) throw error;
      return new Uint8Array();
    });
    const { value: manifest, findings } = checkManifest(Buffer.from(bytes).toString("utf8"));
    if (manifest === undefined || findings.some(isError)) return undefined;
    return { packageId, name: manifest.name, version: manifest.version, dir };
  }

  private remember(packageId: string, stamp: string, loaded: LoadedPackage): LoadedPackage {
    this.opened.set(packageId, { stamp, loaded });
    return loaded;
  }
}

/** Of the packages of one name the newest version (SemVer), and of that version the one that was installed last. */
export function newestOf(packages: readonly InstalledPackage[]): InstalledPackage | undefined {
  return packages
    .map((item) => ({ ...item, installedAt: statSync(item.dir).mtimeMs }))
    .sort((a, b) => compareBuild(a.version, b.version) || a.installedAt - b.installedAt)
    .at(-1);
}

interface FoundPackage {
  readonly dir: string;
  /** Changes when the directory is exchanged or something directly in it is: a loaded package is stale then. */
  readonly stamp: string;
}

function notWritten(error: unknown): Failed {
  if (error instanceof PackageUnreadNow) return fail("E_INTERNAL", error.message);
  const code = requireSystemCode(error);
  const remedy = writeRemedy(code, "let this user write there, and see to the disk");
  return fail("E_INTERNAL", `The packages of the store could not be written (${code}): ${remedy}.`);
}

function unknown(packageId: string): Failed {
  return fail("E_PACKAGE_NOT_FOUND", `No package ${quote(packageId)} is installed in this store.`);
}

/** Throws `PackageUnreadNow`. */
async function loadInstalled(packageId: string, dir: string): Promise<Result<LoadedPackage>> {
  const listing = await listPackage(dir);
  const report = await loadPackage(listing);
  if (report.package === undefined) return invalid(report.findings);
  const { name, version } = report.package.manifest;
  const digest = await digestOf(listing);
  return digest !== undefined && packageIdOf(name, version, digest) === packageId
    ? ok(report.package)
    : changedOnDisk(packageId);
}

/** Undefined where there is something that no package holds. */
async function digestOf(listing: PackageListing): Promise<string | undefined> {
  if (listing.findings.length > 0) return undefined;
  try {
    return contentDigest(await digestFiles(listing));
  } catch (error) {
    if (error instanceof PackageFileRefused) return undefined;
    throw error;
  }
}

function changedOnDisk(packageId: string): Failed {
  const sentence = `the installed copy ${packageId} was changed on disk: install the package again, which puts it back`;
  return invalid([errorFinding(WHOLE_PACKAGE, "$", sentence)]);
}

function invalid(findings: readonly Finding[]): Failed {
  const errors = findings.filter(isError);
  const first = errors[0] ?? findings[0];
  const where = first === undefined ? "" : ` ${first.file}, ${first.path}: ${first.message}`;
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : "";
  return fail("E_PACKAGE_INVALID", `The package is not valid.${where}${more}`, {
    findings: findings.map((finding) => ({ ...finding })),
  });
}
