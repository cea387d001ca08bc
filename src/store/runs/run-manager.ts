import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { type Failed, type Result, fail, ok } from "../../core/errors.js";
import type { RunEvent } from "../../core/run/run-event.js";
import { isRunId } from "../../core/run/run-id.js";
import { findNode } from "../../core/package/graph.js";
import { parseFrontmatter } from "../../core/state/state-frontmatter.js";
import { effectiveNodeId } from "../../core/state/transition-guard.js";
import { excerpt } from "../../core/text.js";
import { NewestKept } from "../../core/newest-kept.js";
import { type CreateBundleRunRequest, newBundleRun } from "./bundle-run.js";
import { type CreateRunRequest, idOf, problemOf } from "./create-request.js";
import type { HeldLock } from "../disk/fenced-lock.js";
import { parseMarkdown, withFrontmatter } from "../../core/documents/front-matter.js";
import { findAgent, selectWorkflow } from "../packages/choose.js";
import type { LoadedWorkflow } from "../packages/package-loader.js";
import { isOwnFolder, standsThere, understoodFile } from "../disk/own-file.js";
import type { PackageStore } from "../packages/package-store.js";
import { type Project, isProjectId, resolveProject } from "./project-id.js";
import { RunFiles } from "./run-files.js";
import { DamagedIndex, RunIndex } from "./run-index.js";
import type { PrunedRun } from "./index-lines.js";
import type { RunMetadata } from "./run-metadata.js";
import type { RunPlace } from "./status-file.js";
import { type StrayRuns, type SweptRuns, collectStrayRuns, pruneRun, sweepPruned } from "./prune-runs.js";
import { RunObservers } from "./run-observers.js";
import { placeRun, pruned } from "./place-run.js";
import { forkedRunFrontmatter, freshRunFrontmatter } from "./state-file.js";
import { readingWords, systemCode } from "../../core/system-code.js";

const MAX_OPENED = 500;

const projectSchema = z.object({ root: z.string() });

/** What a store holds, as far as it can be read. */
export interface RunSurvey {
  readonly runs: readonly RunMetadata[];
  readonly damaged: readonly { readonly projectId: string; readonly error: DamagedIndex }[];
}

