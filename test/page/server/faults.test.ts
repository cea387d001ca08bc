import { NamespaceNotFoundError, WorkflowNotFoundError } from "@temporalio/client";
import { expect, test } from "vitest";
import type { InterlockClient } from "../../../src/client/client.js";
import { InterlockError, toInterlockError } from "../../../src/client/temporal/interlock-error.js";
import { answered, toRefusal } from "../../../src/page/server/faults.js";
import { readiness } from "../../../src/page/server/readiness.js";
import { pruned } from "../../../src/store/runs/place-run.js";
import { grpc } from "../../fakes/grpc-error.js";

test("a run that was pruned is not told of as one that its store has never known", () => {
  const unknown = {
    ok: false,
    error: { code: "E_RUN_NOT_FOUND", message: "There is no such run." },
  } as const;
  expect(() => answered(unknown)).toThrow(
    expect.objectContaining({ status: 404, code: "E_RUN_NOT_FOUND" }) as Error,
  );
  expect(() => answered(pruned("r", "2026-11-22T00:00:00.000Z"))).toThrow(
    expect.objectContaining({
      status: 410,
      code: "RUN_PRUNED",
      message: expect.stringContaining("was pruned on 2026-11-22") as string,
    }) as Error,
  );
});

test.each([
  ["when it is looked at", new WorkflowNotFoundError("workflow not found", "run-r", undefined)],
  [
    "when it is told something",
    new InterlockError({ code: "E_RUN_NOT_FOUND", message: "Temporal knows no run r." }),
  ],
])("a run that Temporal has forgotten is no failure, and none that its store has lost, %s", (_, error) => {
  expect(toRefusal(error)).toMatchObject({
    status: 404,
    code: "NOT_IN_TEMPORAL",
    message: expect.stringContaining("interlock runs") as string,
  });
});

test.each([
  [grpc(5, "Namespace nope is not found."), "TEMPORAL_NAMESPACE names it"],
  [new NamespaceNotFoundError("nope"), "TEMPORAL_NAMESPACE names it"],
  [grpc(7, "Request unauthorized."), "does not let this in (Request unauthorized)"],
  [grpc(14, "No connection established"), "Temporal does not answer."],
])(
  "a Temporal that answers is not said to be silent, and what has to be mended is said: %s",
  async (thrown, words) => {
    const message = expect.stringContaining(words) as string;
    expect(toRefusal(thrown)).toMatchObject({ status: 503, code: "NO_TEMPORAL", message });
    expect(toInterlockError(thrown, "r")).toBe(thrown); // a run that is not known is another matter
    const temporal = { withDeadline: () => Promise.reject(thrown) };
    const client = { temporal, namespace: "nope" } as unknown as InterlockClient; // the little that is asked of it
    expect(await readiness(client)()).toEqual(message);
  },
);
