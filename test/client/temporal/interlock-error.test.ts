import { QueryNotRegisteredError } from "@temporalio/client";
import { expect, onTestFinished, test } from "vitest";
import { InterlockClient } from "../../../src/client/client.js";
import { unexpected } from "../../../src/cli/session/unexpected.js";
import { isAway, isUnanswered } from "../../../src/client/temporal/grpc-status.js";
import { type GrpcAnswer, answeringTemporal } from "../../fakes/answering-temporal.js";
import { isUnfollowed, toInterlockError } from "../../../src/client/temporal/interlock-error.js";

test.each([
  'It is sealed with the key "k1", which is not among those here ("k2"). Add it to them.',
  'What was sealed with the key "k1" has been altered or cut off: it is not opened.',
])(
  "a worker that lacks a key is said to, not a name of Temporal's errors, nor that the key is missing here: %s",
  (words) => {
    const told = toInterlockError(new QueryNotRegisteredError(words, 3), "r-1");
    expect(told).toMatchObject({ code: "E_PRECONDITION_FAILED" });
    expect(String(told)).toContain(
      `The worker that was asked cannot open the history of run r-1. It says: "${words}"`,
    );
    expect(isUnfollowed(told)).toBe(true);
  },
);

/** A run of a Temporal that has this answer to what it is asked or told, and its client. */
async function runAnswered(answer: GrpcAnswer) {
  const address = await answeringTemporal({ QueryWorkflow: answer, UpdateWorkflowExecution: answer });
  const client = await InterlockClient.connect({ connection: { address } });
  onTestFinished(() => client.close());
  return { client, run: client.handle("3f0c1b9e-5a51-4a2c-9d2a-0a4d1c5f8a11") };
}

test("what was asked or told by a client that has been closed says so, not the name of the request", async () => {
  const { client, run } = await runAnswered("silence");
  const thrown = [run.state(), run.pause()].map((asked) => asked.catch((error: unknown) => error));
  await client.close();
  const closed = { name: "ServiceError", message: "The connection has been closed." };
  expect(await Promise.all(thrown)).toMatchObject([closed, closed]);
});

test("an update that has no answer in time is one that Temporal does not answer, as a query is", async () => {
  const { run } = await runAnswered({ code: 4, details: "context deadline exceeded" });
  const thrown = [run.state(), run.pause()].map((asked) => asked.catch((error: unknown) => error));
  for (const error of await Promise.all(thrown)) {
    expect([isUnanswered(error), isAway(error)]).toEqual([true, true]);
    expect(await unexpected(error)).toBe(
      "Temporal, or a worker that it asks, does not answer in time (context deadline exceeded). See: interlock doctor",
    );
  }
});

test("a worker whose words are sealed is told of by what they may have been, not by the name of their envelope", () => {
  const told = toInterlockError(new QueryNotRegisteredError("Encoded failure", 3), "r-1");
  expect(told).toMatchObject({ code: "E_PRECONDITION_FAILED" });
  expect(String(told)).toMatch(
    /cannot tell where run r-1 stands, and has sealed why\. .*lacks a key.*another version/,
  );
  expect(isUnfollowed(told)).toBe(true);
});
