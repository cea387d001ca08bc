import { lstatSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { sha256 } from "../disk/sha256.js";
import { refuseLinkedFolders, standsThere } from "../disk/own-file.js";
import { DamagedRoots, Roots } from "../roots/roots.js";
import { RunIndex } from "../runs/run-index.js";
import {
  type BackupManifest,
  type BackupFile,
  type BackupPart,
  PARTS_FOLDER,
  STORE_PART,
  folderOfPart,
  isRun,
} from "./backup-format.js";
import { BackupError, piecesOf, readPart } from "./manifest.js";
import { ownFiles, packageFiles, possibleParts, projectFiles, runFiles } from "./part-sources.js";
import { DamagedPiece, type Pieces } from "./pieces.js";
import { type PartSource, takePart } from "./take-part.js";
import { NeverQuiet, Unreadable, isAboutPart, reading } from "./unreadable.js";
import { someAtOnce } from "../../core/some-at-once.js";

const AT_ONCE = 4;
/** How often a project is looked at again whose runs are pruned meanwhile. */
const MAX_ROUNDS = 20;

/** What a backup has come to. */
export interface BackupReport {
  readonly storeId: string;
  readonly takenAt: string;
  readonly runs: number;
  readonly packages: number;
  /** What was new or had grown. */
  readonly copied: { readonly pieces: number; readonly bytes: number };
  /** All that the backup holds now. */
  readonly bytes: number;
  /** What could not be taken, and why: the former backup of it, if there is one, stays in the backup. */
  readonly notTaken: readonly { readonly part: string; readonly why: string }[];
}

/** One backup while it is made. */
export class OneBackup {
  private readonly storeDir: string;
  private readonly dir: string;
  private readonly former: ReadonlyMap<string, string>;
  private readonly taken = new Map<string, string>();
  /** The pieces of parts that are not as they were. */
  private readonly toSweep = new Map<string, ReadonlySet<string>>();
  private readonly notTaken = new Map<string, string>();
  /** How large each part is that is taken. */
  private readonly bytesOf = new Map<string, number>();
  private copied = { pieces: 0, bytes: 0 };
  private readonly onPart: () => void;

  constructor(storeDir: string, dir: string, former: BackupManifest | undefined, onPart: () => void) {
    this.onPart = onPart;
    this.storeDir = storeDir;
    this.dir = dir;
    this.former = new Map(former?.parts.map(({ part, sha256: hash }) => [part, hash]));
  }

  async takeAll(): Promise<void> {
    for (const part of this.partsOf("projects")) await this.takeProject(part);
    await someAtOnce(this.partsOf("packages"), AT_ONCE, (part) => this.takePackage(part));
    await this.takeOwn();
  }

  /** Without them it would be no store, and this no backup. Throws `BackupError`. */
  private async takeOwn(): Promise<void> {
    const damage = damageOfRoots(this.storeDir);
    const hasFormer = this.partOf(this.former.get(STORE_PART), piecesOf(this.dir, STORE_PART)) !== undefined;
    if (damage !== undefined && hasFormer) return this.leave(STORE_PART, damage);
    if (damage !== undefined) this.notTaken.set("roots.json", damage);
    await this.take(STORE_PART, ownFiles(this.storeDir, { withRoots: damage === undefined }));
    const problem = this.taken.has(STORE_PART) ? undefined : this.notTaken.get(STORE_PART);
    if (problem !== undefined) throw new BackupError(problem);
  }

  parts(): BackupManifest["parts"] {
    return [...this.taken]
      .map(([part, hash]) => ({ part, sha256: hash }))
      .sort((a, b) => (a.part < b.part ? -1 : 1));
  }

  report({ storeId, takenAt, parts }: BackupManifest): BackupReport {
    const count = (pattern: RegExp): number => parts.filter(({ part }) => pattern.test(part)).length;
    return {
      storeId,
      takenAt,
      runs: count(/\/runs\//),
      packages: count(/^packages\//),
      copied: this.copied,
      bytes: [...this.bytesOf.values()].reduce((sum, bytes) => sum + bytes, 0),
      notTaken: [...this.notTaken].map(([part, why]) => ({ part, why })),
    };
  }

  /** Removes what the manifest no longer names. */
  async clean(): Promise<void> {
    for (const [part, kept] of this.toSweep) piecesOf(this.dir, part).sweep(kept);
    const at = join(this.dir, PARTS_FOLDER);
    for (const id of await namesIn(join(at, "packages"))) await this.removeUnless(`packages/${id}`);
    for (const id of await namesIn(join(at, "projects"))) {
      for (const run of await namesIn(join(at, "projects", id, "runs"))) {
        await this.removeUnless(`projects/${id}/runs/${run}`);
      }
      await this.removeUnless(`projects/${id}`);
    }
  }

  private async removeUnless(part: string): Promise<void> {
    if (!this.taken.has(part)) {
      await rm(join(this.dir, PARTS_FOLDER, ...folderOfPart(part)), { recursive: true, force: true });
    }
  }

  /** The parts of a kind; none where they cannot be listed. What was never anything but a stray file is none. */
  private partsOf(kind: "packages" | "projects"): readonly string[] {
    const dir = join(this.storeDir, kind);
    try {
      const possible = reading(dir, () => possibleParts(this.storeDir, kind));
      return possible.filter(({ part, isFile }) => !isFile || this.former.has(part)).map(({ part }) => part);
    } catch (error) {
      if (!isAboutPart(error)) throw error;
      const isNew =
        error instanceof Unreadable && error.isMissing && below(kind, this.former.keys()).length === 0;
      if (!isNew) this.leave(kind, error.message);
      return [];
    }
  }

  private async takeProject(part: string): Promise<void> {
    const index = new RunIndex(join(this.storeDir, ...folderOfPart(part)));
    try {
      this.refuseLostIndex(part);
      for (let round = 0; round < MAX_ROUNDS; round += 1) if (await this.takeRuns(part, index)) return;
      throw new NeverQuiet("Runs of it are pruned all the time: back it up again later.");
    } catch (error) {
      if (!isAboutPart(error)) throw error;
      this.leave(part, error.message);
    }
  }

  /**
   * Takes the index, then the runs that it lists. False where one of them was removed meanwhile: an index without it is to be taken,
   * and after it the others again, so that it says of none more than the run itself.
   */
  private async takeRuns(part: string, index: RunIndex): Promise<boolean> {
    let runs: readonly string[];
    let after: readonly string[];
    do {
      runs = idsOf(await index.listUnread());
      await this.copy(part, projectFiles(this.storeDir, part));
      after = idsOf(await index.listUnread());
    } while (runs.join() !== after.join());
    const listed = new Set(runs.map((runId) => `${part}/runs/${runId}`));
    for (const run of below(part, this.taken.keys())) if (!listed.has(run)) this.forget(run);
    let isWhole = true;
    await someAtOnce(listed, AT_ONCE, async (run) => {
      const isGone = async (): Promise<boolean> => (await index.find(basename(run))) === undefined;
      if (!(await this.take(run, runFiles(this.storeDir, run), isGone))) isWhole = false;
    });
    return isWhole;
  }

  /** A project that had runs and has no index has lost it: what its runs are, nothing says any more. */
  private refuseLostIndex(part: string): void {
    const dir = join(this.storeDir, ...folderOfPart(part));
    // In this order: the index of versions before is removed when the other one stands.
    const isThere = ["runsIndex.json", "runs.jsonl"].some((name) =>
      reading(dir, () => standsThere(join(dir, name))),
    );
    if (isThere || below(`${part}/runs`, this.former.keys()).length === 0) return;
    throw new Unreadable(
      `${join(dir, "runs.jsonl")} is missing: bring it back, from a backup if there is one.`,
    );
  }

  /** A package never changes: the files of one that the backup has whole, as it was installed then, are not looked at. */
  private async takePackage(part: string): Promise<void> {
    const pieces = piecesOf(this.dir, part);
    const former = this.partOf(this.former.get(part), pieces);
    const source = packageFiles(this.storeDir, part);
    const isWhole =
      former !== undefined &&
      former.mtimeMs === timeOf(source.dir) &&
      former.files.every((file) => file.pieces.every((piece) => pieces.holds(piece)));
    if (isWhole) this.keepFormer(part);
    else await this.take(part, source, () => Promise.resolve(true));
  }

  /**
   * False for a part that is not there any more; `isGone`: whether it was removed by somebody who may do so. What else cannot be taken
   * is left.
   */
  private async take(
    part: string,
    source: PartSource,
    isGone: () => Promise<boolean> = () => Promise.resolve(false),
  ): Promise<boolean> {
    this.onPart();
    try {
      await this.copy(part, source);
    } catch (error) {
      if (!isAboutPart(error)) throw error;
      if (error instanceof Unreadable && error.isMissing && (await isGone())) {
        this.forget(part);
        return false;
      }
      this.leave(part, error.message);
    }
    return true;
  }

  /** Throws what `isAboutPart` is about, where nothing is taken. */
  private async copy(part: string, source: PartSource): Promise<void> {
    const pieces = piecesOf(this.dir, part);
    const former = this.partOf(this.taken.get(part) ?? this.former.get(part), pieces);
    const before = heldOf(former, pieces);
    const isWhole = (file: BackupFile): boolean => file.pieces.every((piece) => before.has(piece.sha256));
    const now = await takePart(source, former?.files.filter(isWhole) ?? [], pieces);
    const text = JSON.stringify(now);
    const hash = sha256(text);
    const kept = new Set([hash, ...hashesOf(now)]);
    this.forget(part);
    this.count(part, now, before);
    this.taken.set(part, hash);
    if (former !== undefined && hash === this.former.get(part)) return pieces.sweep(kept);
    pieces.keepText(text);
    await pieces.sync();
    this.toSweep.set(part, kept);
  }

  /** Keeps the former backup of a part that cannot be taken, and of what lies in it, and says why. */
  private leave(part: string, why: string): void {
    // In a run lies no other part: those of all runs are not gone through for each of them.
    const inIt = isRun(part) ? [] : [...below(part, this.taken.keys()), ...below(part, this.former.keys())];
    for (const each of new Set([part, ...inIt])) {
      this.forget(each);
      this.keepFormer(each);
    }
    this.notTaken.set(part, why);
  }

  private forget(part: string): void {
    for (const known of [this.taken, this.bytesOf, this.toSweep, this.notTaken]) known.delete(part);
  }

  private keepFormer(part: string): void {
    const pieces = piecesOf(this.dir, part);
    const hash = this.former.get(part);
    const former = this.partOf(hash, pieces);
    if (hash === undefined || former === undefined) return;
    this.taken.set(part, hash);
    this.count(part, former, heldOf(former, pieces));
    pieces.sweep(new Set([hash, ...hashesOf(former)]));
  }

  /** Undefined where there is none, and where it is damaged: then the part is copied anew. */
  private partOf(hash: string | undefined, pieces: Pieces): BackupPart | undefined {
    if (hash === undefined) return undefined;
    try {
      return readPart(pieces, hash);
    } catch (error) {
      if (error instanceof DamagedPiece) return undefined;
      throw error;
    }
  }

  private count(part: string, { files }: BackupPart, before: ReadonlySet<string>): void {
    const all = files.flatMap(({ pieces }) => pieces);
    this.bytesOf.set(
      part,
      all.reduce((sum, { bytes }) => sum + bytes, 0),
    );
    for (const { sha256: hash, bytes } of all) {
      if (before.has(hash)) continue;
      this.copied = { pieces: this.copied.pieces + 1, bytes: this.copied.bytes + bytes };
    }
  }
}

function below(part: string, parts: Iterable<string>): readonly string[] {
  return [...parts].filter((known) => known.startsWith(`${part}/`));
}

/** The pieces of a part that are there. */
function heldOf(part: BackupPart | undefined, pieces: Pieces): ReadonlySet<string> {
  const all = part?.files.flatMap((file) => file.pieces) ?? [];
  return new Set(all.filter((piece) => pieces.holds(piece)).map(({ sha256: hash }) => hash));
}

function hashesOf({ files }: BackupPart): readonly string[] {
  return files.flatMap(({ pieces }) => pieces.map(({ sha256: hash }) => hash));
}

function idsOf(runs: readonly { readonly runId: string }[]): readonly string[] {
  return runs.map(({ runId }) => runId);
}

function damageOfRoots(storeDir: string): string | undefined {
  try {
    new Roots(storeDir).list();
    return undefined;
  } catch (error) {
    if (error instanceof DamagedRoots) return error.message;
    throw error;
  }
}

/** Of a folder. Undefined where it cannot be looked at. */
function timeOf(dir: string): number | undefined {
  try {
    return lstatSync(dir).mtimeMs;
  } catch {
    return undefined;
  }
}

/** Of a folder of the backup. What a link leads to is none: what lies there is not removed. Throws `NotOurFile`. */
async function namesIn(dir: string): Promise<readonly string[]> {
  refuseLinkedFolders(join(dir, "name"));
  return readdir(dir).catch(() => []);
}
