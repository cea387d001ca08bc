import { basename, posix } from "node:path";
import type { OpenRunInput } from "../contract/activities.js";
import type { OpenedRun } from "../core/run/opened-run.js";
import type { RunRef } from "../core/run/run-ref.js";
import { agentPlace } from "../core/bundle/agent-place.js";
import { pickCommand } from "../core/bundle/bundle-agent.js";
import { newestOutputs } from "../core/bundle/listed-outputs.js";
import type { Roots } from "../store/roots/roots.js";
import type { RunFiles } from "../store/runs/run-files.js";
import type { RunMetadata } from "../store/runs/run-metadata.js";
import { loadPermittedAgent } from "../tools/bundle/bundle-agent-file.js";
import type { BundleHost } from "../tools/bundle/bundle-host.js";
import { permittedBundle } from "../tools/bundle/bundle-roots.js";
import { BUNDLE_NODE } from "../tools/bundle/bundle-sessions.js";
import { type OpenRunDeps, beginExecution, runRef, unopened, workflowOf } from "./begin-execution.js";
import { unwrap } from "./failures.js";
import { chooseModels } from "./run-models.js";
import { defined } from "../core/defined.js";

type OpenBundleRun = Extract<OpenRunInput, { readonly kind: "bundle" }>;

/** Makes a bundle run, or finds it made, with its session. */
export async function openBundleRun(
  deps: OpenRunDeps,
  request: OpenBundleRun,
  known: RunMetadata | undefined,
): Promise<OpenedRun> {
  const { store, bundles } = deps;
  const { input } = request;
  const { sessionId } = input;
  const { projectRoot, bundleRoot, coreRoot, agentFile, outputRoot } = unwrap(
    permittedBundle(store.roots, input),
  );
  const workflowPath = input.workflowPath.startsWith("{")
    ? input.workflowPath
    : `{bundle-root}/${input.workflowPath}`;
  const activeAgentId = agentFile === undefined ? "facilitator" : agentIdOf(agentFile);
  const models = await chooseModels(deps, request, [activeAgentId], known);
  const metadata = unwrap(
    await store.runs.createBundleRun({
      runId: input.runId,
      ...workflowOf(request),
      projectRoot,
      bundleRoot,
      workflowPath,
      workflowRef: workflowNameOf(
        (await picked(store.roots, agentFile, input.input)) ?? workflowPath,
        bundleRoot,
      ),
      activeAgentId,
      ...defined({ coreRoot, agentFile, sessionId, outputRoot }),
    }),
  );
  const ref: RunRef = { ...runRef(store, metadata, input), kind: "bundle" };
  const run = await beginExecution(deps, ref, request);
  const now = new Date();
  const words = input.input === undefined ? {} : { input: input.input };
  const session = await bundles.openSession(input.runId, { ...words, now });
  if (!session.ok) throw await unopened(store, run, session.error, now);
  await store.runs.setBegun(metadata, now);
  const node = { id: BUNDLE_NODE, type: "step", file: "" } as const;
  return {
    run,
    graph: { entryNodeId: node.id, nodes: [node], edges: [] },
    ...defined({ models }),
  };
}

/** The workflow that the first words pick of the agent's menu. An agent that cannot be read is told of where its session is opened. */
async function picked(roots: Roots, agentFile: string | undefined, words = ""): Promise<string | undefined> {
  const agent = agentFile === undefined ? undefined : await loadPermittedAgent(roots, agentFile);
  return agent?.ok === true ? pickCommand(agent.value, words)?.workflow : undefined;
}

/** What people call a workflow: by its directory, which may be the bundle itself. */
function workflowNameOf(path: string, bundleRoot: string): string {
  const directory = /\.ya?ml$/i.test(path) ? posix.dirname(path) : path;
  return basename(directory === "{bundle-root}" ? bundleRoot : directory);
}

/** The newest files of a run's session, as its model names them. */
export async function savedOutputs(bundles: BundleHost, runId: string): Promise<readonly string[]> {
  const session = unwrap(await bundles.readSession(runId));
  return newestOutputs(session.files.map(({ path }) => `{session-folder}/${path}`));
}

/** What the agent is called in settings and logs: by its file, or by the one of a file's agents that is named. */
function agentIdOf(agentFile: string): string {
  const { path, agent } = agentPlace(agentFile);
  return agent ?? basename(path).replace(/(\.agent)?\.[a-z]+$/i, "");
}

/** Whether the conversation of a run ends with words to its user. */
export async function isUnanswered(files: RunFiles): Promise<boolean> {
  const entries = await files.conversation("run").entries();
  const last = entries.findLast(({ type }) => type === "assistant" || type === "user");
  return last?.type === "assistant" && last.calls.length === 0;
}
