import { NamespaceNotFoundError, ServiceError } from "@temporalio/client";
import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { InterlockError } from "../../../src/client/temporal/interlock-error.js";
import { TemporalCliError } from "../../../src/embedded/find-cli.js";
import { temporaryDirectory } from "../../fakes/package-fixture.js";
import { unexpected } from "../../../src/cli/session/unexpected.js";
import { grpc } from "../../fakes/grpc-error.js";

const wrapped = (cause: Error) => new ServiceError("Failed to describe workflow", { cause });

/** As a worker's core does. */
const undescribed = (code: string, said: string) => {
  const status = `Status { code: ${code}, message: "${said}", details: b"\\x08", source: None }`;
  const words = `Namespace nope was not found or otherwise could not be described: ${status}`;
  return Object.assign(new Error(words), { name: "TransportError" });
};

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
  [
    undescribed("NotFound", "Namespace nope is not found."),
    /^Namespace nope is not found\. TEMPORAL_NAMESPACE/,
  ],
  [
    undescribed("PermissionDenied", "Request unauthorized."),
    /^Temporal does not let this in \(Request unauthorized\)\. TEMPORAL_API_KEY/,
  ],
  [undescribed("Internal", "odd"), /^Temporal does not tell of the namespace nope \(odd\)\. See/],
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

test("a place that is missing, and what is wrong with the Temporal CLI, are sentences without the name of a class", async () => {
  const nowhere = Object.assign(new Error("ENOENT: no such file or directory, uv_cwd"), {
    syscall: "uv_cwd",
    code: "ENOENT",
  });
  await expect(unexpected(nowhere)).resolves.toMatch(
    /^The directory that this command was called in is not there/,
  );
  const untemporary = await mkdtemp(join(await temporaryDirectory(), "none", "x-")).catch(
    (error: unknown) => error,
  );
  await expect(unexpected(untemporary)).resolves.toMatch(
    /^No temporary folder can be made: ENOENT.*TMPDIR says where/,
  );
  const unusable = new TemporalCliError("It does not exist. Unset it.", []);
  await expect(unexpected(unusable)).resolves.toBe("It does not exist. Unset it.");
});

test("what is nobody's word keeps its name", async () => {
  await expect(unexpected(new RangeError("odd"))).resolves.toBe("RangeError: odd");
});
