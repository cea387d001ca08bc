import type { Ending, ModelTurnInput, PlannedCall } from "../contract/activities.js";
import { soundsDone } from "../core/bundle/bundle-completion.js";
import type { Fault } from "../core/errors.js";
import { type NoQuestion, whyNoQuestion } from "../core/run/no-question.js";
import type { FunctionTool } from "../core/tools/tool-arguments.js";
import type { RecordedResult } from "../store/runs/call-journal.js";
import type { ModelCall } from "../core/tools/model-call.js";
import type { RecordedModelCall } from "../core/tools/external-tool.js";
import type { AssistantEntry, PlainMessage } from "../store/runs/conversation.js";
import type { RunFiles } from "../store/runs/run-files.js";
import { selectWorkflow, findAgent } from "../store/packages/choose.js";
import type { Store } from "../store/store.js";
import type { BundleHost } from "../tools/bundle/bundle-host.js";
import { type ExternalTools, NO_OFFER, type Offer } from "../tools/external/external-tools.js";
import type { ToolHost } from "../tools/graph/tool-host.js";
import { toolPolicyOf } from "../tools/graph/tool-policy.js";
import { BUNDLE_FUNCTION_TOOLS } from "../core/bundle/bundle-tools.js";
import { listSome } from "../core/text.js";
import { offerOf } from "./external-tools.js";
import { unwrap } from "./failures.js";
import { nodeMessages } from "./node-messages.js";
import { executionOf } from "./run-scope.js";
import { planBundleCalls, planCalls } from "./plan-calls.js";

/** What a kind of run shows its model, and how its answers are read. */
export interface AgentHarness {
  tools(input: ModelTurnInput): Promise<readonly FunctionTool[]>;
  /** The tools that are not the engine's own, as they are now. Fails, to be tried again, where that cannot be known. */
  offer(input: ModelTurnInput): Promise<Offer>;
  /** The first messages of a visit, and calls that are run before the first turn. */
  begin(input: ModelTurnInput, files: RunFiles): Promise<Beginning>;
  plan(calls: readonly RecordedModelCall[]): readonly PlannedCall[];
  /** How a failed call looks to the model. */
  toResult(fault: Fault): RecordedResult;
  /** What an answer without calls means beside a question; undefined where it is one. */
  ending(input: ModelTurnInput, answer: AssistantEntry): Promise<Ending | undefined>;
  /** Why a text that is none of that asks nobody anything; undefined where it asks. */
  noQuestion(text: string, tools: readonly string[]): NoQuestion | undefined;
}

export interface Beginning {
  readonly messages: readonly PlainMessage[];
  readonly calls: readonly ModelCall[];
}

export function graphHarness(store: Store, toolHost: ToolHost, external?: ExternalTools): AgentHarness {
  return {
    tools: ({ run, agentId, recordsState = false }) =>
      toolHost.getVisibleTools({ packageId: run.packageId, agentId, recordsState }),
    offer: (input) => offerOf(store, external, input),
    async begin(input, files) {
      const loaded = unwrap(await store.packages.open(input.run.packageId));
      const workflow = unwrap(selectWorkflow(loaded, input.run.workflowRef));
      const agent = unwrap(findAgent(loaded, input.agentId));
      const { variables } = unwrap(await files.state.read()).frontmatter;
      return { messages: nodeMessages(input, workflow, agent, toolPolicyOf(agent), variables), calls: [] };
    },
    plan: planCalls,
    toResult: (error) => ({ ok: false, error }),
    ending: () => Promise.resolve(undefined),
    noQuestion: whyNoQuestion,
  };
}

export function bundleHarness(bundles: BundleHost): AgentHarness {
  return {
    tools: () => Promise.resolve(BUNDLE_FUNCTION_TOOLS),
    offer: () => Promise.resolve(NO_OFFER),
    async begin({ run, intent, autopilot, yolo = false }, files) {
      const words = (await files.request.read())?.input["input"];
      const input = typeof words === "string" ? { input: words } : {};
      const options = { intent, autopilot, yolo, now: new Date(), ...input };
      const begun = unwrap(await bundles.begin(run.runId, options));
      for (const call of begun.calls) {
        const context = { runId: run.runId, agentId: run.activeAgentId, execution: executionOf(run) };
        await bundles.executeForEngine({ toolCallId: call.id, context, ...call });
      }
      return begun;
    },
    plan: planBundleCalls,
    toResult: ({ message }) => ({ success: false, error: message }),
    async ending({ run }, answer) {
      const verdict = unwrap(await bundles.judgeAnswer(run.runId, answer.content));
      if (verdict.kind !== "incomplete") return verdict.kind === "waiting" ? undefined : verdict;
      const { kind, correction, missing } = verdict;
      return { kind, correction, missing: listSome(missing.map((name) => `{session-folder}/${name}`)) };
    },
    noQuestion: (text, tools) => (soundsDone(text) ? "unclear-end" : whyNoQuestion(text, tools)),
  };
}
