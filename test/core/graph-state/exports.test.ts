import { describe, expect, test } from "vitest";
import * as core from "../../../src/core/index.js";
import * as root from "../../../src/index.js";

/** The names that others import (contracts §12), and the schemas of what the functions take and give. */
const NAMES = [
  "ArtifactTypeSchema",
  "EvidenceRefSchema",
  "GRAPH_STATE_SCHEMA_VERSION",
  "GateDecisionSchema",
  "GateTypeSchema",
  "GraphStateSchema",
  "InitialStateParamsSchema",
  "NodeErrorSchema",
  "RoutingFlagSchema",
  "StateDiffItemSchema",
  "StateDiffSchema",
  "StateRecordSchema",
  "StateSnapshotSchema",
  "StateSnapshotStateSchema",
  "cloneState",
  "createInitialState",
  "deserializeState",
  "diffGraphState",
  "isValidGraphState",
  "safeDeserializeState",
  "safeValidateGraphState",
  "serializeState",
  "validateGraphState",
];

describe.each([
  ["the package root", root],
  ["the core entry", core],
])("%s", (_, module: object) => {
  test.each(NAMES)("exports %s", (name) => {
    expect(module).toHaveProperty(name, expect.anything());
  });
});
