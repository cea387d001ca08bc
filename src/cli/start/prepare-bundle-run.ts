import { realpath, stat } from "node:fs/promises";
import { join, relative, resolve, sep, posix } from "node:path";
import type { StartBundleRun } from "../../client/client.js";
import type { Config } from "../../config.js";
import { BUNDLE_RUN_WORKFLOW } from "../../contract/names.js";
import { agentPlace } from "../../core/bundle/agent-place.js";
import { isThere } from "../../store/disk/is-there.js";
import { makeFolders } from "../../store/disk/make-folders.js";
import { sessionIdProblem } from "../../store/runs/bundle-run.js";
import { resolveProject } from "../../store/runs/project-id.js";
import type { Store } from "../../store/store.js";
import { loadAgent } from "../../tools/bundle/bundle-agent-file.js";
import { findRoots } from "../../tools/bundle/bundle-discovery.js";
import { type BudgetChoice, budgetOf } from "../options/budget-options.js";
import { UsageError, usable } from "../terminal/output.js";
import { registerRoot } from "../session/register-root.js";
import type { PreparedRun } from "../follow/follow-and-report.js";
import type { FoundProject } from "../session/find-project.js";
import { requireModel } from "./prepare-graph-run.js";
import { type ModelChoice, chosenModel, modelOf } from "../options/model-options.js";
import type { StepChoice } from "../options/step-option.js";
import type { WantedModel } from "../../core/run/run-model.js";
import { defined } from "../../core/defined.js";
import { excerpt, shellWord } from "../../core/text.js";

export interface BundleChoice extends BudgetChoice, ModelChoice, StepChoice {
  readonly bundle?: string;
  readonly core?: string;
  readonly project: string;
  readonly agent?: string;
  readonly input?: string;
  readonly yolo?: boolean;
  readonly output?: string;
  readonly session?: string;
  readonly autopilot?: boolean;
  readonly rehearse?: boolean;
}

/** Checks everything about a bundle run that can be checked before it is started, and registers its roots. Throws `UsageError` with the remedy. */
export async function prepareBundleRun(
  config: Config,
  store: Store,
  workflow: string,
  choice: BundleChoice,
): Promise<PreparedRun> {
  const workflowFile = await existing(workflow, "file");
  refuseOtherForms(workflow);
  refuseOddSession(choice.session);
  const roots = await findRoots(workflowFile);
  const bundleRoot = await existing(choice.bundle ?? roots.bundleRoot, "directory");
  const coreRoot = choice.core ?? roots.coreRoot;
  const inside = relative(bundleRoot, workflowFile);
  if (inside === ".." || inside.startsWith(`..${sep}`)) {
    throw new UsageError(
      `The workflow does not lie inside the bundle ${bundleRoot}. Name its root with --bundle.`,
    );
  }
  const project = usable(await resolveProject(resolve(choice.project)));
  const agentFile = choice.agent === undefined ? undefined : resolve(choice.agent);
  if (agentFile !== undefined) usable(await loadAgent(agentFile));
  const outputRoot = choice.output === undefined ? undefined : resolve(choice.output);
  await refuseTakenSession(outputRoot ?? join(project.root, "artifacts"), choice.session);
  const request = bundleRequest(
    {
      store,
      projectRoot: project.root,
      bundleRoot,
      workflowPath: inside.split(sep).join("/"),
      coreRoot: coreRoot === undefined ? undefined : await existing(coreRoot, "directory"),
      agentFile,
      outputRoot,
    },
    choice,
    () => chosenModel(config, choice),
  );
  if (config.temporal === undefined && choice.rehearse !== true) requireModel(config, [""], request.model);
  await registerRoots(store, request);
  return bundlePrepared(workflow, request);
}

/**
 * A bundle run in another store: its bundle lies on that machine, so that every path is absolute there. Its workers check what is to be
 * checked, and open registered directories only. Throws `UsageError`.
 */
