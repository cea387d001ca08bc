import { resolve } from "node:path";
import type { StartRun } from "../../client/client.js";
import type { Config } from "../../config.js";
import { GRAPH_RUN_WORKFLOW } from "../../contract/names.js";
import type { StoreReader } from "../../contract/reads.js";
import { defined } from "../../core/defined.js";
import { openingState } from "../../core/graph-state/initial-state.js";
import type { WorkflowGraph } from "../../core/package/graph.js";
import type { WantedModel } from "../../core/run/run-model.js";
import { shellWord } from "../../core/text.js";
import { leadsSomewhere } from "../../store/disk/is-there.js";
import { findAgent, selectWorkflow } from "../../store/packages/choose.js";
import { resolveProject } from "../../store/runs/project-id.js";
import type { Store } from "../../store/store.js";
import { type BudgetChoice, budgetOf } from "../options/budget-options.js";
import type { FoundProject } from "../session/find-project.js";
import { type ModelChoice, chosenModel, modelOf } from "../options/model-options.js";
import { UsageError, asError, usable } from "../terminal/output.js";
import { registerRoot } from "../session/register-root.js";
import type { PreparedRun } from "../follow/follow-and-report.js";
import type { RunThere } from "./run-elsewhere.js";
import type { StepChoice } from "../options/step-option.js";

export interface RunChoice extends BudgetChoice, ModelChoice, StepChoice {
  readonly package: string;
  readonly project: string;
  readonly workflow?: string;
  readonly agent?: string;
  readonly input?: string;
  readonly autopilot?: boolean;
  readonly conditions?: boolean;
  readonly wholeRunConversation?: boolean;
  readonly story?: string;
  readonly rehearse?: boolean;
  readonly branches?: boolean;
  readonly forbiddenJump?: boolean;
}

/** Where a graph run is, and what of. */
interface GraphRunPlace {
  readonly store: { readonly storeId: string };
  readonly projectRoot: string;
  readonly packageId: string;
  /** Undefined: the workers there take the package's first. */
  readonly activeAgentId: string | undefined;
}

/** Installs the package if need be, checks project, workflow and agent, and registers the project. Throws `UsageError` with the remedy. */
export async function prepareRun(config: Config, store: Store, choice: RunChoice): Promise<PreparedRun> {
  const project = usable(await resolveProject(resolve(choice.project)));
  const packageId = await installedPackage(store, choice.package);
  const loaded = usable(await store.packages.open(packageId));
  const workflow = usable(selectWorkflow(loaded, choice.workflow ?? ""));
  const agent = usable(findAgent(loaded, choice.agent ?? loaded.agents[0]?.id ?? ""));
  usable(openingState(choice.story === undefined ? {} : { storyId: choice.story }));
  const request = graphRequest(
    { store, projectRoot: project.root, packageId, activeAgentId: agent.id },
    choice,
    () => chosenModel(config, choice),
  );
  if (config.temporal === undefined && request.rehearsal === undefined) {
    requireModel(config, agentsOf(workflow.graph, agent.id), request.model);
  }
  await registerRoot(store, project.root, "write");
  return graphPrepared(request, workflow.graph);
}

/** A graph run in another store, which is asked for its package and agent; all else its workers check. */
export function graphRunThere(
  config: Config,
  { store, project }: FoundProject,
  packageId: string,
  choice: Omit<RunChoice, "package">,
): RunThere {
  if (/[/\\]/.test(packageId)) {
    throw new UsageError(
      `The store ${store.name} takes a package that is installed there, by its id or its name. Install it there with: interlock package install ${shellWord(packageId)}`,
    );
  }
  const place = { store, projectRoot: project.root, packageId, activeAgentId: choice.agent };
  const prepared = graphPrepared(graphRequest(place, choice, () => modelOf(config, choice)));
  return { ...prepared, check: (reader) => refuseUnknown(reader, packageId, choice.agent) };
}

/** Throws `UsageError` for a package or an agent that the store does not have. Where it does not say, its workers find out. */
async function refuseUnknown(
  reader: StoreReader,
  packageId: string,
  agentId: string | undefined,
): Promise<void> {
  const known = await reader.ask("read.package", { packageId });
  if (!known.ok && known.error.code.startsWith("E_PACKAGE_")) {
    throw asError(known.error, known.error.message, " See: interlock package list");
  }
  if (known.ok && agentId !== undefined) usable(findAgent(known.value, agentId));
}

/** What the run is started with, whichever store has it. `chosen` says its model; a rehearsal has none. Throws `UsageError`. */
function graphRequest(
  { store, activeAgentId, ...place }: GraphRunPlace,
  choice: Omit<RunChoice, "package">,
  chosen: () => WantedModel | undefined,
): StartRun {
  const rehearsal =
    choice.rehearse === true
      ? { branches: choice.branches ?? false, forbiddenJump: choice.forbiddenJump ?? false }
      : undefined;
  return {
    ...place,
    storeId: store.storeId,
    ...defined({
      activeAgentId,
      workflowRef: choice.workflow,
      input: choice.input,
      autopilot: choice.autopilot,
      evaluateConditions: choice.conditions,
      wholeRunConversation: choice.wholeRunConversation,
      steps: choice.steps,
      storyId: choice.story,
      rehearsal,
      budget: budgetOf(choice),
      model: rehearsal === undefined ? chosen() : undefined,
    }),
  };
}

function graphPrepared(request: StartRun, graph?: WorkflowGraph): PreparedRun {
  return {
    name: request.packageId,
    workflow: GRAPH_RUN_WORKFLOW,
    input: request,
    start: (client) => client.start(request),
    graph,
    projectRoot: request.projectRoot,
  };
}

/** Throws `UsageError` for a package that is nowhere. */
export async function refuseNoPackage(named: string): Promise<void> {
  if (await leadsSomewhere(resolve(named))) return;
  throw new UsageError(
    `"${named}" is neither a package directory nor an installed package. See: interlock package list`,
  );
}

async function installedPackage(store: Store, named: string): Promise<string> {
  const known = await store.packages.open(named);
  if (known.ok) return named;
  const path = resolve(named);
  const found = (await leadsSomewhere(path)) ? undefined : await store.packages.resolve(named);
  if (found?.ok === true) return found.value;
  await refuseNoPackage(named);
  const installed = await store.packages.install(path);
  if (!installed.ok) {
    const remedy = `\nSee all findings with: interlock package check ${shellWord(named, "<package>")}`;
    throw asError(installed.error, installed.error.message, remedy);
  }
  return installed.value.packageId;
}

/** Refuses at once to run agents that no model is configured for. Throws `UsageError`. */
export function requireModel(
  { models }: Config,
  agentIds: readonly string[],
  model: WantedModel | undefined,
): void {
  const chosen = models.choose(model, agentIds);
  if (!("missing" in chosen)) return;
  const isNone = model === undefined && models.settingsFor("") === undefined;
  throw new UsageError(isNone ? NO_MODEL : `The worker of this command cannot do it: ${chosen.missing}.`);
}

const NO_MODEL =
  "No model is configured. Set INTERLOCK_MODEL and OPENAI_API_KEY (and OPENAI_BASE_URL for an endpoint other than OpenAI's), or add --rehearse to walk the package without a model.";

/** The agents a run may need: the active one and those that nodes name. */
function agentsOf(graph: WorkflowGraph, activeAgentId: string): readonly string[] {
  const named = graph.nodes.flatMap((node) => (node.agentId === undefined ? [] : [node.agentId]));
  return [...new Set([activeAgentId, ...named])];
}
