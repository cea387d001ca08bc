import { expect, test } from "vitest";
import { updateFault } from "../../../src/core/state/update-fault.js";
import { GRAPH, state } from "./graphs.js";

const OUTSIDE = { artifacts: ["../outside.md"] };

test.each([
  ["an update that is as it was", state(), undefined],
  ["an artifact that is no path in the project", state(OUTSIDE), "E_SCHEMA_VALIDATION"],
  [
    "a move that the graph has not is said first",
    state({ ...OUTSIDE, currentNodeId: "lost" }),
    "E_INVALID_TRANSITION",
  ],
])("the guard decides, then what the lists gain: %s", (_, next, code) => {
  expect(updateFault(state(), next, GRAPH)?.code).toBe(code);
});
