import { expect, test } from "vitest";
import { scriptedTools } from "../../../src/cli/testing/scripted-tools.js";
import type { JsonObject } from "../../../src/core/json.js";
import { WrongArguments } from "../../../src/tools/external/tool-source.js";
import { twoNodePackage } from "../../fakes/two-node-package.js";
import { agentsFileSchema } from "../../../src/core/package/schemas.js";

const { agents } = agentsFileSchema.parse(JSON.parse(twoNodePackage()["agents.json"] ?? ""));
const scope = {
  runId: "r",
  nodeId: "ask",
  agentId: "author",
  callId: "c",
  projectRoot: "/p",
  signal: new AbortController().signal,
};

test("a tool takes the first answer that fits, each once, and the last one for every further call", async () => {
  const { tools, unknown } = scriptedTools(
    {
      "house.bell": [
        { arguments: { at: { hour: 9, minute: 0 } }, result: ["nine"] },
        { result: "first" },
        { result: "second" },
      ],
    },
    agents,
  );
  const [bell] = tools;
  const said = async (args: JsonObject) => (await bell?.run(args, scope))?.content;
  expect(await said({ at: { minute: 0, hour: 9 }, loud: true })).toBe('["nine"]');
  expect(await said({})).toBe("first");
  expect(await said({ at: { hour: 9 } })).toBe("second");
  expect(await said({})).toBe("second");
  expect(unknown({ refusals: [] }, { phase: "completed" })).toEqual([]);
});

test("an answer whose arguments are part of another's is taken once as well: answers that were recorded in order come in order", async () => {
  const answers = [
    { arguments: {}, result: "all" },
    { arguments: { id: 1 }, result: "one" },
    { arguments: { id: 2 }, wrongArguments: "no such id" },
  ];
  const [find] = scriptedTools({ "house.find": answers }, agents).tools;
  expect((await find?.run({}, scope))?.content).toBe("all");
  expect((await find?.run({ id: 1 }, scope))?.content).toBe("one");
  await expect(find?.run({ id: 2 }, scope)).rejects.toThrow(new WrongArguments("no such id"));
});

test("a tool of a server is there for the agents whose policy names the server, one in code for all", () => {
  const [first, ...others] = agents;
  if (first === undefined) throw new Error("The package has no agent.");
  const policy = { mcp: { enabled: true, allowedServers: ["tickets"] } };
  const { tools } = scriptedTools({ "mcp.tickets.find": [{ result: 1 }], "house.bell": [{ result: 1 }] }, [
    { ...first, tools: policy },
    ...others,
  ]);
  expect(tools.map((tool) => [tool.name, tool.agents])).toEqual([
    ["mcp.tickets.find", [first.id]],
    ["house.bell", agents.map(({ id }) => id)],
  ]);
});
