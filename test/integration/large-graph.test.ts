import { describe, expect, test } from "vitest";
import { WHOLE_GRAPH_BYTES } from "../../src/core/package/graph-part.js";
import { replayHistory } from "../../src/replay.js";
import { beyondKnownPart } from "../fakes/beyond-known-part.js";
import { firstWay, nestedPackage, nodesAsked } from "../fakes/nested-package.js";
import { type ChatRequestBody, type ScriptedAnswer, patch } from "../fakes/scripted-model.js";
import { nodeOf } from "../fakes/walk.js";
import { openBench } from "./harness.js";

const NODES = 56;
const nameOf = (place: number) => `${String(place).padStart(3, "0")}-${"a-node-with-a-long-name-".repeat(5)}`;
/** Nodes that are worked at, in parts of the graph that a run gets to know one after the other. */
const WORKED_AT = [0, 25, 55];

/** A graph of more than 32 KB. All other nodes are merges without work, which the engine passes. */
function largePackage(): Record<string, string> {
  const nodes = Array.from({ length: NODES }, (_, place) => {
    const type = place === NODES - 1 ? "end" : WORKED_AT.includes(place) ? "step" : "merge";
    return [nameOf(place), { type, ...(type === "merge" ? { text: "" } : {}) }] as const;
  });
  return nestedPackage({ main: { nodes: Object.fromEntries(nodes) } });
}

describe("a run of a large graph", () => {
  test.each(["turns", "nodes"] as const)(
    "by %s knows a part of it at a time, is refused what the whole graph refuses, and comes to its end",
    { tags: "slow" },
    async (steps) => {
      let jumps = 0;
      const wanted = [nameOf(50), nameOf(2), "nowhere"];
      const bench = await openBench((request: ChatRequestBody): ScriptedAnswer => {
        const jump = nodeOf(request) === nameOf(25) ? wanted[jumps] : undefined;
        if (jump === undefined) return firstWay(request);
        jumps += 1;
        return { calls: [patch({ currentNodeId: { set: jump } })] };
      });
      const run = await bench.start(largePackage(), { workflowRef: "main", steps });
      const { stepsCompleted } = await run.result();
      expect(stepsCompleted).toEqual(Array.from({ length: NODES }, (_, place) => nameOf(place)));

      const last = bench.model.requests.findLast((request) => nodeOf(request) === nameOf(25));
      const told = (last?.messages ?? []).flatMap(({ role, content }) => (role === "tool" ? [content] : []));
      expect(told).toEqual([
        expect.stringContaining("the graph has no such edge"),
        expect.stringContaining("the graph has no such edge"),
        expect.stringContaining('the graph has no node \\"nowhere\\"'),
      ]);

      const history = await run.history();
      expect(await replayHistory(history)).toMatchObject({ ok: true });
      const reported = (history.events ?? []).flatMap(({ activityTaskCompletedEventAttributes: done }) =>
        (done?.result?.payloads ?? []).map(({ data }) => data?.length ?? 0),
      );
      expect(Math.max(...reported)).toBeLessThan(WHOLE_GRAPH_BYTES);
      const graph = largePackage()["main/graph.json"] ?? "";
      expect(graph.length).toBeGreaterThan(2 * WHOLE_GRAPH_BYTES);
    },
  );

  test("may move twice in one answer by nodes, also where the first move leads out of the part that it knows", async () => {
    const { files, model, asked } = beyondKnownPart();
    const bench = await openBench(model);
    const run = await bench.start(files, { workflowRef: "main", steps: "nodes" });
    await run.result();
    expect(nodesAsked(bench.model.requests)).toEqual(asked);
    expect(await replayHistory(await run.history())).toMatchObject({ ok: true });
  });
});
