import { defined } from "../../core/defined.js";
import { HOST_MAX_WRITE_BYTES } from "../../core/run/limits.js";
import { type Result, fail, ok } from "../../core/errors.js";
import { listSome } from "../../core/text.js";
import type { ProtectedPaths } from "../../core/tools/name-rules.js";
import type { FileIdentity } from "../../store/roots/root-places.js";
import type { PermittedRoot, Roots } from "../../store/roots/roots.js";
import type { ForkPoint } from "../../store/runs/fork-point.js";
import { readFile } from "./read.js";
import { type Workspace, type Writer, openWorkspace } from "../sandbox/workspace.js";
import { writeFile } from "./write.js";

/** What the source had written, and its folder. */
type ForkSource = Pick<ForkPoint, "files" | "written">;
type WrittenFile = ForkSource["written"] extends ReadonlyMap<string, infer W> ? W : never;

/** A file that a run had written by some moment, and how the project at hand compares. */
export interface ForkedFile {
  /** Project-relative. */
  readonly path: string;
  readonly sha256: string;
  /** `lost`: the file is missing and its content is no longer kept. */
  readonly status: "same" | "differs" | "missing" | "lost" | "restored";
}

const LIMITS = { maxReadBytes: 1, maxWriteBytes: HOST_MAX_WRITE_BYTES };

/** Compares what a run had written by some moment with what lies in a project. */
export async function compareFiles(source: ForkSource, place: ForkPlace): Promise<readonly ForkedFile[]> {
  const workspace = openForkWorkspace(source, place);
  const files: ForkedFile[] = [];
  for (const [alias, written] of source.written) files.push(await compareFile(workspace, alias, written));
  return files;
}

async function compareFile(workspace: Workspace, alias: string, written: WrittenFile): Promise<ForkedFile> {
  const { sha256, blobs } = written;
  const read = await readFile(workspace, { path: alias }, LIMITS);
  const isMissing = !read.ok && read.error.code === "ENOENT";
  const isKept = blobs.read(sha256) !== undefined;
  const status = isMissing
    ? isKept
      ? "missing"
      : "lost"
    : read.ok && read["sha256"] === sha256
      ? "same"
      : "differs";
  return { path: alias.slice("@project/".length), sha256, status };
}

/**
 * Writes what is missing, as it was. What is there and differs stays as it is: it may be somebody's work, or that of the fork itself,
 * which another worker has let go on meanwhile.
 */
export async function restoreFiles(source: ForkSource, place: ForkPlace): Promise<readonly ForkedFile[]> {
  const workspace = openForkWorkspace(source, place);
  const files: ForkedFile[] = [];
  for (const [alias, written] of source.written) {
    const file = await compareFile(workspace, alias, written);
    const content = file.status === "missing" ? written.blobs.read(file.sha256)?.toString("utf8") : undefined;
    if (content === undefined) {
      files.push(file);
      continue;
    }
    const { ok: isWritten } = await writeFile(workspace, { path: alias, content }, LIMITS, {
      ...defined({ assertOurs: place.assertOurs }),
      beforeCommit: async ({ created }) => (created ? undefined : MADE_MEANWHILE),
    });
    files.push(isWritten ? { ...file, status: "restored" } : await compareFile(workspace, alias, written));
  }
  return files;
}

const MADE_MEANWHILE = fail("E_PRECONDITION_FAILED", "Somebody has made the file meanwhile.").error;

/** Refuses a fork that cannot have its files, with `E_PRECONDITION_FAILED`: a step would look for them in vain. */
export function refuseMissing(files: readonly ForkedFile[]): Result<void> {
  const missing = files.filter(({ status }) => status === "lost" || status === "missing");
  if (missing.length === 0) return ok(undefined);
  const names = listSome(missing.map(({ path }) => path));
  return fail(
    "E_PRECONDITION_FAILED",
    `The fork's project would lack files that the run had written by then, and that cannot be restored: ${names}. Put them into the project, or let the fork begin without them (--allow-missing, \`allowMissing\`).`,
    { files: missing.map(({ path }) => path) },
  );
}

/** The project of the fork. Host paths. */
export interface ForkPlace {
  readonly projectRoot: string;
  readonly lockDir: string;
  /** What the project's directory was when it was permitted. */
  readonly projectIdentity?: FileIdentity | undefined;
  /** What is never shown of it: the store. */
  readonly keepOut: readonly string[];
  readonly protectedPaths: ProtectedPaths;
  readonly writer?: Writer;
  /** Throws when the fork is not the caller's to make any more. */
  readonly assertOurs?: () => void;
}

/** A directory that runs of the store may open, as it was when that was found. */
export function forkPlace(
  { lockDir, roots: { keepOut, protectedPaths } }: { readonly lockDir: string; readonly roots: Roots },
  { path, identity }: PermittedRoot,
): ForkPlace {
  return { projectRoot: path, projectIdentity: identity, lockDir, keepOut, protectedPaths };
}

function openForkWorkspace(
  { files: { stateDir } }: ForkSource,
  { projectRoot, projectIdentity, lockDir, keepOut, protectedPaths, writer }: ForkPlace,
): Workspace {
  return openWorkspace({
    roots: { project: projectRoot, pkg: stateDir, state: stateDir },
    projectIdentity,
    lockDir,
    keepOut,
    protectedPaths,
    ...defined({ writer }),
  });
}