export function bundleRunThere(
  config: Config,
  { store, project }: FoundProject,
  workflow: string,
  choice: BundleChoice,
): PreparedRun {
  refuseOtherForms(workflow);
  refuseOddSession(choice.session);
  const { bundle = "", core: coreRoot, agent: agentFile, output: outputRoot } = choice;
  for (const [what, path] of Object.entries({ workflow, bundle, coreRoot, agentFile, outputRoot })) {
    if (path === undefined || posix.isAbsolute(path)) continue;
    const sentence = `The store ${store.name} is on another machine: give absolute paths of that machine, and the bundle's root with --bundle.`;
    throw new UsageError(`${sentence} ${what} is "${excerpt(path)}".`);
  }
  const workflowPath = posix.relative(bundle, workflow);
  const place = { store, projectRoot: project.root, bundleRoot: bundle, workflowPath };
  const request = bundleRequest({ ...place, coreRoot, agentFile, outputRoot }, choice, () =>
    modelOf(config, choice),
  );
  return bundlePrepared(workflow, request);
}

/** Where a bundle run is, and what of. */
interface BundleRunPlace {
  readonly store: { readonly storeId: string };
  readonly projectRoot: string;
  readonly bundleRoot: string;
  /** Inside the bundle. */
  readonly workflowPath: string;
  readonly coreRoot: string | undefined;
  readonly agentFile: string | undefined;
  readonly outputRoot: string | undefined;
}

/** What the run is started with, whichever store has it. `chosen` says its model; a rehearsal has none. Throws `UsageError`. */
function bundleRequest(
  { store, projectRoot, bundleRoot, workflowPath, ...paths }: BundleRunPlace,
  choice: BundleChoice,
  chosen: () => WantedModel | undefined,
): StartBundleRun {
  const rehearsal = choice.rehearse === true ? {} : undefined;
  return {
    projectRoot,
    storeId: store.storeId,
    bundleRoot,
    workflowPath: `{bundle-root}/${workflowPath}`,
    ...defined({
      ...paths,
      input: choice.input,
      yolo: choice.yolo,
      sessionId: choice.session,
      autopilot: choice.autopilot,
      steps: choice.steps,
      rehearsal,
      budget: budgetOf(choice),
      model: rehearsal === undefined ? chosen() : undefined,
    }),
  };
}

/** A bundle run begins with a `workflow.yaml`. */
function refuseOtherForms(workflow: string): void {
  if (/\.ya?ml$/i.test(workflow)) return;
  const remedy = /\.md$/i.test(workflow)
    ? `A skill, or a workflow of step files, becomes a package first: interlock package import ${shellWord(workflow)}`
    : "Name the workflow.yaml.";
  throw new UsageError(`"${workflow}" is no workflow.yaml. ${remedy}`);
}

function bundlePrepared(name: string, request: StartBundleRun): PreparedRun {
  return {
    name,
    workflow: BUNDLE_RUN_WORKFLOW,
    input: request,
    start: (client) => client.startBundle(request),
    graph: undefined,
    projectRoot: request.projectRoot,
  };
}

/** Whoever names directories here works on the store's machine. An output directory is made, so that it can be registered. */
async function registerRoots(store: Store, request: StartBundleRun): Promise<void> {
  const { projectRoot, bundleRoot, coreRoot, agentFile, outputRoot } = request;
  await registerRoot(store, projectRoot, "write");
  await registerRoot(store, bundleRoot, "read");
  if (coreRoot !== undefined) await registerRoot(store, coreRoot, "read");
  if (agentFile !== undefined) await registerRoot(store, agentPlace(agentFile).path, "read");
  if (outputRoot === undefined) return;
  try {
    await makeFolders(outputRoot);
  } catch {
    // what is no directory is refused below
  }
  await registerRoot(store, outputRoot, "write");
}

/** Said before anything is started: a retry would have the same name. */
function refuseOddSession(session: string | undefined): void {
  const problem = session === undefined ? undefined : sessionIdProblem(session);
  if (problem !== undefined) throw new UsageError(problem);
}

/** Said before anything is started; of two runs that are started at once, the engine refuses one. */
async function refuseTakenSession(outputRoot: string, session: string | undefined): Promise<void> {
  if (session === undefined) return;
  if (await isThere(resolve(outputRoot, session))) {
    throw new UsageError(`The session "${session}" is taken. Choose another name, or none.`);
  }
}

/** The real path of what an argument names. */
export async function existing(path: string, kind: "file" | "directory"): Promise<string> {
  try {
    const real = await realpath(resolve(path));
    const entry = await stat(real);
    if (kind === "file" ? entry.isFile() : entry.isDirectory()) return real;
  } catch {
    // said below
  }
  throw new UsageError(`"${path}" is no ${kind}.`);
}