/** Makes runs and finds them again. */
export class RunManager {
  private readonly projectsDir: string;
  private readonly packages: PackageStore;
  private readonly opened = new NewestKept<string, RunFiles>(MAX_OPENED);
  private readonly roots = new Map<string, string>();
  /** One for each project, so that each line is read once. */
  private readonly indexes = new Map<string, RunIndex>();
  private readonly observers = new RunObservers();

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
    const problem = problemOf(request);
    if (problem !== undefined) return problem;
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
      ...(request.parentRunId === undefined ? {} : { parentRunId: request.parentRunId }),
    };
    const document = firstDocument(workflow.value, run, request);
    if (!document.ok) return document;
    const placed = await this.place(project.value, run, document.value);
    if (!placed.ok || (await this.packages.has(request.packageId))) return placed;
    // It was removed while the run was being made, by somebody who did not see the run yet.
    await this.setPhase(run, "failed", now);
    const sentence = `The package ${request.packageId} was removed just now: install it again.`;
    return fail("E_PACKAGE_NOT_FOUND", sentence);
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
    const { found, damaged } = await this.askIndexes((index) => index.list());
    return { runs: oldestFirst(found.flat()), damaged };
  }

  /**
   * The same as the indexes alone have them, for whoever looks at a few of many: how a run stands that is not over, `asItStands`
   * says, from a file of that run.
   */
  async surveyIndexes(): Promise<RunSurvey> {
    const { found, damaged } = await this.askIndexes((index) => index.listUnread());
    return { runs: oldestFirst(found.flat()), damaged };
  }

  /** A run of `surveyIndexes` as it stands. */
  asItStands(run: RunMetadata): RunMetadata {
    return this.index(run.projectId).asItStands(run);
  }

  /** Where a run stood last, over or not; undefined where its files do not say. */
  placeOf(run: RunMetadata): RunPlace | undefined {
    return this.index(run.projectId).placeOf(run);
  }

  /** What is no folder is no project; a link is one that cannot be read. Throws what the system says: that there is no run, it is not. */
  private async projectIds(): Promise<readonly string[]> {
    const entries = await readdir(this.projectsDir, { withFileTypes: true }).catch(
      (error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return [];
        throw error;
      },
    );
    return entries
      .filter((entry) => isProjectId(entry.name) && (entry.isDirectory() || entry.isSymbolicLink()))
      .map(({ name }) => name);
  }

  /** What the indexes of all projects answer, where it is something, and those that cannot be read. */
  private async askIndexes<T>(
    ask: (index: RunIndex) => Promise<T | undefined>,
  ): Promise<{ readonly found: readonly T[]; readonly damaged: RunSurvey["damaged"] }> {
    const found: T[] = [];
    const damaged: { projectId: string; error: DamagedIndex }[] = [];
    for (const projectId of await this.projectIds()) {
      try {
        const answer = await ask(this.index(projectId));
        if (answer !== undefined) found.push(answer);
      } catch (error) {
        if (!(error instanceof DamagedIndex)) throw error;
        damaged.push({ projectId, error });
      }
    }
    return { found, damaged };
  }

  /**
   * A run by its id or by its workflow's, in whichever project; the newest, where a workflow id was used for several. Faults:
   * `E_RUN_NOT_FOUND`; `E_INTERNAL` for one whose folder lies beside an index that cannot be read.
   */
  async findRun(id: string): Promise<Result<RunMetadata>> {
    const byId = await this.askIndexes((index) => index.find(id));
    const run =
      byId.found[0] ?? oldestFirst((await this.askIndexes((index) => index.findByWorkflow(id))).found).at(-1);
    if (run !== undefined) return ok(run);
    if (!isRunId(id)) return runNotFound(id);
    const [prunedAt] = (await this.askIndexes((each) => each.prunedAt(id))).found;
    if (prunedAt !== undefined) return pruned(id, prunedAt);
    const index = byId.damaged.find(({ projectId }) => standsThere(this.filesOf(projectId, id).dir));
    return index === undefined ? runNotFound(id) : fail("E_INTERNAL", index.error.message);
  }

  /**
   * A run by its id, wherever its folder is: of the indexes only that of its project is read. Undefined where there is none.
   * Throws `DamagedIndex`.
   */
  async findPlaced(runId: string): Promise<RunMetadata | undefined> {
    if (!isRunId(runId)) return undefined;
    for (const projectId of await this.projectIds()) {
      const exists = standsThere(this.filesOf(projectId, runId).dir);
      const run = exists ? await this.index(projectId).find(runId) : undefined;
      if (run !== undefined) return run;
    }
    return undefined;
  }

  /** The number of a run's newest execution. */
  newestExecution({ projectId, runId }: Pick<RunMetadata, "projectId" | "runId">): number {
    return this.filesOf(projectId, runId).executions.newest();
  }

  /**
   * Removes a run that is over, unless it has gone on since it had that execution (`prune-runs.ts`). What `isClosed` needs not be over
   * by its files: no execution of it goes on in Temporal.
   */
  async prune(
    { projectId, runId }: Pick<RunMetadata, "projectId" | "runId">,
    execution: number,
    now: Date,
    { isClosed = false }: { readonly isClosed?: boolean } = {},
  ): Promise<boolean> {
    const projectDir = join(this.projectsDir, projectId);
    return pruneRun(projectDir, this.index(projectId), { runId, execution, isClosed }, now);
  }

  /** The runs that are known to have been pruned, in projects whose index can be read. */
  async prunedRuns(): Promise<readonly PrunedRun[]> {
    const { found } = await this.askIndexes(async (index) => [...(await index.ids()).pruned.values()]);
    return found.flat();
  }

  /** Ends prunings that were cut short, and leaves out of the indexes what says nothing any more. Throws `DamagedIndex`. */
  async sweep(): Promise<SweptRuns> {
    const swept: SweptRuns[] = [];
    for (const projectId of await this.projectIds()) {
      swept.push(await sweepPruned(join(this.projectsDir, projectId), this.index(projectId)));
      await this.index(projectId).compactIfRoom();
    }
    return {
      ended: swept.flatMap(({ ended }) => ended),
      notRemoved: swept.flatMap(({ notRemoved }) => notRemoved),
    };
  }

  /** What lies in the folders of projects and belongs to no run; it is removed unless it `stays`. Throws `DamagedIndex`. */
  async collect(which: { readonly before: Date; readonly stays: boolean }): Promise<StrayRuns> {
    const stray: StrayRuns[] = [];
    for (const projectId of await this.projectIds()) {
      stray.push(await collectStrayRuns(join(this.projectsDir, projectId), this.index(projectId), which));
      if (!which.stays) await this.index(projectId).compactIfRoom();
    }
    return {
      pruned: stray.flatMap(({ pruned }) => pruned),
      unmade: stray.flatMap(({ unmade }) => unmade),
      lost: stray.flatMap(({ lost }) => lost),
      notRemoved: stray.flatMap(({ notRemoved }) => notRemoved),
    };
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

  /** The files of a run that exists, for one of its executions or for none. Fault: `E_RUN_NOT_FOUND`. Throws what the system says. */
  async openFiles(projectId: string, runId: string, execution?: number): Promise<Result<RunFiles>> {
    const key = `${projectId}/${runId}/${execution ?? ""}`;
    const known = this.opened.get(key);
    if (known !== undefined) return ok(known);
    if (!isRunId(runId) || !isProjectId(projectId)) return runNotFound(runId);
    const files = this.filesOf(projectId, runId, execution);
    if (!isOwnFolder(files.stateDir)) {
      standsThere(files.stateDir); // throws where it cannot be looked at: that there is none, nobody has said then
      return runNotFound(runId);
    }
    this.opened.set(key, files);
    return ok(files);
  }

  /**
   * Real path of a project's root, by the id of a project that has runs. Faults: `E_PROJECT_INVALID`; `E_INTERNAL` where the store
   * cannot be asked now.
   */
  async projectRoot(projectId: string): Promise<Result<string>> {
    const known = this.roots.get(projectId);
    if (known !== undefined) return ok(known);
    try {
      const path = join(this.projectsDir, projectId, "project.json");
      const project = isProjectId(projectId) ? understoodFile(path, projectSchema) : undefined;
      if (project === undefined) {
        return fail("E_PROJECT_INVALID", "The store does not know where this run's project lies.");
      }
      this.roots.set(projectId, project.root);
      return ok(project.root);
    } catch (error) {
      if (systemCode(error) === undefined) throw error;
      return fail("E_INTERNAL", `Where this run's project lies cannot be read: ${readingWords(error)}`);
    }
  }

  /** `tell` hears of each event that this process writes into an audit log, from now on. Returns what ends that. */
  observe(tell: (event: RunEvent) => void): () => void {
    return this.observers.add(tell);
  }

  private place(project: Project, run: RunMetadata, document?: Uint8Array): Promise<Result<RunMetadata>> {
    return placeRun(this.projectsDir, project, this.index(project.projectId), run, document);
  }

  private index(projectId: string): RunIndex {
    const known = this.indexes.get(projectId);
    if (known !== undefined) return known;
    const index = new RunIndex(join(this.projectsDir, projectId));
    this.indexes.set(projectId, index);
    return index;
  }

  private filesOf(projectId: string, runId: string, execution?: number): RunFiles {
    return new RunFiles(join(this.projectsDir, projectId, "runs", runId), execution, (line, seq) => {
      this.observers.tell(line, seq, runId);
    });
  }
}

