import { expect, test } from "vitest";
import { agentPlace } from "../../../src/core/bundle/agent-place.js";

test.each([
  ["agents.json#iris", { path: "agents.json", agent: "iris" }],
  ["at/AGENTS.JSON#Iris Leaf", { path: "at/AGENTS.JSON", agent: "Iris Leaf" }],
  ["agents.json", { path: "agents.json" }],
  ["iris#leaf.agent.yaml", { path: "iris#leaf.agent.yaml" }],
  ["a.json#b/agents.json", { path: "a.json#b/agents.json" }],
])("of %s the file, and the agent where one is named", (named, place) => {
  expect(agentPlace(named)).toEqual(place);
});
