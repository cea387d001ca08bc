import { expect, test } from "vitest";
import { grpcReason } from "../../../src/client/temporal/grpc-reason.js";

/** As gRPC throws it. */
const unavailable = (details: string) =>
  Object.assign(new Error(`14 UNAVAILABLE: ${details}`), { code: 14, details, metadata: {} });

test.each([
  ["Failed to connect (2026-11-28T18:23:00.000Z)", "the connection was closed without an answer"],
  [
    "No connection established. Last error: Failed to connect (2026-11-28T18:23:00.000Z). Resolution note: ",
    "the connection was closed without an answer",
  ],
  [
    "No connection established. Last error: Error: connect ECONNREFUSED 127.0.0.1:7233. Resolution note: ",
    "connect ECONNREFUSED 127.0.0.1:7233",
  ],
  ["Request unauthorized.", "Request unauthorized."],
  ["", "14 UNAVAILABLE: "],
])("what gRPC says is told without its own words: %s", (details, reason) => {
  expect(grpcReason(unavailable(details))).toBe(reason);
});
