import { Context } from "@temporalio/activity";
import type { Activities, ModelTurnInput, PhaseInput, ToolCallInput } from "../contract/activities.js";
import { defined } from "../core/defined.js";
import { failpoint } from "../core/failpoint.js";
import { isOverPhase } from "../core/run/phase.js";
import type { WatchCall } from "../core/tools/watched-call.js";
import { BegunTurns } from "./begun-turns.js";
import { callExternalTool } from "./external-tools.js";
import { toActivityError, toApplicationFailure, unwrap } from "./failures.js";
import { type ModelTurnDeps, type TurnContext, modelTurn, newTurnMemory } from "./model-turn.js";
import { type OpenRunDeps, begins } from "./begin-execution.js";
import { openRun } from "./open-run.js";
import { partOfGraph } from "./graph-part.js";
import { runBelow } from "./run-below.js";
import { keepPassedNode, recordPhase, recordSnapshot, recordUserInput } from "./run-records.js";
import { passThrough } from "./pass-through.js";
import { checkStands, openFiles, refuseEarlierFiles } from "./run-scope.js";
import { quickTurns } from "./quick-turns.js";
import { runPlainCalls } from "./run-plain-calls.js";
import { runTool } from "./run-tool.js";
import { type SigningDeps, refuseUnsigned, verifyUpdate } from "./signed-run.js";
import { bundleHarness, graphHarness } from "./agent-harness.js";
import type { ExternalTools } from "../tools/external/external-tools.js";
import type { ToolHost } from "../tools/graph/tool-host.js";

/** How often a call of a model or a tool tells Temporal that it is alive. Well below its heartbeat timeout. */
export const HEARTBEAT_MS = 1_500;

/** What activities work with. */
export interface ActivityDeps extends OpenRunDeps, Omit<ModelTurnDeps, "harnesses" | "memory"> {
  readonly toolHost: ToolHost;
  /** The tools that are not the engine's own, where there are any. */
  readonly external?: ExternalTools;
  /** Sees each call of a tool, in whichever activity it is made. */
  readonly watchCall?: WatchCall;
  /** Is told of each change of phase once it is recorded, and of a run's start as change 0: again where an activity is repeated. */
  readonly announce?: (told: Announced) => Promise<void>;
}

/** What of a change of phase others may be told. */
export type Announced = Omit<PhaseInput, "usage">;

/** Temporal's skin around store, tools and model. */
export function createActivities(deps: ActivityDeps): Activities {
  const { store, toolHost, bundles } = deps;
  const harnesses = { graph: graphHarness(store, toolHost, deps.external), bundle: bundleHarness(bundles) };
  const memory = newTurnMemory();
  const tool = (input: ToolCallInput) => runTool(deps, input);
  const begunTurns = new BegunTurns();
  const takeTurn = async (input: ModelTurnInput, context: TurnContext) =>
    modelTurn({ ...deps, harnesses, memory }, await openFiles(store, input.run), input, context);
  const activities: Activities = {
    "fs.list": tool,
    "fs.read": tool,
    "fs.search": tool,
    "fs.write": tool,
    "fs.edit": tool,
    "fs.apply_patch": tool,
    "state.record": tool,
    read_file: tool,
    save_output: tool,
    preload_workflow: tool,
    "tool.refuse": tool,
    "state.persist": tool,
    async "run.open"(input) {
      const opened = await openRun(deps, input);
      const { run } = opened;
      if (begins(input)) await deps.announce?.({ run, phase: "running", change: 0, nodeId: "" });
      const { graph, ...rest } = opened;
      return graph.partOf === undefined ? opened : { ...rest, graphPart: graph };
    },
    async "state.load"({ run }) {
      const document = unwrap(await (await openFiles(store, run)).state.read());
      return { frontmatter: document.frontmatter, sha256: document.sha256 };
    },
    async "model.turn"(input) {
      const answer = await withHeartbeats(
        (context) => begunTurns.takeOver(input, context.cancellationSignal) ?? takeTurn(input, context),
      );
      return { ...answer, ...lengthIn(input) };
    },
    async "model.quick-turn"(input) {
      const { info } = Context.current();
      const answer = await quickTurns(input, {
        async take(asked, withinMs) {
          const answer = await begunTurns.begin(asked, withinMs, (cancellationSignal) =>
            takeTurn(asked, { info, cancellationSignal }),
          );
          return answer && runPlainCalls(asked, answer, tool);
        },
        keep: (asked, stateSha256) => keepPassedNode(store, asked, stateSha256),
      });
      return answer && { ...answer, ...lengthIn(input) };
    },
    "graph.part": (input) => partOfGraph(store, input),
    "run.below": (input) => runBelow(deps, input),
    "node.pass": async (input) => ({ ...(await passThrough(store, input)), ...lengthIn(input) }),
    "tool.call": (input) => withHeartbeats((context) => callExternalTool(deps, input, context)),
    "state.snapshot": (input) => recordSnapshot(store, input),
    "update.verify": (input) => verifyUpdate(deps, input),
    "user.input": (input) => recordUserInput(store, input),
    async "run.phase"(input) {
      if (isOverPhase(input.phase)) await begunTurns.endOfRun(input.run.runId);
      const head = await recordPhase(deps, input);
      await deps.announce?.(input);
      return head;
    },
  };
  return Object.fromEntries(
    Object.entries(activities).map(([name, activity]) => [name, guarded(deps, activity)]),
  ) as unknown as Activities; // the same names and types
}

/** What the workflow is told back, so that its history keeps it. */
function lengthIn({ isLong }: { readonly isLong?: true }): { readonly isLong?: true } {
  return defined({ isLong });
}

/** Tells Temporal that the work goes on, as long as it does. */
async function withHeartbeats<T>(work: (context: Context) => Promise<T>): Promise<T> {
  const context = Context.current();
  const heartbeat = setInterval(() => context.heartbeat(), HEARTBEAT_MS);
  try {
    return await work(context);
  } finally {
    clearInterval(heartbeat);
  }
}

/** Whoever reaches the server can ask for a single activity as well, past the door of every workflow. */
function checkCaller(): void {
  if (isInActivity() && !Context.current().info.inWorkflow) {
    const message =
      "Interlock's activities are run for its workflows only. Start a workflow: graphRun or bundleRun.";
    throw toApplicationFailure({ code: "E_PRECONDITION_FAILED", message });
  }
}

function isInActivity(): boolean {
  try {
    return Context.current() !== undefined;
  } catch {
    return false; // called directly
  }
}

function guarded(
  deps: SigningDeps,
  activity: (input: never) => Promise<unknown>,
): (input: never) => Promise<unknown> {
  return async (input) => {
    checkCaller();
    refuseUnsigned(deps, input);
    failpoint("activity.begun");
    await checkStands(deps.store);
    const work = async (): Promise<unknown> => {
      await refuseEarlierFiles(deps.store, input);
      return activity(input);
    };
    const result = await work().catch((error: unknown) => {
      throw toActivityError(error);
    });
    failpoint("activity.before-report");
    return result;
  };
}
