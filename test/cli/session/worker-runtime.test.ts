import { expect, test } from "vitest";
import { isUnreached } from "../../../src/cli/session/worker-runtime.js";

const gone = 'Status { code: Unavailable, message: "tcp connect error" }';
const still =
  'Status { code: Cancelled, message: "Timeout expired", source: Some(tonic::transport::Error(Transport, TimeoutExpired(()))) }';
const heartbeat = "Network error while sending worker heartbeat";

test.each([
  ["gRPC call poll_workflow_task_queue retried 5 times", gone, true],
  [heartbeat, gone, true],
  [heartbeat, still, true],
  ["gRPC call poll_workflow_task_queue retried 5 times", "Status { code: PermissionDenied }", false],
  ["Activity failed", gone, false],
])("of what the core logs, %s (%s) tells of a Temporal that is away: %s", (message, error, isAway) => {
  expect(isUnreached({ message, meta: { error } })).toBe(isAway);
});
