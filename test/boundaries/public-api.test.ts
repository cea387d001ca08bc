import { expect, test } from "vitest";
import * as core from "../../src/core/index.js";
import * as root from "../../src/index.js";

test("the values that the package exports", () => {
  const graphState = [
    "ArtifactTypeSchema",
    "EvidenceRefSchema",
    "GRAPH_STATE_SCHEMA_VERSION",
    "GateDecisionSchema",
    "GateTypeSchema",
    "GraphStateSchema",
    "InitialStateParamsSchema",
    "NodeErrorSchema",
    "StateDiffItemSchema",
    "StateDiffSchema",
    "StateRecordSchema",
    "RoutingFlagSchema",
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
  expect(Object.keys(root).sort()).toEqual(
    [
      "ERROR_CODES",
      "InterlockClient",
      "InterlockError",
      "RunHandle",
      "RunManager",
      "createToolHost",
      "openStore",
      "validateWorkflowStateUpdate",
      ...graphState,
    ].sort(),
  );
  expect(Object.keys(core).sort()).toEqual(
    ["ERROR_CODES", "validateWorkflowStateUpdate", ...graphState].sort(),
  );
});
