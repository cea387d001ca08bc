import { NamespaceNotFoundError, ServiceError } from "@temporalio/client";
import { expect, test } from "vitest";
import { InterlockError } from "../../src/client/interlock-error.js";
import { unexpected } from "../../src/cli/unexpected.js";

/** As gRPC throws it. */
const grpc = (code: number, details: string) =>
  Object.assign(new Error(`${code} X: ${details}`), { code, details, metadata: {} });
const wrapped = (cause: Error) => new ServiceError("Failed to describe workflow", { cause });

test.each([
  [grpc(5, "Namespace nope is not found."), /^Namespace nope is not found\. TEMPORAL_NAMESPACE names it/],
  [new NamespaceNotFoundError("nope"), /^Namespace not found: 'nope'\. TEMPORAL_NAMESPACE names it/],
  [wrapped(grpc(7, "Request unauthorized.")), /^Temporal does not let this in \(Request unauthorized\)\./],
  [grpc(12, "Received HTTP status code 404"), /is no Temporal, .* \(Received HTTP status code 404\)/],
  [wrapped(grpc(4, "query timed out")), /does not answer in time \(query timed out\)/],
  [
    wrapped(grpc(3, "WorkflowId length exceeds limit.")),
    /^Temporal refuses this: WorkflowId length exceeds limit\.$/,
  ],
  [new ServiceError("Failed to query Workflow"), /^Temporal refuses this: Failed to query Workflow\.$/],
])(
  "what Temporal says to a command is a sentence without the names of classes: %s",
  async (error, sentence) => {
    const said = await unexpected(error);
    expect(said).toMatch(sentence);
    expect(said).not.toMatch(/Error:|\d [A-Z_]+:/);
  },
);

test("what a run or a client refuses is told by its code", async () => {
  const refused = new InterlockError({ code: "E_PRECONDITION_FAILED", message: "It is sealed." });
  await expect(unexpected(refused)).resolves.toBe("E_PRECONDITION_FAILED: It is sealed.");
});

test("what is nobody's word keeps its name", async () => {
  await expect(unexpected(new RangeError("odd"))).resolves.toBe("RangeError: odd");
});
