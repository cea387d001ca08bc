import { randomUUID } from "node:crypto";
import { closeSync, readdirSync, rmSync } from "node:fs";
import { mkdir, readdir, rename, rm, rmdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { type Fault, type Result, fail, ok } from "../../core/errors.js";
import { type RunEvent, toRunEvent } from "../../core/run/run-event.js";
import { failpoint } from "../../core/failpoint.js";
import type { JsonObject } from "../../core/json.js";
import { parseFrontmatter } from "../../core/state/state-frontmatter.js";
import { excerpt } from "../../core/text.js";
import { syncDirectory, writeFileAtomic } from "../disk/atomic-file.js";
import { type CreateBundleRunRequest, newBundleRun } from "./bundle-run.js";
import { type HeldLock, LockLost, withFileLock } from "../disk/fenced-lock.js";
import { parseMarkdown, withFrontmatter } from "../../core/documents/front-matter.js";
import { findAgent, selectWorkflow } from "../packages/choose.js";
import type { LoadedWorkflow } from "../packages/package-loader.js";
import { isOwnFolder, openOwnFile, readOwnText, standsThere } from "../disk/own-file.js";
import type { PackageStore } from "../packages/package-store.js";
import { type Project, isProjectId, resolveProject } from "./project-id.js";
import { RunFiles } from "./run-files.js";
import { DamagedIndex, RunIndex, type RunMetadata, workflowIdOfRun } from "./run-index.js";
import { forkedRunFrontmatter, freshRunFrontmatter } from "./state-file.js";

/** What a new run is made from (contracts §4). */
export interface CreateRunRequest {
  readonly projectRoot: string;
  readonly packageId: string;
  readonly workflowRef?: string;
  readonly activeAgentId: string;
  /** A UUID in lower case; made when absent. The same id again is the same run. */
  readonly runId?: string;
  /** The Temporal workflow that the run belongs to; absent means `run-<runId>`. */
  readonly workflowId?: string;
  /** The run begins with another run's document, and with some variables set. */
  readonly begin?: RunBeginning;
}

/** A state document of the same workflow, as it stood, and what is changed in it. */
export interface RunBeginning {
  readonly from: { readonly runId: string; readonly visit: number };
  readonly document: Uint8Array;
  readonly variables: JsonObject;
}

/** In one spelling only: it names a folder, and some file systems take two spellings for one. */
const uuid = z.uuid().lowercase();

/** What a store holds, as far as it can be read. */
export interface RunSurvey {
  readonly runs: readonly RunMetadata[];
  readonly damaged: readonly { readonly projectId: string; readonly error: DamagedIndex }[];
}

/** Makes runs and finds them again. */
export class RunManager {
  private readonly projectsDir: string;
  private readonly packages: PackageStore;
  private readonly opened = new Map<string, RunFiles>();
  private readonly roots = new Map<string, string>();

  private readonly observers = new Set<(event: RunEvent) => void>();

  constructor(storeDir: string, packages: PackageStore) {
    this.projectsDir = join(storeDir, "projects");
    this.packages = packages;
  }

  /**
   * Creates a run: all or nothing (contracts §4). Faults: `E_PROJECT_INVALID`, `E_PACKAGE_NOT_FOUND`,
   * `E_PACKAGE_INVALID`, `E_WORKFLOW_REF_REQUIRED`, `E_WORKFLOW_NOT_FOUND`, `E_AGENT_NOT_FOUND`,
   * `E_INDEX_WRITE_FAILED`, `E_SCHEMA_VALIDATION`.
   */
  async createRun(request: CreateRunRequest, now = new Date()): Promise<Result<RunMetadata>> {
    const runId = idOf(request);
    if (!runId.ok) return runId;
    const project = await resolveProject(request.projectRoot);
    if (!project.ok) return project;
    const loaded = await this.packages.open(request.packageId);
    if (!loaded.ok) return loaded;
    const workflow = selectWorkflow(loaded.value, request.workflowRef ?? "");
    if (!workflow.ok) return workflow;
    const agent = findAgent(loaded.value, request.activeAgentId);
    if (!agent.ok) return agent;
    const run: RunMetadata = {
      runId: runId.value,
      ...(request.workflowId === undefined ? {} : { workflowId: request.workflowId }),
      projectId: project.value.projectId,
      packageId: request.packageId,
      workflowRef: workflow.value.id,
      activeAgentId: request.activeAgentId,
      phase: "idle",
      createdAt: now.toISOString(),
      lastUpdatedAt: now.toISOString(),
      ...(request.begin === undefined ? {} : { forkedFrom: request.begin.from }),
    };
    const document = firstDocument(workflow.value, run, request.begin);
    if (!document.ok) return document;
    return this.place(project.value, run, document.value);
  }

  /**
   * Creates a bundle run: a run without a state document, whose session folder is made when it is opened. All or nothing.
   * Faults: `E_PROJECT_INVALID`, `E_PACKAGE_NOT_FOUND` (bundle or core root), `E_RUN_NOT_FOUND` (an id that is none),
   * `E_INDEX_WRITE_FAILED`.
   */
  async createBundleRun(request: CreateBundleRunRequest, now = new Date()): Promise<Result<RunMetadata>> {
    const runId = idOf(request);
    if (!runId.ok) return runId;
    const project = await resolveProject(request.projectRoot);
    if (!project.ok) return project;
    const run = await newBundleRun(request, runId.value, project.value, now);
    return run.ok ? this.place(project.value, run.value) : run;
  }

  /** The runs of a project, oldest first. Faults: `E_PROJECT_INVALID`, `E_INTERNAL` (a damaged index). */
  async listRuns(projectRoot: string): Promise<Result<readonly RunMetadata[]>> {
    const project = await resolveProject(projectRoot);
    if (!project.ok) return project;
    try {
      return ok(await this.index(project.value.projectId).list());
    } catch (error) {
      if (error instanceof DamagedIndex) return fail("E_INTERNAL", error.message);
      throw error;
    }
  }

  /** The runs of all projects of the store, oldest first. Throws `DamagedIndex`. */
  async listAllRuns(): Promise<readonly RunMetadata[]> {
    const { runs, damaged } = await this.surveyRuns();
    const [first] = damaged;
    if (first !== undefined) throw first.error;
    return runs;
  }

  /** The runs of all projects whose index can be read, oldest first, and the indexes that cannot. */
  async surveyRuns(): Promise<RunSurvey> {
    const names = await readdir(this.projectsDir).catch(() => []);
    const runs: RunMetadata[] = [];
    const damaged: { projectId: string; error: DamagedIndex }[] = [];
    await Promise.all(
      names.filter(isProjectId).map(async (projectId) => {
        try {
          runs.push(...(await this.index(projectId).list()));
        } catch (error) {
          if (!(error instanceof DamagedIndex)) throw error;
          damaged.push({ projectId, error });
        }
      }),
    );
    return { runs: runs.sort((a, b) => a.createdAt.localeCompare(b.createdAt)), damaged };
  }

  /**
   * A run by its id or by its workflow's, in whichever project; the newest, where a workflow id was used for several. Faults:
   * `E_RUN_NOT_FOUND`; `E_INTERNAL` for one whose folder lies beside an index that cannot be read.
   */
  async findRun(id: string): Promise<Result<RunMetadata>> {
    const { runs, damaged } = await this.surveyRuns();
    const run =
      runs.find(({ runId }) => runId === id) ?? runs.findLast((known) => workflowIdOfRun(known) === id);
    if (run !== undefined) return ok(run);
    if (!uuid.safeParse(id).success) return runNotFound(id);
    const index = damaged.find(({ projectId }) => standsThere(this.filesOf(projectId, id).dir));
    return index === undefined ? runNotFound(id) : fail("E_INTERNAL", index.error.message);
  }

  /**
   * A run by its id, wherever its folder is: of the indexes only that of its project is read. Undefined where there is none.
   * Throws `DamagedIndex`.
   */
  async findPlaced(runId: string): Promise<RunMetadata | undefined> {
    if (!uuid.safeParse(runId).success) return undefined;
    const names = await readdir(this.projectsDir).catch(() => []);
    for (const projectId of names.filter(isProjectId)) {
      const exists = standsThere(this.filesOf(projectId, runId).dir);
      const run = exists ? await this.index(projectId).find(runId) : undefined;
      if (run !== undefined) return run;
    }
    return undefined;
  }

  /** Host path of a run's state document. Fault: `E_RUN_NOT_FOUND`. */
  async getRunStatePath(projectRoot: string, runId: string): Promise<Result<string>> {
    const runs = await this.listRuns(projectRoot);
    if (!runs.ok) return runs;
    const run = runs.value.find((candidate) => candidate.runId === runId);
    if (run === undefined) return runNotFound(runId);
    return ok(join(this.filesOf(run.projectId, runId).stateDir, "workflow.md"));
  }

  async setPhase(
    run: { projectId: string; runId: string },
    phase: RunMetadata["phase"],
    now: Date,
    owner?: HeldLock,
  ): Promise<void> {
    await this.index(run.projectId).setPhase(run.runId, phase, now, owner);
  }

  /** Says that a run is worked on, unless it has come further: then whoever says so is late. */
  async setBegun(run: { projectId: string; runId: string }, now: Date): Promise<void> {
    await this.index(run.projectId).setBegun(run.runId, now);
  }

  /** The files of a run that exists, for one of its executions or for none. Fault: `E_RUN_NOT_FOUND`. */
  async openFiles(projectId: string, runId: string, execution?: number): Promise<Result<RunFiles>> {
    const key = `${projectId}/${runId}/${execution ?? ""}`;
    const known = this.opened.get(key);
    if (known !== undefined) return ok(known);
    if (!uuid.safeParse(runId).success || !isProjectId(projectId)) return runNotFound(runId);
    const files = this.filesOf(projectId, runId, execution);
    if (!isOwnFolder(files.stateDir)) return runNotFound(runId);
    this.remember(key, files);
    return ok(files);
  }

  /** Real path of a project's root, by the id of a project that has runs. Fault: `E_PROJECT_INVALID`. */
  async projectRoot(projectId: string): Promise<Result<string>> {
    const known = this.roots.get(projectId);
    if (known !== undefined) return ok(known);
    try {
      if (!isProjectId(projectId)) throw new Error("not an id");
      const text = await readOwnText(join(this.projectsDir, projectId, "project.json"));
      const { root } = z.object({ root: z.string() }).parse(JSON.parse(text));
      this.roots.set(projectId, root);
      return ok(root);
    } catch {
      return fail("E_PROJECT_INVALID", "The store does not know where this run's project lies.");
    }
  }

  private async place(
    project: Project,
    run: RunMetadata,
    document?: Uint8Array,
  ): Promise<Result<RunMetadata>> {
    const projectDir = join(this.projectsDir, project.projectId);
    try {
      await mkdir(join(projectDir, "runs"), { recursive: true, mode: 0o700 });
      return await withFileLock(
        join(projectDir, "create.lock"),
        async (lock) => {
          const known = await this.index(project.projectId).find(run.runId);
          return known === undefined ? await this.placeNew(project, run, document, lock) : ok(known);
        },
        () => removeStaged(join(projectDir, "runs")),
      );
    } catch (error) {
      return notWritten(error);
    }
  }

  /** The caller holds the project's creation lock, and the index does not list the run. */
  private async placeNew(
    project: Project,
    run: RunMetadata,
    document: Uint8Array | undefined,
    lock: HeldLock,
  ): Promise<Result<RunMetadata>> {
    const index = this.index(project.projectId);
    const projectDir = join(this.projectsDir, project.projectId);
    const runsDir = join(projectDir, "runs");
    const staging = join(runsDir, `.tmp-${randomUUID()}`);
    const final = join(runsDir, run.runId);
    if (!(await isPristine(final))) {
      const sentence =
        "The run's folder is in use, but the index (runsIndex.json) does not list it: restore it.";
      return fail("E_INDEX_WRITE_FAILED", sentence);
    }
    const artifacts = document === undefined ? ok({ made: false }) : await makeArtifactsRoot(project.root);
    if (!artifacts.ok) return artifacts;
    failpoint("run.artifacts-made");
    const removeAll = async () => {
      lock.assertHeld();
      removeStaged(runsDir);
      await rm(final, { recursive: true, force: true });
    };
    try {
      await removeAll();
      await mkdir(join(staging, "state", "logs"), { recursive: true, mode: 0o700 });
      await mkdir(join(staging, "conversation"), { mode: 0o700 });
      closeSync(openOwnFile(join(staging, "state", "logs", "execution.jsonl"), "create"));
      if (document !== undefined) await writeFileAtomic(join(staging, "state", "workflow.md"), document);
      await writeFileAtomic(
        join(projectDir, "project.json"),
        `${JSON.stringify({ root: project.root })}\n`,
        lock,
      );
      failpoint("run.staged");
      lock.assertHeld();
      await rename(staging, final);
      failpoint("run.placed");
      await syncDirectory(runsDir);
      lock.assertHeld();
      await index.add(run);
      failpoint("run.indexed");
      return ok(run);
    } catch (error) {
      if (error instanceof LockLost || !lock.isHeld()) throw error; // nothing of it is ours any more
      await index.remove(run.runId).catch(() => undefined);
      await removeAll().catch(() => undefined);
      if (artifacts.value.made) await rmdir(join(project.root, "artifacts")).catch(() => undefined);
      return notWritten(error);
    }
  }

  /** `tell` hears of each event that this process writes into an audit log, from now on. Returns what ends that. */
  observe(tell: (event: RunEvent) => void): () => void {
    this.observers.add(tell);
    return () => void this.observers.delete(tell);
  }

  private index(projectId: string): RunIndex {
    return new RunIndex(join(this.projectsDir, projectId));
  }

  private filesOf(projectId: string, runId: string, execution?: number): RunFiles {
    return new RunFiles(join(this.projectsDir, projectId, "runs", runId), execution, (line, seq) => {
      if (this.observers.size === 0) return;
      const event = toRunEvent(line, seq, runId);
      if (event !== undefined) for (const tell of this.observers) tellSafely(tell, event);
    });
  }

  private remember(key: string, files: RunFiles): void {
    this.opened.set(key, files);
    const oldest = this.opened.keys().next().value;
    if (this.opened.size > 500 && oldest !== undefined) this.opened.delete(oldest);
  }
}

/** The id that is asked for, or a new one. */
function idOf({ runId = randomUUID() }: Pick<CreateRunRequest, "runId">): Result<string> {
  return uuid.safeParse(runId).success
    ? ok(runId)
    : fail("E_RUN_NOT_FOUND", "A run id is a UUID in lower case.");
}

function firstDocument(
  workflow: LoadedWorkflow,
  run: RunMetadata,
  begin: RunBeginning | undefined,
): Result<Uint8Array> {
  const template = parseMarkdown(begin?.document ?? workflow.document);
  if (!template.ok) return template;
  const now = run.createdAt;
  const frontmatter =
    begin === undefined
      ? freshRunFrontmatter(template.value.frontmatter, { ...run, now })
      : forkedRunFrontmatter(template.value.frontmatter, { ...run, now }, begin.variables);
  const valid = parseFrontmatter(frontmatter);
  return valid.ok ? withFrontmatter(template.value, valid.value) : valid;
}

async function makeArtifactsRoot(projectRoot: string): Promise<Result<{ made: boolean }>> {
  const artifacts = join(projectRoot, "artifacts");
  let made = false;
  try {
    made = (await mkdir(artifacts, { recursive: true })) !== undefined;
    if ((await stat(artifacts)).isDirectory()) return ok({ made });
  } catch {
    if (made) await rmdir(artifacts).catch(() => undefined);
  }
  return fail(
    "E_PROJECT_INVALID",
    "The project's artifacts directory cannot be made. Check the project's permissions.",
  );
}

/** Under the creation lock no other creation is going on: whatever is staged was cut short. */
function removeStaged(runsDir: string): void {
  for (const name of readdirSync(runsDir)) {
    if (name.startsWith(".tmp-")) rmSync(join(runsDir, name), { recursive: true, force: true });
  }
}

/**
 * Whether a run's folder is missing or was never worked in. One that the index does not list is a creation that a
 * crash cut short; but if it has been worked in, the index has lost it, and nobody may delete it.
 */
async function isPristine(runDir: string): Promise<boolean> {
  const files = [join(runDir, "state", "logs", "execution.jsonl"), join(runDir, "calls.jsonl")];
  const sizes = await Promise.all(
    files.map((file) =>
      stat(file).then(
        ({ size }) => size,
        (error: NodeJS.ErrnoException) => {
          if (error.code === "ENOENT" || error.code === "ENOTDIR") return 0;
          throw error;
        },
      ),
    ),
  );
  return sizes.every((size) => size === 0);
}

function notWritten(error: unknown): { ok: false; error: Fault } {
  if (error instanceof DamagedIndex) return fail("E_INDEX_WRITE_FAILED", error.message);
  const reason = error instanceof Error && "code" in error ? ` (${String(error.code)})` : "";
  const sentence = `The run could not be written to the store${reason}. Nothing was kept.`;
  return fail("E_INDEX_WRITE_FAILED", sentence);
}

function runNotFound(runId: string): { ok: false; error: Fault } {
  return fail("E_RUN_NOT_FOUND", `There is no run "${excerpt(runId, 80)}" in this store.`);
}

/** What an observer makes of an event is not the run's trouble. */
function tellSafely(tell: (event: RunEvent) => void, event: RunEvent): void {
  try {
    tell(event);
  } catch {
    // it is written down
  }
}
