import { describe, expect, test } from "vitest";
import { nodeMessages } from "../../src/activities/node-messages.js";
import { NO_FACTS } from "../../src/core/state/transition-guard.js";
import { toolPolicyOf } from "../../src/tools/graph/tool-policy.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { openRunWorld, valueOf } from "../fakes/run-world.js";

const RUN = {
  runId: "r",
  storeId: "s",
  projectId: "p",
  packageId: "k",
  workflowRef: "two-nodes",
  activeAgentId: "author",
};
const STEP =
  "---\nschemaVersion: 1.1\nnodeId: ask\ntype: step\noutputs: [artifacts/out.md, artifacts/more.md]\n---\nTHE STEP'S OWN TEXT\n";

async function messagesOf(nodeId: string, changes: object = {}, variables = {}) {
  const world = await openRunWorld(twoNodePackage({ "steps/ask.md": STEP }));
  const loaded = valueOf(await world.store.packages.open(world.packageId));
  const [agent] = loaded.agents;
  const [workflow] = loaded.workflows;
  if (agent === undefined || workflow === undefined) throw new Error("The package is empty.");
  const input = {
    run: RUN,
    visit: 1,
    turn: 1,
    nodeId,
    agentId: "author",
    intent: "resume",
    autopilot: true,
    conversation: "visit-1",
    ...changes,
  } as const;
  return nodeMessages(input, workflow, agent, toolPolicyOf(agent), variables);
}

describe("a node's first messages", () => {
  test("come in the order of the contract, and step text is not among them", async () => {
    const messages = await messagesOf("ask", {}, { home: "/home/x/y" });
    expect(messages.map(({ role, content }) => `${role} ${content.split(/[\n,]/u)[0]}`)).toEqual([
      "system You carry out one node of a workflow at a time. A runtime checks everything you do; work with it.",
      "system Tool policy:",
      "system You are author",
      "user RUN_DIRECTIVE",
      "user NODE_BRIEF",
    ]);
    expect(messages[3]?.content).toBe(`RUN_DIRECTIVE
- runType: bmad-micro
- intent: resume
- workflow: two-nodes
- state: @state/workflow.md
- graph: @pkg/workflow.graph.json
- artifactsRoot: @project/artifacts/
- currentNodeId: ask
- effectiveAgentId: author
- autopilot: true
- variables: {"home":"<path>"}`);
    expect(messages[4]?.content).toBe(`NODE_BRIEF
- currentNodeId: ask (type=step)
- stepFile: @pkg/steps/ask.md
- outputsMap:
  - artifacts/out.md -> @project/artifacts/out.md
  - artifacts/more.md -> @project/artifacts/more.md
- allowedNext:
  - middle (label=onwards, default=true, condition=none)`);
    expect(JSON.stringify(messages)).not.toContain("THE STEP'S OWN TEXT");
  });

  test("say of each edge whether its condition holds, where that is evaluated", async () => {
    const messages = await messagesOf("middle", { conditions: NO_FACTS });
    expect(messages[4]?.content).toContain(
      "  - finish (label=done, default=true, condition=when all is written, satisfied=true)",
    );
  });

  test("of a node that the graph has not are an error, no silent default", async () => {
    await expect(messagesOf("constructor")).rejects.toThrow('The graph has no node "constructor".');
  });
});