function oldestFirst(runs: readonly RunMetadata[]): readonly RunMetadata[] {
  return runs.toSorted((a, b) => (a.createdAt < b.createdAt ? -1 : a.createdAt > b.createdAt ? 1 : 0));
}

function firstDocument(
  workflow: LoadedWorkflow,
  run: RunMetadata,
  { begin, variables = {} }: Pick<CreateRunRequest, "begin" | "variables">,
): Result<Uint8Array> {
  const template = parseMarkdown(begin?.document ?? workflow.document);
  if (!template.ok) return template;
  const now = run.createdAt;
  const frontmatter =
    begin === undefined
      ? freshRunFrontmatter(template.value.frontmatter, { ...run, now }, variables)
      : forkedRunFrontmatter(template.value.frontmatter, { ...run, now }, begin.variables);
  const valid = parseFrontmatter(frontmatter);
  if (!valid.ok) return valid;
  const nodeId = effectiveNodeId(valid.value.currentNodeId, workflow.graph);
  if (begin !== undefined && findNode(workflow.graph, nodeId) === undefined) {
    const sentence = `The run stood at "${excerpt(nodeId)}" then, and ${excerpt(workflow.id)} of ${excerpt(run.packageId)} has no such node. Fork it with the package and the workflow that it had, or from another moment.`;
    return fail("E_PRECONDITION_FAILED", sentence);
  }
  return withFrontmatter(template.value, valid.value);
}

function runNotFound(runId: string): Failed {
  return fail("E_RUN_NOT_FOUND", `There is no run "${excerpt(runId, 80)}" in this store.`);
}
